// What conv2d and conv_transpose2d share: lines for whole maps, and lines over slices of the batch,
// which need less memory besides and never have a decoded input whole.
#pragma once

#include "model/graph/operator.h"

namespace tensorpress::model {

/// `function`: of torch.nn.functional. `geometry`: its arguments after weight and bias.
void convolution_forward(Site& site, const char* function, const Operands& geometry);

/// `geometry`: arguments of aten.convolution_backward between the bias and the mask.
void convolution_backward(Site& site, const Operands& geometry);

}  // namespace tensorpress::model
