// From bounds to limits in exact or safely rounded arithmetic: what reaches a stream must be the
// same on every machine, and never allow more than was asked for.
#pragma once

#include "tensorpress/bound.h"
#include "tensorpress/dtype.h"

namespace tensorpress::stream {

/// The width of a range, never above the true distance. A range that no double holds has the
/// largest double.
double width_of(const ValueRange& range);

/// width * share, never above the true product.
double share_of(double width, double share);

/// The error of log2|x| within which x stays within its share of |x|, rounding to the type
/// included.
double pointwise_limit(double share, DType dtype);

/// What a total absolute error leaves after an earlier one of at most `total`, rounded down.
double left_after(double earlier, double total);

/// The same for shares of |x|: |x'' - x| <= b |x'| + a |x| <= (a + b (1 + a)) |x|.
double share_left_after(double earlier, double total);

}  // namespace tensorpress::stream
