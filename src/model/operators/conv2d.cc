// conv2d(x, channels, kernel, stride = 1, padding = 0, dilation = 1, groups = 1, bias = true)
// Backward reads x for the weight's gradient; an error of x stays in that gradient, so it may be
// lossy.
#include <algorithm>

#include "base/errors.h"
#include "model/operators/windows.h"
#include "model/site.h"

namespace tensorpress::model {
namespace {

// The slices of conv_backward_slices in packing.cc.
constexpr std::int64_t kSliceBytes = std::int64_t{4} << 20;

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

  void forward(Site& s) const override {
    const std::string arguments = text("(", s.in(), ", ", s.parameter("weight"), ", ",
                                       s.parameter("bias"), geometry(s.attributes(), true), ")");
    const bool same = s.view().input(0).type == s.view().output().type;
    // oneDNN copies the larger map, or a slice of it, into its own layout.
    const std::int64_t larger = larger_map(s);
    if (!s.sliced() || larger <= kSliceBytes) {
      s.define_output(0, "F.conv2d" + arguments, larger);
    } else if (same && s.may_overwrite()) {
      s.define_output_in(0, s.in(), "conv_slices_" + arguments, 2 * kSliceBytes);
    } else {
      s.define_output(0, "conv_slices" + arguments, 2 * kSliceBytes);
    }
  }

  void backward(Site& s) const override {
    const bool bias = s.wants_parameter("bias");
    const TensorType& weight = s.view().parameter("weight")->type;
    // Slice by slice of the batch x is decoded, and what the convolution reorders meanwhile (about
    // both maps) is that of a slice. The gradient of x takes the place of the output's gradient, or
    // of a decoded copy of x.
    const std::string slices = s.in_slices();
    const std::string x = slices.empty() ? s.in() : slices;
    const bool decoded = slices.empty() && s.may_overwrite_in();
    const bool sliced = decoded || !slices.empty();
    const bool in_place = sliced && s.wants() && s.may_overwrite_grad() && s.fits_in_grad();
    // Where the gradient of x goes.
    const std::string sum = sliced && !in_place ? s.gradient_to_add_to(0) : std::string();
    std::string place = sum;
    if (sliced && s.wants() && sum.empty()) {
      place = in_place ? s.grad() : (decoded ? x : std::string());
    }
    const bool defines = s.wants() && sum.empty();
    std::vector<Definition> made;
    made.push_back({defines ? s.grad_name_of(0) : "_", s.view().input(0).type, place});
    made.push_back({s.grad_name_of_parameter("weight"), weight});
    made.push_back({"_", {weight.element, {weight.shape[0]}}});
    if (bias) made[2].name = s.grad_name_of_parameter("bias");
    const std::int64_t larger = larger_map(s);
    s.define_all(
        made,
        text(sliced ? "conv_backward_slices(" : "aten.convolution_backward(", s.grad(), ", ", x,
             sliced ? text(", ", target(s, in_place, place)) : std::string(), ", ",
             s.parameter("weight"), ", ", bias ? list_text({weight.shape[0].factor}) : "None",
             geometry(s.attributes(), false), ", [", s.wants() ? "True" : "False", ", True, ",
             bias ? "True" : "False", sum.empty() ? "])" : "], add=True)"),
        sliced ? 4 * std::min(larger, kSliceBytes) + bytes(weight, s.sizes()) : 2 * larger);
    s.give_parameter("weight", made[1].name);
    if (bias) s.give_parameter("bias", made[2].name);
    if (defines) s.give(0, made[0].name);
    if (!sum.empty()) s.added(0);
  }

  double flops(const NodeView& node, const Sizes& sizes) const override {
    const Shape& weight = node.parameter("weight")->type.shape;
    return 2.0 * static_cast<double>(elements(node.output().type.shape, sizes)) *
           static_cast<double>(weight[1].factor * weight[2].factor * weight[3].factor);
  }

 private:
  static std::int64_t larger_map(const Site& s) {
    return std::max(bytes(s.view().input(0).type, s.sizes()),
                    bytes(s.view().output().type, s.sizes()));
  }
  static std::string target(Site& s, bool in_place, const std::string& place) {
    if (in_place) return s.shaped_as_in();
    return place.empty() ? "None" : place;
  }
  static std::string geometry(const Attributes& attributes, bool forward) {
    const std::string stride = list_text(attributes.integers("stride", 2));
    const std::string padding = list_text(attributes.integers("padding", 2));
    const std::string dilation = list_text(attributes.integers("dilation", 2));
    const std::int64_t groups = attributes.integer("groups");
    if (forward) return text(", ", stride, ", ", padding, ", ", dilation, ", ", groups);
    return text(", ", stride, ", ", padding, ", ", dilation, ", False, [0, 0], ", groups);
  }
};

}  // namespace

const Operator& conv2d_operator() {
  static const Conv2d kOperator;
  return kOperator;
}

}  // namespace tensorpress::model
