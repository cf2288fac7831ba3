// cast(x, type): the same numbers in another element type. The gradient goes back in the type of x
// where both are floating; numbers that are whole or true have none.
#include "base/errors.h"
#include "model/lowering/site.h"

namespace tensorpress::model {
namespace {

class Cast final : public Operator {
 public:
  const Signature& signature() const override {
    static const Signature kSignature{"cast", 1, 1, {{"type", AttributeKind::word, true}}};
    return kSignature;
  }
  Result<Inferred> infer(const Arguments& arguments) const override {
    TensorType y = arguments.inputs[0];
    const std::string& wanted = arguments.attributes.word("type");
    const auto element = parse_element(wanted);
    if (!element) {
      return bad_argument("'type' is \"", wanted,
                          "\"; there are f32, f64, f16, bf16, i64, i32, u8 and bool");
    }
    if (y.sparse) return bad_argument(to_text(y), " stays in its type");
    if (*element == y.element) return bad_argument("the input is ", wanted, " already");
    y.element = *element;
    return Inferred{{y}};
  }
  std::vector<Need> needs(const NodeView& /*node*/, bool /*split*/) const override { return {}; }
  std::vector<Need> rebuild_needs(const NodeView& /*node*/, bool /*split*/) const override {
    return {need_input(0, Tolerance::linear)};
  }
  void forward(Site& s) const override {
    s.define_output(0, s.in().call("to", s.view().output().type.element));
  }
  void rebuild(Site& s) const override { forward(s); }
  void backward(Site& s) const override {
    s.give(0, s.grad().call("to", s.view().input(0).type.element));
  }
};

}  // namespace

const Operator& cast_operator() {
  static const Cast kOperator;
  return kOperator;
}

}  // namespace tensorpress::model
