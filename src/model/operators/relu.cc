// relu(x). Backward reads whether each output is above zero: one bit, exactly. The output is its
// input where that bit is set, so it is rebuilt from a stored input without storing anything else.
// The rebuilt values are not clamped at zero: clamping a lossy copy would make it biased.
#include "base/errors.h"
#include "model/lowering/site.h"
#include "model/operators/signs.h"

namespace tensorpress::model {
namespace {

class Relu final : public Operator {
 public:
  const Signature& signature() const override {
    static const Signature kSignature{"relu"};
    return kSignature;
  }

  Result<Inferred> infer(const Arguments& arguments) const override {
    RETURN_IF_ERROR(expect_floating(arguments.inputs[0]));
    return Inferred{{arguments.inputs[0]}};
  }

  std::vector<Need> needs(const NodeView& /*node*/, bool /*split*/) const override {
    return {need_signs(0)};
  }

  std::vector<Need> rebuild_needs(const NodeView& /*node*/, bool /*split*/) const override {
    return {need_input(0, Tolerance::linear), need_signs(0)};
  }

  void forward(Site& s) const override {
    s.define_output(0, torch(s.may_overwrite() ? "relu_" : "relu", s.in()));
  }

  void rebuild(Site& s) const override { define_by_signs(s); }

  bool rebuilds_slices(const NodeView& /*node*/) const override { return true; }
  Expression rebuilt_slices(Site& s) const override {
    return function("masked_slices", s.in_slices().value(), s.signs());
  }

  void backward(Site& s) const override {
    if (s.only_signs()) return give_by_signs(s);
    const Expression g = s.grad();
    Operands read = operands(g, s.out(), 0);
    if (s.may_overwrite_grad()) read.push_back(keyword("grad_input", g));
    s.give(0, aten("threshold_backward", std::move(read)));
  }
};

}  // namespace

const Operator& relu_operator() {
  static const Relu kOperator;
  return kOperator;
}

}  // namespace tensorpress::model
