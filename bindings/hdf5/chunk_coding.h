// One HDF5 chunk to one complete .tpz stream and back; HDF5 itself is not involved. A chunk is
// contiguous and in the byte order of the file.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <span>

#include "files/conventions/hdf5_filter_settings.h"
#include "tensorpress/result.h"

namespace tensorpress::hdf5 {

struct FreeMemory {
  void operator()(std::byte* memory) const { std::free(memory); }
};

/// Memory from malloc, which is what HDF5 frees.
struct Buffer {
  std::unique_ptr<std::byte, FreeMemory> memory;
  std::size_t capacity = 0;
  std::size_t used = 0;
};

/// `settings.chunk` must be there, and `chunk` have its size.
Result<Buffer> encode_chunk(const files::Hdf5FilterSettings& settings,
                            std::span<const std::byte> chunk);
/// Refuses a stream that does not hold what `settings.chunk` says.
Result<Buffer> decode_chunk(const files::Hdf5FilterSettings& settings,
                            std::span<const std::byte> stream);

}  // namespace tensorpress::hdf5
