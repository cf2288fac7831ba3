// Codec ceresz on a device (kernels/ceresz.inl). The kernels code ordinary f32 values with an
// absolute limit; what else a chunk can be (a constant, special values, a point-wise or measured
// bound) the host decides from the scan.
#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "base/errors.h"
#include "codecs/bounded/elements.h"
#include "codecs/bounded/one_value.h"
#include "codecs/bounded/stated_error.h"
#include "codecs/ceresz/block.h"
#include "device/chunk_coder.h"

namespace tensorpress::device {
namespace {

using Quantizer = kernels::bitplane::Quantizer<float>;
constexpr std::size_t kBlock = kernels::bitplane::kBlockValues;
constexpr std::size_t kHead = 2;  // flags, slack
constexpr std::size_t kConstantBytes = 5;

// As the kernels have them: four floats each.
using QuantizerTable = std::array<std::array<float, 4>, kernels::bitplane::kSlacks>;

QuantizerTable quantizers_for(double bound) {
  QuantizerTable table{};
  for (unsigned slack = 0; slack < table.size(); ++slack) {
    const Quantizer quantizer = kernels::bitplane::make_quantizer<float>(bound, slack);
    table[slack] = {quantizer.scale, quantizer.step, quantizer.tolerance, 0};
  }
  return table;
}

struct EncodedPayload {
  std::uint32_t start8 = 0;
  std::uint32_t bytes = 0;
};

class CereszCoder final : public ChunkCoder {
 public:
  explicit CereszCoder(double limit) : limit_(limit), bound_(bounded::coder_bound<float>(limit)) {}

  bool needs_scans() const override { return true; }

  Result<EncodedBatch> encode(Backend& backend, const DeviceTensor& tensor, const ChunkBatch& given,
                              std::span<const ChunkScan> scans) const override {
    ChunkBatch batch = given;
    EncodedBatch encoded;
    encoded.chunks.resize(batch.places.size());
    std::vector<std::array<std::byte, kConstantBytes>> constants(batch.places.size());
    std::uint64_t room = 0;
    for (std::size_t i = 0; i < batch.places.size(); ++i) {
      plan_chunk(scans[i], batch.places[i], constants[i]);
      if (batch.places[i].kind == CHUNK_CODED) room += 4 * std::uint64_t{batch.places[i].count} + 8;
    }
    TRY(const auto payloads, run(backend, tensor, batch, room, encoded.bytes));
    for (std::size_t i = 0; i < batch.places.size(); ++i) {
      const ChunkPlace& place = batch.places[i];
      EncodedChunk& chunk = encoded.chunks[i];
      if (place.kind == CHUNK_CODED) {
        const bool raw = payloads[i].bytes == 4 * place.count;
        chunk = {.form = raw ? EncodedChunk::Form::raw : EncodedChunk::Form::coded,
                 .offset = 8 * std::uint64_t{payloads[i].start8},
                 .bytes = payloads[i].bytes,
                 .squared_error = raw ? 0 : bounded::stated_squared_error(limit_, place.count)};
      } else if (place.kind == CHUNK_CONSTANT) {
        const bool exact = scans[i].low == scans[i].high;
        chunk = {.form = EncodedChunk::Form::coded,
                 .offset = encoded.bytes.size(),
                 .bytes = kConstantBytes,
                 .squared_error = exact ? 0 : bounded::stated_squared_error(limit_, place.count)};
        encoded.bytes.insert(encoded.bytes.end(), constants[i].begin(), constants[i].end());
      }
    }
    return encoded;
  }

  Result<std::vector<bool>> decode(Backend& backend, std::span<const PayloadPlace> payloads,
                                   const DeviceTensor& tensor,
                                   const ChunkBatch& given) const override {
    ChunkBatch batch = given;
    std::vector<std::byte> bytes;
    for (std::size_t i = 0; i < batch.places.size(); ++i) {
      ChunkPlace& place = batch.places[i];
      if (place.kind != CHUNK_CODED) continue;
      place.kind = kind_of(payloads[i], place);
      if (place.kind == CHUNK_CODED) {
        place.detail = static_cast<std::uint32_t>(payloads[i].bytes[1]);
        place.payload = bytes.size();
        place.payload_bytes = static_cast<std::uint32_t>(payloads[i].bytes.size());
        bytes.insert(bytes.end(), payloads[i].bytes.begin(), payloads[i].bytes.end());
        bytes.resize((bytes.size() + 7) / 8 * 8);
      } else if (place.kind == CHUNK_CONSTANT) {
        std::memcpy(&place.detail, payloads[i].bytes.data() + 1, sizeof place.detail);
      }
    }
    TRY(const auto damaged, decode_tiles(backend, batch, bytes, tensor));
    std::vector<bool> decoded(batch.places.size());
    for (std::size_t i = 0; i < decoded.size(); ++i) {
      decoded[i] = batch.places[i].kind != CHUNK_LEFT && damaged[i] == 0;
    }
    return decoded;
  }

 private:
  // What becomes of a chunk, as compress_chunk (codecs/bounded) decides it.
  void plan_chunk(const ChunkScan& scan, ChunkPlace& place,
                  std::array<std::byte, kConstantBytes>& constant) const {
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

  Result<std::vector<EncodedPayload>> run(Backend& backend, const DeviceTensor& tensor,
                                          const ChunkBatch& batch, std::uint64_t room,
                                          std::vector<std::byte>& bytes) const {
    std::vector<EncodedPayload> payloads(batch.places.size());
    if (room == 0) return payloads;
    TRY(const auto tables, BatchTables::upload(backend, batch));
    TRY(const auto quantizers, upload_quantizers(backend));
    const std::uint64_t states =
        sizeof(std::uint32_t) * (1 + batch.chunk_of_tile.size() + batch.places.size());
    TRY(const auto order, backend.allocate(states));
    RETURN_IF_ERROR(backend.clear(order.memory(), states));
    TRY(const auto found, backend.allocate(std::as_bytes(std::span(payloads)).size()));
    TRY(const auto coded, backend.allocate(room));
    RETURN_IF_ERROR(backend.launch(
        "ceresz", "encode", batch.tiles(),
        {tensor.memory.handle, tensor.memory.offset / sizeof(float), tables.places.memory().handle,
         tables.chunk_of_tile.memory().handle, batch.tiles(), quantizers.memory().handle,
         order.memory().handle, found.memory().handle, coded.memory().handle}));
    RETURN_IF_ERROR(backend.download(found.memory(), std::as_writable_bytes(std::span(payloads))));
    std::uint64_t used = 0;
    for (std::size_t i = 0; i < payloads.size(); ++i) {
      if (batch.places[i].kind != CHUNK_CODED) continue;
      used = std::max(used, 8 * std::uint64_t{payloads[i].start8} + payloads[i].bytes);
    }
    if (used > room) return internal_error("a kernel wrote ", used, " of ", room, " bytes");
    bytes.resize(static_cast<std::size_t>(used));
    RETURN_IF_ERROR(backend.download(coded.memory(), bytes));
    return payloads;
  }

  static std::uint32_t kind_of(const PayloadPlace& payload, const ChunkPlace& place) {
    const std::size_t size = payload.bytes.size();
    if (payload.raw || size == 0) return CHUNK_LEFT;
    const auto flags = static_cast<std::uint8_t>(payload.bytes[0]);
    if (flags == bounded::kConstant) return size == kConstantBytes ? CHUNK_CONSTANT : CHUNK_LEFT;
    const std::size_t blocks = (place.count + kBlock - 1) / kBlock;
    if (flags != bounded::kCoded || size < kHead + blocks || size > UINT32_MAX) return CHUNK_LEFT;
    const auto slack = static_cast<unsigned>(payload.bytes[1]);
    return slack < kernels::bitplane::kSlacks ? CHUNK_CODED : CHUNK_LEFT;
  }

  Result<std::vector<std::uint32_t>> decode_tiles(Backend& backend, const ChunkBatch& batch,
                                                  std::span<const std::byte> bytes,
                                                  const DeviceTensor& tensor) const {
    TRY(const auto tables, BatchTables::upload(backend, batch));
    TRY(const auto quantizers, upload_quantizers(backend));
    // Words are read whole, so that the last may reach beyond the end.
    TRY(const auto coded, backend.allocate(bytes.size() + 8));
    RETURN_IF_ERROR(backend.upload(bytes, coded.memory()));
    std::vector<std::uint32_t> damaged(batch.places.size());
    TRY(const auto flags, backend.allocate(std::as_bytes(std::span(damaged)).size()));
    RETURN_IF_ERROR(backend.clear(flags.memory(), std::as_bytes(std::span(damaged)).size()));
    RETURN_IF_ERROR(backend.launch(
        "ceresz", "decode", batch.tiles(),
        {coded.memory().handle, tables.places.memory().handle, tables.chunk_of_tile.memory().handle,
         quantizers.memory().handle, tensor.memory.handle, tensor.memory.offset / sizeof(float),
         flags.memory().handle}));
    RETURN_IF_ERROR(backend.download(flags.memory(), std::as_writable_bytes(std::span(damaged))));
    return damaged;
  }

  Result<Buffer> upload_quantizers(Backend& backend) const {
    const QuantizerTable table = quantizers_for(bound_);
    TRY(auto buffer, backend.allocate(sizeof table));
    RETURN_IF_ERROR(backend.upload_all(std::span(table), buffer));
    return buffer;
  }

  double limit_;  // of every element
  double bound_;  // that the coder takes
};

}  // namespace

std::unique_ptr<ChunkCoder> make_ceresz_coder(const Codec& codec, DType dtype) {
  if (codec.name() != "ceresz" || dtype != DType::f32) return nullptr;
  const auto& kept = codec.kept_bound();
  if (!kept || !bounded::is_codable<float>(kept->limit)) return nullptr;
  const Bound::Kind asked = kept->asked.kind();
  if (asked == Bound::Kind::pointwise_relative || asked == Bound::Kind::psnr) return nullptr;
  return std::make_unique<CereszCoder>(kept->limit);
}

}  // namespace tensorpress::device
