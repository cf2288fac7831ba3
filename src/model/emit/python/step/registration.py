# Parameters and buffers with dotted names, and what the inputs of a step must be. Every emitted file
# has all of this.
import torch


def owner(module, name):
    """The submodule that a dotted name stands in, made if it is not there."""
    *path, leaf = name.split(".")
    for part in path:
        if part not in module._modules:
            module.add_module(part, torch.nn.Module())
        module = module._modules[part]
    return module, leaf


@torch.no_grad()
def parameter(module, name, tensor, fill):
    fill(tensor)
    place, leaf = owner(module, name)
    place.register_parameter(leaf, torch.nn.Parameter(tensor))


@torch.no_grad()
def buffer(module, name, tensor, fill):
    fill(tensor)
    place, leaf = owner(module, name)
    place.register_buffer(leaf, tensor)


def expect(x, name, shape):
    """None stands for an open size."""
    right = x.dim() == len(shape) and all(b in (None, a) for a, b in zip(x.shape, shape))
    if not right:
        raise ValueError(f"{name} has the shape {tuple(x.shape)}; the model's text says {shape}")


def tie(module, name, other):
    """One parameter under a second name."""
    place, leaf = owner(module, name)
    place.register_parameter(leaf, module.get_parameter(other))
