// where(condition, a, b): a where the condition holds, b elsewhere; b may be a number,
// where(condition, a, otherwise = 0). masked_fill(x, mask, value): the number where the mask holds.
// Backward reads the condition: one bit an element in compact policies, nothing that the caller
// holds anyway.
#include "base/errors.h"
#include "model/operators/axes.h"

namespace tensorpress::model {
namespace {

/// What both share: input `at` is the condition, the shape is that of all inputs together.
class Choice : public Operator {
 public:
  Choice(Signature signature, std::size_t at) : signature_(std::move(signature)), at_(at) {}
  const Signature& signature() const override { return signature_; }
  Result<Inferred> infer(const Arguments& arguments) const override {
    const TensorType& condition = arguments.inputs[at_];
    const TensorType& x = arguments.inputs[1 - at_];
    if (condition.element != Element::boolean) {
      return bad_argument("the ", at_ == 0 ? "condition" : "mask", " must be bool, but is ",
                          to_text(condition));
    }
    TensorType y{x.element, {}};
    TRY(y.shape, broadcast(condition, x));
    for (std::size_t i = 0; i < arguments.inputs.size(); ++i) {
      if (i == at_) continue;
      const TensorType& each = arguments.inputs[i];
      if (each.element != x.element || each.element == Element::boolean || each.sparse) {
        return bad_argument("what is chosen from must be numbers of one type, but there is ",
                            to_text(each));
      }
      TRY(y.shape, broadcast(y, each));
    }
    return Inferred{{y}};
  }
  std::vector<Need> needs(const NodeView& /*node*/, bool /*split*/) const override { return {}; }

 protected:
  void save_condition(Site& s) const {
    const std::int64_t count = elements(s.view().input(at_).type.shape, s.sizes());
    s.save("condition", packs(s) ? function("pack_truths", s.in(at_)) : s.in(at_), (count + 7) / 8);
  }
  Expression condition(const Site& s) const {
    const Expression saved = s.saved("condition");
    if (!packs(s)) return saved;
    return function("unpack_truths", saved, s.view().input(at_).type.shape);
  }
  /// Bytes of the unpacked condition.
  std::int64_t scratch(const Site& s) const {
    return packs(s) ? bytes(s.view().input(at_).type, s.sizes()) : 0;
  }

 private:
  bool packs(const Site& s) const {
    return s.step().compact && s.view().input(at_).role == Role::activation;
  }
  Signature signature_;
  std::size_t at_;
};

class Where final : public Choice {
 public:
  Where() : Choice({"where", 2, 3, {{"otherwise", AttributeKind::limit}}}, 0) {}
  Result<Inferred> infer(const Arguments& arguments) const override {
    const bool number = arguments.attributes.has("otherwise");
    if (number == (arguments.inputs.size() == 3)) {
      return bad_argument("either a third tensor or 'otherwise' says what stands elsewhere");
    }
    return Choice::infer(arguments);
  }
  void forward(Site& s) const override {
    const Expression other =
        s.view().input_count() == 3 ? s.in(2) : limit(s.attributes().number("otherwise"));
    s.define_output(0, torch("where", s.in(0), s.in(1), other));
    save_condition(s);
  }
  void backward(Site& s) const override {
    const bool both = s.view().input_count() == 3 && s.wants(2);
    if (s.wants(1)) {
      give_summed(s, 1, torch("where", condition(s), s.grad(), 0), scratch(s));
    }
    if (both) {
      give_summed(s, 2, torch("where", condition(s), 0, s.grad()), scratch(s));
    }
  }
};

class MaskedFill final : public Choice {
 public:
  MaskedFill() : Choice({"masked_fill", 2, 2, {{"value", AttributeKind::limit, true}}}, 1) {}
  Result<Inferred> infer(const Arguments& arguments) const override {
    TRY(Inferred inferred, Choice::infer(arguments));
    if (inferred.outputs[0] != arguments.inputs[0]) {
      return bad_argument("a mask of ", to_text(arguments.inputs[1]), " does not fit into ",
                          to_text(arguments.inputs[0]));
    }
    return inferred;
  }
  void forward(Site& s) const override {
    s.define_output(0, s.in(0).call(s.may_overwrite() ? "masked_fill_" : "masked_fill", s.in(1),
                                    limit(s.attributes().number("value"))));
    save_condition(s);
  }
  void backward(Site& s) const override {
    s.give(0, s.grad().call("masked_fill", condition(s), 0), scratch(s));
  }
};

}  // namespace

const Operator& where_operator() {
  static const Where kOperator;
  return kOperator;
}
const Operator& masked_fill_operator() {
  static const MaskedFill kOperator;
  return kOperator;
}

}  // namespace tensorpress::model
