// conv2d(x, channels, kernel, stride = 1, padding = 0, dilation = 1, groups = 1, bias = true)
#include "base/errors.h"
#include "model/lowering/site.h"
#include "model/operators/convolutions.h"

namespace tensorpress::model {
namespace {

class Conv2d final : public ConvolutionOperator {
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
    TRY(const ConvolutionSizes sizes, convolution_sizes(x, arguments.attributes));
    TensorType y = x;
    for (std::size_t i = 0; i < 2; ++i) {
      TRY(const std::int64_t size,
          window_extent(x.shape[i + 2].factor, sizes.kernel[i], sizes.stride[i], sizes.padding[i],
                        sizes.dilation[i], false));
      y.shape[i + 2] = dim(size);
    }
    return inferred_convolution(std::move(y), sizes, sizes.out, sizes.in / sizes.groups,
                                arguments.attributes.flag("bias"));
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
