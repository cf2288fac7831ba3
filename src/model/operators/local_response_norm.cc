// local_response_norm(x, size, alpha = 1e-4, beta = 0.75, k = 1), of the original AlexNet:
//   y = x / d^beta,  d = k + alpha / size * (sum of x^2 over `size` neighbouring channels).
// Backward reads x and computes d again:
//   dx = g / d^beta - 2 alpha beta / size * x * (sum over the neighbours whose window holds x of g
//   x / d^(beta + 1)).
#include "base/errors.h"
#include "model/lowering/site.h"
#include "model/operators/windows.h"

namespace tensorpress::model {
namespace {

class LocalResponseNorm final : public Operator {
 public:
  const Signature& signature() const override {
    static const Signature kSignature{"local_response_norm",
                                      1,
                                      1,
                                      {{"size", AttributeKind::integer, true},
                                       {"alpha", AttributeKind::number, false, 1e-4},
                                       {"beta", AttributeKind::number, false, 0.75},
                                       {"k", AttributeKind::number, false, 1.0}}};
    return kSignature;
  }
  Result<Inferred> infer(const Arguments& arguments) const override {
    RETURN_IF_ERROR(expect_images(arguments.inputs[0]));
    const std::int64_t size = arguments.attributes.integer("size");
    if (size < 1 || size > 1024) return bad_argument("'size' is ", size);
    return Inferred{{arguments.inputs[0]}};
  }
  std::vector<Need> needs(const NodeView& /*node*/, bool /*split*/) const override {
    return {need_input(0, Tolerance::smooth)};
  }
  std::vector<Need> rebuild_needs(const NodeView& /*node*/, bool /*split*/) const override {
    return {need_input(0, Tolerance::smooth)};
  }
  void forward(Site& s) const override {
    s.define_output(0, functional("local_response_norm", s.in(), constants(s.attributes())),
                    3 * bytes(s.view().output().type, s.sizes()));
  }
  void rebuild(Site& s) const override { forward(s); }
  void backward(Site& s) const override {
    const TensorType& type = s.view().input(0).type;
    const std::int64_t map = bytes(type, s.sizes());
    s.give(0, function("local_response_norm_backward", s.grad(), s.in(), constants(s.attributes())),
           4 * map);
  }

 private:
  static Operands constants(const Attributes& a) {
    return {a.integer("size"), a.number("alpha"), a.number("beta"), a.number("k")};
  }
};

}  // namespace

const Operator& local_response_norm_operator() {
  static const LocalResponseNorm kOperator;
  return kOperator;
}

}  // namespace tensorpress::model
