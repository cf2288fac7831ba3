// What conv2d and conv_transpose2d share: lines for whole maps, and lines over slices of the batch,
// which need less memory besides and never have a decoded input whole.
#pragma once

#include "model/graph/operator.h"
#include "model/operators/windows.h"

namespace tensorpress::model {

/// The attributes of a convolution, checked, and its channels.
struct ConvolutionSizes {
  Pair kernel, stride, padding, dilation;
  std::int64_t groups = 1;
  std::int64_t in = 1, out = 1;
};
Result<ConvolutionSizes> convolution_sizes(const TensorType& x, const Attributes& attributes);

/// A convolution of x with a weight of `rows` x `columns` x kernel, where `columns` are what one
/// value of the weight's side is summed over.
Inferred inferred_convolution(TensorType y, const ConvolutionSizes& sizes, std::int64_t rows,
                              std::int64_t columns, bool bias);

/// Backward reads x for the weight's gradient; an error of x stays in that gradient, so it may be
/// lossy.
class ConvolutionOperator : public Operator {
 public:
  std::vector<Need> needs(const NodeView& /*node*/, bool /*split*/) const override {
    return {need_input(0, Tolerance::linear)};
  }
  bool reads_slices(const NodeView& node, const Sizes& sizes) const override;
};

/// `function`: of torch.nn.functional. `geometry`: its arguments after weight and bias.
void convolution_forward(Site& site, const char* function, const Operands& geometry);

/// `geometry`: arguments of aten.convolution_backward between the bias and the mask.
void convolution_backward(Site& site, const Operands& geometry);

}  // namespace tensorpress::model
