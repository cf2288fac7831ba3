// minimum(a, b), maximum(a, b): of two tensors with broadcasting, floating or whole. The gradient
// goes to the side that was taken, half to each where both are equal; comparing needs both exactly.
#include "base/errors.h"
#include "model/operators/axes.h"

namespace tensorpress::model {
namespace {

class Extreme final : public Operator {
 public:
  Extreme(const char* name, Infix loses) : signature_{name, 2, 2}, loses_(loses) {}
  const Signature& signature() const override { return signature_; }
  Result<Inferred> infer(const Arguments& arguments) const override {
    const TensorType& a = arguments.inputs[0];
    const TensorType& b = arguments.inputs[1];
    if (a.element != b.element || a.element == Element::boolean || a.sparse || b.sparse) {
      return bad_argument("both tensors must be numbers of one type, but are ", to_text(a), " and ",
                          to_text(b));
    }
    TRY(Shape shape, broadcast(a, b));
    return Inferred{{{a.element, std::move(shape)}}};
  }
  std::vector<Need> needs(const NodeView& node, bool /*split*/) const override {
    return need_inputs(node, Tolerance::exact);
  }
  void forward(Site& s) const override {
    s.define_output(0, torch(signature_.name, s.in(0), s.in(1)));
  }
  void backward(Site& s) const override {
    const Expression halved =
        torch("where", operation(Infix::eq, s.in(0), s.in(1)), s.grad() / 2, s.grad());
    const std::int64_t scratch = 2 * bytes(s.view().output().type, s.sizes());
    for (const std::size_t i : {std::size_t{0}, std::size_t{1}}) {
      const Expression lost = operation(loses_, s.in(i), s.in(1 - i));
      give_summed(s, i, halved.call("masked_fill_", lost, 0), scratch);
    }
  }

 private:
  Signature signature_;
  Infix loses_;  // what the side that is not taken is to the other
};

}  // namespace

const Operator& minimum_operator() {
  static const Extreme kOperator("minimum", Infix::gt);
  return kOperator;
}
const Operator& maximum_operator() {
  static const Extreme kOperator("maximum", Infix::lt);
  return kOperator;
}

}  // namespace tensorpress::model
