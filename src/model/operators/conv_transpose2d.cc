// conv_transpose2d(x, channels, kernel, stride = 1, padding = 0, output_padding = 0, groups = 1,
// dilation = 1, bias = true).
#include "base/errors.h"
#include "model/lowering/site.h"
#include "model/operators/convolutions.h"

namespace tensorpress::model {
namespace {

class ConvTranspose2d final : public ConvolutionOperator {
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
    TRY(const ConvolutionSizes sizes, convolution_sizes(x, arguments.attributes));
    const auto& [kernel, stride, padding, dilation, groups, in, out] = sizes;
    TRY(const Pair extra, window_pair(arguments.attributes, "output_padding", 0));
    TensorType y = x;
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
    return inferred_convolution(std::move(y), sizes, in, out / groups,
                                arguments.attributes.flag("bias"));
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
