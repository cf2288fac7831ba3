// Codec quantize on a device (kernels/quantize.inl).
#include <algorithm>

#include "base/errors.h"
#include "codecs/pack/packing.h"
#include "codecs/quantize/options.h"
#include "device/coders/fixed_rate.h"
#include "kernels/quantize/group_scale.h"

namespace tensorpress::device {
namespace {

// What a group of threads holds in local memory.
constexpr std::size_t kMostGroupsInTile = 32;
constexpr std::size_t kMostValuesInTile = 8192;

// As the kernels have it.
struct QuantizeShape {
  std::uint32_t bits;
  std::uint32_t group;
  std::uint32_t groups_in_tile;
  std::uint32_t stochastic;
};

class QuantizeCoder final : public FixedRateCoder {
 public:
  explicit QuantizeCoder(const QuantizeOptions& options)
      : options_(options),
        shape_{static_cast<std::uint32_t>(options.bits), static_cast<std::uint32_t>(options.group),
               static_cast<std::uint32_t>(
                   std::min(kMostGroupsInTile, kMostValuesInTile / options.group)),
               options.rounding == Rounding::stochastic ? 1u : 0u} {}

  std::uint32_t tile_values() const override { return shape_.group * shape_.groups_in_tile; }

 private:
  std::uint64_t payload_bytes(std::uint64_t values) const override {
    const auto size = packed_size(static_cast<std::size_t>(values), options_);
    return size.ok() ? *size : UINT64_MAX;
  }

  void describe(const std::array<std::uint64_t, kMaxRank>& origin,
                ChunkPlace& place) const override {
    const auto own = quantize::options_for_chunk(options_, origin);
    const auto key = kernels::RoundingKey::of(own.seed, 0);
    place.detail = key.first;
    place.reserved = key.second;
  }

  Result<void> pack(Backend& backend, const Chunks& chunks, void* unfit) const override {
    TRY(const auto shape, upload_shape(backend));
    return backend.launch(
        "quantize", "quantize", chunks.batch.tiles(),
        {chunks.values, chunks.offset, chunks.tables.places.memory().handle,
         chunks.tables.chunk_of_tile.memory().handle, shape.memory().handle, chunks.bytes, unfit});
  }

  Result<void> unpack(Backend& backend, const Chunks& chunks) const override {
    TRY(const auto shape, upload_shape(backend));
    return backend.launch("quantize", "dequantize", chunks.batch.tiles(),
                          {chunks.bytes, chunks.tables.places.memory().handle,
                           chunks.tables.chunk_of_tile.memory().handle, shape.memory().handle,
                           chunks.values, chunks.offset});
  }

  bool is_sound(std::span<const std::byte> payload, std::uint64_t values) const override {
    return packing::check_groups(payload.data(), static_cast<std::size_t>(values), options_).ok();
  }

  Result<Buffer> upload_shape(Backend& backend) const {
    TRY(auto buffer, backend.allocate(sizeof shape_));
    RETURN_IF_ERROR(backend.upload_all(std::span(&shape_, 1), buffer));
    return buffer;
  }

  QuantizeOptions options_;
  QuantizeShape shape_;
};

}  // namespace

std::unique_ptr<ChunkCoder> make_quantize_coder(const Codec& codec, DType dtype) {
  if (codec.name() != "quantize" || dtype != DType::f32) return nullptr;
  const auto options = quantize::options_of(codec.parameters());
  if (!options.ok() || options->group > kMostValuesInTile) return nullptr;
  return std::make_unique<QuantizeCoder>(*options);
}

}  // namespace tensorpress::device
