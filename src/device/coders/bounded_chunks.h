// What ceresz and ceresz2 share on a device: what becomes of a chunk of f32 values with an absolute
// limit, as compress_chunk (codecs/bounded) decides it, and the quantizers.
#pragma once

#include <array>
#include <bit>
#include <cstring>

#include "codecs/bounded/elements.h"
#include "codecs/bounded/one_value.h"
#include "codecs/bounded/stated_error.h"
#include "codecs/ceresz/block.h"
#include "device/chunk_coder.h"

namespace tensorpress::device {

inline constexpr std::size_t kConstantBytes = 5;  // flags, the value
using ConstantPayload = std::array<std::byte, kConstantBytes>;

/// As kernels have them: four floats each, one for every slack.
using QuantizerTable = std::array<std::array<float, 4>, kernels::bitplane::kSlacks>;

class BoundedChunks {
 public:
  explicit BoundedChunks(double limit)
      : limit_(limit), bound_(bounded::coder_bound<float>(limit)) {}

  /// Leaves the place coded with its slack, or a constant whose payload it gives, or left.
  void plan(const ChunkScan& scan, ChunkPlace& place, ConstantPayload& constant) const {
    if (place.kind != CHUNK_CODED) return;
    if (scan.specials > 0 || place.count == 0) {
      place.kind = CHUNK_LEFT;
      return;
    }
    if (const auto value =
            bounded::one_value_for<float>(scan.low, scan.high, scan.zeros != 0, limit_)) {
      // A constant is smaller than raw from two elements on.
      place.kind = place.count > 1 ? CHUNK_CONSTANT : CHUNK_LEFT;
      const auto bits = std::bit_cast<std::uint32_t>(*value);
      constant[0] = std::byte{bounded::kConstant};
      for (std::size_t i = 0; i < sizeof bits; ++i) {
        constant[1 + i] = static_cast<std::byte>(bits >> (8 * i));
      }
      return;
    }
    place.detail = kernels::bitplane::slack_for(bound_, scan.sample);
  }

  EncodedChunk coded(const ChunkPlace& place, std::uint64_t offset, std::uint64_t bytes) const {
    return {.form = EncodedChunk::Form::coded,
            .offset = offset,
            .bytes = bytes,
            .squared_error = bounded::stated_squared_error(limit_, place.count)};
  }
  /// Appends the payload.
  EncodedChunk constant(const ChunkScan& scan, const ChunkPlace& place,
                        const ConstantPayload& payload, std::vector<std::byte>& bytes) const {
    EncodedChunk chunk = coded(place, bytes.size(), kConstantBytes);
    if (scan.low == scan.high) chunk.squared_error = 0;
    bytes.insert(bytes.end(), payload.begin(), payload.end());
    return chunk;
  }

  Result<Buffer> upload_quantizers(Backend& backend) const {
    QuantizerTable table{};
    for (unsigned slack = 0; slack < table.size(); ++slack) {
      const auto quantizer = kernels::bitplane::make_quantizer<float>(bound_, slack);
      table[slack] = {quantizer.scale, quantizer.step, quantizer.tolerance, 0};
    }
    TRY(auto buffer, backend.allocate(sizeof table));
    RETURN_IF_ERROR(backend.upload_all(std::span(table), buffer));
    return buffer;
  }

  /// A payload that is one value becomes the place's detail.
  static bool take_constant(std::span<const std::byte> payload, ChunkPlace& place) {
    if (payload.size() != kConstantBytes || payload[0] != std::byte{bounded::kConstant}) {
      return false;
    }
    std::memcpy(&place.detail, payload.data() + 1, sizeof place.detail);
    place.kind = CHUNK_CONSTANT;
    return true;
  }

  /// The limit of a codec for f32 that kernels can keep; nothing for other bounds.
  static std::optional<double> limit_of(const Codec& codec, DType dtype) {
    const auto& kept = codec.kept_bound();
    if (dtype != DType::f32 || !kept || !bounded::is_codable<float>(kept->limit)) {
      return std::nullopt;
    }
    const Bound::Kind asked = kept->asked.kind();
    if (asked == Bound::Kind::pointwise_relative || asked == Bound::Kind::psnr) {
      return std::nullopt;
    }
    return kept->limit;
  }

 private:
  double limit_;  // of every element
  double bound_;  // that the coder takes
};

}  // namespace tensorpress::device
