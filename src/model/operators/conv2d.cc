// conv2d(x, channels, kernel, stride = 1, padding = 0, dilation = 1, groups = 1, bias = true)
// Backward reads x for the weight's gradient; an error of x stays in that gradient, so it may be
// lossy.
#include "base/errors.h"
#include "model/lowering/site.h"
#include "model/operators/batch_slices.h"
#include "model/operators/convolutions.h"
#include "model/operators/windows.h"

namespace tensorpress::model {
namespace {

class Conv2d final : public Operator {
 public:
  const Signature& signature() const override {
    static const Signature kSignature{
        "conv2d",
        1,
        1,
        {{"channels", AttributeKind::integer, true},
         {"kernel", AttributeKind::integers, true},
         {"stride", AttributeKind::integers, false, std::int64_t{1}},
         {"padding", AttributeKind::integers, false, std::int64_t{0}},
         {"dilation", AttributeKind::integers, false, std::int64_t{1}},
         {"groups", AttributeKind::integer, false, std::int64_t{1}},
         {"bias", AttributeKind::flag, false, true}}};
    return kSignature;
  }

  Result<Inferred> infer(const Arguments& arguments) const override {
    const TensorType& x = arguments.inputs[0];
    const Attributes& attributes = arguments.attributes;
    RETURN_IF_ERROR(expect_images(x));
    TRY(const Pair kernel, window_pair(attributes, "kernel", 1));
    TRY(const Pair stride, window_pair(attributes, "stride", 1));
    TRY(const Pair padding, window_pair(attributes, "padding", 0));
    TRY(const Pair dilation, window_pair(attributes, "dilation", 1));
    const std::int64_t groups = attributes.integer("groups");
    const std::int64_t in = x.shape[1].factor;
    TRY(const std::int64_t out, output_channels(x, attributes));
    TensorType y = x;
    y.shape[1] = dim(out);
    for (std::size_t i = 0; i < 2; ++i) {
      TRY(const std::int64_t size, window_extent(x.shape[i + 2].factor, kernel[i], stride[i],
                                                 padding[i], dilation[i], false));
      y.shape[i + 2] = dim(size);
    }
    Inferred inferred{{y}};
    inferred.parameters.push_back(
        {"weight",
         {x.element, {dim(out), dim(in / groups), dim(kernel[0]), dim(kernel[1])}},
         kaiming_init()});
    if (attributes.flag("bias")) {
      inferred.parameters.push_back(
          {"bias", {x.element, {dim(out)}}, fan_in_bias_init(in / groups * kernel[0] * kernel[1])});
    }
    return inferred;
  }

  std::vector<Need> needs(const NodeView& /*node*/, bool /*split*/) const override {
    return {need_input(0, Tolerance::linear)};
  }

  bool reads_slices(const NodeView& node, const Sizes& sizes) const override {
    return exceeds_a_slice(node, sizes);
  }

  void forward(Site& s) const override {
    convolution_forward(s, "conv2d", geometry(s.attributes(), true));
  }

  void backward(Site& s) const override {
    convolution_backward(s, geometry(s.attributes(), false));
  }

  double flops(const NodeView& node, const Sizes& sizes) const override {
    const Shape& weight = node.parameter("weight")->type.shape;
    return 2.0 * static_cast<double>(elements(node.output().type.shape, sizes)) *
           static_cast<double>(weight[1].factor * weight[2].factor * weight[3].factor);
  }

 private:
  static Operands geometry(const Attributes& a, bool forward) {
    const std::int64_t groups = a.integer("groups");
    Operands windows{a.integers("stride", 2), a.integers("padding", 2), a.integers("dilation", 2)};
    if (forward) return operands(windows, groups);
    return operands(windows, false, Pair{0, 0}, groups);
  }
};

}  // namespace

const Operator& conv2d_operator() {
  static const Conv2d kOperator;
  return kOperator;
}

}  // namespace tensorpress::model
