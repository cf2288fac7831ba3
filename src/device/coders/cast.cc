// Codec cast on a device (kernels/cast.inl).
#include <bit>

#include "base/errors.h"
#include "codecs/cast/options.h"
#include "codecs/pack/packing.h"
#include "device/coders/fixed_rate.h"

namespace tensorpress::device {
namespace {

class CastCoder final : public FixedRateCoder {
 public:
  explicit CastCoder(const CastOptions& options) : options_(options) {}

 private:
  std::uint64_t payload_bytes(std::uint64_t values) const override {
    const auto size = packed_size(static_cast<std::size_t>(values), options_);
    return size.ok() ? *size : UINT64_MAX;
  }
  std::uint32_t type() const { return static_cast<std::uint32_t>(options_.to); }

  Result<void> pack(Backend& backend, const Chunks& chunks, void* unfit) const override {
    return backend.launch(
        "cast", "narrow", chunks.batch.tiles(),
        {chunks.values, chunks.offset, chunks.tables.places.memory().handle,
         chunks.tables.chunk_of_tile.memory().handle, type(),
         std::bit_cast<std::uint32_t>(packing::largest_of(options_.to)), chunks.bytes, unfit});
  }
  Result<void> unpack(Backend& backend, const Chunks& chunks) const override {
    return backend.launch(
        "cast", "widen", chunks.batch.tiles(),
        {chunks.bytes, chunks.tables.places.memory().handle,
         chunks.tables.chunk_of_tile.memory().handle, type(), chunks.values, chunks.offset});
  }

  CastOptions options_;
};

}  // namespace

std::unique_ptr<ChunkCoder> make_cast_coder(const Codec& codec, DType dtype) {
  if (codec.name() != "cast" || dtype != DType::f32) return nullptr;
  const auto options = cast::options_of(codec.parameters());
  if (!options.ok()) return nullptr;
  return std::make_unique<CastCoder>(*options);
}

}  // namespace tensorpress::device
