// attention(q, k, v, heads, causal = false, dropout = 0, scale = none) on [batch, tokens,
// features]: softmax(scale q k^T + mask) v for each head; the scale is 1 / sqrt(d) if none is
// given. attention(q, k, v, mask, heads): a mask is added if it is floating; where a bool one is
// false, a pair does not count. k and v may have fewer features than q: several heads of q then
// read one of theirs. `cached`: k and v lie head by head in memory, as a cache of earlier tokens
// leaves them, which decides the last bits where attention is composed.
//
// PyTorch's fused function for CPUs keeps q, k, v, the output and one number a row: the logarithm
// of the sum of its exponentials, by which backward makes probabilities of q k^T again. With lossy
// q and k these would no longer sum to 1, and where one pair has nearly all of a row they would be
// many times too large; a lossy step therefore runs the fused forward pass again on what was stored
// (docs/adr/0032).
//
// The fused function has no dropout and no gradient of the mask: with either, PyTorch composes
// attention of products, and so does this, in the same order; portable steps do it always. Then the
// probabilities of all pairs and the noise wait for backward; compact policies keep neither:
// probabilities are computed again, noise comes from a seed.
#include <algorithm>

#include "base/errors.h"
#include "model/lowering/site.h"

namespace tensorpress::model {
namespace {

class Attention final : public Operator {
 public:
  const Signature& signature() const override {
    static const Signature kSignature{"attention",
                                      3,
                                      4,
                                      {{"heads", AttributeKind::integer, true},
                                       {"causal", AttributeKind::flag, false, false},
                                       {"dropout", AttributeKind::number, false, 0.0},
                                       {"scale", AttributeKind::number},
                                       {"cached", AttributeKind::flag, false, false}}};
    return kSignature;
  }
  Result<Inferred> infer(const Arguments& arguments) const override {
    const TensorType& q = arguments.inputs[0];
    const TensorType& k = arguments.inputs[1];
    const Attributes& attributes = arguments.attributes;
    const std::int64_t heads = attributes.integer("heads");
    if (q.shape.size() != 3 || k.shape.size() != 3 || !is_floating(q.element) ||
        arguments.inputs[2] != k || k.element != q.element || k.shape[0] != q.shape[0] ||
        !k.shape[2].known()) {
      return bad_argument("q, k and v must be [batch, tokens, features], but are ", to_text(q),
                          ", ", to_text(k), " and ", to_text(arguments.inputs[2]));
    }
    if (heads < 1 || !q.shape[2].known() || q.shape[2].factor % heads != 0) {
      return bad_argument(heads, " heads do not divide ", to_text(q.shape[2]), " features");
    }
    const std::int64_t head = q.shape[2].factor / heads;
    const std::int64_t theirs = head == 0 ? 0 : k.shape[2].factor / head;
    if (theirs < 1 || theirs * head != k.shape[2].factor || heads % theirs != 0) {
      return bad_argument("the heads of q have ", head, " features; k and v have ",
                          to_text(k.shape[2]), ", which are not as many heads or a part of them");
    }
    const double p = attributes.number("dropout");
    if (p < 0 || p >= 1) {
      return bad_argument("'dropout' is ", p, "; it must be 0 or more, and below 1");
    }
    if (attributes.has("scale") && attributes.number("scale") <= 0) {
      return bad_argument("'scale' is ", attributes.number("scale"), "; it must be above 0");
    }
    if (arguments.inputs.size() == 4) RETURN_IF_ERROR(check_mask(arguments));
    return Inferred{{q}};
  }
  std::vector<Need> needs(const NodeView& node, bool /*split*/) const override {
    std::vector<Need> needs{need_input(0, Tolerance::smooth), need_input(1, Tolerance::smooth),
                            need_input(2, Tolerance::linear)};
    if (node.input_count() == 4) {
      needs.push_back(
          need_input(3, node.input(3).needs_gradient ? Tolerance::smooth : Tolerance::exact));
    }
    // Only exact steps read it: see backward().
    if (!is_composed(node)) needs.push_back(need_output(0, Tolerance::linear));
    return needs;
  }
  void forward(Site& s) const override {
    if (is_composed(s)) {
      forward_composed(s);
      return;
    }
    const Fused made = define_fused(s);
    s.define_output(0, joined(made.heads));
    if (!s.step().lossy) s.save("sums", made.sums);
  }
  void backward(Site& s) const override {
    if (is_composed(s)) {
      backward_composed(s);
      return;
    }
    const Fused again =
        s.step().lossy ? define_fused(s) : Fused{split(s, s.out()), s.saved("sums")};
    const std::vector<Definition> made = gradients_of_heads(s);
    s.define_all(
        made,
        aten("_scaled_dot_product_flash_attention_for_cpu_backward", split(s, s.grad()),
             split(s, s.in(0)), split_keys(s, s.in(1)), split_keys(s, s.in(2)), again.heads,
             again.sums, decimal(0), s.attributes().flag("causal"), options(s)),
        mask_bytes(s));
    give_heads(s, made);
  }
  double flops(const NodeView& node, const Sizes& sizes) const override {
    const Shape& k = node.input(1).type.shape;
    return 4.0 * static_cast<double>(elements(node.output().type.shape, sizes)) *
           static_cast<double>(extent(k[1], sizes));
  }

 private:
  static Result<void> check_mask(const Arguments& arguments) {
    const TensorType& q = arguments.inputs[0];
    const TensorType& mask = arguments.inputs[3];
    if (mask.element != Element::boolean && mask.element != q.element) {
      return bad_argument("the mask must be bool or ", name_of(q.element), ", but is ",
                          to_text(mask));
    }
    const Shape pairs = {q.shape[0], dim(arguments.attributes.integer("heads")), q.shape[1],
                         arguments.inputs[1].shape[1]};
    const std::size_t rank = mask.shape.size();
    bool fits = (rank == 2 || rank == 4) && !mask.sparse;
    for (std::size_t i = 0; fits && i < rank; ++i) {
      const Dim& each = mask.shape[i];
      fits = each == dim(1) || each == pairs[4 - rank + i];
    }
    if (!fits) {
      return bad_argument("the mask is ", to_text(mask), "; it must fit to ", to_text(pairs),
                          " or its last two axes, each of them whole or 1");
    }
    if (arguments.attributes.flag("causal")) {
      return bad_argument("there is a mask, so that 'causal' must be false");
    }
    return {};
  }

  /// What the fused forward pass makes: the output by heads, and a number for each row.
  struct Fused {
    Expression heads;
    Expression sums;
  };
  static Fused define_fused(Site& s) {
    const TensorType& q = s.view().input(0).type;
    const TensorType rows{q.element, {q.shape[0], dim(heads(s)), q.shape[1]}};
    Fused made{s.local("heads"), s.local("sums")};
    s.define_all({{made.heads, q}, {made.sums, rows}},
                 aten("_scaled_dot_product_flash_attention_for_cpu", split(s, s.in(0)),
                      split_keys(s, s.in(1)), split_keys(s, s.in(2)), decimal(0),
                      s.attributes().flag("causal"), options(s)),
                 mask_bytes(s));
    return made;
  }

  /// Of products and a softmax, instead of the fused function.
  static bool is_composed(const NodeView& node) {
    return node.attributes().number("dropout") > 0 ||
           (node.input_count() == 4 && node.input(3).needs_gradient);
  }
  static bool is_composed(const Site& s) {
    return !s.step().options.native || is_composed(s.view());
  }
  static TensorType pairs(const Site& s) {
    const TensorType& q = s.view().input(0).type;
    const TensorType& k = s.view().input(1).type;
    return {q.element, {q.shape[0], dim(heads(s)), q.shape[1], k.shape[1]}};
  }
  static double dropout(const Site& s) { return s.attributes().number("dropout"); }

  void forward_composed(Site& s) const {
    const TensorType type = pairs(s);
    const bool compact = s.step().compact;
    const bool noisy = dropout(s) > 0;
    const Expression chosen = s.local("weights");
    s.define({chosen, type}, probabilities(s), softmax_scratch(s));
    if (!compact) s.save("probabilities", chosen);
    Expression weights = chosen;
    if (noisy) {
      const Expression noise = s.local("noise");
      const double keep = 1 - dropout(s);
      if (compact) {
        weights = dropped(s, chosen);
      } else {
        s.define({noise, type},
                 torch("empty_like", chosen).call("bernoulli_", keep).call("div_", keep));
        s.save("noise", noise);
        weights = chosen * noise;
      }
    }
    s.define_output(0, joined(torch("matmul", weights, repeated(s, s.in(2)))),
                    (noisy && !compact ? bytes(type, s.sizes()) : 0) +
                        bytes(s.view().output().type, s.sizes()));
  }

  void backward_composed(Site& s) const {
    const TensorType type = pairs(s);
    const bool compact = s.step().compact;
    Expression chosen = s.saved("probabilities");
    if (compact) {
      chosen = s.local("weights");
      s.define({chosen, type}, probabilities(s), softmax_scratch(s));
    }
    Expression noise = none();
    if (dropout(s) > 0) {
      noise = s.saved("noise");
      if (compact) {
        noise = s.local("noise");
        s.define({noise, type}, dropped(s, torch("ones_like", chosen)));
      }
    }
    // Two tensors of all pairs meet before d_q and d_k are made; d_k needs a scaled q and a copy.
    const std::int64_t q = bytes(s.view().input(0).type, s.sizes());
    const std::int64_t k = bytes(s.view().input(1).type, s.sizes());
    std::vector<Definition> made = gradients_of_heads(s);
    const TensorType& queries = s.view().input(0).type;
    for (std::size_t i = 1; i < 3; ++i) made[i].type.shape[2] = queries.shape[2];
    made.push_back({s.local("d_pairs"), type});
    s.define_all(made,
                 function("attention_backward", split(s, s.grad()), split(s, s.in(0)),
                          repeated(s, s.in(1)), repeated(s, s.in(2)), chosen, noise, scale(s)),
                 std::max(2 * q, bytes(type, s.sizes()) - q - k));
    give_heads(s, made, true);
    if (s.view().input_count() < 4 || !s.wants(3)) return;
    const Shape& mask = s.view().input(3).type.shape;
    const Expression& d_pairs = made[3].variable;
    s.give(3, mask == type.shape ? d_pairs : d_pairs.call("sum_to_size", mask));
  }

  static Expression probabilities(Site& s) {
    Expression mask = none();
    if (s.attributes().flag("causal")) {
      const Shape shape = pairs(s).shape;
      const Expression q = s.in(0);
      const Expression all =
          q.call("new_ones", Shape{shape[2], shape[3]}, keyword("dtype", Element::boolean));
      mask = function("additive_mask", all.call("tril"), q.member("dtype"));
    } else if (s.view().input_count() == 4) {
      mask = additive(s);
    }
    return function("attention_probabilities", split(s, s.in(0)), repeated(s, s.in(1)), mask,
                    scale(s));
  }
  /// Products, and probabilities before rows without any pair are set to 0.
  static std::int64_t softmax_scratch(const Site& s) { return 2 * bytes(pairs(s), s.sizes()); }
  static Expression dropped(Site& s, const Expression& x) {
    return function("drop_", x, 1 - dropout(s), s.seed());
  }

  static std::vector<Definition> gradients_of_heads(const Site& s) {
    std::vector<Definition> made;
    for (std::size_t i = 0; i < 3; ++i) {
      made.push_back({s.local(i == 0 ? "d_q" : i == 1 ? "d_k" : "d_v"), s.view().input(i).type});
    }
    return made;
  }
  /// `repeated`: the gradients of k and v are those of repeated heads.
  static void give_heads(Site& s, const std::vector<Definition>& made, bool repeated = false) {
    for (std::size_t i = 0; i < 3; ++i) {
      const Expression& gradient = made[i].variable;
      if (i == 0 || !repeated || key_heads(s) == heads(s)) {
        s.give(i, joined(gradient));
      } else {
        s.give(i,
               joined(gradient.call("unflatten", 1, tuple_of({key_heads(s), -1})).call("sum", 2)),
               bytes(s.view().input(i).type, s.sizes()));
      }
    }
  }
  static std::int64_t heads(const Site& s) { return s.attributes().integer("heads"); }
  /// Fewer than heads where several of them read the same keys and values.
  static std::int64_t key_heads(const Site& s) {
    const std::int64_t head = s.view().input(0).type.shape[2].factor / heads(s);
    return s.view().input(1).type.shape[2].factor / head;
  }
  static Expression scale(const Site& s) {
    return s.attributes().has("scale") ? Expression(s.attributes().number("scale")) : none();
  }
  static Expression additive(Site& s) {
    const bool truths = s.view().input(3).type.element == Element::boolean;
    if (!truths) return s.in(3);
    return function("additive_mask", s.in(3), s.in(0).member("dtype"));
  }
  /// Of the fused function.
  static Operands options(Site& s) {
    Operands options;
    if (s.view().input_count() == 4) options.push_back(keyword("attn_mask", additive(s)));
    if (s.attributes().has("scale")) options.push_back(keyword("scale", scale(s)));
    return options;
  }
  /// What a bool mask takes when it is added.
  static std::int64_t mask_bytes(const Site& s) {
    if (s.view().input_count() < 4 || s.view().input(3).type.element != Element::boolean) return 0;
    return bytes({s.view().input(0).type.element, s.view().input(3).type.shape}, s.sizes());
  }
  /// [batch, tokens, features] by heads, and back.
  static Expression split(const Site& s, const Expression& x) {
    return x.call("unflatten", 2, tuple_of({heads(s), -1})).call("transpose", 1, 2);
  }
  static Expression split_keys(const Site& s, const Expression& x) {
    return x.call("unflatten", 2, tuple_of({key_heads(s), -1})).call("transpose", 1, 2);
  }
  /// A head of keys or values for every head of q.
  static Expression repeated(const Site& s, const Expression& x) {
    const std::int64_t times = heads(s) / key_heads(s);
    const Expression keys = split_keys(s, x);
    if (times > 1) return keys.call("repeat_interleave", times, 1);
    return s.attributes().flag("cached") ? keys.call("contiguous") : keys;
  }
  static Expression joined(const Expression& x) {
    return x.call("transpose", 1, 2).call("flatten", 2);
  }
};

}  // namespace

const Operator& attention_operator() {
  static const Attention kOperator;
  return kOperator;
}

}  // namespace tensorpress::model
