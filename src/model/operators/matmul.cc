// matmul(a, b) of matrices, or of batches of them; b may be transposed: matmul(a, b, transposed =
// true). Backward reads both; each enters the other's gradient linearly.
#include "base/errors.h"
#include "model/lowering/site.h"

namespace tensorpress::model {
namespace {

class Matmul final : public Operator {
 public:
  const Signature& signature() const override {
    static const Signature kSignature{
        "matmul", 2, 2, {{"transposed", AttributeKind::flag, false, false}}};
    return kSignature;
  }
  Result<Inferred> infer(const Arguments& arguments) const override {
    const TensorType& a = arguments.inputs[0];
    const TensorType& b = arguments.inputs[1];
    const std::size_t rank = a.shape.size();
    const bool turned = arguments.attributes.flag("transposed");
    if ((rank != 2 && rank != 3) || b.shape.size() != rank || a.element != b.element ||
        !is_floating(a.element) || a.sparse || b.sparse ||
        (rank == 3 && a.shape[0] != b.shape[0]) ||
        a.shape[rank - 1] != b.shape[turned ? rank - 1 : rank - 2]) {
      return bad_argument(to_text(a), " and ", to_text(b), " cannot be multiplied",
                          turned ? " with b transposed" : "");
    }
    TensorType y = a;
    y.shape[rank - 1] = b.shape[turned ? rank - 2 : rank - 1];
    return Inferred{{y}};
  }
  std::vector<Need> needs(const NodeView& node, bool /*split*/) const override {
    std::vector<Need> needs;
    if (node.input(1).needs_gradient) needs.push_back(need_input(0, Tolerance::linear));
    if (node.input(0).needs_gradient) needs.push_back(need_input(1, Tolerance::linear));
    return needs;
  }
  void forward(Site& s) const override {
    const Expression b = s.in(1);
    s.define_output(0, torch("matmul", s.in(0), turned(s) ? mirrored(s, b) : b));
  }
  void backward(Site& s) const override {
    const Expression g = s.grad();
    const char* multiply = is_flat(s) ? "mm" : "bmm";
    if (s.wants(0)) {
      const Expression b = s.in(1);
      s.give(0, g.call(multiply, turned(s) ? b : mirrored(s, b)));
    }
    if (!s.wants(1)) return;
    const Expression a = s.in(0);
    s.give(1, turned(s) ? mirrored(s, g).call(multiply, a) : mirrored(s, a).call(multiply, g));
  }
  double flops(const NodeView& node, const Sizes& sizes) const override {
    return 2.0 * static_cast<double>(elements(node.output().type.shape, sizes)) *
           static_cast<double>(extent(node.input(0).type.shape.back(), sizes));
  }

 private:
  static bool turned(const Site& s) { return s.attributes().flag("transposed"); }
  static bool is_flat(const Site& s) { return s.view().input(0).type.shape.size() == 2; }
  static Expression mirrored(const Site& s, const Expression& x) {
    return is_flat(s) ? x.call("t") : x.call("transpose", 1, 2);
  }
};

}  // namespace

const Operator& matmul_operator() {
  static const Matmul kOperator;
  return kOperator;
}

}  // namespace tensorpress::model
