// Small tensors and their bytes for the tests of tensor files. Element values name their position,
// so that a misplaced one shows.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <string>
#include <vector>

#include "files/tensor/tensor_files.h"

namespace tensorpress::files {

// A version 1.0 file with this description and these element bytes.
inline std::string npy(const std::string& descr, bool fortran, const std::string& shape,
                       const std::string& elements) {
  const std::string dict = "{'descr': '" + descr +
                           "', 'fortran_order': " + (fortran ? "True" : "False") +
                           ", 'shape': " + shape + ", }\n";
  std::string file("\x93NUMPY\1\0", 8);
  file += static_cast<char>(dict.size());
  file += '\0';
  return file + dict + elements;
}

/// As in a file, whatever the byte order of this machine.
template <class T>
std::string bytes_of(const std::vector<T>& values, bool big_endian = false) {
  std::string bytes;
  for (const T& value : values) {
    std::string element(reinterpret_cast<const char*>(&value), sizeof value);
    if (big_endian != (std::endian::native == std::endian::big))
      std::reverse(element.begin(), element.end());
    bytes += element;
  }
  return bytes;
}

// 0, 1, 2, ... as i16.
inline std::vector<std::int16_t> counted(std::size_t count) {
  std::vector<std::int16_t> values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = static_cast<std::int16_t>(i);
  return values;
}

// The elements of a view in C order.
template <class T>
std::vector<T> values_of(const TensorView& view) {
  std::vector<T> values(view.element_count());
  copy_elements(view, MutableTensorView::contiguous(reinterpret_cast<std::byte*>(values.data()),
                                                    view.dtype, view.shape));
  return values;
}

template <class T>
std::vector<T> read_region(stream::TensorSource& source, const Region& region) {
  AlignedBuffer scratch;
  const auto view = source.read(region, scratch);
  if (!view.ok()) {
    ADD_FAILURE() << view.error().message;
    return {};
  }
  EXPECT_EQ(view->shape, region.extent);
  return values_of<T>(*view);
}

inline bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace tensorpress::files
