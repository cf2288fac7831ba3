// A TOML file as toml++ may be given it: in ASCII. On other characters outside of strings its
// version 3.3 has undefined behaviour (the search for white space ends in an unreachable place),
// and after a mistake it searches inside of what looks like a string too.
#pragma once

#include <string>
#include <string_view>

#include "tensorpress/result.h"

namespace tensorpress {

/// The same file with escapes for characters beyond ASCII in strings, and '?' for those in
/// comments; lines stay what they were. Elsewhere such a character is an error that names `file`
/// and the line, and so are strings of several lines.
Result<std::string> ascii_toml(std::string_view text_of_file, const std::string& file);

}  // namespace tensorpress
