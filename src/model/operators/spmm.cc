// spmm(a, x, reduce = "sum"): a sparse matrix in compressed rows times a dense one; "mean" divides
// each row by its number of entries. Sums and means need only the matrix, which the caller has; the
// gradient of x is the transposed product.
#include <algorithm>

#include "base/errors.h"
#include "model/lowering/site.h"

namespace tensorpress::model {
namespace {

Expression sparse_product(const Expression& a, const Expression& x) {
  return call_of({Callee::Space::sparse, "mm"}, {a, x});
}

class Spmm final : public Operator {
 public:
  const Signature& signature() const override {
    static const Signature kSignature{
        "spmm", 2, 2, {{"reduce", AttributeKind::word, false, std::string("sum")}}};
    return kSignature;
  }
  Result<Inferred> infer(const Arguments& arguments) const override {
    const TensorType& a = arguments.inputs[0];
    const TensorType& x = arguments.inputs[1];
    const std::string& reduce = arguments.attributes.word("reduce");
    if (reduce != "sum" && reduce != "mean" && reduce != "max") {
      return bad_argument("'reduce' is \"", reduce, "\"; there are \"sum\", \"mean\" and \"max\"");
    }
    if (!a.sparse || x.sparse || x.shape.size() != 2 || a.shape[1] != x.shape[0] ||
        a.element != x.element) {
      return bad_argument("a csr matrix and a dense one are multiplied, not ", to_text(a), " and ",
                          to_text(x));
    }
    return Inferred{{{x.element, {a.shape[0], x.shape[1]}}}};
  }
  std::vector<Need> needs(const NodeView& node, bool /*split*/) const override {
    std::vector<Need> needs{need_input(0, Tolerance::exact)};
    if (sums(node.attributes())) return needs;
    needs.push_back(need_input(1, Tolerance::linear));
    return needs;
  }
  void forward(Site& s) const override {
    if (sums(s.attributes())) {
      // Measured: the product is made beside the result, with indices of 4 bytes.
      const Counts a = counts(s);
      s.define_output(0, sparse_product(s.in(0), s.in(1)),
                      bytes(s.view().output().type, s.sizes()) + 4 * (a.entries + a.rows));
      return;
    }
    const Expression winner = s.local("winner");
    const bool max = s.attributes().word("reduce") == "max";
    s.define_all({{s.out(), s.view().output().type},
                  {winner, {Element::i64, max ? s.view().output().type.shape : Shape{dim(0)}}}},
                 max ? function("sparse_max", s.in(0), s.in(1))
                     : aten("_sparse_mm_reduce_impl", s.in(0), s.in(1), "mean"));
    s.save("winner", winner);
  }
  void backward(Site& s) const override {
    if (sums(s.attributes())) {
      // Measured: besides the product, the matrix is sorted by columns: of each entry 6 indices of
      // 8 bytes and one of 4 are there at once, of each row 4.
      const Counts a = counts(s);
      s.give(1, sparse_product(s.in(0).call("t"), s.grad()),
             bytes(s.view().input(1).type, s.sizes()) + 52 * a.entries + 32 * a.rows);
      return;
    }
    const bool max = s.attributes().word("reduce") == "max";
    const Expression made = s.grad_name_of(1);
    s.define_all({{unused(), {}}, {made, s.view().input(1).type}},
                 aten("_sparse_mm_reduce_impl_backward", s.in(0), s.grad(), s.in(1),
                      max ? "amax" : "mean", s.saved("winner"), list_of({false, true})),
                 sorting_scratch(s, max));
    s.give(1, made);
  }

  double flops(const NodeView& node, const Sizes& sizes) const override {
    return 2.0 * static_cast<double>(extent(node.input(0).type.entries, sizes)) *
           static_cast<double>(extent(node.input(1).type.shape[1], sizes));
  }

 private:
  struct Counts {
    std::int64_t entries;
    std::int64_t rows;
  };
  static Counts counts(const Site& s) {
    const TensorType& a = s.view().input(0).type;
    return {extent(a.entries, s.sizes()), extent(a.shape[0], s.sizes())};
  }
  /// Measured: the matrix is sorted by columns. Of each entry 6 indices of 8 bytes are there
  /// before the gradient is made; then 5, or for a maximum 3 and another gradient.
  static std::int64_t sorting_scratch(const Site& s, bool max) {
    const Counts a = counts(s);
    const std::int64_t gradient = bytes(s.view().input(1).type, s.sizes());
    const std::int64_t then = (max ? 24 * a.entries + gradient : 40 * a.entries) + 8 * a.rows;
    return std::max(then, 48 * a.entries - gradient);
  }
  static bool sums(const Attributes& attributes) { return attributes.word("reduce") == "sum"; }
};

}  // namespace

const Operator& spmm_operator() {
  static const Spmm kOperator;
  return kOperator;
}

}  // namespace tensorpress::model
