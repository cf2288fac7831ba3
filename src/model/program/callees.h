// What is known of the functions that lines call: whether their result is in the memory of an
// argument, and which operators a device must have to run them. Functions of the emitted file state
// theirs in emit/python.
#pragma once

#include <string>
#include <vector>

#include "model/program/expression.h"

namespace tensorpress::model {

/// The variable whose memory the value of an expression is in: itself, what it is a view of, or
/// what is written to in place.
struct Sharing {
  const Name* with = nullptr;  // lives as long as the expression
  bool outside = false;        // the memory is that of a parameter or buffer
  /// Elements stand at several places of the value, so that no line may write to it.
  bool repeated = false;
  bool all_results = false;  // of a call with several; otherwise the first one

  /// The value has memory of its own.
  bool none() const { return with == nullptr && !outside; }
};
Sharing sharing_of(const Expression& expression);

/// ATen's names of the operators that an expression runs, in their order. Functions of the emitted
/// file are passed over, and infix operators inside of brackets: they compute sizes and seeds.
std::vector<std::string> operators_of(const Expression& expression);

}  // namespace tensorpress::model
