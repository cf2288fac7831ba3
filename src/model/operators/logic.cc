// logical_and(a, b), logical_or(a, b) with broadcasting, logical_not(a): of bool tensors, such as
// masks. They have no gradient.
#include "base/errors.h"
#include "model/operators/axes.h"

namespace tensorpress::model {
namespace {

class Logic final : public Operator {
 public:
  Logic(const char* name, std::size_t inputs) : signature_{name, inputs, inputs} {}
  const Signature& signature() const override { return signature_; }
  Result<Inferred> infer(const Arguments& arguments) const override {
    TensorType y{Element::boolean, arguments.inputs[0].shape};
    for (const TensorType& each : arguments.inputs) {
      if (each.element != Element::boolean || each.sparse) {
        return bad_argument("the inputs must be bool, but there is ", to_text(each));
      }
      TRY(y.shape, broadcast(y, each));
    }
    return Inferred{{y}};
  }
  std::vector<Need> needs(const NodeView& /*node*/, bool /*split*/) const override { return {}; }
  void forward(Site& s) const override {
    const bool two = s.view().input_count() == 2;
    s.define_output(
        0, two ? torch(signature_.name, s.in(0), s.in(1)) : torch(signature_.name, s.in(0)));
  }
  void backward(Site& /*s*/) const override {}

 private:
  Signature signature_;
};

}  // namespace

const Operator& logical_and_operator() {
  static const Logic kOperator("logical_and", 2);
  return kOperator;
}
const Operator& logical_or_operator() {
  static const Logic kOperator("logical_or", 2);
  return kOperator;
}
const Operator& logical_not_operator() {
  static const Logic kOperator("logical_not", 1);
  return kOperator;
}

}  // namespace tensorpress::model
