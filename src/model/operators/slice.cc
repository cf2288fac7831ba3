// slice(x, axis, start = 0, stop = none, step = 1): some of the elements along an axis, in the
// memory of x. Not a view for policies: where backward reads it, only this part is stored, unless
// all of x is stored anyway. The gradient is zero elsewhere.
#include <algorithm>

#include "base/errors.h"
#include "model/operators/axes.h"

namespace tensorpress::model {
namespace {

class Slice final : public Operator {
 public:
  const Signature& signature() const override {
    static const Signature kSignature{"slice",
                                      1,
                                      1,
                                      {{"axis", AttributeKind::integer, true},
                                       {"start", AttributeKind::integer, false, std::int64_t{0}},
                                       {"stop", AttributeKind::integer},
                                       {"step", AttributeKind::integer, false, std::int64_t{1}}}};
    return kSignature;
  }
  Result<Inferred> infer(const Arguments& arguments) const override {
    TensorType y = arguments.inputs[0];
    if (y.sparse) return bad_argument("a part of ", to_text(y), " is not possible");
    TRY(const std::size_t axis, axis_of(arguments.attributes.integer("axis"), y));
    if (!y.shape[axis].known()) {
      return bad_argument("axis ", axis, " of ", to_text(y), " is open; parts have fixed extents");
    }
    const Steps steps = steps_of(arguments.attributes, y.shape[axis].factor);
    if (steps.step < 1) return bad_argument("'step' is ", steps.step, "; it must be 1 or more");
    if (steps.start >= steps.end) {
      return bad_argument("from ", steps.start, " to ", steps.end, " there is nothing of the ",
                          y.shape[axis].factor, " elements of axis ", axis);
    }
    y.shape[axis] = dim((steps.end - steps.start - 1) / steps.step + 1);
    return Inferred{{y}};
  }
  std::vector<Need> needs(const NodeView& /*node*/, bool /*split*/) const override { return {}; }
  std::vector<Need> rebuild_needs(const NodeView& /*node*/, bool /*split*/) const override {
    return {need_input(0, Tolerance::linear)};
  }
  void forward(Site& s) const override { s.define_output(0, part(s, s.in())); }
  void rebuild(Site& s) const override { forward(s); }
  void backward(Site& s) const override {
    if (const std::optional<Local> whole = s.gradient_to_add_to(0)) {
      s.add_to(part(s, *whole), s.grad());
      s.added(0);
      return;
    }
    s.give(0, aten("slice_backward", s.grad(), s.view().input(0).type.shape, place(s)));
  }

 private:
  struct Steps {
    std::int64_t start, end, step;
  };
  /// Counted from the front and inside of the axis, as Python's slices are.
  static Steps steps_of(const Attributes& attributes, std::int64_t extent) {
    const auto inside = [&](std::int64_t at) {
      return std::clamp(at < 0 ? at + extent : at, std::int64_t{0}, extent);
    };
    const std::int64_t end = attributes.has("stop") ? attributes.integer("stop") : extent;
    return {inside(attributes.integer("start")), inside(end), attributes.integer("step")};
  }
  static Operands place(const Site& s) {
    const TensorType& x = s.view().input(0).type;
    const std::size_t axis = front_axis(s.attributes().integer("axis"), x);
    const Steps steps = steps_of(s.attributes(), x.shape[axis].factor);
    return {axis, steps.start, steps.end, steps.step};
  }
  static Expression part(const Site& s, const Expression& x) {
    const TensorType& type = s.view().input(0).type;
    const std::size_t axis = front_axis(s.attributes().integer("axis"), type);
    const Steps steps = steps_of(s.attributes(), type.shape[axis].factor);
    std::vector<Expression> places(axis, whole_range());
    places.push_back(steps.step == 1 ? range(steps.start, steps.end)
                                     : range(steps.start, steps.end, steps.step));
    return x[std::move(places)];
  }
};

}  // namespace

const Operator& slice_operator() {
  static const Slice kOperator;
  return kOperator;
}

}  // namespace tensorpress::model
