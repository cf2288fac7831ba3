// cumsum(x, axis): running sums. roll(x, shifts, axes): elements moved along axes, those that fall
// off come in again at the other end. Nothing is stored: gradients are summed from the end, and
// rolled back.
#include "base/errors.h"
#include "model/operators/axes.h"

namespace tensorpress::model {
namespace {

class Cumsum final : public Operator {
 public:
  const Signature& signature() const override {
    static const Signature kSignature{"cumsum", 1, 1, {{"axis", AttributeKind::integer, true}}};
    return kSignature;
  }
  Result<Inferred> infer(const Arguments& arguments) const override {
    TensorType y = arguments.inputs[0];
    if (y.sparse) return bad_argument("running sums of ", to_text(y), " are not possible");
    TRY(const std::size_t axis, axis_of(arguments.attributes.integer("axis"), y));
    static_cast<void>(axis);
    if (!is_floating(y.element)) y.element = Element::i64;  // as PyTorch's
    return Inferred{{y}};
  }
  std::vector<Need> needs(const NodeView& /*node*/, bool /*split*/) const override { return {}; }
  void forward(Site& s) const override {
    s.define_output(0, s.in().call("cumsum", s.attributes().integer("axis")));
  }
  void backward(Site& s) const override {
    const std::int64_t axis = s.attributes().integer("axis");
    s.give(0, s.grad().call("flip", axis).call("cumsum", axis).call("flip", axis),
           bytes(s.view().output().type, s.sizes()));
  }
};

class Roll final : public Operator {
 public:
  const Signature& signature() const override {
    static const Signature kSignature{
        "roll",
        1,
        1,
        {{"shifts", AttributeKind::integers, true}, {"axes", AttributeKind::integers, true}}};
    return kSignature;
  }
  Result<Inferred> infer(const Arguments& arguments) const override {
    const TensorType& x = arguments.inputs[0];
    const auto shifts = arguments.attributes.integers("shifts");
    const auto axes = arguments.attributes.integers("axes");
    if (x.sparse || axes.empty() || shifts.size() != axes.size()) {
      return bad_argument("there are ", shifts.size(), " shifts for ", axes.size(), " axes of ",
                          to_text(x));
    }
    for (std::size_t i = 0; i < axes.size(); ++i) {
      TRY(const std::size_t axis, axis_of(axes[i], x));
      static_cast<void>(axis);
      if (shifts[i] < -kMaxElements || shifts[i] > kMaxElements) {
        return bad_argument("a shift of ", shifts[i], " is not possible");
      }
    }
    return Inferred{{x}};
  }
  std::vector<Need> needs(const NodeView& /*node*/, bool /*split*/) const override { return {}; }
  std::vector<Need> rebuild_needs(const NodeView& /*node*/, bool /*split*/) const override {
    return {need_input(0, Tolerance::linear)};
  }
  void forward(Site& s) const override { s.define_output(0, rolled(s, s.in(), 1)); }
  void rebuild(Site& s) const override { forward(s); }
  void backward(Site& s) const override { s.give(0, rolled(s, s.grad(), -1)); }

 private:
  static Expression rolled(const Site& s, const Expression& x, std::int64_t sign) {
    auto shifts = s.attributes().integers("shifts");
    for (std::int64_t& each : shifts) each *= sign;
    return torch("roll", x, shifts, s.attributes().integers("axes"));
  }
};

}  // namespace

const Operator& cumsum_operator() {
  static const Cumsum kOperator;
  return kOperator;
}
const Operator& roll_operator() {
  static const Roll kOperator;
  return kOperator;
}

}  // namespace tensorpress::model
