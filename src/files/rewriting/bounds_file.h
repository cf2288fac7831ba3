// A file of bounds that a group can keep under version control:
//
//   [variables]
//   tas = { abs = 0.01 }
//   pr = { abs = 1e-6, effort = "fast" }
//   "ocean/*" = { rel = 1e-4, fill = [-999] }
//   "*_bnds" = "copy"        # or "lossless"
#pragma once

#include <string>
#include <string_view>

#include "files/rewriting/variable_bounds.h"

namespace tensorpress::files {

/// Strict: unknown keys are errors, and so is a variable that is named twice. Errors name `file`
/// and the line. The rules are added to `to`.
Result<void> parse_bounds(std::string_view text_of_file, const std::string& file,
                          VariableBounds& to);

/// The same of a file on disk.
Result<void> read_bounds(const std::string& path, VariableBounds& to);

}  // namespace tensorpress::files
