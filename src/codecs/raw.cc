// Elements as they are: what every codec falls back to.
#include <algorithm>
#include <bit>
#include <cstring>

#include "base/bytes.h"
#include "codecs/chunk_codec.h"

namespace tensorpress {
namespace {

struct RawBuffers {
  AlignedBuffer swapped;  // on big-endian machines
};

constexpr bool kBigEndian = std::endian::native == std::endian::big;

// Native elements to little-endian ones or back, in place.
void swap_if_big_endian([[maybe_unused]] std::byte* bytes, [[maybe_unused]] std::uint64_t count,
                        [[maybe_unused]] std::size_t element_bytes) {
  if constexpr (kBigEndian) {
    for (std::uint64_t i = 0; i < count; ++i, bytes += element_bytes)
      std::reverse(bytes, bytes + element_bytes);
  }
}

}  // namespace

CompressedChunk compress_raw(const TensorView& chunk, std::span<std::byte> output,
                             ChunkWorkspace& workspace) {
  const std::uint64_t bytes = chunk.byte_count();
  copy_elements(chunk, MutableTensorView::contiguous(output.data(), chunk.dtype, chunk.shape));
  swap_if_big_endian(output.data(), chunk.element_count(), size_of(chunk.dtype));
  workspace.checksum.update(output.first(static_cast<std::size_t>(bytes)));
  return {.bytes = bytes, .raw = true, .squared_error = 0};
}

Result<void> decompress_raw(std::span<const std::byte> input, const MutableTensorView& chunk,
                            ChunkWorkspace& workspace) {
  workspace.checksum.update(input);
  if (input.size() != chunk.byte_count()) {
    return corrupt(input.size(), " bytes are stored for ", chunk.byte_count(),
                   " bytes of elements");
  }
  const std::byte* elements = input.data();
  if constexpr (kBigEndian) {
    const auto copy = workspace.memory.of<RawBuffers>().swapped.reserve(input.size());
    std::memcpy(copy.data(), input.data(), input.size());
    swap_if_big_endian(copy.data(), chunk.element_count(), size_of(chunk.dtype));
    elements = copy.data();
  }
  copy_elements(TensorView::contiguous(elements, chunk.dtype, chunk.shape), chunk);
  return {};
}

}  // namespace tensorpress
