// linear(x, features, bias = true, transposed = false): y = x W^T + b over the last dimension.
// Where it is transposed, the weight is [in, features] and y = x W + b, as in GPT-2. Backward reads
// x for the weight's gradient; an error of x stays in that gradient, so it may be lossy.
#include "base/errors.h"
#include "model/lowering/site.h"
#include "model/operators/windows.h"

namespace tensorpress::model {
namespace {

class Linear final : public Operator {
 public:
  const Signature& signature() const override {
    static const Signature kSignature{"linear",
                                      1,
                                      1,
                                      {{"features", AttributeKind::integer, true},
                                       {"bias", AttributeKind::flag, false, true},
                                       {"transposed", AttributeKind::flag, false, false}}};
    return kSignature;
  }

  Result<Inferred> infer(const Arguments& arguments) const override {
    const TensorType& x = arguments.inputs[0];
    const std::int64_t out = arguments.attributes.integer("features");
    if (x.shape.size() < 2 || !is_floating(x.element) || x.sparse) {
      return bad_argument("the input must be floating with two dimensions or more, but is ",
                          to_text(x));
    }
    const Dim in = x.shape.back();
    if (!in.known() || in.factor < 1) {
      return bad_argument("the last dimension must be a number above 0, but the input is ",
                          to_text(x));
    }
    if (out < 1 || out > (1 << 24)) return bad_argument("'features' is ", out);
    TensorType y = x;
    y.shape.back() = dim(out);
    Inferred inferred{{y}};
    const Shape weight =
        arguments.attributes.flag("transposed") ? Shape{in, dim(out)} : Shape{dim(out), in};
    inferred.parameters.push_back({"weight", {x.element, weight}, kaiming_init()});
    if (arguments.attributes.flag("bias")) {
      inferred.parameters.push_back({"bias", {x.element, {dim(out)}}, fan_in_bias_init(in.factor)});
    }
    return inferred;
  }

  std::vector<Need> needs(const NodeView& /*node*/, bool /*split*/) const override {
    return {need_input(0, Tolerance::linear)};
  }

  void forward(Site& s) const override {
    if (!transposed(s)) {
      s.define_output(0, functional("linear", s.in(), s.parameter("weight"), s.parameter("bias")));
      return;
    }
    const Shape& y = s.view().output().type.shape;
    const bool flat = y.size() == 2;
    const Expression x = flat ? s.in() : rows(s, s.in());
    const Expression made = s.attributes().flag("bias")
                                ? torch("addmm", s.parameter("bias"), x, s.parameter("weight"))
                                : torch("mm", x, s.parameter("weight"));
    s.define_output(0, flat ? made : made.shaped("view", y));
  }

  /// As autograd's addmm, whose second matrix is the transposed weight.
  void backward(Site& s) const override {
    const Shape& shape = s.view().output().type.shape;
    const bool flat = shape.size() == 2;
    const TensorType& input = s.view().input(0).type;
    Expression g = s.grad();
    Expression x = s.in();
    if (!flat) {
      const Expression made = s.local("g");
      s.define({made, s.view().output().type}, g.call("reshape", -1, shape.back()));
      g = made;
      x = rows(s, x);
    }
    if (s.wants_parameter("bias")) s.give_parameter("bias", g.call("sum", 0));
    s.give_parameter("weight",
                     transposed(s) ? x.call("t").call("mm", g) : g.call("t").call("mm", x));
    if (s.wants()) {
      const Expression weight = s.parameter("weight");
      const Expression made = g.call("mm", transposed(s) ? weight.call("t") : weight);
      s.give(0, flat ? made : made.shaped("view", input.shape));
    }
  }

  double flops(const NodeView& node, const Sizes& sizes) const override {
    return 2.0 * static_cast<double>(elements(node.output().type.shape, sizes)) *
           static_cast<double>(node.input(0).type.shape.back().factor);
  }

 private:
  static bool transposed(const Site& s) { return s.attributes().flag("transposed"); }
  /// All but the last dimension as one.
  static Expression rows(const Site& s, const Expression& x) {
    return x.call("reshape", -1, s.view().input(0).type.shape.back());
  }
};

}  // namespace

const Operator& linear_operator() {
  static const Linear kOperator;
  return kOperator;
}

}  // namespace tensorpress::model
