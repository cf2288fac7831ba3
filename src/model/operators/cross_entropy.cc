// cross_entropy(logits, labels): the mean of -log softmax at the labels. Backward reads the
// logarithms of the probabilities, which are small and kept exactly.
#include "base/errors.h"
#include "model/lowering/packing.h"
#include "model/lowering/site.h"
#include "model/policy/plan.h"

namespace tensorpress::model {
namespace {

const Storing kPacked{.kind = Storing::Kind::quantize, .bits = 8};
constexpr std::int64_t kLeastPacked = std::int64_t{1} << 20;

class CrossEntropy final : public Operator {
 public:
  const Signature& signature() const override {
    static const Signature kSignature{"cross_entropy", 2, 2};
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
    const std::string log = s.local("log");
    const std::string weight = s.local("total");
    s.define({log, logits}, text("torch.log_softmax(", s.in(), ", 1)"));
    s.define_all({{s.out(), s.view().output().type}, {weight, s.view().output().type}},
                 text("aten.nll_loss", form(s), "_forward(", log, as_image(s, 2), ", ", s.in(1),
                      as_image(s, 1), ", None, 1, -100)"));
    if (packs(s)) {
      s.save_packed("log", text("pack_bits(", log, ", ", kPacked.bits, ")"),
                    stored_bytes(kPacked, logits, s.sizes()));
    } else {
      s.save("log", log);
    }
    s.save("total", weight);
  }

  void backward(Site& s) const override {
    const TensorType& logits = s.view().input(0).type;
    if (packs(s)) {
      const std::string log = s.local("log");
      s.define({log, logits}, text("unpack_bits(", s.saved("log"), ", ", kPacked.bits, ", ",
                                   to_python(logits.shape), dtype_argument(logits), ")"));
      const std::string gradient = s.grad_name_of(0);
      s.define({gradient, logits, log}, text("cross_entropy_backward_(", log, ", ", s.in(1), ", ",
                                             s.grad(), " / ", s.saved("total"), ")"));
      s.give(0, gradient);
      return;
    }
    const std::string inner = s.local("d_log");
    const std::string log = s.saved("log");
    const std::string back = as_image(s, 2).empty() ? "" : text(".view_as(", log, ")");
    s.define({inner, logits},
             text("aten.nll_loss", form(s), "_backward(", s.grad(), ", ", log, as_image(s, 2), ", ",
                  s.in(1), as_image(s, 1), ", None, 1, -100, ", s.saved("total"), ")", back));
    s.give(0,
           text("aten._log_softmax_backward_data(", inner, ", ", log, ", 1, ", inner, ".dtype)"));
  }

 private:
  /// Rows of many logits wait in 8 bits in lossy steps: probabilities are off by the half of a
  /// step, about 2 %.
  static bool packs(const Site& s) {
    const TensorType& logits = s.view().input(0).type;
    return s.sliced() && logits.shape.size() == 2 && bytes(logits, s.sizes()) > kLeastPacked;
  }
  /// PyTorch has this function for rows and for images; others become images of one line.
  static std::size_t dimensions(const Site& s) { return s.view().input(0).type.shape.size(); }
  static const char* form(const Site& s) { return dimensions(s) == 2 ? "" : "2d"; }
  static std::string as_image(const Site& s, int line) {
    if (dimensions(s) == 2 || dimensions(s) == 4) return "";
    return text(".flatten(", line, ").unsqueeze(", line, ")");
  }
};

}  // namespace

const Operator& cross_entropy_operator() {
  static const CrossEntropy kOperator;
  return kOperator;
}

}  // namespace tensorpress::model
