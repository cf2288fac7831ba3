// mse_loss, l1_loss, bce_with_logits of a prediction and a target of its shape; nll_loss of
// logarithms of probabilities and labels. All are means, and all keep their small arguments
// exactly.
#include "base/errors.h"
#include "model/lowering/site.h"

namespace tensorpress::model {
namespace {

enum class Kind : std::uint8_t { mse, l1, bce };

class ElementLoss final : public Operator {
 public:
  ElementLoss(Kind kind, const char* name) : kind_(kind), signature_{name, 2, 2} {}
  const Signature& signature() const override { return signature_; }
  Result<Inferred> infer(const Arguments& arguments) const override {
    const TensorType& x = arguments.inputs[0];
    if (!is_floating(x.element) || arguments.inputs[1] != x) {
      return bad_argument("prediction and target must be of one floating type, but are ",
                          to_text(x), " and ", to_text(arguments.inputs[1]));
    }
    return Inferred{{{x.element, {}}}};
  }
  std::vector<Need> needs(const NodeView& /*node*/, bool /*split*/) const override {
    return {need_input(0, Tolerance::exact), need_input(1, Tolerance::exact)};
  }
  void forward(Site& s) const override {
    const char* name = kind_ == Kind::mse  ? "mse_loss"
                       : kind_ == Kind::l1 ? "l1_loss"
                                           : "binary_cross_entropy_with_logits";
    const std::int64_t scratch = bytes(s.view().input(0).type, s.sizes());
    s.define_output(0, functional(name, s.in(0), s.in(1)), scratch);
  }
  void backward(Site& s) const override {
    const Expression x = s.in(0);
    const Expression y = s.in(1);
    const Expression g = s.grad();
    const Expression count = x.call("numel");
    const std::int64_t scratch = bytes(s.view().input(0).type, s.sizes());
    // A target may depend on parameters, and a prediction may stand in its place.
    if (kind_ == Kind::mse) {
      s.give(0, aten("mse_loss_backward", g, x, y, 1));
      s.give(1, aten("mse_loss_backward", g, y, x, 1));
    } else if (kind_ == Kind::l1) {
      s.give(0, grouped(g / count) * (x - y).call("sgn"), scratch);
      s.give(1, grouped(g / count) * (y - x).call("sgn"), scratch);
    } else {
      s.give(0, (torch("sigmoid", x) - y) * g / count, scratch);
      s.give(1, grouped(x * -g) / count, scratch);
    }
  }

 private:
  Kind kind_;
  Signature signature_;
};

class NllLoss final : public Operator {
 public:
  const Signature& signature() const override {
    static const Signature kSignature{"nll_loss", 2, 2};
    return kSignature;
  }
  Result<Inferred> infer(const Arguments& arguments) const override {
    const TensorType& x = arguments.inputs[0];
    const TensorType& labels = arguments.inputs[1];
    if (x.shape.size() != 2 || !is_floating(x.element) || labels.element != Element::i64 ||
        labels.shape != Shape{x.shape[0]}) {
      return bad_argument("[batch, classes] and i64[batch] are needed, not ", to_text(x), " and ",
                          to_text(labels));
    }
    return Inferred{{{x.element, {}}}};
  }
  std::vector<Need> needs(const NodeView& /*node*/, bool /*split*/) const override {
    return {need_input(0, Tolerance::exact), need_input(1, Tolerance::exact)};
  }
  void forward(Site& s) const override {
    const Expression total = s.local("total");
    const TensorType& type = s.view().output().type;
    s.define_all({{s.out(), type}, {total, type}},
                 aten("nll_loss_forward", s.in(0), s.in(1), none(), 1, -100));
    s.save("total", total);
  }
  void backward(Site& s) const override {
    s.give(0, aten("nll_loss_backward", s.grad(), s.in(0), s.in(1), none(), 1, -100,
                   s.saved("total")));
  }
};

}  // namespace

const Operator& mse_loss_operator() {
  static const ElementLoss kOperator(Kind::mse, "mse_loss");
  return kOperator;
}
const Operator& l1_loss_operator() {
  static const ElementLoss kOperator(Kind::l1, "l1_loss");
  return kOperator;
}
const Operator& bce_with_logits_operator() {
  static const ElementLoss kOperator(Kind::bce, "bce_with_logits");
  return kOperator;
}
const Operator& nll_loss_operator() {
  static const NllLoss kOperator;
  return kOperator;
}

}  // namespace tensorpress::model
