// dropout(x, p = 0.5). With the policy off the mask is drawn and kept as PyTorch does. A compact
// policy keeps a seed: the mask is drawn again in the backward pass, and takes no bytes.
#include "base/errors.h"
#include "model/lowering/site.h"

namespace tensorpress::model {
namespace {

class Dropout final : public Operator {
 public:
  const Signature& signature() const override {
    static const Signature kSignature{"dropout", 1, 1, {{"p", AttributeKind::number, false, 0.5}}};
    return kSignature;
  }
  Result<Inferred> infer(const Arguments& arguments) const override {
    const double p = arguments.attributes.number("p");
    if (p < 0 || p >= 1) return bad_argument("'p' is ", p, "; it must be 0 or more, and below 1");
    RETURN_IF_ERROR(expect_floating(arguments.inputs[0]));
    return Inferred{{arguments.inputs[0]}};
  }
  std::vector<Need> needs(const NodeView& /*node*/, bool /*split*/) const override { return {}; }
  std::vector<Need> rebuild_needs(const NodeView& /*node*/, bool /*split*/) const override {
    return {need_input(0, Tolerance::linear)};
  }
  void forward(Site& s) const override {
    if (s.step().compact) {
      drop_input(s);
      return;
    }
    const Expression noise = s.local("noise");
    s.define({noise, s.view().output().type},
             torch("empty_like", s.in()).call("bernoulli_", keep(s)).call("div_", keep(s)));
    s.save("noise", noise);
    s.define_output(0, s.may_overwrite() ? s.in().call("mul_", noise) : s.in() * noise);
  }
  void rebuild(Site& s) const override { drop_input(s); }
  void backward(Site& s) const override {
    const Expression g = s.grad();
    if (!s.step().compact) {
      s.give(0, g * s.saved("noise"));
    } else {
      s.give(0, dropped(s, s.may_overwrite_grad() ? g : g.call("clone")));
    }
  }

 private:
  static double keep(const Site& s) { return 1 - s.attributes().number("p"); }
  static Expression dropped(Site& s, const Expression& x) {
    return function("drop_", x, keep(s), s.seed());
  }
  static void drop_input(Site& s) {
    const Expression x = s.in();
    s.define_output(0, dropped(s, s.may_overwrite() ? x : x.call("clone")));
  }
};

}  // namespace

const Operator& dropout_operator() {
  static const Dropout kOperator;
  return kOperator;
}

}  // namespace tensorpress::model
