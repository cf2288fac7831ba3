// leaky_relu(x, slope = 0.01): x where it is above zero, slope x elsewhere. With a slope that is
// not negative the output has the signs of the input, so that backward reads one bit an element,
// exactly, and the output is rebuilt from a stored input and these bits.
#include "base/errors.h"
#include "model/lowering/site.h"
#include "model/operators/signs.h"

namespace tensorpress::model {
namespace {

class LeakyRelu final : public Operator {
 public:
  const Signature& signature() const override {
    static const Signature kSignature{
        "leaky_relu", 1, 1, {{"slope", AttributeKind::number, false, 0.01}}};
    return kSignature;
  }
  Result<Inferred> infer(const Arguments& arguments) const override {
    RETURN_IF_ERROR(expect_floating(arguments.inputs[0]));
    const double slope = arguments.attributes.number("slope");
    if (slope < 0) return bad_argument("'slope' is ", slope, "; it must be 0 or more");
    return Inferred{{arguments.inputs[0]}};
  }
  std::vector<Need> needs(const NodeView& /*node*/, bool /*split*/) const override {
    return {need_signs(0)};
  }
  std::vector<Need> rebuild_needs(const NodeView& /*node*/, bool /*split*/) const override {
    return {need_input(0, Tolerance::linear), need_signs(0)};
  }
  void forward(Site& s) const override {
    const char* name = s.may_overwrite() ? "leaky_relu_" : "leaky_relu";
    s.define_output(0, functional(name, s.in(), slope(s)));
  }
  void rebuild(Site& s) const override { define_by_signs(s, slope(s)); }
  bool rebuilds_slices(const NodeView& /*node*/) const override { return true; }
  Expression rebuilt_slices(Site& s) const override {
    return function("masked_slices", s.in_slices().value(), s.signs(), slope(s));
  }
  void backward(Site& s) const override {
    if (s.only_signs()) return give_by_signs(s, slope(s));
    const Expression g = s.grad();
    s.give(0, aten("leaky_relu_backward", g, s.out(), slope(s), true));
  }

 private:
  static double slope(const Site& s) { return s.attributes().number("slope"); }
};

}  // namespace

const Operator& leaky_relu_operator() {
  static const LeakyRelu kOperator;
  return kOperator;
}

}  // namespace tensorpress::model
