// layer_norm(x, eps), group_norm(x, groups, eps), rms_norm(x, eps). As batch_norm, layer_norm may
// store its normalized values instead of x, and its output is rebuilt from them; the deviations are
// kept.
#include "base/errors.h"
#include "model/lowering/site.h"
#include "model/operators/normalizing.h"

namespace tensorpress::model {
namespace {

class LayerNorm final : public NormalizingOperator {
 public:
  const Signature& signature() const override {
    static const Signature kSignature{
        "layer_norm", 1, 1, {{"eps", AttributeKind::number, false, 1e-5}}};
    return kSignature;
  }
  Result<Inferred> infer(const Arguments& arguments) const override {
    const TensorType& x = arguments.inputs[0];
    RETURN_IF_ERROR(expect_features(x));
    Inferred inferred{{x}};
    inferred.parameters = {{"weight", {x.element, {x.shape.back()}}, "init.ones_({})"},
                           {"bias", {x.element, {x.shape.back()}}, "init.zeros_({})"}};
    inferred.hidden = {x};
    return inferred;
  }
  void forward(Site& s) const override {
    const TensorType& x = s.view().input(0).type;
    TensorType row = x;
    row.shape.back() = dim(1);
    const Expression mean = s.local("mean");
    const Expression rstd = s.local("rstd");
    const bool split = s.split();
    const Expression result = split ? s.out(s.hidden()) : s.out();
    s.define_all({{result, x}, {mean, row}, {rstd, row}},
                 aten("native_layer_norm", s.in(), features(s),
                      split ? Operands{none(), none()} : weights(s), s.attributes().number("eps")));
    s.save("rstd", rstd);
    if (split) {
      affine(s, result, s.store_hidden());
    } else {
      s.save("mean", mean);
    }
  }
  void rebuild(Site& s) const override {
    const Expression normal = s.out(s.hidden());
    affine(s, normal, s.may_overwrite_out(s.hidden()));
  }
  void backward(Site& s) const override {
    const std::vector<Definition> made = normalizing_gradients(s);
    const Expression mask = list_of({s.wants(), true, true});
    if (s.split()) {
      s.define_all(made, function("layer_norm_backward", s.grad(), s.out(s.hidden()), features(s),
                                  s.saved("rstd"), weights(s), mask));
    } else {
      s.define_all(made, aten("native_layer_norm_backward", s.grad(), s.in(), features(s),
                              s.saved("mean"), s.saved("rstd"), weights(s), mask));
    }
    give_normalizing_gradients(s, made);
  }
  double flops(const NodeView& node, const Sizes& sizes) const override {
    return 7.0 * static_cast<double>(elements(node.output().type.shape, sizes));
  }

 private:
  static Expression features(const Site& s) {
    return list_of({s.view().output().type.shape.back()});
  }
  static Operands weights(const Site& s) { return {s.parameter("weight"), s.parameter("bias")}; }
  static void affine(Site& s, const Expression& normal, bool in_place) {
    Operands all{s.parameter("bias"), normal, s.parameter("weight")};
    if (in_place) all.push_back(keyword("out", normal));
    s.define_output(0, torch("addcmul", std::move(all)));
  }
};

class GroupNorm final : public Operator {
 public:
  const Signature& signature() const override {
    static const Signature kSignature{
        "group_norm",
        1,
        1,
        {{"groups", AttributeKind::integer, true}, {"eps", AttributeKind::number, false, 1e-5}}};
    return kSignature;
  }
  Result<Inferred> infer(const Arguments& arguments) const override {
    const TensorType& x = arguments.inputs[0];
    const std::int64_t groups = arguments.attributes.integer("groups");
    if (x.shape.size() < 3 || !is_floating(x.element) || !x.shape[1].known() || groups < 1 ||
        x.shape[1].factor % groups != 0) {
      return bad_argument(to_text(x), " does not have channels in ", groups, " groups");
    }
    Inferred inferred{{x}};
    inferred.parameters = {{"weight", {x.element, {x.shape[1]}}, "init.ones_({})"},
                           {"bias", {x.element, {x.shape[1]}}, "init.zeros_({})"}};
    return inferred;
  }
  std::vector<Need> needs(const NodeView& /*node*/, bool /*split*/) const override {
    return {need_input(0, Tolerance::smooth)};
  }
  void forward(Site& s) const override {
    const TensorType& x = s.view().input(0).type;
    const TensorType row{x.element, {x.shape[0], dim(s.attributes().integer("groups"))}};
    const Expression mean = s.local("mean");
    const Expression rstd = s.local("rstd");
    s.define_all({{s.out(), x}, {mean, row}, {rstd, row}},
                 aten("native_group_norm", function("without_gaps", s.in()), s.parameter("weight"),
                      s.parameter("bias"), geometry(s), s.attributes().number("eps")));
    s.save("mean", mean);
    s.save("rstd", rstd);
  }
  void backward(Site& s) const override {
    const std::vector<Definition> made = normalizing_gradients(s);
    s.define_all(made, aten("native_group_norm_backward", function("in_order_of", s.grad(), s.in()),
                            function("without_gaps", s.in()), s.saved("mean"), s.saved("rstd"),
                            s.parameter("weight"), geometry(s), list_of({s.wants(), true, true})));
    give_normalizing_gradients(s, made);
  }

 private:
  static Operands geometry(const Site& s) {
    const Shape& x = s.view().input(0).type.shape;
    const Dim area = product(x, 2, x.size()).value_or(dim(1));
    return {x[0], x[1], area, s.attributes().integer("groups")};
  }
};

/// y = x rstd w, with rstd = 1 / sqrt(mean(x^2) + eps).
class RmsNorm final : public Operator {
 public:
  const Signature& signature() const override {
    static const Signature kSignature{
        "rms_norm", 1, 1, {{"eps", AttributeKind::number, false, 1e-6}}};
    return kSignature;
  }
  Result<Inferred> infer(const Arguments& arguments) const override {
    const TensorType& x = arguments.inputs[0];
    RETURN_IF_ERROR(expect_features(x));
    Inferred inferred{{x}};
    inferred.parameters = {{"weight", {x.element, {x.shape.back()}}, "init.ones_({})"}};
    return inferred;
  }
  std::vector<Need> needs(const NodeView& /*node*/, bool /*split*/) const override {
    return {need_input(0, Tolerance::smooth)};
  }
  void forward(Site& s) const override {
    TensorType row = s.view().input(0).type;
    row.shape.back() = dim(1);
    const Expression rstd = s.local("rstd");
    const std::int64_t scratch = bytes(s.view().input(0).type, s.sizes());
    s.define({rstd, row},
             torch("rsqrt", mean(s.in().call("pow", 2)) + s.attributes().number("eps")), scratch);
    s.define_output(0, s.in() * rstd * s.parameter("weight"), scratch);
    s.save("rstd", rstd);
  }
  void backward(Site& s) const override {
    const TensorType& type = s.view().input(0).type;
    const Expression normal = s.local("normal");
    const Expression inner = s.local("inner");
    const std::int64_t scratch = bytes(type, s.sizes());
    const std::int64_t features = type.shape.back().factor;
    s.define({normal, type}, s.in() * s.saved("rstd"));
    s.give_parameter("weight", (s.grad() * normal).call("reshape", -1, features).call("sum", 0),
                     scratch);
    if (!s.wants()) return;
    s.define({inner, type}, s.grad() * s.parameter("weight"));
    s.give(0, (inner - normal * mean(inner * normal)) * s.saved("rstd"), 2 * scratch);
  }

 private:
  /// Over the last axis, which stays with one element.
  static Expression mean(const Expression& x) {
    return x.call("mean", -1, keyword("keepdim", true));
  }
};

}  // namespace

const Operator& layer_norm_operator() {
  static const LayerNorm kOperator;
  return kOperator;
}
const Operator& group_norm_operator() {
  static const GroupNorm kOperator;
  return kOperator;
}
const Operator& rms_norm_operator() {
  static const RmsNorm kOperator;
  return kOperator;
}

}  // namespace tensorpress::model
