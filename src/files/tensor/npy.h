// The header of a .npy file (NumPy's format specification, numpy.lib.format):
//
//   byte 0   "\x93NUMPY", major version, minor version (0)
//   byte 8   length of the text: 2 bytes in version 1, 4 bytes in versions 2 and 3, little-endian
//   then     the text, a Python dict: {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }
//            in Latin-1, or UTF-8 in version 3; padded with blanks and closed by a newline
//   then     the elements
//
// NumPy itself has no bfloat16. The ml_dtypes package saves it as two bytes of type '<V2', which is
// what we write; on reading, V2 and 'bfloat16' are bf16.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "stream/container/byte_io.h"
#include "tensorpress/tensor_view.h"

namespace tensorpress::files {

inline constexpr std::string_view kNpyMagic = "\x93NUMPY";

struct NpyHeader {
  DType dtype = DType::f32;
  bool big_endian = false;
  bool fortran_order = false;  // the first axis is the fastest
  Shape shape;
  std::uint64_t bytes = 0;  // of the header; the elements begin here
};

/// Reads the header and leaves `input` at the first element. Messages do not name the file.
Result<NpyHeader> read_npy_header(stream::ByteInput& input);

/// The dict by itself: a small strict parser of what NumPy and its relatives write. `bytes` is
/// left 0.
Result<NpyHeader> parse_npy_dict(std::string_view dict);

/// Byte for byte what numpy.save writes for such an array in C order.
std::string npy_header(DType dtype, const Shape& shape);

}  // namespace tensorpress::files
