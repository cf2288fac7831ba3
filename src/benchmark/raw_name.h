// Raw files that carry their shape in their name: "wmag91_91x91x91.f32" holds 91 x 91 x 91 values
// of type f32, little-endian, slowest axis first.
#pragma once

#include <optional>
#include <string_view>

#include "files/tensor_files.h"

namespace tensorpress::benchmark {

/// Absent when the name does not end in `_AxBxC.TYPE` with a dtype's name.
std::optional<files::RawFormat> raw_format_of_name(std::string_view path);

/// "dir/wmag91_91x91x91.f32" and "dir/wmag91.npy" are both the field "wmag91".
std::string field_name_of(std::string_view path);

}  // namespace tensorpress::benchmark
