# In place of the functions of ../gradients.py with these names: PyTorch's operators only, which make
# new tensors.
import torch

aten = torch.ops.aten


# operators: native_batch_norm
def normalize_(x, running_mean, running_var, training, momentum, eps):
    """Every channel to mean 0 and variance 1; the means and the inverse deviations."""
    return aten.native_batch_norm(
        x, None, None, running_mean, running_var, training, momentum, eps
    )


# operators: zeros_like, ones_like, native_layer_norm_backward, mul
def layer_norm_backward(gradient, normal, features, rstd, weight, bias, mask):
    """From the normalized values: rows of mean 0 and deviation 1."""
    zeros, ones = torch.zeros_like(rstd), torch.ones_like(rstd)
    d_x, d_weight, d_bias = aten.native_layer_norm_backward(
        gradient, normal, features, zeros, ones, weight, bias, mask
    )
    return d_x * rstd if mask[0] else None, d_weight, d_bias


# operators: reshape 2, ne, where, arange, eq, linear, logsumexp, softmax, mean, sum 4, square,
#   mul 8, sub 4, add 4, matmul 2, t, cat, view, to, div 2, zeros_like 2
def linear_cross_entropy(x, weight, bias, labels, ignore, smoothing, z_loss, slice_bytes):
    """The mean loss over rows that count, how many these are, and the gradients of the sum by x,
    weight and bias."""
    rows, labels = x.reshape(-1, x.size(-1)), labels.reshape(-1)
    counts = labels != ignore
    labels = torch.where(counts, labels, 0)
    classes = torch.arange(weight.size(0), device=x.device)
    size = max(1, slice_bytes // (4 * weight.size(0)))
    loss, d_x = x.new_zeros(()), []
    d_weight, d_bias = torch.zeros_like(weight), x.new_zeros(weight.size(0))
    for first in range(0, rows.size(0), size):
        part = rows[first : first + size]
        kept = counts[first : first + size].to(x.dtype)
        hit = (classes == labels[first : first + size, None]).to(x.dtype)
        logits = torch.nn.functional.linear(part, weight, bias)
        total = torch.logsumexp(logits, 1)
        of_label, mean = (logits * hit).sum(1), logits.mean(1)
        each = total - (1 - smoothing) * of_label - smoothing * mean + z_loss * total.square()
        loss = loss + (kept * each).sum()
        by = torch.softmax(logits, 1) * (1 + 2 * z_loss * total)[:, None]
        by = (by - (1 - smoothing) * hit - smoothing / weight.size(0)) * kept[:, None]
        d_x.append(by @ weight)
        d_weight = d_weight + by.t() @ part
        d_bias = d_bias + by.sum(0)
    count = counts.sum().to(x.dtype)
    made = loss / count, count, torch.cat(d_x).view(x.shape), d_weight
    return made if bias is None else (*made, d_bias)


# needs: seeded_noise
# operators: floor, mul, to, view
def drop_(x, keep, seed):
    """Dropout. The same elements for the same seed: nothing needs to be kept."""
    chosen = torch.floor(seeded_noise(x.numel(), seed, x.device) + keep)
    return x * (chosen / keep).to(x.dtype).view(x.shape)


# operators: arange, mul 3, sub 2, floor 2, to
# types: float64
def seeded_noise(count, seed, device):
    """Numbers from 0 to below 1 that a seed decides, by multiplication and floor only; the products
    of two changing numbers keep the sequences of two seeds apart."""
    number = torch.arange(count, device=device, dtype=torch.float64) * 0.6180339887498949
    number = number - torch.floor(number)
    for key in (seed % 65521, seed // 65521 % 65519, seed % 65497):
        key = torch.as_tensor(key + 1, dtype=torch.float64, device=device)
        number = (number + 1) * (number + key * 0.7548776662466927 % 1) * 99991.0
        number = number - torch.floor(number)
    return number
