// Tensors as they lie in files: how to read any region of one by pread, and the next region of one
// that comes through a pipe.
#pragma once

#include <memory>
#include <string>

#include "files/bytes/file_descriptor.h"
#include "stream/tensor_io.h"

namespace tensorpress::files {

struct StoredLayout {
  DType dtype = DType::f32;
  Shape shape;
  bool fortran_order = false;
  bool big_endian = false;
  std::uint64_t first_byte = 0;  // where the elements begin

  std::uint64_t element_bytes() const { return shape.element_count() * size_of(dtype); }
};

/// Any region at any time. The file must hold all elements.
std::unique_ptr<stream::TensorSource> random_access_tensor(FileDescriptor file, std::string name,
                                                           const StoredLayout& layout);
/// Regions that follow each other in C order, from an input at its first element.
std::unique_ptr<stream::TensorSource> sequential_tensor(FileInput input,
                                                        const StoredLayout& layout);

}  // namespace tensorpress::files
