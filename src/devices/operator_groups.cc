#include "devices/operator_groups.h"

#include <algorithm>

namespace tensorpress::devices {

const std::vector<OperatorGroup>& operator_groups() {
  static const std::vector<OperatorGroup> groups = {
      {"product", "matrix products", {"matmul", "mm", "bmm", "addmm", "linear", "einsum"}},
      {"elementwise", "arithmetic on each value", {"add",       "sub",
                                                   "rsub",      "mul",
                                                   "div",       "neg",
                                                   "abs",       "exp",
                                                   "log",       "sqrt",
                                                   "rsqrt",     "pow",
                                                   "square",    "reciprocal",
                                                   "minimum",   "maximum",
                                                   "clamp",     "clamp_min",
                                                   "clamp_max", "round",
                                                   "floor",     "sign",
                                                   "where",     "eq",
                                                   "ne",        "lt",
                                                   "le",        "gt",
                                                   "ge",        "to",
                                                   "_to_copy",  "clone",
                                                   "detach",    "lift_fresh_copy",
                                                   "alias",     "contiguous",
                                                   "copy",      "mul_",
                                                   "add_",      "type_as"}},
      {"activation",
       "what stands between layers",
       {"relu",
        "leaky_relu",
        "sigmoid",
        "tanh",
        "gelu",
        "silu",
        "softmax",
        "_softmax",
        "log_softmax",
        "_log_softmax",
        "dropout",
        "native_dropout",
        "hardtanh",
        "elu",
        "softplus",
        "threshold_backward",
        "sigmoid_backward",
        "tanh_backward",
        "gelu_backward",
        "relu_"}},
      {"layout",
       "axes and pieces",
       {"view",
        "reshape",
        "_unsafe_view",
        "flatten",
        "unflatten",
        "squeeze",
        "unsqueeze",
        "transpose",
        "t",
        "mT",
        "permute",
        "numpy_T",
        "expand",
        "expand_as",
        "slice",
        "select",
        "narrow",
        "split",
        "split_with_sizes",
        "chunk",
        "unbind",
        "cat",
        "stack",
        "pad",
        "constant_pad_nd",
        "flip",
        "matrix_H",
        "adjoint"}},
      {"reduction",
       "many values to one",
       {"sum", "mean", "amax", "amin", "max", "min", "var", "var_mean", "std", "argmax", "all",
        "any"}},
      {"creation",
       "tensors of known values",
       {"zeros", "ones", "full", "zeros_like", "ones_like", "full_like", "new_zeros", "new_ones",
        "new_full", "empty", "arange", "scalar_tensor", "eye"}},
      {"convolution",
       "convolutions and pooling",
       {"conv1d", "conv2d", "conv3d", "convolution", "conv_transpose2d", "convolution_backward",
        "max_pool2d", "max_pool2d_with_indices", "max_pool2d_with_indices_backward", "avg_pool2d",
        "avg_pool2d_backward", "adaptive_avg_pool2d", "_adaptive_avg_pool2d", "upsample_nearest2d",
        "upsample_bilinear2d"}},
      {"normalization",
       "batch and layer norms",
       {"batch_norm", "native_batch_norm", "_native_batch_norm_legit",
        "_native_batch_norm_legit_functional", "_native_batch_norm_legit_no_training",
        "native_batch_norm_backward", "layer_norm", "native_layer_norm",
        "native_layer_norm_backward", "group_norm"}},
      {"loss",
       "losses",
       {"cross_entropy_loss", "nll_loss", "nll_loss_forward", "nll_loss_backward", "mse_loss",
        "mse_loss_backward", "l1_loss", "binary_cross_entropy",
        "binary_cross_entropy_with_logits"}},
      {"gather",
       "values by their places",
       {"gather", "scatter", "scatter_add", "index_select", "index_copy", "index_add", "index",
        "index_put", "take", "take_along_dim", "embedding", "masked_fill"}},
      {"bitwise",
       "on the bits of integers",
       {"bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_not"}},
      {"shift",
       "bits moved",
       {"bitwise_left_shift", "bitwise_right_shift", "__lshift__", "__rshift__"}},
      {"sparse", "sparse matrices", {"sparse_mm", "_sparse_mm", "_sparse_addmm", "to_sparse"}},
  };
  return groups;
}

const OperatorGroup* find_group(std::string_view name) {
  const auto& groups = operator_groups();
  const auto found = std::ranges::find(groups, name, &OperatorGroup::name);
  return found == groups.end() ? nullptr : &*found;
}

bool is_layout(std::string_view operator_name) {
  const OperatorGroup* const layout = find_group("layout");
  constexpr std::string_view kCopying[] = {"cat", "stack", "pad", "constant_pad_nd", "flip"};
  return std::ranges::find(layout->operators, operator_name) != layout->operators.end() &&
         std::ranges::find(kCopying, operator_name) == std::end(kCopying);
}

bool is_plane_product(std::string_view operator_name) {
  return operator_name == "matmul" || operator_name == "bmm";
}

}  // namespace tensorpress::devices
