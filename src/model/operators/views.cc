// reshape(x, [0, -1, 64]), transpose(x, a, b), chunk(x, parts, axis): other ways to look at the
// same memory; nothing is stored. mean(x, axes, keep = false) keeps nothing either.
#include <algorithm>

#include "base/errors.h"
#include "model/operators/windows.h"
#include "model/site.h"

namespace tensorpress::model {
namespace {

/// An axis that may count from the end.
Result<std::size_t> axis_of(std::int64_t axis, const TensorType& x) {
  const auto rank = static_cast<std::int64_t>(x.shape.size());
  if (axis < -rank || axis >= rank) {
    return bad_argument("there is no axis ", axis, " in ", to_text(x));
  }
  return static_cast<std::size_t>(axis < 0 ? axis + rank : axis);
}

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
    const std::string x = s.in();
    s.define_output_in(0, x, text(x, ".reshape", to_python(s.view().output().type.shape)));
  }
  void backward(Site& s) const override {
    s.give_shared(0, s.grad(), text(s.grad(), ".reshape", to_python(s.view().input(0).type.shape)));
  }
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
  void forward(Site& s) const override {
    const std::string x = s.in();
    s.define_output_in(0, x, text(x, turned(s)));
  }
  void backward(Site& s) const override { s.give_shared(0, s.grad(), text(s.grad(), turned(s))); }

 private:
  static std::string turned(const Site& s) {
    return text(".transpose(", s.attributes().integer("a"), ", ", s.attributes().integer("b"), ")");
  }
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
    const std::string x = s.in();
    std::vector<Definition> parts;
    for (std::size_t j = 0; j < s.view().node.outputs.size(); ++j) {
      parts.push_back({s.out(j), s.view().output(j).type, x});
    }
    s.define_all(parts,
                 text(x, ".chunk(", parts.size(), ", ", s.attributes().integer("axis"), ")"));
  }
  void backward(Site& s) const override {
    std::string parts;
    for (std::size_t j = 0; j < s.view().node.outputs.size(); ++j) {
      parts += text(j == 0 ? "" : ", ", s.grad(j));
    }
    s.give(0, text("torch.cat([", parts, "], ", s.attributes().integer("axis"), ")"));
  }
};

class Mean final : public Operator {
 public:
  const Signature& signature() const override {
    static const Signature kSignature{
        "mean",
        1,
        1,
        {{"axes", AttributeKind::integers, true}, {"keep", AttributeKind::flag, false, false}}};
    return kSignature;
  }
  Result<Inferred> infer(const Arguments& arguments) const override {
    const TensorType& x = arguments.inputs[0];
    TensorType y{x.element, {}};
    std::vector<bool> gone(x.shape.size(), false);
    for (const std::int64_t each : arguments.attributes.integers("axes")) {
      TRY(const std::size_t axis, axis_of(each, x));
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
    s.define_output(0, text(s.in(), ".mean(", list_text(s.attributes().integers("axes")), ", ",
                            s.attributes().flag("keep") ? "True" : "False", ")"));
  }
  void backward(Site& s) const override {
    const Shape& x = s.view().input(0).type.shape;
    Shape kept = x;
    std::string count;
    for (const std::int64_t each : s.attributes().integers("axes")) {
      const auto axis =
          static_cast<std::size_t>(each < 0 ? each + static_cast<std::int64_t>(x.size()) : each);
      count += text(count.empty() ? "" : " * ", to_text(x[axis]));
      kept[axis] = dim(1);
    }
    s.give(0,
           text(s.grad(), ".view", to_python(kept), ".expand", to_python(x), " / (", count, ")"));
  }
};

}  // namespace

const Operator& reshape_operator() {
  static const Reshape kOperator;
  return kOperator;
}
const Operator& transpose_operator() {
  static const Transpose kOperator;
  return kOperator;
}
const Operator& chunk_operator() {
  static const Chunk kOperator;
  return kOperator;
}
const Operator& mean_operator() {
  static const Mean kOperator;
  return kOperator;
}

}  // namespace tensorpress::model
