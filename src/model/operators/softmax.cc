// softmax(x, axis = -1) and log_softmax(x, axis = -1). Backward reads the output.
#include "base/errors.h"
#include "model/lowering/site.h"

namespace tensorpress::model {
namespace {

class Softmax final : public Operator {
 public:
  explicit Softmax(bool log)
      : log_(log),
        signature_{log ? "log_softmax" : "softmax",
                   1,
                   1,
                   {{"axis", AttributeKind::integer, false, std::int64_t{-1}}}} {}
  const Signature& signature() const override { return signature_; }
  Result<Inferred> infer(const Arguments& arguments) const override {
    const TensorType& x = arguments.inputs[0];
    const auto rank = static_cast<std::int64_t>(x.shape.size());
    const std::int64_t axis = arguments.attributes.integer("axis");
    if (!is_floating(x.element) || axis < -rank || axis >= rank) {
      return bad_argument("there is no axis ", axis, " of floating numbers in ", to_text(x));
    }
    return Inferred{{x}};
  }
  std::vector<Need> needs(const NodeView& /*node*/, bool /*split*/) const override {
    return {need_output(0, log_ ? Tolerance::exact : Tolerance::smooth)};
  }
  void forward(Site& s) const override {
    s.define_output(0, torch(signature_.name, s.in(), axis(s)));
  }
  void backward(Site& s) const override {
    const Expression g = s.grad();
    s.give(0, aten(log_ ? "_log_softmax_backward_data" : "_softmax_backward_data", g, s.out(),
                   axis(s), g.member("dtype")));
  }

 private:
  static std::int64_t axis(const Site& s) { return s.attributes().integer("axis"); }
  bool log_;
  Signature signature_;
};

}  // namespace

const Operator& softmax_operator() {
  static const Softmax kOperator(false);
  return kOperator;
}
const Operator& log_softmax_operator() {
  static const Softmax kOperator(true);
  return kOperator;
}

}  // namespace tensorpress::model
