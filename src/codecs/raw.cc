// Elements as they are: what every codec falls back to.
#include <bit>
#include <cstring>

#include "base/bytes.h"
#include "codecs/chunk_codec.h"

namespace tensorpress {
namespace {

// In place, on big-endian machines only.
void reverse_elements(std::byte* bytes, std::uint64_t count, std::size_t element_bytes) {
  for (std::uint64_t i = 0; i < count; ++i, bytes += element_bytes) {
    for (std::size_t j = 0; j < element_bytes / 2; ++j)
      std::swap(bytes[j], bytes[element_bytes - 1 - j]);
  }
}

}  // namespace

CompressedChunk compress_raw(const TensorView& chunk, std::span<std::byte> output,
                             ChunkWorkspace& workspace) {
  const std::uint64_t bytes = chunk.byte_count();
  copy_elements(chunk, MutableTensorView::contiguous(output.data(), chunk.dtype, chunk.shape));
  if constexpr (std::endian::native == std::endian::big) {
    reverse_elements(output.data(), chunk.element_count(), size_of(chunk.dtype));
  }
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
  if constexpr (std::endian::native == std::endian::big) {
    const auto copy = workspace.buffers[0].reserve(input.size());
    std::memcpy(copy.data(), input.data(), input.size());
    reverse_elements(copy.data(), chunk.element_count(), size_of(chunk.dtype));
    elements = copy.data();
  }
  copy_elements(TensorView::contiguous(elements, chunk.dtype, chunk.shape), chunk);
  return {};
}

}  // namespace tensorpress
