// edge_softmax(x, index, like): the softmax of the rows of x over those with the same number, as
// many numbers as `like` has rows: attention over the edges that end in a node (Velickovic and
// others 2018). Backward reads the output and the numbers:
//   dx = y (g - sum of g y over the rows with the same number).
#include "base/errors.h"
#include "model/lowering/site.h"

namespace tensorpress::model {
namespace {

class EdgeSoftmax final : public Operator {
 public:
  const Signature& signature() const override {
    static const Signature kSignature{"edge_softmax", 3, 3};
    return kSignature;
  }
  Result<Inferred> infer(const Arguments& arguments) const override {
    const TensorType& x = arguments.inputs[0];
    const TensorType& index = arguments.inputs[1];
    if (!is_floating(x.element) || x.sparse || x.shape.empty() || index.element != Element::i64 ||
        index.shape != Shape{x.shape[0]} || arguments.inputs[2].shape.empty()) {
      return bad_argument("floating rows and as many i64 numbers are needed, not ", to_text(x),
                          " and ", to_text(index));
    }
    return Inferred{{x}};
  }
  std::vector<Need> needs(const NodeView& /*node*/, bool /*split*/) const override {
    return {need_output(0, Tolerance::smooth), need_input(1, Tolerance::exact)};
  }
  void forward(Site& s) const override {
    s.define_output(0, function("edge_softmax", s.in(0), s.in(1), nodes(s)),
                    2 * bytes(s.view().output().type, s.sizes()));
  }
  void backward(Site& s) const override {
    s.give(0, function("edge_softmax_backward", s.grad(), s.out(), s.in(1), nodes(s)),
           2 * bytes(s.view().output().type, s.sizes()));
  }
  double flops(const NodeView& node, const Sizes& sizes) const override {
    return 10.0 * static_cast<double>(elements(node.output().type.shape, sizes));
  }

 private:
  static Dim nodes(const Site& s) { return s.view().input(2).type.shape[0]; }
};

}  // namespace

const Operator& edge_softmax_operator() {
  static const EdgeSoftmax kOperator;
  return kOperator;
}

}  // namespace tensorpress::model
