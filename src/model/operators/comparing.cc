// greater(a, b), less, greater_equal, less_equal, equal, not_equal, in expressions a > b and so on:
// bool, for where and masked_fill. The second may be a number: greater(a, than = 0). They have no
// gradient.
#include "base/errors.h"
#include "model/operators/axes.h"

namespace tensorpress::model {
namespace {

class Comparison final : public Operator {
 public:
  Comparison(const char* name, Infix infix)
      : signature_{name, 1, 2, {{"than", AttributeKind::number}}}, infix_(infix) {}
  const Signature& signature() const override { return signature_; }
  Result<Inferred> infer(const Arguments& arguments) const override {
    const TensorType& a = arguments.inputs[0];
    const bool number = arguments.attributes.has("than");
    if (number == (arguments.inputs.size() == 2)) {
      return bad_argument("a tensor is compared with another one, or with the number 'than'");
    }
    if (a.sparse || a.element == Element::boolean) {
      return bad_argument("numbers are compared, not ", to_text(a));
    }
    if (number) return Inferred{{{Element::boolean, a.shape}}};
    const TensorType& b = arguments.inputs[1];
    if (b.sparse || b.element != a.element) {
      return bad_argument(to_text(a), " and ", to_text(b), " are not of one type");
    }
    TRY(Shape shape, broadcast(a, b));
    return Inferred{{{Element::boolean, std::move(shape)}}};
  }
  std::vector<Need> needs(const NodeView& /*node*/, bool /*split*/) const override { return {}; }
  void forward(Site& s) const override {
    const bool two = s.view().input_count() == 2;
    s.define_output(0, operation(infix_, s.in(0), two ? s.in(1) : s.attributes().number("than")));
  }
  void backward(Site& /*s*/) const override {}

 private:
  Signature signature_;
  Infix infix_;
};

}  // namespace

const Operator& greater_operator() {
  static const Comparison kOperator("greater", Infix::gt);
  return kOperator;
}
const Operator& less_operator() {
  static const Comparison kOperator("less", Infix::lt);
  return kOperator;
}
const Operator& greater_equal_operator() {
  static const Comparison kOperator("greater_equal", Infix::ge);
  return kOperator;
}
const Operator& less_equal_operator() {
  static const Comparison kOperator("less_equal", Infix::le);
  return kOperator;
}
const Operator& equal_operator() {
  static const Comparison kOperator("equal", Infix::eq);
  return kOperator;
}
const Operator& not_equal_operator() {
  static const Comparison kOperator("not_equal", Infix::ne);
  return kOperator;
}

}  // namespace tensorpress::model
