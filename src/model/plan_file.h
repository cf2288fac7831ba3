// Plans from files, as docs/plan.md describes them. Unknown entries, codecs and values are refused
// by name: a misspelled plan must not train without the compression that somebody asked for.
#pragma once

#include <string>

#include "model/plan.h"

namespace tensorpress::model {

/// Of a name (off, lossless, safe, balanced, max) or of the path of a file ending in .json. A plan
/// that says which model it is for is refused for another.
Result<Plan> read_plan(const std::string& name_or_path, const std::string& model);
Result<Plan> plan_from_json(const std::string& content, const std::string& where,
                            const std::string& model);

}  // namespace tensorpress::model
