// What changed between two texts, line by line.
#pragma once

#include <string>

namespace tensorpress::model {

/// Lines only in `before` begin with "-", lines only in `after` with "+"; a line of "@@" stands
/// where equal lines are left out.
std::string difference(const std::string& before, const std::string& after);

}  // namespace tensorpress::model
