// The parts of an expression in the order in which they are printed, and what follows from them.
#pragma once

#include <functional>
#include <vector>

#include "model/program/expression.h"

namespace tensorpress::model {

/// How tightly Python binds an expression; in a place that binds more tightly it has parentheses.
enum class Binding : std::uint8_t { comparison, sum, product, sign, part };
Binding binding_of(const Expression& expression);
/// What the operands of an infix operator must have to stand without parentheses.
Binding left_of(Infix infix);
Binding right_of(Infix infix);

/// `bracketed`: it stands in parentheses or brackets of any kind.
using Visit = std::function<void(const ExpressionNode& part, bool bracketed)>;
/// Every part once for each time it is printed: a call after its receiver, an operation after its
/// left operand.
void walk(const Expression& expression, const Visit& visit, bool bracketed = false);

/// Variables that it reads, as often as it reads them.
std::vector<Name> names_read(const Expression& expression);

}  // namespace tensorpress::model
