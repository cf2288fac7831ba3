// cross_entropy(logits, labels, ignore = -100): the mean of -log softmax at the labels but for
// those that are `ignore`. Backward reads the logarithms of the probabilities, which are small and
// kept exactly.
#include "base/errors.h"
#include "model/lowering/packing.h"
#include "model/lowering/site.h"
#include "model/policy/policy.h"

namespace tensorpress::model {
namespace {

const Storing kPacked{.kind = Storing::Kind::quantize, .bits = 8};
constexpr std::int64_t kLeastPacked = std::int64_t{1} << 20;

class CrossEntropy final : public Operator {
 public:
  const Signature& signature() const override {
    static const Signature kSignature{
        "cross_entropy", 2, 2, {{"ignore", AttributeKind::integer, false, std::int64_t{-100}}}};
    return kSignature;
  }

  Result<Inferred> infer(const Arguments& arguments) const override {
    const TensorType& logits = arguments.inputs[0];
    const TensorType& labels = arguments.inputs[1];
    if (logits.shape.size() < 2 || !is_floating(logits.element)) {
      return bad_argument("the logits must be floating [batch, classes, ...], but are ",
                          to_text(logits));
    }
    Shape wanted = logits.shape;
    wanted.erase(wanted.begin() + 1);
    if (labels.element != Element::i64 || labels.shape != wanted) {
      return bad_argument("labels for ", to_text(logits), " are i64", to_text(wanted), ", not ",
                          to_text(labels));
    }
    return Inferred{{{logits.element, {}}}};
  }

  std::vector<Need> needs(const NodeView& /*node*/, bool /*split*/) const override {
    return {need_input(1, Tolerance::exact)};
  }

  void forward(Site& s) const override {
    const TensorType& logits = s.view().input(0).type;
    const Expression log = s.local("log");
    const Expression weight = s.local("total");
    s.define({log, logits}, torch("log_softmax", s.in(), 1));
    s.define_all({{s.out(), s.view().output().type}, {weight, s.view().output().type}},
                 aten(has_rows(s) ? "nll_loss_forward" : "nll_loss2d_forward", as_image(s, log, 2),
                      as_image(s, s.in(1), 1), none(), 1, ignore(s)));
    if (packs(s)) {
      s.save("log", function("pack_bits", log, kPacked.bits),
             stored_bytes(kPacked, logits, s.sizes()));
    } else {
      s.save("log", log);
    }
    s.save("total", weight);
  }

  void backward(Site& s) const override {
    const TensorType& logits = s.view().input(0).type;
    if (packs(s)) {
      const Expression log = s.local("log");
      s.define({log, logits}, function("unpack_bits", s.saved("log"), kPacked.bits, logits.shape,
                                       dtype_operand(logits)));
      const Expression gradient = s.grad_name_of(0);
      s.define({gradient, logits}, function("cross_entropy_backward_", log, s.in(1),
                                            s.grad() / s.saved("total"), ignore(s)));
      s.give(0, gradient);
      return;
    }
    const Expression inner = s.local("d_log");
    const Expression log = s.saved("log");
    const Expression made =
        aten(has_rows(s) ? "nll_loss_backward" : "nll_loss2d_backward", s.grad(),
             as_image(s, log, 2), as_image(s, s.in(1), 1), none(), 1, ignore(s), s.saved("total"));
    s.define({inner, logits}, is_image(s) ? made : made.call("view_as", log));
    s.give(0, aten("_log_softmax_backward_data", inner, log, 1, inner.member("dtype")));
  }

 private:
  static std::int64_t ignore(const Site& s) { return s.attributes().integer("ignore"); }
  /// Rows of many logits wait in 8 bits in lossy steps: probabilities are off by the half of a
  /// step, about 2 %.
  static bool packs(const Site& s) {
    const TensorType& logits = s.view().input(0).type;
    return s.step().sliced() && logits.shape.size() == 2 && bytes(logits, s.sizes()) > kLeastPacked;
  }
  /// PyTorch has this function for rows and for images; others become images of one line.
  static std::size_t dimensions(const Site& s) { return s.view().input(0).type.shape.size(); }
  static bool has_rows(const Site& s) { return dimensions(s) == 2; }
  static bool is_image(const Site& s) { return dimensions(s) == 2 || dimensions(s) == 4; }
  static Expression as_image(const Site& s, const Expression& x, int line) {
    return is_image(s) ? x : x.call("flatten", line).call("unsqueeze", line);
  }
};

}  // namespace

const Operator& cross_entropy_operator() {
  static const CrossEntropy kOperator;
  return kOperator;
}

}  // namespace tensorpress::model
