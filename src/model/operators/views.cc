// reshape(x, [0, -1, 64]), transpose(x, a, b), permute(x, [0, 2, 1]), squeeze(x, axis),
// unsqueeze(x, axis), chunk(x, parts, axis), contiguous(x): other ways to look at the same memory;
// nothing is stored.
#include <algorithm>

#include "base/errors.h"
#include "model/operators/axes.h"
#include "model/operators/windows.h"

namespace tensorpress::model {
namespace {

class Reshape final : public Operator {
 public:
  const Signature& signature() const override {
    static const Signature kSignature{"reshape", 1, 1, {{"shape", AttributeKind::integers, true}}};
    return kSignature;
  }
  /// 0 takes the input's extent at that place, -1 what remains.
  Result<Inferred> infer(const Arguments& arguments) const override {
    const TensorType& x = arguments.inputs[0];
    TensorType y{x.element, {}};
    Dim given = dim(1);
    std::size_t open = kNone;
    const auto wanted = arguments.attributes.integers("shape");
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      Dim each = dim(wanted[i]);
      if (wanted[i] == 0) {
        if (i >= x.shape.size()) return bad_argument("there is no axis ", i, " in ", to_text(x));
        each = x.shape[i];
      } else if (wanted[i] == -1 && open == kNone) {
        open = i;
        each = dim(1);
      } else if (wanted[i] < 1) {
        return bad_argument("an extent of ", wanted[i], " is not possible here");
      }
      const auto both = product({given, each}, 0, 2);
      if (!both) return bad_argument("the shape is too large or not one of numbers");
      given = *both;
      y.shape.push_back(each);
    }
    const auto all = product(x.shape, 0, x.shape.size());
    const auto rest = all ? quotient(*all, given) : std::nullopt;
    if (!rest || (open == kNone && *rest != dim(1))) {
      return bad_argument(to_text(x), " cannot become ", list_text(wanted));
    }
    if (open != kNone) y.shape[open] = *rest;
    return Inferred{{y}};
  }
  std::vector<Need> needs(const NodeView& /*node*/, bool /*split*/) const override { return {}; }
  bool is_view() const override { return true; }
  void forward(Site& s) const override {
    s.define_output(0, s.in().shaped("reshape", s.view().output().type.shape));
  }
  void backward(Site& s) const override {
    s.give(0, s.grad().shaped("reshape", s.view().input(0).type.shape));
  }
};

/// In the order of its axes, where x is in another one: convolutions and norms of channels follow
/// the order of what they read.
class Contiguous final : public Operator {
 public:
  const Signature& signature() const override {
    static const Signature kSignature{"contiguous"};
    return kSignature;
  }
  Result<Inferred> infer(const Arguments& arguments) const override {
    if (arguments.inputs[0].sparse) {
      return bad_argument(to_text(arguments.inputs[0]), " has no order to change");
    }
    return Inferred{{arguments.inputs[0]}};
  }
  std::vector<Need> needs(const NodeView& /*node*/, bool /*split*/) const override { return {}; }
  bool is_view() const override { return true; }
  void forward(Site& s) const override { s.define_output(0, s.in().call("contiguous")); }
  void backward(Site& s) const override { s.give(0, s.grad()); }
};

class Transpose final : public Operator {
 public:
  const Signature& signature() const override {
    static const Signature kSignature{
        "transpose",
        1,
        1,
        {{"a", AttributeKind::integer, true}, {"b", AttributeKind::integer, true}}};
    return kSignature;
  }
  Result<Inferred> infer(const Arguments& arguments) const override {
    TensorType y = arguments.inputs[0];
    TRY(const std::size_t a, axis_of(arguments.attributes.integer("a"), y));
    TRY(const std::size_t b, axis_of(arguments.attributes.integer("b"), y));
    std::swap(y.shape[a], y.shape[b]);
    return Inferred{{y}};
  }
  std::vector<Need> needs(const NodeView& /*node*/, bool /*split*/) const override { return {}; }
  bool is_view() const override { return true; }
  void forward(Site& s) const override { s.define_output(0, turned(s, s.in())); }
  void backward(Site& s) const override { s.give(0, turned(s, s.grad())); }

 private:
  static Expression turned(const Site& s, const Expression& x) {
    return x.call("transpose", s.attributes().integer("a"), s.attributes().integer("b"));
  }
};

class Permute final : public Operator {
 public:
  const Signature& signature() const override {
    static const Signature kSignature{"permute", 1, 1, {{"axes", AttributeKind::integers, true}}};
    return kSignature;
  }
  Result<Inferred> infer(const Arguments& arguments) const override {
    const TensorType& x = arguments.inputs[0];
    const std::vector<std::int64_t> axes = arguments.attributes.integers("axes");
    TensorType y{x.element, {}};
    std::vector<bool> taken(x.shape.size(), false);
    for (const std::int64_t each : axes) {
      TRY(const std::size_t axis, axis_of(each, x));
      if (taken[axis]) return bad_argument("axis ", each, " stands twice in ", list_text(axes));
      taken[axis] = true;
      y.shape.push_back(x.shape[axis]);
    }
    if (axes.size() != x.shape.size()) {
      return bad_argument(list_text(axes), " does not name every axis of ", to_text(x));
    }
    return Inferred{{y}};
  }
  std::vector<Need> needs(const NodeView& /*node*/, bool /*split*/) const override { return {}; }
  bool is_view() const override { return true; }
  void forward(Site& s) const override { s.define_output(0, s.in().call("permute", axes(s))); }
  void backward(Site& s) const override {
    const std::vector<std::int64_t> there = axes(s);
    std::vector<std::int64_t> back(there.size());
    for (std::size_t i = 0; i < there.size(); ++i) {
      back[static_cast<std::size_t>(there[i])] = static_cast<std::int64_t>(i);
    }
    s.give(0, s.grad().call("permute", back));
  }

 private:
  static std::vector<std::int64_t> axes(const Site& s) {
    std::vector<std::int64_t> axes = s.attributes().integers("axes");
    for (std::int64_t& each : axes) {
      each = static_cast<std::int64_t>(front_axis(each, s.view().input(0).type));
    }
    return axes;
  }
};

/// squeeze takes an axis of one element away, unsqueeze adds one.
class OneElementAxis final : public Operator {
 public:
  explicit OneElementAxis(bool adds)
      : adds_(adds),
        signature_{adds ? "unsqueeze" : "squeeze", 1, 1, {{"axis", AttributeKind::integer, true}}} {
  }
  const Signature& signature() const override { return signature_; }
  Result<Inferred> infer(const Arguments& arguments) const override {
    TensorType y = arguments.inputs[0];
    TRY(const std::size_t axis, axis_of(arguments.attributes.integer("axis"), y, adds_ ? 1 : 0));
    const auto at = y.shape.begin() + static_cast<std::ptrdiff_t>(axis);
    if (adds_) {
      y.shape.insert(at, dim(1));
    } else if (*at == dim(1)) {
      y.shape.erase(at);
    } else {
      return bad_argument("axis ", axis, " of ", to_text(y), " has ", to_text(*at),
                          " elements; only an axis of one can be taken away");
    }
    return Inferred{{y}};
  }
  std::vector<Need> needs(const NodeView& /*node*/, bool /*split*/) const override { return {}; }
  bool is_view() const override { return true; }
  void forward(Site& s) const override { s.define_output(0, changed(s, s.in(), adds_)); }
  void backward(Site& s) const override { s.give(0, changed(s, s.grad(), !adds_)); }

 private:
  Expression changed(const Site& s, const Expression& x, bool add) const {
    const std::size_t axis =
        front_axis(s.attributes().integer("axis"), s.view().input(0).type, adds_ ? 1 : 0);
    return x.call(add ? "unsqueeze" : "squeeze", axis);
  }
  bool adds_;
  Signature signature_;
};

class Chunk final : public Operator {
 public:
  const Signature& signature() const override {
    static const Signature kSignature{"chunk",
                                      1,
                                      1,
                                      {{"parts", AttributeKind::integer, true},
                                       {"axis", AttributeKind::integer, false, std::int64_t{-1}}}};
    return kSignature;
  }
  Result<Inferred> infer(const Arguments& arguments) const override {
    TensorType part = arguments.inputs[0];
    TRY(const std::size_t axis, axis_of(arguments.attributes.integer("axis"), part));
    const std::int64_t parts = arguments.attributes.integer("parts");
    if (parts < 2 || parts > 1024 || part.shape[axis].factor % parts != 0) {
      return bad_argument(to_text(part), " cannot be cut into ", parts, " equal parts");
    }
    part.shape[axis].factor /= parts;
    return Inferred{std::vector<TensorType>(static_cast<std::size_t>(parts), part)};
  }
  std::vector<Need> needs(const NodeView& /*node*/, bool /*split*/) const override { return {}; }
  bool is_view() const override { return true; }
  void forward(Site& s) const override {
    const Expression x = s.in();
    std::vector<Definition> parts;
    for (std::size_t j = 0; j < s.view().node.outputs.size(); ++j) {
      parts.push_back({s.out(j), s.view().output(j).type});
    }
    s.define_all(parts, x.call("chunk", parts.size(), s.attributes().integer("axis")));
  }
  void backward(Site& s) const override {
    std::vector<Expression> parts;
    for (std::size_t j = 0; j < s.view().node.outputs.size(); ++j) parts.push_back(s.grad(j));
    s.give(0, torch("cat", list_of(std::move(parts)), s.attributes().integer("axis")));
  }
};

}  // namespace

const Operator& reshape_operator() {
  static const Reshape kOperator;
  return kOperator;
}
const Operator& contiguous_operator() {
  static const Contiguous kOperator;
  return kOperator;
}
const Operator& transpose_operator() {
  static const Transpose kOperator;
  return kOperator;
}
const Operator& permute_operator() {
  static const Permute kOperator;
  return kOperator;
}
const Operator& squeeze_operator() {
  static const OneElementAxis kOperator(false);
  return kOperator;
}
const Operator& unsqueeze_operator() {
  static const OneElementAxis kOperator(true);
  return kOperator;
}
const Operator& chunk_operator() {
  static const Chunk kOperator;
  return kOperator;
}

}  // namespace tensorpress::model
