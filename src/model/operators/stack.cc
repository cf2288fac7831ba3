// stack([a, b], axis = 0): tensors of one shape along a new axis. The gradients are parts of the
// gradient; nothing is stored.
#include "base/errors.h"
#include "model/operators/axes.h"

namespace tensorpress::model {
namespace {

class Stack final : public Operator {
 public:
  const Signature& signature() const override {
    static const Signature kSignature{
        "stack", 1, 64, {{"axis", AttributeKind::integer, false, std::int64_t{0}}}};
    return kSignature;
  }
  Result<Inferred> infer(const Arguments& arguments) const override {
    TensorType y = arguments.inputs[0];
    TRY(const std::size_t axis, axis_of(arguments.attributes.integer("axis"), y, 1));
    for (const TensorType& each : arguments.inputs) {
      if (each != y || each.sparse) {
        return bad_argument("tensors of one type are stacked, not ", to_text(y), " and ",
                            to_text(each));
      }
    }
    y.shape.insert(y.shape.begin() + static_cast<std::ptrdiff_t>(axis),
                   dim(static_cast<std::int64_t>(arguments.inputs.size())));
    return Inferred{{y}};
  }
  std::vector<Need> needs(const NodeView& /*node*/, bool /*split*/) const override { return {}; }
  std::vector<Need> rebuild_needs(const NodeView& node, bool /*split*/) const override {
    return need_inputs(node, Tolerance::linear);
  }
  void forward(Site& s) const override { s.define_output(0, torch("stack", s.ins(), axis(s))); }
  void rebuild(Site& s) const override { forward(s); }
  void backward(Site& s) const override {
    for (std::size_t i = 0; i < s.view().input_count(); ++i) {
      s.give(i, s.grad().call("select", axis(s), i));
    }
  }

 private:
  static std::size_t axis(const Site& s) {
    return front_axis(s.attributes().integer("axis"), s.view().input(0).type, 1);
  }
};

}  // namespace

const Operator& stack_operator() {
  static const Stack kOperator;
  return kOperator;
}

}  // namespace tensorpress::model
