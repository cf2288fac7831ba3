// dice_loss(p, t, smooth = 1) of probabilities and a target of their shape: 1 - I / U with
// I = 2 sum(p t) + smooth and U = sum(p) + sum(t) + smooth (Milletari and others 2016). Backward,
//   dp = -g (2 t - I / U) / U,
// reads the target and two numbers, nothing of p.
#include "base/errors.h"
#include "model/lowering/site.h"

namespace tensorpress::model {
namespace {

class DiceLoss final : public Operator {
 public:
  const Signature& signature() const override {
    static const Signature kSignature{
        "dice_loss", 2, 2, {{"smooth", AttributeKind::number, false, 1.0}}};
    return kSignature;
  }
  Result<Inferred> infer(const Arguments& arguments) const override {
    const TensorType& p = arguments.inputs[0];
    if (!is_floating(p.element) || p.sparse || arguments.inputs[1] != p) {
      return bad_argument("probabilities and target must be of one floating type, but are ",
                          to_text(p), " and ", to_text(arguments.inputs[1]));
    }
    const double smooth = arguments.attributes.number("smooth");
    if (smooth <= 0) return bad_argument("'smooth' is ", smooth, "; it must be above 0");
    return Inferred{{{p.element, {}}}};
  }
  std::vector<Need> needs(const NodeView& node, bool /*split*/) const override {
    std::vector<Need> needs{need_input(1, Tolerance::exact)};
    if (node.input(1).needs_gradient) needs.push_back(need_input(0, Tolerance::linear));
    return needs;
  }
  void forward(Site& s) const override {
    const TensorType& number = s.view().output().type;
    const Expression overlap = s.local("overlap");
    const Expression both = s.local("both");
    const double smooth = s.attributes().number("smooth");
    s.define({overlap, number}, 2 * (s.in(0) * s.in(1)).call("sum") + smooth,
             bytes(s.view().input(0).type, s.sizes()));
    s.define({both, number}, s.in(0).call("sum") + s.in(1).call("sum") + smooth);
    s.define_output(0, 1 - overlap / both);
    s.save("overlap", overlap);
    s.save("both", both);
  }
  void backward(Site& s) const override {
    for (const std::size_t i : {std::size_t{0}, std::size_t{1}}) {
      if (!s.wants(i)) continue;
      const Expression g = s.grad();
      const Expression overlap = s.saved("overlap");
      const Expression both = s.saved("both");
      s.give(i, (2 * s.in(1 - i) - overlap / both).call("mul_", -g / both),
             bytes(s.view().input(0).type, s.sizes()));
    }
  }
};

}  // namespace

const Operator& dice_loss_operator() {
  static const DiceLoss kOperator;
  return kOperator;
}

}  // namespace tensorpress::model
