// batch_norm(x, eps = 1e-5, momentum = 0.1, training = true): every channel to mean 0 and variance
// 1 over the batch, then a scale and a shift (Ioffe and Szegedy 2015). With training = false by the
// running statistics, which stay as they are: linear in x, so that a lossy x is sound.
//
// Autograd keeps x. If the policy stores the normalized values instead (the hidden output),
// backward is
//   dx = gamma rstd (g - mean(g) - xhat mean(g xhat)),   dgamma = sum(g xhat),   dbeta = sum(g),
// which is PyTorch's own function for an input of mean 0, deviation 1 and weight gamma rstd; and
// the output, which the next convolution needs, is rebuilt as gamma xhat + beta. xhat has unit
// scale in every channel, so a group of its values quantizes well even where it spans channels.
#include <algorithm>

#include "base/errors.h"
#include "model/lowering/site.h"
#include "model/operators/normalizing.h"

namespace tensorpress::model {
namespace {

// The slices of batch_norm_backward_packed in emit/python/gradients.py.
constexpr std::int64_t kSliceBytes = std::int64_t{4} << 20;

class BatchNorm final : public NormalizingOperator {
 public:
  const Signature& signature() const override {
    static const Signature kSignature{"batch_norm",
                                      1,
                                      1,
                                      {{"eps", AttributeKind::number, false, 1e-5},
                                       {"momentum", AttributeKind::number, false, 0.1},
                                       {"training", AttributeKind::flag, false, true}}};
    return kSignature;
  }

  Result<Inferred> infer(const Arguments& arguments) const override {
    const TensorType& x = arguments.inputs[0];
    if (x.shape.size() < 2 || !is_floating(x.element) || !x.shape[1].known()) {
      return bad_argument("the input must be floating [batch, channels, ...], but is ", to_text(x));
    }
    const TensorType channel{x.element, {x.shape[1]}};
    Inferred inferred{{x}};
    inferred.parameters = {{"weight", channel, "init.ones_({})"},
                           {"bias", channel, "init.zeros_({})"},
                           {"running_mean", channel, "init.zeros_({})", true},
                           {"running_var", channel, "init.ones_({})", true},
                           {"num_batches_tracked", {Element::i64, {}}, "init.zeros_({})", true}};
    if (arguments.attributes.flag("training")) inferred.hidden = {x};
    return inferred;
  }

  std::vector<Need> needs(const NodeView& node, bool split) const override {
    if (!trains(node)) return {need_input(0, Tolerance::linear)};
    return NormalizingOperator::needs(node, split);
  }
  std::vector<Need> rebuild_needs(const NodeView& node, bool split) const override {
    if (!trains(node)) return {need_input(0, Tolerance::linear)};
    return NormalizingOperator::rebuild_needs(node, split);
  }

  void forward(Site& s) const override {
    if (!trains(s.view())) {
      s.define_output(
          0, functional("batch_norm", s.in(), s.parameter("running_mean"),
                        s.parameter("running_var"), s.parameter("weight"), s.parameter("bias"),
                        false, decimal(0), s.attributes().number("eps")));
      return;
    }
    const TensorType& channel = s.view().parameter("weight")->type;
    const Expression mean = s.local("mean");
    const Expression rstd = s.local("rstd");
    const Operands statistics =
        operands(s.parameter("running_mean"), s.parameter("running_var"), true,
                 s.attributes().number("momentum"), s.attributes().number("eps"));
    s.run(function("tick", word("B"), s.view().parameter("num_batches_tracked")->name));
    if (!s.split()) {
      s.define_all({{s.out(), s.view().output().type}, {mean, channel}, {rstd, channel}},
                   aten("native_batch_norm", s.in(), s.parameter("weight"), s.parameter("bias"),
                        statistics));
      s.save("mean", mean);
      s.save("rstd", rstd);
      return;
    }
    const Expression normal = s.out(s.hidden());
    s.define_all({{normal, s.view().output().type}, {mean, channel}, {rstd, channel}},
                 s.may_overwrite() ? function("normalize_", s.in(), statistics)
                                   : aten("native_batch_norm", s.in(), none(), none(), statistics));
    s.save("rstd", rstd);
    affine(s, normal, s.store_hidden());
  }

  void rebuild(Site& s) const override {
    if (!trains(s.view())) {
      forward(s);
      return;
    }
    const Expression normal = s.out(s.hidden());
    affine(s, normal, s.may_overwrite_out(s.hidden()));
  }

  bool rebuilds_slices(const NodeView& node) const override { return trains(node); }
  Expression rebuilt_slices(Site& s) const override {
    return function("affine_slices", s.out_slices(s.hidden()).value(), s.parameter("weight"),
                    s.parameter("bias"));
  }

  void backward(Site& s) const override {
    // From packed values slice by slice of the batch, in the gradient's own memory where that is
    // free.
    const bool trained = trains(s.view());
    const std::optional<Expression> bits = s.wants() && trained ? s.hidden_bits() : std::nullopt;
    const bool own = bits && s.may_overwrite_grad();
    const std::vector<Definition> made = normalizing_gradients(s);
    const Expression mask = list_of({s.wants(), true, true});
    if (bits) {
      const Stored packed{s.view().output(s.hidden()).name};
      s.define_all(
          made,
          function("batch_norm_backward_packed", s.grad(), packed, *bits, s.parameter("weight"),
                   s.saved("rstd"), own ? Operands{true} : Operands{}),
          std::min(bytes(s.view().input(0).type, s.sizes()), kSliceBytes) * 2);
    } else if (s.split()) {
      s.define_all(made, function("batch_norm_backward", s.grad(), s.out(s.hidden()),
                                  s.parameter("weight"), s.saved("rstd"), mask));
    } else {
      const auto saved = [&](const char* name) {
        return trained ? Expression(s.saved(name)) : none();
      };
      s.define_all(made,
                   aten("native_batch_norm_backward", s.grad(), s.in(), s.parameter("weight"),
                        s.parameter("running_mean"), s.parameter("running_var"), saved("mean"),
                        saved("rstd"), trained, s.attributes().number("eps"), mask));
    }
    give_normalizing_gradients(s, made);
  }

  double flops(const NodeView& node, const Sizes& sizes) const override {
    return 7.0 * static_cast<double>(elements(node.output().type.shape, sizes));
  }

 private:
  static bool trains(const NodeView& node) { return node.attributes().flag("training"); }
  static void affine(Site& s, const Expression& normal, bool in_place) {
    Operands column{-1};
    column.resize(s.view().output().type.shape.size() - 1, 1);
    Operands all = operands(s.parameter("bias").call("view", column), normal,
                            s.parameter("weight").call("view", column));
    if (in_place) all.push_back(keyword("out", normal));
    s.define_output(0, torch("addcmul", std::move(all)));
  }
};

}  // namespace

const Operator& batch_norm_operator() {
  static const BatchNorm kOperator;
  return kOperator;
}

}  // namespace tensorpress::model
