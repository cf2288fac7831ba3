// batch_norm(x, eps = 1e-5, momentum = 0.1, training = true): every channel to mean 0 and variance
// 1 over the batch, then a scale and a shift (Ioffe and Szegedy 2015). With training = false by the
// running statistics, which stay as they are: linear in x, so that a lossy x is sound.
//
// Autograd keeps x. If the plan stores the normalized values instead (the hidden output), backward
// is
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

// The slices of batch_norm_backward_packed in emitted/gradients.cc.
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
          0, text("F.batch_norm(", s.in(), ", ", s.parameter("running_mean"), ", ",
                  s.parameter("running_var"), ", ", s.parameter("weight"), ", ",
                  s.parameter("bias"), ", False, 0.0, ", s.attributes().number("eps"), ")"));
      return;
    }
    const TensorType& channel = s.view().parameter("weight")->type;
    const std::string mean = s.local("mean");
    const std::string rstd = s.local("rstd");
    const std::string statistics =
        text(s.parameter("running_mean"), ", ", s.parameter("running_var"), ", True, ",
             s.attributes().number("momentum"), ", ", s.attributes().number("eps"));
    s.line(text("tick(B, \"", s.view().parameter("num_batches_tracked")->name, "\")"));
    if (!s.split()) {
      s.define_all({{s.out(), s.view().output().type}, {mean, channel}, {rstd, channel}},
                   text("aten.native_batch_norm(", s.in(), ", ", s.parameter("weight"), ", ",
                        s.parameter("bias"), ", ", statistics, ")"));
      s.save("mean", mean);
      s.save("rstd", rstd);
      return;
    }
    const std::string normal = s.out(s.hidden());
    const bool own = s.may_overwrite();
    s.define_all({{normal, s.view().output().type, own ? s.in() : std::string()},
                  {mean, channel},
                  {rstd, channel}},
                 own ? text("normalize_(", s.in(), ", ", statistics, ")")
                     : text("aten.native_batch_norm(", s.in(), ", None, None, ", statistics, ")"));
    s.save("rstd", rstd);
    affine(s, normal, s.store_hidden());
  }

  void rebuild(Site& s) const override {
    if (!trains(s.view())) {
      forward(s);
      return;
    }
    const std::string normal = s.out(s.hidden());
    affine(s, normal, s.may_overwrite_out(s.hidden()));
  }

  bool rebuilds_slices(const NodeView& node) const override { return trains(node); }
  std::string rebuilt_slices(Site& s) const override {
    return text("affine_slices(", s.out_slices(s.hidden()), ", ", s.parameter("weight"), ", ",
                s.parameter("bias"), ")");
  }

  void backward(Site& s) const override {
    const TensorType& channel = s.view().parameter("weight")->type;
    // From packed values slice by slice of the batch, in the gradient's own memory where that is
    // free.
    const bool trained = trains(s.view());
    const std::string bits = s.wants() && trained ? s.hidden_bits() : std::string();
    const bool own = !bits.empty() && s.may_overwrite_grad();
    const std::vector<Definition> made = {{s.wants() ? s.grad_name_of(0) : "_",
                                           s.view().input(0).type, own ? s.grad() : std::string()},
                                          {s.grad_name_of_parameter("weight"), channel},
                                          {s.grad_name_of_parameter("bias"), channel}};
    const std::string mask = text(", [", s.wants() ? "True" : "False", ", True, True])");
    const std::string eps = text(trained ? ", True, " : ", False, ", s.attributes().number("eps"));
    if (!bits.empty()) {
      s.define_all(
          made,
          text("batch_norm_backward_packed(", s.grad(), ", ", s.stored_hidden(), ", ", bits, ", ",
               s.parameter("weight"), ", ", s.saved("rstd"), own ? ", True)" : ")"),
          std::min(bytes(s.view().input(0).type, s.sizes()), kSliceBytes) * 2);
    } else if (s.split()) {
      s.define_all(made, text("batch_norm_backward(", s.grad(), ", ", s.out(s.hidden()), ", ",
                              s.parameter("weight"), ", ", s.saved("rstd"), mask));
    } else {
      s.define_all(made, text("aten.native_batch_norm_backward(", s.grad(), ", ", s.in(), ", ",
                              s.parameter("weight"), ", ", s.parameter("running_mean"), ", ",
                              s.parameter("running_var"), ", ", trained ? s.saved("mean") : "None",
                              ", ", trained ? s.saved("rstd") : "None", eps, mask));
    }
    s.give_parameter("weight", made[1].name);
    s.give_parameter("bias", made[2].name);
    if (s.wants()) s.give(0, made[0].name);
  }

  double flops(const NodeView& node, const Sizes& sizes) const override {
    return 7.0 * static_cast<double>(elements(node.output().type.shape, sizes));
  }

 private:
  static bool trains(const NodeView& node) { return node.attributes().flag("training"); }
  static void affine(Site& s, const std::string& normal, bool in_place) {
    std::string shape = "(-1";
    for (std::size_t i = 2; i < s.view().output().type.shape.size(); ++i) shape += ", 1";
    const std::string call = text("torch.addcmul(", s.parameter("bias"), ".view", shape, "), ",
                                  normal, ", ", s.parameter("weight"), ".view", shape, ")");
    if (in_place) {
      s.define_output_in(0, normal, text(call, ", out=", normal, ")"));
    } else {
      s.define_output(0, text(call, ")"));
    }
  }
};

}  // namespace

const Operator& batch_norm_operator() {
  static const BatchNorm kOperator;
  return kOperator;
}

}  // namespace tensorpress::model
