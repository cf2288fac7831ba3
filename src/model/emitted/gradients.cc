// What operators call besides ATen: normalizing in place, gradients from normalized values, dropout
// from a seed.
#include <array>

#include "model/emitted/functions.h"

namespace tensorpress::model {
namespace {

constexpr std::array kFunctions = std::to_array<EmittedFunction>({
    {"tick", R"(
def tick(B, name):
    if name in B:
        B[name] += 1
)",
     R"(
def tick(B, name):
    if name in B:
        B[name] += 1
)"},
    {"normalize_", R"(
def normalize_(x, running_mean, running_var, training, momentum, eps):
    """Every channel to mean 0 and variance 1, in place; the means and the inverse deviations."""
    mean, rstd = x.new_empty(x.size(1)), x.new_empty(x.size(1))
    aten.native_batch_norm.out(
        x, None, None, running_mean, running_var, training, momentum, eps,
        out=x, save_mean=mean, save_invstd=rstd,
    )
    return x, mean, rstd
)",
     R"(
def normalize_(x, running_mean, running_var, training, momentum, eps):
    """Every channel to mean 0 and variance 1; the means and the inverse deviations."""
    return aten.native_batch_norm(
        x, None, None, running_mean, running_var, training, momentum, eps
    )
)"},
    {"batch_norm_backward_packed",
     R"(
def batch_norm_backward_packed(gradient, packed, bits, weight, rstd, in_place=False):
    """batch_norm_backward slice by slice of the batch, from packed normalized values."""
    count, each = gradient.size(0), gradient[0].numel()
    normal, samples = unpack_slices(packed, bits, gradient.shape), max(1, (1 << 20) // each)
    parts = [slice(i, min(i + samples, count)) for i in range(0, count, samples)]
    over, column = [0, *range(2, gradient.dim())], (-1, *[1] * (gradient.dim() - 2))
    d_weight, d_bias = torch.zeros_like(weight), torch.zeros_like(weight)
    for part in parts:
        d_bias += gradient[part].sum(over)
        d_weight += normal[part].mul_(gradient[part]).sum(over)
    scale = weight * rstd
    mean = -scale / (gradient.numel() // weight.numel())
    shift, slope, scale = (each.view(column) for each in (d_bias * mean, d_weight * mean, scale))
    d_x = gradient if in_place else torch.empty_like(gradient)
    for part in parts:
        torch.addcmul(shift, gradient[part], scale, out=d_x[part]).addcmul_(normal[part], slope)
    return d_x, d_weight, d_bias
)",
     {}},
    {"batch_norm_backward",
     R"(
def batch_norm_backward(gradient, normal, weight, rstd, mask):
    """From the normalized values: an input of mean 0 and deviation 1."""
    zeros, ones = torch.zeros_like(rstd), torch.ones_like(rstd)
    return aten.native_batch_norm_backward(
        gradient, normal, weight * rstd, None, None, zeros, ones, True, 0.0, mask
    )
)",
     {}},
    {"layer_norm_backward", R"(
def layer_norm_backward(gradient, normal, features, rstd, weight, bias, mask):
    """From the normalized values: rows of mean 0 and deviation 1."""
    zeros, ones = torch.zeros_like(rstd), torch.ones_like(rstd)
    d_x, d_weight, d_bias = aten.native_layer_norm_backward(
        gradient, normal, features, zeros, ones, weight, bias, mask
    )
    return d_x.mul_(rstd) if mask[0] else None, d_weight, d_bias
)",
     R"(
def layer_norm_backward(gradient, normal, features, rstd, weight, bias, mask):
    """From the normalized values: rows of mean 0 and deviation 1."""
    zeros, ones = torch.zeros_like(rstd), torch.ones_like(rstd)
    d_x, d_weight, d_bias = aten.native_layer_norm_backward(
        gradient, normal, features, zeros, ones, weight, bias, mask
    )
    return d_x * rstd if mask[0] else None, d_weight, d_bias
)"},
    {"cross_entropy_backward_",
     R"(
def cross_entropy_backward_(log, labels, scale):
    """Probabilities less 1 at the label, times the scale, in the memory of their logarithms."""
    counted = labels != -100
    rows = torch.arange(log.size(0), device=log.device)
    log.exp_()[rows, labels.clamp_min(0)] -= 1
    return log.mul_((scale * counted).unsqueeze(1))
)",
     {}},
    {"local_response_norm_backward", R"(
def local_response_norm_backward(gradient, x, size, alpha, beta, k):
    def over_neighbours(t, left, right):
        padded = F.pad(t.unsqueeze(1), (0, 0, 0, 0, left, right))
        return F.avg_pool3d(padded, (size, 1, 1), stride=1).squeeze(1)

    half = size // 2
    d = over_neighbours(x * x, half, (size - 1) // 2) * alpha + k
    back = over_neighbours(gradient * x / d.pow(beta + 1), (size - 1) // 2, half)
    return gradient / d.pow(beta) - (2 * alpha * beta) * x * back
)",
     R"(
def local_response_norm_backward(gradient, x, size, alpha, beta, k):
    def over_neighbours(t, left, right):
        padded = F.pad(t.unsqueeze(1), (0, 0, 0, 0, left, right))
        return F.avg_pool3d(padded, (size, 1, 1), stride=1).squeeze(1)

    half = size // 2
    d = over_neighbours(x * x, half, (size - 1) // 2) * alpha + k
    back = over_neighbours(gradient * x / d.pow(beta + 1), (size - 1) // 2, half)
    return gradient / d.pow(beta) - (2 * alpha * beta) * x * back
)"},
    {"sparse_max",
     R"(
def sparse_max(a, x):
    """The largest product of each row and column, and its place, which PyTorch finds only for
    autograd."""
    with torch.enable_grad():
        y, winner = aten._sparse_mm_reduce_impl(a, x.detach().requires_grad_(), "amax")
    return y.detach(), winner
)",
     {}},
    {"dropout_noise", R"(
def dropout_noise(like, keep, seed):
    """The same for the same seed: nothing needs to be kept."""
    generator = torch.Generator(like.device).manual_seed(seed)
    noise = torch.empty(like.shape, dtype=like.dtype, device=like.device)  # whatever its strides
    return noise.bernoulli_(keep, generator=generator).div_(keep)
)",
     R"(
def dropout_noise(like, keep, seed):
    """The same for the same seed: nothing needs to be kept. By multiplication and floor only."""
    number = torch.arange(like.numel(), device=like.device, dtype=torch.float64)
    for factor in (0.6180339887498949, 0.7548776662466927):
        number = (number + seed % 1000003 + 1) * factor
        number = (number - torch.floor(number)) * 99991.0
    chosen = torch.floor(number - torch.floor(number) + keep)
    return (chosen / keep).to(like.dtype).view(like.shape)
)"},
});

}  // namespace

std::span<const EmittedFunction> gradients_functions() {
  return kFunctions;
}

}  // namespace tensorpress::model
