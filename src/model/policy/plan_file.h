// Policies from the plans that users write, as docs/plan.md describes them.
#pragma once

#include <string>

#include "model/policy/policy.h"

namespace tensorpress::model {

/// The policy of a level (off, lossless, safe, balanced, max) or from a file ending in .json. A
/// file whose `model` is another than this one is refused.
Result<Policy> read_plan(const std::string& name_or_path, const std::string& model);

/// The same from the text of such a file.
Result<Policy> parse_plan(const std::string& json, const std::string& model);

}  // namespace tensorpress::model
