// relu(x). Backward reads whether each output is above zero: one bit, exactly. The output is its
// input where that bit is set, so it is rebuilt from a stored input without storing anything else.
// The rebuilt values are not clamped at zero: clamping a lossy copy would make it biased.
#include "base/errors.h"
#include "model/lowering/site.h"

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
    if (s.may_overwrite()) {
      s.define_output_in(0, s.in(), text("torch.relu_(", s.in(), ")"));
    } else {
      s.define_output(0, text("torch.relu(", s.in(), ")"));
    }
  }

  void rebuild(Site& s) const override { s.define_by_signs(); }

  bool rebuilds_slices(const NodeView& /*node*/) const override { return true; }
  std::string rebuilt_slices(Site& s) const override {
    return text("masked_slices(", s.in_slices(), ", ", s.signs(), ")");
  }

  void backward(Site& s) const override {
    if (s.only_signs()) return s.give_by_signs();
    const std::string g = s.grad();
    const std::string call = text("aten.threshold_backward(", g, ", ", s.out(), ", 0");
    if (s.may_overwrite_grad()) {
      s.give_shared(0, g, text(call, ", grad_input=", g, ")"));
    } else {
      s.give(0, text(call, ")"));
    }
  }
};

}  // namespace

const Operator& relu_operator() {
  static const Relu kOperator;
  return kOperator;
}

}  // namespace tensorpress::model
