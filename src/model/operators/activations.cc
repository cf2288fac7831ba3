// Functions of single elements, one row each: gelu, silu, sigmoid, tanh, elu, softplus, exp, log,
// sqrt, rsqrt, abs. Backward reads the input (and the output is then rebuilt from it) or the
// output. log and sqrt divide by what they read and abs takes its sign, so that they need it
// exactly; the gradient of exp is linear in it; the others are smooth.
#include <array>

#include "base/errors.h"
#include "model/lowering/site.h"

namespace tensorpress::model {
namespace {

struct Row {
  const char* name;
  const char* forward;   // {x}
  const char* backward;  // {g}, and {x} or {y}
  bool reads_output;
  Tolerance tolerance;
};

constexpr std::array kRows = std::to_array<Row>({
    {"gelu", "F.gelu({x})", "aten.gelu_backward({g}, {x})", false, Tolerance::smooth},
    {"gelu_tanh", "F.gelu({x}, approximate=\"tanh\")",
     "aten.gelu_backward({g}, {x}, approximate=\"tanh\")", false, Tolerance::smooth},
    {"silu", "F.silu({x})", "aten.silu_backward({g}, {x})", false, Tolerance::smooth},
    {"sigmoid", "torch.sigmoid({x})", "aten.sigmoid_backward({g}, {y})", true, Tolerance::smooth},
    {"tanh", "torch.tanh({x})", "aten.tanh_backward({g}, {y})", true, Tolerance::smooth},
    {"elu", "F.elu({x})", "aten.elu_backward({g}, 1, 1, 1, False, {x})", false, Tolerance::smooth},
    {"softplus", "F.softplus({x})", "aten.softplus_backward({g}, {x}, 1, 20)", false,
     Tolerance::smooth},
    {"exp", "torch.exp({x})", "{g} * {y}", true, Tolerance::linear},
    {"log", "torch.log({x})", "{g} / {x}", false, Tolerance::exact},
    {"sqrt", "torch.sqrt({x})", "{g} / (2 * {y})", true, Tolerance::exact},
    {"rsqrt", "torch.rsqrt({x})", "-0.5 * {g} * {y}.pow(3)", true, Tolerance::smooth},
    {"abs", "torch.abs({x})", "{g} * {x}.sgn()", false, Tolerance::exact},
});

std::string filled(std::string pattern, const char* key, const std::string& name) {
  for (std::size_t at = pattern.find(key); at != std::string::npos; at = pattern.find(key)) {
    pattern.replace(at, 3, name);
  }
  return pattern;
}

class Activation final : public Operator {
 public:
  explicit Activation(const Row& row) : row_(row), signature_{row.name} {}
  const Signature& signature() const override { return signature_; }
  Result<Inferred> infer(const Arguments& arguments) const override {
    RETURN_IF_ERROR(expect_floating(arguments.inputs[0]));
    return Inferred{{arguments.inputs[0]}};
  }
  std::vector<Need> needs(const NodeView& /*node*/, bool /*split*/) const override {
    return {row_.reads_output ? need_output(0, row_.tolerance) : need_input(0, row_.tolerance)};
  }
  std::vector<Need> rebuild_needs(const NodeView& /*node*/, bool /*split*/) const override {
    if (row_.reads_output) return {};
    return {need_input(0, row_.tolerance)};
  }
  void forward(Site& s) const override { s.define_output(0, filled(row_.forward, "{x}", s.in())); }
  void rebuild(Site& s) const override { forward(s); }
  void backward(Site& s) const override {
    std::string code = filled(row_.backward, "{g}", s.grad());
    code = row_.reads_output ? filled(code, "{y}", s.out()) : filled(code, "{x}", s.in());
    s.give(0, code);
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

}  // namespace tensorpress::model
