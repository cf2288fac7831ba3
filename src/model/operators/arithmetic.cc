// add, sub, mul, div of two tensors with broadcasting; scale(x, factor, divisor) and shift(x,
// offset) by numbers. Sums keep nothing: the gradient goes through. Products keep their factors.
// Whole numbers (positions, labels) are added, subtracted and multiplied too, without a gradient.
#include <cmath>

#include "base/errors.h"
#include "model/operators/axes.h"

namespace tensorpress::model {
namespace {

class Binary : public Operator {
 public:
  Binary(const char* name, Infix infix) : signature_{name, 2, 2}, infix_(infix) {}
  const Signature& signature() const override { return signature_; }

  Result<Inferred> infer(const Arguments& arguments) const override {
    const TensorType& a = arguments.inputs[0];
    const TensorType& b = arguments.inputs[1];
    const bool numbers = is_floating(a.element) || (is_whole(a.element) && infix_ != Infix::div);
    if (a.element != b.element || !numbers || a.sparse || b.sparse) {
      return bad_argument("both tensors must be ", infix_ == Infix::div ? "floating" : "numbers",
                          " and of one type, but are ", to_text(a), " and ", to_text(b));
    }
    TRY(Shape shape, broadcast(a, b));
    return Inferred{{{a.element, std::move(shape)}}};
  }

  void forward(Site& s) const override {
    const bool same = s.view().input(0).type == s.view().output().type;
    if (same && s.may_overwrite(0) && adds()) {
      s.define_output(0, s.in(0).call(infix_ == Infix::add ? "add_" : "sub_", s.in(1)));
    } else {
      s.define_output(0, operation(infix_, s.in(0), s.in(1)));
    }
  }

 protected:
  bool adds() const { return infix_ == Infix::add || infix_ == Infix::sub; }
  Infix infix() const { return infix_; }

 private:
  Signature signature_;
  Infix infix_;
};

class Sum final : public Binary {
 public:
  using Binary::Binary;
  std::vector<Need> needs(const NodeView& /*node*/, bool /*split*/) const override { return {}; }
  void backward(Site& s) const override {
    give_summed(s, 0, s.grad());
    give_summed(s, 1, infix() == Infix::sub ? -s.grad() : s.grad());
  }
};

class Product final : public Binary {
 public:
  using Binary::Binary;
  std::vector<Need> needs(const NodeView& node, bool /*split*/) const override {
    std::vector<Need> needs;
    if (node.input(1).needs_gradient) needs.push_back(need_input(0, Tolerance::linear));
    if (node.input(0).needs_gradient) needs.push_back(need_input(1, Tolerance::linear));
    return needs;
  }
  void backward(Site& s) const override {
    for (const std::size_t i : {std::size_t{0}, std::size_t{1}}) {
      if (!s.wants(i)) continue;
      const Expression other = s.in(1 - i);
      give_summed(s, i, s.grad() * other);
    }
  }
};

class Quotient final : public Binary {
 public:
  using Binary::Binary;
  std::vector<Need> needs(const NodeView& node, bool /*split*/) const override {
    std::vector<Need> needs{need_input(1, Tolerance::exact)};
    if (node.input(1).needs_gradient) needs.push_back(need_input(0, Tolerance::linear));
    return needs;
  }
  void backward(Site& s) const override {
    const Expression b = s.in(1);
    if (s.wants(0)) give_summed(s, 0, s.grad() / b);
    if (s.wants(1)) {
      const Expression a = s.in(0);
      give_summed(s, 1, -s.grad() * (grouped(a / b) / b));
    }
  }
};

/// One tensor and a number.
class ByNumber final : public Operator {
 public:
  explicit ByNumber(bool scales) : scales_(scales) {}
  const Signature& signature() const override {
    static const Signature kScale{
        "scale",
        1,
        1,
        {{"factor", AttributeKind::number, true}, {"divisor", AttributeKind::number, false}}};
    static const Signature kShift{"shift", 1, 1, {{"offset", AttributeKind::number, true}}};
    return scales_ ? kScale : kShift;
  }
  Result<Inferred> infer(const Arguments& arguments) const override {
    const Element element = arguments.inputs[0].element;
    if (!is_floating(element) && !is_whole(element)) {
      return bad_argument("the tensor must be numbers, but is ", to_text(arguments.inputs[0]));
    }
    const double by = arguments.attributes.number(scales_ ? "factor" : "offset");
    if (is_whole(element) && (std::floor(by) != by || arguments.attributes.has("divisor"))) {
      return bad_argument("the tensor is ", to_text(arguments.inputs[0]),
                          ", which is joined with whole numbers by '+' and '*' only");
    }
    if (arguments.attributes.has("divisor") && arguments.attributes.number("divisor") == 0) {
      return bad_argument("the tensor is divided by 0");
    }
    return Inferred{{arguments.inputs[0]}};
  }
  std::vector<Need> needs(const NodeView& /*node*/, bool /*split*/) const override { return {}; }
  void forward(Site& s) const override { s.define_output(0, applied(s, s.in())); }
  void backward(Site& s) const override { s.give(0, scales_ ? applied(s, s.grad()) : s.grad()); }

 private:
  Expression applied(const Site& s, const Expression& x) const {
    if (!scales_) return x + number(s, "offset");
    if (s.attributes().has("divisor")) return x / s.attributes().number("divisor");
    return x * number(s, "factor");
  }
  static Expression number(const Site& s, const char* name) {
    const double given = s.attributes().number(name);
    if (is_whole(s.view().input(0).type.element)) return static_cast<std::int64_t>(given);
    return given;
  }
  bool scales_;
};

}  // namespace

const Operator& add_operator() {
  static const Sum kOperator("add", Infix::add);
  return kOperator;
}
const Operator& sub_operator() {
  static const Sum kOperator("sub", Infix::sub);
  return kOperator;
}
const Operator& mul_operator() {
  static const Product kOperator("mul", Infix::mul);
  return kOperator;
}
const Operator& div_operator() {
  static const Quotient kOperator("div", Infix::div);
  return kOperator;
}
const Operator& scale_operator() {
  static const ByNumber kOperator(true);
  return kOperator;
}
const Operator& shift_operator() {
  static const ByNumber kOperator(false);
  return kOperator;
}

}  // namespace tensorpress::model
