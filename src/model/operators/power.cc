// pow(x, exponent) by a number. Backward reads x: exponent x^(exponent - 1) is linear in x for the
// square and smooth for higher whole powers; all others divide by x or do not exist beside it, and
// need it exactly.
#include <cmath>

#include "base/errors.h"
#include "model/lowering/site.h"

namespace tensorpress::model {
namespace {

class Power final : public Operator {
 public:
  const Signature& signature() const override {
    static const Signature kSignature{"pow", 1, 1, {{"exponent", AttributeKind::number, true}}};
    return kSignature;
  }
  Result<Inferred> infer(const Arguments& arguments) const override {
    RETURN_IF_ERROR(expect_floating(arguments.inputs[0]));
    if (arguments.attributes.number("exponent") == 0) {
      return bad_argument("'exponent' is 0; the result would be 1 everywhere");
    }
    return Inferred{{arguments.inputs[0]}};
  }
  std::vector<Need> needs(const NodeView& node, bool /*split*/) const override {
    return {need_input(0, tolerance(node.attributes()))};
  }
  std::vector<Need> rebuild_needs(const NodeView& node, bool split) const override {
    return needs(node, split);
  }
  void forward(Site& s) const override {
    s.define_output(0, torch("pow", s.in(), exponent(s.attributes())));
  }
  void rebuild(Site& s) const override { forward(s); }
  void backward(Site& s) const override {
    const double power = exponent(s.attributes());
    const Expression x = s.in();
    s.give(0, s.grad() * (power * x.call("pow", power - 1)),
           bytes(s.view().output().type, s.sizes()));
  }
  double flops(const NodeView& node, const Sizes& sizes) const override {
    return 10.0 * static_cast<double>(elements(node.output().type.shape, sizes));
  }

 private:
  static double exponent(const Attributes& attributes) { return attributes.number("exponent"); }
  static Tolerance tolerance(const Attributes& attributes) {
    const double power = exponent(attributes);
    if (power == 2) return Tolerance::linear;
    return power > 2 && power == std::floor(power) ? Tolerance::smooth : Tolerance::exact;
  }
};

}  // namespace

const Operator& pow_operator() {
  static const Power kOperator;
  return kOperator;
}

}  // namespace tensorpress::model
