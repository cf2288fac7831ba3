# What operators call besides ATen: normalizing in place, gradients from normalized values, dropout
# from a seed.
import math

import torch
import torch.nn.functional as F
from slices import unpack_slices

from tensorpress.torch import logit_slices, seeded_dropout

aten = torch.ops.aten


def tick(B, name):
    if name in B:
        B[name] += 1


# needs: without_gaps
# in place: x
def normalize_(x, running_mean, running_var, training, momentum, eps):
    """Every channel to mean 0 and variance 1, in place where x has no gaps (ATen writes past them);
    the means and the inverse deviations."""
    if without_gaps(x) is not x:
        return aten.native_batch_norm(
            x, None, None, running_mean, running_var, training, momentum, eps
        )
    mean, rstd = x.new_empty(x.size(1)), x.new_empty(x.size(1))
    aten.native_batch_norm.out(
        x, None, None, running_mean, running_var, training, momentum, eps,
        out=x, save_mean=mean, save_invstd=rstd,
    )
    return x, mean, rstd


# operators: contiguous
def without_gaps(x):
    """x itself, or a copy if it is a part of something or lies in another order."""
    if x.is_contiguous() or x.dim() == 4 and x.is_contiguous(memory_format=torch.channels_last):
        return x
    return x.contiguous()


# operators: contiguous
def in_order_of(gradient, x):
    """The gradient in the order of memory that x has: PyTorch's kernel takes them to be the same."""
    last = x.dim() == 4 and x.is_contiguous(memory_format=torch.channels_last)
    if last and not x.is_contiguous():
        return gradient.contiguous(memory_format=torch.channels_last)
    return gradient.contiguous()


# needs: unpack_slices
# operators: zeros_like 2, sum 2, mul_, mul, div, view, empty_like, addcmul, addcmul_
# in place: gradient, if in_place
def batch_norm_backward_packed(gradient, packed, bits, weight, rstd, in_place=False):
    """batch_norm_backward slice by slice of the batch, from packed normalized values."""
    count, each = gradient.size(0), gradient[0].numel()
    normal = unpack_slices(packed, bits, gradient.shape, gradient.dtype)
    samples = max(1, (1 << 20) // each)
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


# operators: zeros_like, ones_like, native_batch_norm_backward
def batch_norm_backward(gradient, normal, weight, rstd, mask):
    """From the normalized values: an input of mean 0 and deviation 1."""
    zeros, ones = torch.zeros_like(rstd), torch.ones_like(rstd)
    return aten.native_batch_norm_backward(
        gradient, normal, weight * rstd, None, None, zeros, ones, True, 0.0, mask
    )


def layer_norm_backward(gradient, normal, features, rstd, weight, bias, mask):
    """From the normalized values: rows of mean 0 and deviation 1."""
    zeros, ones = torch.zeros_like(rstd), torch.ones_like(rstd)
    d_x, d_weight, d_bias = aten.native_layer_norm_backward(
        gradient, normal, features, zeros, ones, weight, bias, mask
    )
    return d_x.mul_(rstd) if mask[0] else None, d_weight, d_bias


# operators: arange, exp_, clamp_min, mul_, unsqueeze
# in place: log
def cross_entropy_backward_(log, labels, scale, ignore):
    """Probabilities less 1 at the label, times the scale, in the memory of their logarithms."""
    counted = labels != ignore
    rows = torch.arange(log.size(0), device=log.device)
    log.exp_()[rows, labels.clamp_min(0)] -= 1
    return log.mul_((scale * counted).unsqueeze(1))


# modules: logit_slices
# operators: reshape 2, mm, amax, sub_, exp_, sum 2, log, add_, gather, mul_, scatter_add_, addmm_
def linear_cross_entropy(x, weight, bias, labels, ignore, smoothing, z_loss, slice_bytes):
    """The mean loss over rows that count, how many these are, and the gradients of the sum by x,
    weight and bias."""
    rows, wanted = x.reshape(-1, x.size(-1)), (True, True, bias is not None)
    losses, count, d_x, *others = logit_slices.sliced(
        rows, weight, bias, labels.reshape(-1), None, None, ignore, smoothing, z_loss, True,
        slice_bytes, x.dtype, wanted,
    )
    d_weight, d_bias = (each.to(x.dtype) for each in others)
    made = losses.sum() / count, count, d_x.view(x.shape), d_weight
    return made if bias is None else (*made, d_bias)


# operators: pad, unsqueeze, avg_pool3d, squeeze, mul 3, add, pow 2, div, sub
def local_response_norm_backward(gradient, x, size, alpha, beta, k):
    def over_neighbours(t, left, right):
        padded = F.pad(t.unsqueeze(1), (0, 0, 0, 0, left, right))
        return F.avg_pool3d(padded, (size, 1, 1), stride=1).squeeze(1)

    half = size // 2
    d = over_neighbours(x * x, half, (size - 1) // 2) * alpha + k
    back = over_neighbours(gradient * x / d.pow(beta + 1), (size - 1) // 2, half)
    return gradient / d.pow(beta) - (2 * alpha * beta) * x * back


# operators: enable_grad, _sparse_mm_reduce_impl, detach 2, requires_grad_
def sparse_max(a, x):
    """The largest product of each row and column, and its place, which PyTorch finds only for
    autograd."""
    with torch.enable_grad():
        y, winner = aten._sparse_mm_reduce_impl(a, x.detach().requires_grad_(), "amax")
    return y.detach(), winner


# operators: where, to
def additive_mask(counts, dtype):
    """0 where a pair counts, minus infinity elsewhere."""
    return torch.where(counts, 0.0, -math.inf).to(dtype)


# operators: sqrt 2, matmul, transpose, _safe_softmax
def attention_probabilities(q, k, mask, scale):
    """As PyTorch composes them: both factors are scaled before they meet."""
    root = math.sqrt(1 / math.sqrt(q.size(-1)) if scale is None else scale)
    pairs = torch.matmul(q * root, k.transpose(-2, -1) * root)
    if mask is not None:
        pairs += mask
    return aten._safe_softmax(pairs, -1)


# needs: as_rows
# operators: sqrt 2, mul 4, matmul 4, transpose 6, _softmax_backward_data
def attention_backward(gradient, q, k, v, probabilities, noise, scale):
    """The gradients of q, k, v and of what the softmax was taken of."""
    root = math.sqrt(1 / math.sqrt(q.size(-1)) if scale is None else scale)
    noisy = probabilities if noise is None else probabilities * noise
    d_v = torch.matmul(noisy.transpose(-2, -1), gradient)
    del noisy
    d_pairs = torch.matmul(gradient, as_rows(v).transpose(-2, -1))
    if noise is not None:
        d_pairs = d_pairs * noise
    d_pairs = aten._softmax_backward_data(d_pairs, probabilities, -1, q.dtype)
    keys = as_rows(k.transpose(-2, -1) * root).transpose(-2, -1)  # as forward turned them
    d_q = torch.matmul(d_pairs, keys) * root
    del keys
    queries = as_rows(q * root).transpose(-2, -1)
    d_k = torch.matmul(queries, d_pairs).transpose(-2, -1) * root
    return d_q, d_k, d_v, d_pairs


# operators: flatten, unflatten
def as_rows(x):
    """Copied where batch and heads cannot be one axis, as PyTorch's product does it."""
    return x.flatten(0, 1).unflatten(0, x.shape[:2])


# operators: view, expand_as, new_zeros, scatter_reduce_, exp, index_select 2, div, zeros_like,
#   index_add_
def edge_softmax(x, index, nodes):
    """The softmax over rows with the same number; the largest of them is taken away first."""
    rows = index.view(-1, *[1] * (x.dim() - 1)).expand_as(x)
    most = x.new_zeros((nodes, *x.shape[1:])).scatter_reduce_(
        0, rows, x, "amax", include_self=False
    )
    y = torch.exp(x - most.index_select(0, index))
    return y / torch.zeros_like(most).index_add_(0, index, y).index_select(0, index)


# operators: mul 2, new_zeros, index_add_, sub, index_select
def edge_softmax_backward(gradient, y, index, nodes):
    weighted = gradient * y
    sums = y.new_zeros((nodes, *y.shape[1:])).index_add_(0, index, weighted)
    return weighted - y * sums.index_select(0, index)


# modules: seeded_dropout
# in place: x
def drop_(x, keep, seed):
    """Dropout in place. The same elements for the same seed: nothing needs to be kept."""
    return seeded_dropout.dropout_(x, keep, seed)
