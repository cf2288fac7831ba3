// cat([a, b], axis): tensors side by side. The gradients are parts of the gradient; nothing is
// stored. For a convolution that runs over slices of the batch it is put together slice by slice.
#include "base/errors.h"
#include "model/lowering/site.h"

namespace tensorpress::model {
namespace {

class Cat final : public Operator {
 public:
  const Signature& signature() const override {
    static const Signature kSignature{
        "cat", 2, 64, {{"axis", AttributeKind::integer, false, std::int64_t{1}}}};
    return kSignature;
  }
  Result<Inferred> infer(const Arguments& arguments) const override {
    TensorType y = arguments.inputs[0];
    const std::int64_t axis = arguments.attributes.integer("axis");
    if (axis < 0 || static_cast<std::size_t>(axis) >= y.shape.size()) {
      return bad_argument("there is no axis ", axis, " in ", to_text(y));
    }
    const auto at = static_cast<std::size_t>(axis);
    for (std::size_t i = 1; i < arguments.inputs.size(); ++i) {
      TensorType other = arguments.inputs[i];
      const bool known = at < other.shape.size() && other.shape[at].symbol == y.shape[at].symbol;
      const std::int64_t extent = known ? other.shape[at].factor : 0;
      if (known) other.shape[at] = y.shape[at];
      if (!known || other != y) {
        return bad_argument(to_text(arguments.inputs[0]), " and ", to_text(arguments.inputs[i]),
                            " do not fit together along axis ", axis);
      }
      y.shape[at].factor += extent;
    }
    return Inferred{{y}};
  }
  std::vector<Need> needs(const NodeView& /*node*/, bool /*split*/) const override { return {}; }
  std::vector<Need> rebuild_needs(const NodeView& node, bool /*split*/) const override {
    return need_inputs(node, Tolerance::linear);
  }
  bool rebuilds_slices(const NodeView& node) const override { return keeps_samples_apart(node); }
  bool is_lazy(const NodeView& node) const override { return keeps_samples_apart(node); }
  void forward(Site& s) const override {
    s.define_output(0, torch("cat", s.ins(), s.attributes().integer("axis")));
  }
  void rebuild(Site& s) const override { forward(s); }
  Expression rebuilt_slices(Site& s) const override {
    std::vector<Expression> parts;
    for (std::size_t i = 0; i < s.view().input_count(); ++i) {
      parts.push_back(s.in_slices(i).value());
    }
    return function("cat_slices", list_of(std::move(parts)), s.attributes().integer("axis"),
                    s.view().output().type.shape);
  }
  Expression gradient_sink(Site& s) const override {
    const auto axis = static_cast<std::size_t>(s.attributes().integer("axis"));
    std::vector<Expression> sinks;
    std::vector<Expression> extents;
    for (std::size_t i = 0; i < s.view().input_count(); ++i) {
      sinks.push_back(s.input_sink(i).value());
      extents.push_back(s.view().input(i).type.shape[axis]);
    }
    return function("CatSink", list_of(std::move(sinks)), list_of(std::move(extents)), axis);
  }
  void backward(Site& s) const override {
    const std::int64_t axis = s.attributes().integer("axis");
    Dim start = dim(0);
    for (std::size_t i = 0; i < s.view().input_count(); ++i) {
      const Dim extent = s.view().input(i).type.shape[static_cast<std::size_t>(axis)];
      start.symbol = extent.symbol;
      s.give(i, s.grad().call("narrow", axis, start, extent));
      start.factor += extent.factor;
    }
  }

 private:
  static bool keeps_samples_apart(const NodeView& node) {
    return node.attributes().integer("axis") > 0;
  }
};

}  // namespace

const Operator& cat_operator() {
  static const Cat kOperator;
  return kOperator;
}

}  // namespace tensorpress::model
