// conv_transpose2d(x, channels, kernel, stride = 1, padding = 0, output_padding = 0, groups = 1,
// dilation = 1, bias = true). Backward reads x for the weight's gradient; it may be lossy.
#include "base/errors.h"
#include "model/lowering/site.h"
#include "model/operators/batch_slices.h"
#include "model/operators/convolutions.h"
#include "model/operators/windows.h"

namespace tensorpress::model {
namespace {

class ConvTranspose2d final : public Operator {
 public:
  const Signature& signature() const override {
    static const Signature kSignature{
        "conv_transpose2d",
        1,
        1,
        {{"channels", AttributeKind::integer, true},
         {"kernel", AttributeKind::integers, true},
         {"stride", AttributeKind::integers, false, std::int64_t{1}},
         {"padding", AttributeKind::integers, false, std::int64_t{0}},
         {"output_padding", AttributeKind::integers, false, std::int64_t{0}},
         {"groups", AttributeKind::integer, false, std::int64_t{1}},
         {"dilation", AttributeKind::integers, false, std::int64_t{1}},
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
    TRY(const Pair extra, window_pair(attributes, "output_padding", 0));
    TRY(const Pair dilation, window_pair(attributes, "dilation", 1));
    const std::int64_t groups = attributes.integer("groups");
    const std::int64_t in = x.shape[1].factor;
    TRY(const std::int64_t out, output_channels(x, attributes));
    TensorType y = x;
    y.shape[1] = dim(out);
    for (std::size_t i = 0; i < 2; ++i) {
      if (extra[i] >= std::max(stride[i], dilation[i])) {
        return bad_argument("'output_padding' is ", extra[i], "; it must be below the stride ",
                            stride[i], " or the dilation ", dilation[i]);
      }
      const std::int64_t size = (x.shape[i + 2].factor - 1) * stride[i] - 2 * padding[i] +
                                dilation[i] * (kernel[i] - 1) + extra[i] + 1;
      if (size < 1) {
        return bad_argument("nothing remains of ", to_text(x), " with padding ", padding[i],
                            "; take less");
      }
      y.shape[i + 2] = dim(size);
    }
    Inferred inferred{{y}};
    inferred.parameters.push_back(
        {"weight",
         {x.element, {dim(in), dim(out / groups), dim(kernel[0]), dim(kernel[1])}},
         kaiming_init()});
    if (attributes.flag("bias")) {
      inferred.parameters.push_back({"bias",
                                     {x.element, {dim(out)}},
                                     fan_in_bias_init(out / groups * kernel[0] * kernel[1])});
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
    const Attributes& a = s.attributes();
    convolution_forward(
        s, "conv_transpose2d",
        {a.integers("stride", 2), a.integers("padding", 2), a.integers("output_padding", 2),
         a.integer("groups"), a.integers("dilation", 2)});
  }

  void backward(Site& s) const override {
    const Attributes& a = s.attributes();
    convolution_backward(
        s, {a.integers("stride", 2), a.integers("padding", 2), a.integers("dilation", 2), true,
            a.integers("output_padding", 2), a.integer("groups")});
  }

  double flops(const NodeView& node, const Sizes& sizes) const override {
    const Shape& weight = node.parameter("weight")->type.shape;
    return 2.0 * static_cast<double>(elements(node.input(0).type.shape, sizes)) *
           static_cast<double>(weight[1].factor * weight[2].factor * weight[3].factor);
  }
};

}  // namespace

const Operator& conv_transpose2d_operator() {
  static const ConvTranspose2d kOperator;
  return kOperator;
}

}  // namespace tensorpress::model
