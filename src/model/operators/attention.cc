// attention(q, k, v, heads, causal = false) on [batch, tokens, features]: softmax(q k^T / sqrt(d))
// v for each head, by PyTorch's fused function for CPUs, which keeps q, k, v, the output and one
// number a row.
#include "base/errors.h"
#include "model/site.h"

namespace tensorpress::model {
namespace {

class Attention final : public Operator {
 public:
  const Signature& signature() const override {
    static const Signature kSignature{
        "attention",
        3,
        3,
        {{"heads", AttributeKind::integer, true}, {"causal", AttributeKind::flag, false, false}}};
    return kSignature;
  }
  Result<Inferred> infer(const Arguments& arguments) const override {
    const TensorType& q = arguments.inputs[0];
    const TensorType& k = arguments.inputs[1];
    const std::int64_t heads = arguments.attributes.integer("heads");
    if (q.shape.size() != 3 || k.shape.size() != 3 || !is_floating(q.element) ||
        arguments.inputs[2] != k || k.element != q.element || k.shape[0] != q.shape[0] ||
        k.shape[2] != q.shape[2]) {
      return bad_argument("q, k and v must be [batch, tokens, features], but are ", to_text(q),
                          ", ", to_text(k), " and ", to_text(arguments.inputs[2]));
    }
    if (heads < 1 || !q.shape[2].known() || q.shape[2].factor % heads != 0) {
      return bad_argument(heads, " heads do not divide ", to_text(q.shape[2]), " features");
    }
    return Inferred{{q}};
  }
  std::vector<Need> needs(const NodeView& /*node*/, bool /*split*/) const override {
    return {need_input(0, Tolerance::smooth), need_input(1, Tolerance::smooth),
            need_input(2, Tolerance::linear), need_output(0, Tolerance::smooth)};
  }
  void forward(Site& s) const override {
    const TensorType& q = s.view().input(0).type;
    const TensorType rows{q.element, {q.shape[0], dim(heads(s)), q.shape[1]}};
    const std::string inner = s.local("heads");
    const std::string sums = s.local("sums");
    s.define_all({{inner, q}, {sums, rows}},
                 text("aten._scaled_dot_product_flash_attention_for_cpu(", split(s, s.in(0)), ", ",
                      split(s, s.in(1)), ", ", split(s, s.in(2)), ", 0.0, ", causal(s), ")"));
    s.define_output_in(0, inner, text(inner, ".transpose(1, 2).flatten(2)"));
    s.save("sums", sums);
  }
  void backward(Site& s) const override {
    std::vector<Definition> made;
    for (std::size_t i = 0; i < 3; ++i) {
      made.push_back({s.local(i == 0 ? "d_q" : i == 1 ? "d_k" : "d_v"), s.view().input(i).type});
    }
    s.define_all(
        made, text("aten._scaled_dot_product_flash_attention_for_cpu_backward(", split(s, s.grad()),
                   ", ", split(s, s.in(0)), ", ", split(s, s.in(1)), ", ", split(s, s.in(2)), ", ",
                   split(s, s.out()), ", ", s.saved("sums"), ", 0.0, ", causal(s), ")"));
    for (std::size_t i = 0; i < 3; ++i) {
      s.give_shared(i, made[i].name, text(made[i].name, ".transpose(1, 2).flatten(2)"));
    }
  }
  double flops(const NodeView& node, const Sizes& sizes) const override {
    const Shape& k = node.input(1).type.shape;
    return 4.0 * static_cast<double>(elements(node.output().type.shape, sizes)) *
           static_cast<double>(extent(k[1], sizes));
  }

 private:
  static std::int64_t heads(const Site& s) { return s.attributes().integer("heads"); }
  static const char* causal(const Site& s) {
    return s.attributes().flag("causal") ? "True" : "False";
  }
  static std::string split(const Site& s, const std::string& x) {
    return text(x, ".unflatten(2, (", heads(s), ", -1)).transpose(1, 2)");
  }
};

}  // namespace

const Operator& attention_operator() {
  static const Attention kOperator;
  return kOperator;
}

}  // namespace tensorpress::model
