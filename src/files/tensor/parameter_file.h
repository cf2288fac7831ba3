// Files that can be named in place of a parameter's value: how their names end, and their value.
#pragma once

#include <string>
#include <string_view>

#include "tensorpress/codec.h"

namespace tensorpress::files {

struct ParameterFileKind {
  std::string_view contents;  // "codebook"
  std::string_view ending;    // ".json": a value that ends like this names a file
  /// What the parameter's value is. Errors name the file and what is wrong with it.
  Result<std::string> (*read)(const std::string& path);
};

/// Null for none.
const ParameterFileKind* kind_of(ParameterFile file);

}  // namespace tensorpress::files
