// dropout(x, p = 0.5). With the plan off the mask is drawn and kept as PyTorch does. A compact plan
// keeps a seed: the mask is drawn again in the backward pass, and takes no bytes.
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
    if (s.compact()) {
      drop_input(s, s.may_overwrite());
      return;
    }
    const std::string noise = s.local("noise");
    s.define({noise, s.view().output().type},
             text("torch.empty_like(", s.in(), ").bernoulli_(", keep(s), ").div_(", keep(s), ")"));
    s.save("noise", noise);
    if (s.may_overwrite()) {
      s.define_output_in(0, s.in(), text(s.in(), ".mul_(", noise, ")"));
    } else {
      s.define_output(0, text(s.in(), " * ", noise));
    }
  }
  void rebuild(Site& s) const override {
    s.in();  // decoded first
    drop_input(s, s.may_overwrite_in());
  }
  void backward(Site& s) const override {
    const std::string g = s.grad();
    if (!s.compact()) {
      s.give(0, text(g, " * ", s.saved("noise")));
    } else if (s.may_overwrite_grad()) {
      s.give_shared(0, g, dropped(s, g));
    } else {
      s.give(0, dropped(s, g + ".clone()"));
    }
  }

 private:
  static double keep(const Site& s) { return 1 - s.attributes().number("p"); }
  static std::string dropped(Site& s, const std::string& x) {
    return text("drop_(", x, ", ", keep(s), ", ", s.seed(), ")");
  }
  static void drop_input(Site& s, bool in_place) {
    const std::string x = s.in();
    if (in_place) {
      s.define_output_in(0, x, dropped(s, x));
    } else {
      s.define_output(0, dropped(s, x + ".clone()"));
    }
  }
};

}  // namespace

const Operator& dropout_operator() {
  static const Dropout kOperator;
  return kOperator;
}

}  // namespace tensorpress::model
