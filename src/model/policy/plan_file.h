// Plans from files, as docs/plan.md describes them.
#pragma once

#include <string>

#include "model/policy/plan.h"

namespace tensorpress::model {

/// A plan by its name (off, lossless, safe, balanced, max) or from a file ending in .json. A file
/// whose `model` is another than this one is refused.
Result<Plan> read_plan(const std::string& name_or_path, const std::string& model);

/// The same from the text of such a file.
Result<Plan> parse_plan(const std::string& json, const std::string& model);

}  // namespace tensorpress::model
