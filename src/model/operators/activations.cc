// Functions of single elements, one row each: gelu, silu, sigmoid, tanh, elu, softplus, exp, log,
// sqrt, rsqrt, abs, sin, cos. Backward reads the input (and the output is then rebuilt from it) or
// the output. log and sqrt divide by what they read and abs takes its sign, so that they need it
// exactly; the gradient of exp is linear in it; the others are smooth.
#include <array>

#include "base/errors.h"
#include "model/lowering/site.h"

namespace tensorpress::model {
namespace {

struct Row {
  const char* name;
  Expression (*forward)(const Expression& x);
  Expression (*backward)(const Expression& g, const Expression& read);
  bool reads_output;  // backward; otherwise the input
  Tolerance tolerance;
};

using E = const Expression&;

constexpr std::array kRows = std::to_array<Row>({
    {"gelu", [](E x) { return functional("gelu", x); },
     [](E g, E x) { return aten("gelu_backward", g, x); }, false, Tolerance::smooth},
    {"gelu_tanh", [](E x) { return functional("gelu", x, keyword("approximate", "tanh")); },
     [](E g, E x) { return aten("gelu_backward", g, x, keyword("approximate", "tanh")); }, false,
     Tolerance::smooth},
    {"silu", [](E x) { return functional("silu", x); },
     [](E g, E x) { return aten("silu_backward", g, x); }, false, Tolerance::smooth},
    {"sigmoid", [](E x) { return torch("sigmoid", x); },
     [](E g, E y) { return aten("sigmoid_backward", g, y); }, true, Tolerance::smooth},
    {"tanh", [](E x) { return torch("tanh", x); },
     [](E g, E y) { return aten("tanh_backward", g, y); }, true, Tolerance::smooth},
    {"elu", [](E x) { return functional("elu", x); },
     [](E g, E x) { return aten("elu_backward", g, 1, 1, 1, false, x); }, false, Tolerance::smooth},
    {"softplus", [](E x) { return functional("softplus", x); },
     [](E g, E x) { return aten("softplus_backward", g, x, 1, 20); }, false, Tolerance::smooth},
    {"exp", [](E x) { return torch("exp", x); }, [](E g, E y) { return g * y; }, true,
     Tolerance::linear},
    {"log", [](E x) { return torch("log", x); }, [](E g, E x) { return g / x; }, false,
     Tolerance::exact},
    {"sqrt", [](E x) { return torch("sqrt", x); }, [](E g, E y) { return g / (2 * y); }, true,
     Tolerance::exact},
    {"rsqrt", [](E x) { return torch("rsqrt", x); },
     [](E g, E y) { return -0.5 * g * y.call("pow", 3); }, true, Tolerance::smooth},
    {"abs", [](E x) { return torch("abs", x); }, [](E g, E x) { return g * x.call("sgn"); }, false,
     Tolerance::exact},
    {"sin", [](E x) { return torch("sin", x); }, [](E g, E x) { return g * x.call("cos"); }, false,
     Tolerance::smooth},
    {"cos", [](E x) { return torch("cos", x); }, [](E g, E x) { return g * -x.call("sin"); }, false,
     Tolerance::smooth},
});

class Activation final : public Operator {
 public:
  explicit Activation(const Row& row) : row_(row), signature_{row.name} {}
  const Signature& signature() const override { return signature_; }
  Result<Inferred> infer(const Arguments& arguments) const override {
    const bool whole = is_whole(arguments.inputs[0].element);
    if (!whole || std::string_view(row_.name) != "abs") {
      RETURN_IF_ERROR(expect_floating(arguments.inputs[0]));
    }
    return Inferred{{arguments.inputs[0]}};
  }
  std::vector<Need> needs(const NodeView& /*node*/, bool /*split*/) const override {
    return {row_.reads_output ? need_output(0, row_.tolerance) : need_input(0, row_.tolerance)};
  }
  std::vector<Need> rebuild_needs(const NodeView& /*node*/, bool /*split*/) const override {
    if (row_.reads_output) return {};
    return {need_input(0, row_.tolerance)};
  }
  void forward(Site& s) const override { s.define_output(0, row_.forward(s.in())); }
  void rebuild(Site& s) const override { forward(s); }
  void backward(Site& s) const override {
    const Expression g = s.grad();
    s.give(0, row_.backward(g, row_.reads_output ? s.out() : s.in()));
  }
  double flops(const NodeView& node, const Sizes& sizes) const override {
    return 10.0 * static_cast<double>(elements(node.output().type.shape, sizes));
  }

 private:
  const Row& row_;
  Signature signature_;
};

template <std::size_t I>
const Operator& row_operator() {
  static const Activation kOperator(kRows[I]);
  return kOperator;
}

}  // namespace

const Operator& gelu_operator() {
  return row_operator<0>();
}
const Operator& gelu_tanh_operator() {
  return row_operator<1>();
}
const Operator& silu_operator() {
  return row_operator<2>();
}
const Operator& sigmoid_operator() {
  return row_operator<3>();
}
const Operator& tanh_operator() {
  return row_operator<4>();
}
const Operator& elu_operator() {
  return row_operator<5>();
}
const Operator& softplus_operator() {
  return row_operator<6>();
}
const Operator& exp_operator() {
  return row_operator<7>();
}
const Operator& log_operator() {
  return row_operator<8>();
}
const Operator& sqrt_operator() {
  return row_operator<9>();
}
const Operator& rsqrt_operator() {
  return row_operator<10>();
}
const Operator& abs_operator() {
  return row_operator<11>();
}
const Operator& sin_operator() {
  return row_operator<12>();
}
const Operator& cos_operator() {
  return row_operator<13>();
}

}  // namespace tensorpress::model
