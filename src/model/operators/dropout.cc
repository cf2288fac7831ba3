// dropout(x, p = 0.5). With the plan off the mask is drawn and kept as PyTorch does. A compact plan
// keeps a seed: the mask is drawn again in the backward pass, and takes no bytes.
#include "base/errors.h"
#include "model/site.h"

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
    if (!is_floating(arguments.inputs[0].element)) {
      return bad_argument("the input must be floating, but is ", to_text(arguments.inputs[0]));
    }
    return Inferred{{arguments.inputs[0]}};
  }
  std::vector<Need> needs(const NodeView& /*node*/, bool /*split*/) const override { return {}; }
  std::vector<Need> rebuild_needs(const NodeView& /*node*/, bool /*split*/) const override {
    return {need_input(0, Tolerance::linear)};
  }
  void forward(Site& s) const override {
    const double keep = 1 - s.attributes().number("p");
    const std::string noise = s.local("noise");
    const TensorType& type = s.view().output().type;
    if (s.compact()) {
      s.define({noise, type}, drawn(s, s.in()));
    } else {
      s.define({noise, type},
               text("torch.empty_like(", s.in(), ").bernoulli_(", keep, ").div_(", keep, ")"));
      s.save("noise", noise);
    }
    if (s.may_overwrite()) {
      s.define_output_in(0, s.in(), text(s.in(), ".mul_(", noise, ")"));
    } else {
      s.define_output(0, text(s.in(), " * ", noise));
    }
  }
  void rebuild(Site& s) const override {
    const std::string x = s.in();
    const std::int64_t scratch = bytes(s.view().output().type, s.sizes());
    s.define_output(0, text(x, " * ", drawn(s, x)), scratch);
  }
  void backward(Site& s) const override {
    const std::string noise = s.compact() ? drawn(s, s.grad()) : s.saved("noise");
    const std::int64_t scratch = s.compact() ? bytes(s.view().output().type, s.sizes()) : 0;
    s.give(0, text(s.grad(), " * ", noise), scratch);
  }

 private:
  static std::string drawn(Site& s, const std::string& like) {
    return text("dropout_noise(", like, ", ", 1 - s.attributes().number("p"), ", ", s.seed(), ")");
  }
};

}  // namespace

const Operator& dropout_operator() {
  static const Dropout kOperator;
  return kOperator;
}

}  // namespace tensorpress::model
