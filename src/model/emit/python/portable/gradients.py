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
