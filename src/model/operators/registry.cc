// The list of operators. An operator is a file of this folder and a line here.
#include <algorithm>
#include <array>

#include "base/errors.h"
#include "model/operator.h"

namespace tensorpress::model {

const Operator &adaptive_avg_pool2d_operator(), &add_operator(), &attention_operator(),
    &avg_pool2d_operator(), &batch_norm_operator(), &bce_with_logits_operator(), &cat_operator(),
    &chunk_operator(), &conv2d_operator(), &conv_transpose2d_operator(), &cross_entropy_operator(),
    &div_operator(), &dropout_operator(), &elu_operator(), &embedding_operator(),
    &flatten_operator(), &gelu_operator(), &gelu_tanh_operator(), &group_norm_operator(),
    &l1_loss_operator(), &layer_norm_operator(), &leaky_relu_operator(), &linear_operator(),
    &local_response_norm_operator(), &log_softmax_operator(), &matmul_operator(),
    &max_pool2d_operator(), &mean_operator(), &mse_loss_operator(), &mul_operator(),
    &nll_loss_operator(), &pad_operator(), &relu_operator(), &relu6_operator(), &reshape_operator(),
    &rms_norm_operator(), &scale_operator(), &shift_operator(), &sigmoid_operator(),
    &silu_operator(), &softmax_operator(), &softplus_operator(), &spmm_operator(), &sub_operator(),
    &tanh_operator(), &transpose_operator(), &upsample_operator();

namespace {

using Access = const Operator& (*)();
constexpr std::array kOperators = std::to_array<Access>({
    adaptive_avg_pool2d_operator,
    add_operator,
    attention_operator,
    avg_pool2d_operator,
    batch_norm_operator,
    bce_with_logits_operator,
    cat_operator,
    chunk_operator,
    conv2d_operator,
    conv_transpose2d_operator,
    cross_entropy_operator,
    div_operator,
    dropout_operator,
    elu_operator,
    embedding_operator,
    flatten_operator,
    gelu_operator,
    gelu_tanh_operator,
    group_norm_operator,
    l1_loss_operator,
    layer_norm_operator,
    leaky_relu_operator,
    linear_operator,
    local_response_norm_operator,
    log_softmax_operator,
    matmul_operator,
    max_pool2d_operator,
    mean_operator,
    mse_loss_operator,
    mul_operator,
    nll_loss_operator,
    pad_operator,
    relu_operator,
    relu6_operator,
    reshape_operator,
    rms_norm_operator,
    scale_operator,
    shift_operator,
    sigmoid_operator,
    silu_operator,
    softmax_operator,
    softplus_operator,
    spmm_operator,
    sub_operator,
    tanh_operator,
    transpose_operator,
    upsample_operator,
});

}  // namespace

std::vector<Need> Operator::rebuild_needs(const NodeView& /*node*/, bool /*split*/) const {
  return {};
}

void Operator::rebuild(Site& /*site*/) const {}

std::string Operator::packed_signs(const NodeView& /*node*/, const std::string& output) const {
  return text("pack_signs(", output, ")");
}

std::string Operator::gradient_sink(Site& /*site*/) const {
  return {};
}

std::string Operator::rebuilt_slices(Site& /*site*/) const {
  return {};
}

double Operator::flops(const NodeView& node, const Sizes& sizes) const {
  return static_cast<double>(elements(node.output().type.shape, sizes));
}

const Operator* find_operator(std::string_view name) {
  for (const Access access : kOperators) {
    if (access().signature().name == name) return &access();
  }
  return nullptr;
}

std::vector<std::string_view> operator_names() {
  std::vector<std::string_view> names;
  for (const Access access : kOperators) names.emplace_back(access().signature().name);
  return names;
}

}  // namespace tensorpress::model
