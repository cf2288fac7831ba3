// linear_cross_entropy(x, labels, features, bias = true, ignore = -100, smoothing = 0, z_loss = 0,
// slice = 8388608): the mean cross entropy of a linear layer's logits, which never exist as a
// whole: a slice of rows of at most `slice` bytes at a time (64 rows at least) is multiplied,
// becomes its own gradient and is added to those of x, weight and bias. So backward reads nothing;
// the gradients wait, and are scaled. Rows with the label `ignore` do not count; z_loss adds its
// product with the square of the logarithm of the sum of exponentials.
//
// Sums over slices are added up in another order than PyTorch's: equal up to rounding, with `off`
// too (docs/adr/0071).
#include <algorithm>

#include "base/errors.h"
#include "model/lowering/site.h"
#include "model/operators/windows.h"

namespace tensorpress::model {
namespace {

constexpr std::int64_t kSlice = std::int64_t{8} << 20;
constexpr std::int64_t kFewestRows = 64;

class LinearCrossEntropy final : public Operator {
 public:
  const Signature& signature() const override {
    static const Signature kSignature{
        "linear_cross_entropy",
        2,
        2,
        {{"features", AttributeKind::integer, true},
         {"bias", AttributeKind::flag, false, true},
         {"ignore", AttributeKind::integer, false, std::int64_t{-100}},
         {"smoothing", AttributeKind::number, false, 0.0},
         {"z_loss", AttributeKind::number, false, 0.0},
         {"slice", AttributeKind::integer, false, kSlice}}};
    return kSignature;
  }

  Result<Inferred> infer(const Arguments& arguments) const override {
    const TensorType& x = arguments.inputs[0];
    const TensorType& labels = arguments.inputs[1];
    const Attributes& given = arguments.attributes;
    if (x.shape.size() < 2 || !is_floating(x.element) || x.sparse || !x.shape.back().known() ||
        x.shape.back().factor < 1) {
      return bad_argument("the input must be floating [..., features], but is ", to_text(x));
    }
    const Shape rows(x.shape.begin(), x.shape.end() - 1);
    if (labels.element != Element::i64 || labels.shape != rows) {
      return bad_argument("labels for ", to_text(x), " are i64", to_text(rows), ", not ",
                          to_text(labels));
    }
    const std::int64_t classes = given.integer("features");
    if (classes < 1 || classes > (1 << 24)) return bad_argument("'features' is ", classes);
    const double smoothing = given.number("smoothing");
    if (smoothing < 0 || smoothing > 1) {
      return bad_argument("'smoothing' is ", smoothing, "; it must be 0 to 1");
    }
    if (given.number("z_loss") < 0) {
      return bad_argument("'z_loss' is ", given.number("z_loss"), "; it must be 0 or more");
    }
    if (given.integer("slice") < 1) {
      return bad_argument("'slice' is ", given.integer("slice"), " bytes; it must be 1 or more");
    }
    const bool half = x.element == Element::f16 || x.element == Element::bf16;
    Inferred inferred{{{half ? Element::f32 : x.element, {}}}};
    inferred.parameters.push_back(
        {"weight", {x.element, {dim(classes), x.shape.back()}}, kaiming_init()});
    if (given.flag("bias")) {
      inferred.parameters.push_back(
          {"bias", {x.element, {dim(classes)}}, fan_in_bias_init(x.shape.back().factor)});
    }
    return inferred;
  }

  std::vector<Need> needs(const NodeView& /*node*/, bool /*split*/) const override { return {}; }

  void forward(Site& s) const override {
    const Attributes& given = s.attributes();
    const TensorType number = s.view().output().type;
    const Expression count = s.local("count");
    std::vector<Definition> made = {{s.out(), number}, {count, number}};
    for (const Gradient& each : gradients(s)) made.push_back({s.local(each.name), each.type});
    s.define_all(made,
                 function("linear_cross_entropy", s.in(0), s.parameter("weight"),
                          s.parameter("bias"), s.in(1), given.integer("ignore"),
                          given.number("smoothing"), given.number("z_loss"), slice_bytes(s)),
                 scratch(s));
    s.save("count", count);
    const std::vector<Gradient> all = gradients(s);
    for (std::size_t i = 0; i < all.size(); ++i) s.save(all[i].name, made[i + 2].variable);
  }

  void backward(Site& s) const override {
    const Expression factor = s.local("factor");
    s.define({factor, s.view().output().type}, s.grad() / s.saved("count"));
    for (const Gradient& each : gradients(s)) {
      const Expression scaled = Expression(s.saved(each.name)).call("mul_", factor);
      if (each.parameter == nullptr) {
        s.give(0, scaled);
      } else {
        s.give_parameter(each.parameter, scaled);
      }
    }
  }

  double flops(const NodeView& node, const Sizes& sizes) const override {
    // One product forward; its two gradients are made in the same pass and count in backward.
    return 2.0 * static_cast<double>(elements(node.input(0).type.shape, sizes)) *
           static_cast<double>(node.attributes().integer("features"));
  }

 private:
  struct Gradient {
    const char* name;
    const char* parameter;  // of which; nullptr: of x
    TensorType type;
  };
  static std::vector<Gradient> gradients(const Site& s) {
    std::vector<Gradient> all = {{"d_x", nullptr, s.view().input(0).type}};
    for (const auto& [name, local] : {std::pair{"d_weight", "weight"}, {"d_bias", "bias"}}) {
      const Value* value = s.view().parameter(local);
      if (value != nullptr) all.push_back({name, local, value->type});
    }
    return all;
  }
  /// Of one row of logits, in the type of sums.
  static std::int64_t row_bytes(const Site& s) {
    return s.attributes().integer("features") * bytes_of(s.view().output().type.element);
  }
  static std::int64_t slice_bytes(const Site& s) {
    return std::max(s.attributes().integer("slice"), kFewestRows * row_bytes(s));
  }
  /// A slice of logits, in two types if they are narrow, and its rows of x and of their gradient.
  static std::int64_t scratch(const Site& s) {
    const TensorType& x = s.view().input(0).type;
    const std::int64_t features = x.shape.back().factor;
    const std::int64_t rows = std::max<std::int64_t>(
        1, std::min(elements(x.shape, s.sizes()) / features, slice_bytes(s) / row_bytes(s)));
    const bool narrow = x.element != s.view().output().type.element;
    const std::int64_t logits = rows * row_bytes(s);
    return logits + (narrow ? logits / 2 : 0) + 2 * rows * features * bytes_of(x.element);
  }
};

}  // namespace

const Operator& linear_cross_entropy_operator() {
  static const LinearCrossEntropy kOperator;
  return kOperator;
}

}  // namespace tensorpress::model
