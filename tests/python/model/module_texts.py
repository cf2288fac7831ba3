"""The text of a torch module, after the step that is emitted of it was compared with the module."""

import torch
import torch.nn.functional as F
from emitted import assert_same, gradients, step_of

from tensorpress.torch import to_text


def same_gradients(tmp_path, module, inputs, loss="cross_entropy", seed=1, rounded=False):
    """Bit by bit, or `rounded` where the step adds in another order."""
    text = to_text(module, inputs, loss=loss)
    inputs = (inputs,) if isinstance(inputs, torch.Tensor) else inputs
    step = step_of(tmp_path, text, module)
    generator = torch.Generator().manual_seed(seed)
    result = module(*inputs)
    buffers = dict(step.named_buffers())
    for name, buffer in module.named_buffers():  # the call above has moved running means
        if name in buffers:  # others are constants of the text
            buffers[name].copy_(buffer)
    if loss is None:
        targets, twin_loss = (), module(*inputs)
    elif loss == "cross_entropy":
        shape = [result.shape[0], *result.shape[2:]]
        targets = (torch.randint(result.shape[1], shape, generator=generator),)
        twin_loss = F.cross_entropy(module(*inputs), *targets)
    else:
        targets = (torch.rand(result.shape, generator=generator),)
        twin_loss = getattr(F, loss)(module(*inputs), *targets)
    twin_loss.backward()
    step_loss = step(*inputs, *targets)
    step.backward()
    if not rounded:
        assert_same(step, step_loss.detach(), module, twin_loss.detach())
        return text
    torch.testing.assert_close(step_loss.detach(), twin_loss.detach())
    mine = gradients(step)
    for name, gradient in gradients(module).items():
        torch.testing.assert_close(mine[name], gradient, msg=name)
    return text
