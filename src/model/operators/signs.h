// What operators share whose backward pass reads one bit an element: whether output 0 is above
// zero, or whatever packed_signs() says.
#pragma once

#include "model/lowering/site.h"

namespace tensorpress::model {

/// Output 0 again, from input 0, times `slope` where its bit is not set; in the memory of the
/// decoded input if that may be overwritten.
void define_by_signs(Site& s, double slope = 0);
/// The gradient of input 0, from grad(), likewise.
void give_by_signs(Site& s, double slope = 0);

}  // namespace tensorpress::model
