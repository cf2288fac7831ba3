// Axes that count from the front or from the end, and shapes that fit together by repeating.
#pragma once

#include "model/lowering/site.h"

namespace tensorpress::model {

/// An axis that may count from the end, as one that counts from the front. `more`: so many axes
/// besides those of x, for operators that add one.
Result<std::size_t> axis_of(std::int64_t axis, const TensorType& x, std::size_t more = 0);
/// The same where the text has been checked.
std::size_t front_axis(std::int64_t axis, const TensorType& x, std::size_t more = 0);

/// The shape of both together, aligned at the last dimension.
Result<Shape> broadcast(const TensorType& a, const TensorType& b);

/// The gradient of input i, summed over the dimensions that it was repeated over.
void give_summed(Site& s, std::size_t i, const Expression& value, std::int64_t scratch = 0);

}  // namespace tensorpress::model
