// flatten(x, from = 1): the dimensions from `from` on become one. A view: nothing is stored.
#include "base/errors.h"
#include "model/lowering/site.h"

namespace tensorpress::model {
namespace {

class Flatten final : public Operator {
 public:
  const Signature& signature() const override {
    static const Signature kSignature{
        "flatten", 1, 1, {{"from", AttributeKind::integer, false, std::int64_t{1}}}};
    return kSignature;
  }

  Result<Inferred> infer(const Arguments& arguments) const override {
    const TensorType& x = arguments.inputs[0];
    const std::int64_t from = arguments.attributes.integer("from");
    if (from < 0 || static_cast<std::size_t>(from) >= x.shape.size()) {
      return bad_argument("'from' is ", from, ", but the input is ", to_text(x));
    }
    const auto first = static_cast<std::size_t>(from);
    const std::optional<Dim> last = product(x.shape, first, x.shape.size());
    if (!last) return bad_argument("the dimensions of ", to_text(x), " cannot become one");
    TensorType y = x;
    y.shape.resize(first);
    y.shape.push_back(*last);
    return Inferred{{y}};
  }

  std::vector<Need> needs(const NodeView& /*node*/, bool /*split*/) const override { return {}; }
  bool is_view() const override { return true; }

  void forward(Site& s) const override {
    s.define_output(0, s.in().call("flatten", s.attributes().integer("from")));
  }

  void backward(Site& s) const override {
    s.give(0, s.grad().shaped("view", s.view().input(0).type.shape));
  }
  double flops(const NodeView& /*node*/, const Sizes& /*sizes*/) const override { return 0; }
};

}  // namespace

const Operator& flatten_operator() {
  static const Flatten kOperator;
  return kOperator;
}

}  // namespace tensorpress::model
