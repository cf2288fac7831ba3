// mean(x, axes, keep = false) and sum(x, axes, keep = false). The gradient is repeated over the
// axes that are gone; nothing is stored.
#include "base/errors.h"
#include "model/operators/axes.h"
#include "model/operators/windows.h"

namespace tensorpress::model {
namespace {

/// Elements, as a product of all extents.
Expression count_of(const Shape& extents) {
  Expression count = extents[0];
  for (std::size_t i = 1; i < extents.size(); ++i) {
    const auto& [factor, symbol] = extents[i];
    if (symbol.empty() || factor != 1) count = count * factor;
    if (!symbol.empty()) count = count * Dim{1, symbol};
  }
  return count;
}

class Reduction final : public Operator {
 public:
  explicit Reduction(bool mean)
      : mean_(mean),
        signature_{mean ? "mean" : "sum",
                   1,
                   1,
                   {{"axes", AttributeKind::integers, true},
                    {"keep", AttributeKind::flag, false, false}}} {}
  const Signature& signature() const override { return signature_; }
  Result<Inferred> infer(const Arguments& arguments) const override {
    const TensorType& x = arguments.inputs[0];
    RETURN_IF_ERROR(expect_floating(x));
    if (arguments.attributes.integers("axes").empty()) return bad_argument("'axes' names no axis");
    TensorType y{x.element, {}};
    std::vector<bool> gone(x.shape.size(), false);
    for (const std::int64_t each : arguments.attributes.integers("axes")) {
      TRY(const std::size_t axis, axis_of(each, x));
      if (gone[axis]) return bad_argument("axis ", each, " is given twice");
      gone[axis] = true;
    }
    for (std::size_t i = 0; i < x.shape.size(); ++i) {
      if (!gone[i]) y.shape.push_back(x.shape[i]);
      if (gone[i] && arguments.attributes.flag("keep")) y.shape.push_back(dim(1));
    }
    return Inferred{{y}};
  }
  std::vector<Need> needs(const NodeView& /*node*/, bool /*split*/) const override { return {}; }
  void forward(Site& s) const override {
    s.define_output(0, s.in().call(signature_.name, s.attributes().integers("axes"),
                                   s.attributes().flag("keep")));
  }
  void backward(Site& s) const override {
    const TensorType& x = s.view().input(0).type;
    Shape kept = x.shape;
    Shape gone;
    for (const std::int64_t each : s.attributes().integers("axes")) {
      const std::size_t axis = front_axis(each, x);
      gone.push_back(x.shape[axis]);
      kept[axis] = dim(1);
    }
    const Expression repeated = s.grad().shaped("view", kept).shaped("expand", x.shape);
    s.give(0, mean_ ? repeated / grouped(count_of(gone)) : repeated);
  }

 private:
  bool mean_;
  Signature signature_;
};

}  // namespace

const Operator& mean_operator() {
  static const Reduction kOperator(true);
  return kOperator;
}
const Operator& sum_operator() {
  static const Reduction kOperator(false);
  return kOperator;
}

}  // namespace tensorpress::model
