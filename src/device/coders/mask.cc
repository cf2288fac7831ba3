// Codec mask on a device (kernels/mask.inl).
#include "base/errors.h"
#include "device/coders/fixed_rate.h"
#include "tensorpress/pack.h"

namespace tensorpress::device {
namespace {

class MaskCoder final : public FixedRateCoder {
 private:
  bool exact() const override { return true; }
  std::uint64_t payload_bytes(std::uint64_t values) const override {
    const auto size = packed_size(static_cast<std::size_t>(values), MaskOptions{});
    return size.ok() ? *size : UINT64_MAX;
  }

  Result<void> pack(Backend& backend, const Chunks& chunks, void* unfit) const override {
    const std::size_t count = chunks.batch.places.size();
    void* const places = chunks.tables.places.memory().handle;
    TRY(const auto others, backend.allocate(count * sizeof(std::uint32_t)));
    RETURN_IF_ERROR(backend.launch("mask", "find_other", count,
                                   {chunks.values, chunks.offset, places, others.memory().handle}));
    return backend.launch(
        "mask", "pack_equal", chunks.batch.tiles(),
        {chunks.values, chunks.offset, places, chunks.tables.chunk_of_tile.memory().handle,
         others.memory().handle, chunks.bytes, unfit});
  }
  Result<void> unpack(Backend& backend, const Chunks& chunks) const override {
    return backend.launch(
        "mask", "expand", chunks.batch.tiles(),
        {chunks.bytes, chunks.tables.places.memory().handle,
         chunks.tables.chunk_of_tile.memory().handle, chunks.values, chunks.offset});
  }
};

}  // namespace

std::unique_ptr<ChunkCoder> make_mask_coder(const Codec& codec, DType dtype) {
  if (codec.name() != "mask" || dtype != DType::f32) return nullptr;
  return std::make_unique<MaskCoder>();
}

}  // namespace tensorpress::device
