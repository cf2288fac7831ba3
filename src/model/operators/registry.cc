// The list of operators. An operator is a file of this folder and a line here.
#include <algorithm>
#include <array>

#include "base/errors.h"
#include "model/graph/operator.h"

namespace tensorpress::model {

const Operator &abs_operator(), &adaptive_avg_pool2d_operator(), &add_operator(),
    &arange_operator(), &attention_operator(), &avg_pool2d_operator(), &batch_norm_operator(),
    &bce_with_logits_operator(), &cast_operator(), &cat_operator(), &chunk_operator(),
    &contiguous_operator(), &conv2d_operator(), &conv_transpose2d_operator(), &cos_operator(),
    &cross_entropy_operator(), &cumsum_operator(), &dice_loss_operator(), &div_operator(),
    &dropout_operator(), &edge_softmax_operator(), &elu_operator(), &embedding_operator(),
    &equal_operator(), &exp_operator(), &expand_operator(), &flatten_operator(), &full_operator(),
    &gather_operator(), &gelu_operator(), &gelu_tanh_operator(), &greater_operator(),
    &greater_equal_operator(), &group_norm_operator(), &hardtanh_operator(),
    &index_select_operator(), &l1_loss_operator(), &layer_norm_operator(), &leaky_relu_operator(),
    &less_operator(), &less_equal_operator(), &linear_operator(), &linear_cross_entropy_operator(),
    &local_response_norm_operator(), &log_operator(), &log_softmax_operator(),
    &logical_and_operator(), &logical_not_operator(), &logical_or_operator(),
    &masked_fill_operator(), &matmul_operator(), &max_pool2d_operator(), &maximum_operator(),
    &mean_operator(), &minimum_operator(), &mse_loss_operator(), &mul_operator(),
    &nll_loss_operator(), &not_equal_operator(), &numbers_operator(), &pad_operator(),
    &permute_operator(), &pow_operator(), &relu_operator(), &relu6_operator(), &reshape_operator(),
    &rms_norm_operator(), &roll_operator(), &rsqrt_operator(), &scale_operator(),
    &scatter_add_operator(), &segment_sum_operator(), &shift_operator(), &sigmoid_operator(),
    &silu_operator(), &sin_operator(), &slice_operator(), &softmax_operator(), &softplus_operator(),
    &spmm_operator(), &sqrt_operator(), &squeeze_operator(), &stack_operator(), &sub_operator(),
    &sum_operator(), &tanh_operator(), &transpose_operator(), &unsqueeze_operator(),
    &upsample_operator(), &where_operator();

namespace {

using Access = const Operator& (*)();
constexpr std::array kOperators = std::to_array<Access>({
    abs_operator,
    adaptive_avg_pool2d_operator,
    add_operator,
    arange_operator,
    attention_operator,
    avg_pool2d_operator,
    batch_norm_operator,
    bce_with_logits_operator,
    cast_operator,
    cat_operator,
    chunk_operator,
    contiguous_operator,
    conv2d_operator,
    conv_transpose2d_operator,
    cos_operator,
    cross_entropy_operator,
    cumsum_operator,
    dice_loss_operator,
    div_operator,
    dropout_operator,
    edge_softmax_operator,
    elu_operator,
    embedding_operator,
    equal_operator,
    exp_operator,
    expand_operator,
    flatten_operator,
    full_operator,
    gather_operator,
    gelu_operator,
    gelu_tanh_operator,
    greater_operator,
    greater_equal_operator,
    group_norm_operator,
    hardtanh_operator,
    index_select_operator,
    l1_loss_operator,
    layer_norm_operator,
    leaky_relu_operator,
    less_operator,
    less_equal_operator,
    linear_operator,
    linear_cross_entropy_operator,
    local_response_norm_operator,
    log_operator,
    log_softmax_operator,
    logical_and_operator,
    logical_not_operator,
    logical_or_operator,
    masked_fill_operator,
    matmul_operator,
    max_pool2d_operator,
    maximum_operator,
    mean_operator,
    minimum_operator,
    mse_loss_operator,
    mul_operator,
    nll_loss_operator,
    not_equal_operator,
    numbers_operator,
    pad_operator,
    permute_operator,
    pow_operator,
    relu_operator,
    relu6_operator,
    reshape_operator,
    rms_norm_operator,
    roll_operator,
    rsqrt_operator,
    scale_operator,
    scatter_add_operator,
    segment_sum_operator,
    shift_operator,
    sigmoid_operator,
    silu_operator,
    sin_operator,
    slice_operator,
    softmax_operator,
    softplus_operator,
    spmm_operator,
    sqrt_operator,
    squeeze_operator,
    stack_operator,
    sub_operator,
    sum_operator,
    tanh_operator,
    transpose_operator,
    unsqueeze_operator,
    upsample_operator,
    where_operator,
});

}  // namespace

std::vector<Need> need_inputs(const NodeView& node, Tolerance tolerance) {
  std::vector<Need> needs;
  for (std::size_t i = 0; i < node.input_count(); ++i) needs.push_back(need_input(i, tolerance));
  return needs;
}

Result<void> expect_floating(const TensorType& type) {
  if (is_floating(type.element)) return {};
  return bad_argument("the input must be floating, but is ", to_text(type));
}

std::vector<Need> Operator::rebuild_needs(const NodeView& /*node*/, bool /*split*/) const {
  return {};
}

void Operator::rebuild(Site& /*site*/) const {}

Expression Operator::packed_signs(const NodeView& /*node*/, const Expression& output) const {
  return function("pack_signs", output);
}

Expression Operator::gradient_sink(Site& /*site*/) const {
  return none();
}

Expression Operator::rebuilt_slices(Site& /*site*/) const {
  return none();
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
