// Raw files, which do not describe themselves: how their element type is spelled, and what their
// names say. "wmag91_91x91x91.f32" holds 91 x 91 x 91 values of type f32, little-endian, slowest
// axis first, and so does "wmag91_91_91_91.f32", as the files of SDRBench are named.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "files/tensor/tensor_files.h"

namespace tensorpress::files {

struct StoredType {
  DType dtype = DType::f32;
  bool big_endian = false;
};

/// "f32", NumPy's "f4" and "float32", and all of them behind ">" (big-endian) or "<".
Result<StoredType> parse_stored_type(std::string_view word);

/// What the extension says: .f32, .f64, ... and SDRBench's .d64.
std::optional<DType> dtype_of_name(std::string_view path);

/// Absent when the name does not end in `_AxBxC.TYPE` with a dtype's name.
std::optional<RawFormat> raw_format_of_name(std::string_view path);

/// The format of the file at `path` by its name. `_A_B_C.TYPE` counts as far as it agrees with the
/// file's size, because a name may have other numbers in front: "t_2020_91_91_91.f32". `type`
/// stands for the extension when it is given.
std::optional<RawFormat> raw_format_of_file(const std::string& path,
                                            const std::optional<StoredType>& type = {});

/// "dir/wmag91_91x91x91.f32" and "dir/wmag91.npy" are both the field "wmag91".
std::string field_name_of(std::string_view path);

}  // namespace tensorpress::files
