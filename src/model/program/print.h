// Python of expressions and lines: the only place that makes it.
#pragma once

#include <string>

#include "model/program/program.h"

namespace tensorpress::model {

std::string to_python(const Expression& expression);
std::string to_python(const Name& name);
/// `y, mean = aten.f(x, S.pop("k"))`: what the line pops is taken out of S.
std::string to_python(const Line& line);

}  // namespace tensorpress::model
