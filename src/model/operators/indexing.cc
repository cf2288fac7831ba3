// index_select(x, index, axis = 0): slices of x by their numbers, i64[count]. gather(x, index,
// axis): single elements by theirs. segment_sum(x, index, like): the rows of x added to the rows
// of a tensor of zeros as long as `like`, by their numbers: what a node of a graph gets over its
// edges. scatter_add(x, index, source, axis): elements of source added to those of x.
// Backward reads the numbers only, exactly.
#include "base/errors.h"
#include "model/operators/axes.h"

namespace tensorpress::model {
namespace {

Result<void> expect_index(const TensorType& x, const TensorType& index) {
  if (!is_floating(x.element) || x.sparse) {
    return bad_argument("elements are taken of a floating tensor, not of ", to_text(x));
  }
  if (index.element != Element::i64) {
    return bad_argument("the numbers must be i64, but are ", to_text(index));
  }
  return {};
}

class IndexOperator : public Operator {
 public:
  explicit IndexOperator(Signature signature) : signature_(std::move(signature)) {}
  const Signature& signature() const override { return signature_; }
  std::vector<Need> needs(const NodeView& /*node*/, bool /*split*/) const override {
    return {need_input(1, Tolerance::exact)};
  }
  std::vector<Need> rebuild_needs(const NodeView& /*node*/, bool /*split*/) const override {
    return {need_input(0, Tolerance::linear), need_input(1, Tolerance::exact)};
  }
  void rebuild(Site& s) const override { forward(s); }

 private:
  Signature signature_;
};

std::size_t axis(const Site& s) {
  return front_axis(s.attributes().integer("axis"), s.view().input(0).type);
}

class IndexSelect final : public IndexOperator {
 public:
  IndexSelect()
      : IndexOperator(
            {"index_select", 2, 2, {{"axis", AttributeKind::integer, false, std::int64_t{0}}}}) {}
  Result<Inferred> infer(const Arguments& arguments) const override {
    TensorType y = arguments.inputs[0];
    const TensorType& index = arguments.inputs[1];
    RETURN_IF_ERROR(expect_index(y, index));
    TRY(const std::size_t axis, axis_of(arguments.attributes.integer("axis"), y));
    if (index.shape.size() != 1) {
      return bad_argument("the numbers must have one axis, but are ", to_text(index));
    }
    y.shape[axis] = index.shape[0];
    return Inferred{{y}};
  }
  void forward(Site& s) const override {
    s.define_output(0, torch("index_select", s.in(0), axis(s), s.in(1)));
  }
  void backward(Site& s) const override {
    s.give(0,
           aten("index_select_backward", s.grad(), s.view().input(0).type.shape, axis(s), s.in(1)));
  }
};

class Gather final : public IndexOperator {
 public:
  Gather() : IndexOperator({"gather", 2, 2, {{"axis", AttributeKind::integer, true}}}) {}
  Result<Inferred> infer(const Arguments& arguments) const override {
    const TensorType& x = arguments.inputs[0];
    const TensorType& index = arguments.inputs[1];
    RETURN_IF_ERROR(expect_index(x, index));
    TRY(const std::size_t axis, axis_of(arguments.attributes.integer("axis"), x));
    bool fits = index.shape.size() == x.shape.size();
    for (std::size_t i = 0; fits && i < x.shape.size(); ++i) {
      const Dim& theirs = index.shape[i];
      const bool fewer = theirs.symbol == x.shape[i].symbol && theirs.factor <= x.shape[i].factor;
      fits = i == axis || fewer;
    }
    if (!fits) {
      return bad_argument("numbers of ", to_text(index), " do not fit to ", to_text(x),
                          " on the axes beside ", axis);
    }
    return Inferred{{{x.element, index.shape}}};
  }
  void forward(Site& s) const override {
    s.define_output(0, torch("gather", s.in(0), axis(s), s.in(1)));
  }
  void backward(Site& s) const override {
    const Expression g = s.grad();
    s.give(0, g.call("new_zeros", s.view().input(0).type.shape)
                  .call("scatter_add_", axis(s), s.in(1), g));
  }
};

class ScatterAdd final : public Operator {
 public:
  const Signature& signature() const override {
    static const Signature kSignature{
        "scatter_add", 3, 3, {{"axis", AttributeKind::integer, true}}};
    return kSignature;
  }
  Result<Inferred> infer(const Arguments& arguments) const override {
    const TensorType& x = arguments.inputs[0];
    const TensorType& index = arguments.inputs[1];
    const TensorType& source = arguments.inputs[2];
    RETURN_IF_ERROR(expect_index(x, index));
    TRY(const std::size_t axis, axis_of(arguments.attributes.integer("axis"), x));
    bool fits = source.element == x.element && source.shape == index.shape &&
                index.shape.size() == x.shape.size();
    for (std::size_t i = 0; fits && i < x.shape.size(); ++i) {
      const Dim& theirs = index.shape[i];
      const bool fewer = theirs.symbol == x.shape[i].symbol && theirs.factor <= x.shape[i].factor;
      fits = i == axis || fewer;
    }
    if (!fits) {
      return bad_argument(to_text(source), " and numbers of ", to_text(index), " do not fit to ",
                          to_text(x), " on the axes beside ", axis);
    }
    return Inferred{{x}};
  }
  std::vector<Need> needs(const NodeView& node, bool /*split*/) const override {
    if (!node.input(2).needs_gradient) return {};
    return {need_input(1, Tolerance::exact)};
  }
  void forward(Site& s) const override {
    const Expression x = s.in(0);
    s.define_output(0, x.call(s.may_overwrite() ? "scatter_add_" : "scatter_add",
                              s.attributes().integer("axis"), s.in(1), s.in(2)));
  }
  void backward(Site& s) const override {
    if (s.wants(2)) {
      s.give(2, s.grad().call("gather", s.attributes().integer("axis"), s.in(1)));
    }
    s.give(0, s.grad());
  }
};

class SegmentSum final : public IndexOperator {
 public:
  SegmentSum() : IndexOperator({"segment_sum", 3, 3}) {}
  Result<Inferred> infer(const Arguments& arguments) const override {
    TensorType y = arguments.inputs[0];
    const TensorType& index = arguments.inputs[1];
    const TensorType& like = arguments.inputs[2];
    RETURN_IF_ERROR(expect_index(y, index));
    if (y.shape.empty() || like.shape.empty() || index.shape != Shape{y.shape[0]}) {
      return bad_argument("rows and as many numbers are needed, not ", to_text(y), " and ",
                          to_text(index));
    }
    y.shape[0] = like.shape[0];
    return Inferred{{y}};
  }
  void forward(Site& s) const override {
    const TensorType& y = s.view().output().type;
    const Expression x = s.in(0);
    s.define_output(0, x.call("new_zeros", y.shape).call("index_add_", 0, s.in(1), x));
  }
  void backward(Site& s) const override {
    const Expression index = s.in(1);
    s.give(0, s.grad().call("index_select", 0, index));
  }
};

}  // namespace

const Operator& index_select_operator() {
  static const IndexSelect kOperator;
  return kOperator;
}
const Operator& gather_operator() {
  static const Gather kOperator;
  return kOperator;
}
const Operator& scatter_add_operator() {
  static const ScatterAdd kOperator;
  return kOperator;
}
const Operator& segment_sum_operator() {
  static const SegmentSum kOperator;
  return kOperator;
}

}  // namespace tensorpress::model
