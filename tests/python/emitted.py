"""Emits PyTorch from model texts by the built program, imports it, and compares it with
autograd."""

import importlib.util
import itertools
import pathlib
import subprocess

import torch
from conftest import PROGRAM, ROOT

_numbers = itertools.count()


def emit(directory, model, *options):
    """The module that `tensorpress model emit` writes for a text, or for a file of models/."""
    number = next(_numbers)
    path = ROOT / "models" / model
    if "\n" in model:
        path = pathlib.Path(directory) / f"model{number}.tpm"
        path.write_text(model)
    output = pathlib.Path(directory) / f"step{number}.py"
    done = subprocess.run(
        [PROGRAM, "model", "emit", path, "-o", output, *options], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    spec = importlib.util.spec_from_file_location(f"step{number}", output)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.source = output.read_text()
    return module


def step_of(directory, model, twin, *options):
    """A Step with the parameters of the nn.Module `twin`."""
    step = emit(directory, model, *options).Step()
    assert set(step.state_dict()) == set(twin.state_dict())
    step.load_state_dict(twin.state_dict())
    return step.to(next(twin.parameters()).dtype)


def gradients(module):
    named = module.named_parameters(remove_duplicate=False)
    return {name: parameter.grad for name, parameter in named}


def assert_same(step, step_loss, twin, twin_loss):
    """Loss, gradients and buffers are equal, bit by bit."""
    assert torch.equal(step_loss, twin_loss)
    mine, other = gradients(step), gradients(twin)
    for name, gradient in other.items():
        assert mine[name] is not None, name
        assert torch.equal(mine[name], gradient), (
            name,
            float((mine[name] - gradient).abs().max()),
        )
    kept = twin.state_dict()
    for name, buffer in twin.named_buffers():
        if name not in kept:  # constants of the text
            continue
        assert torch.equal(dict(step.named_buffers())[name], buffer), name


def move_parameters(step, generator):
    """Away from what they begin as, which is often the same for many."""
    for parameter in step.parameters():
        noise = torch.randn(parameter.shape, generator=generator).to(parameter.dtype)
        parameter.data += 0.3 * noise


def beside_autograd(step, reference, inputs):
    """Loss and gradients in pairs by name: the step's, and autograd's of reference(P, *inputs)."""
    P = {n: p.detach().clone().requires_grad_() for n, p in step.named_parameters()}
    torch.manual_seed(5)  # the same dropout
    loss = reference(P, *inputs)
    loss.backward()
    torch.manual_seed(5)
    pairs = {"loss": (step(*inputs), loss.detach())}
    step.backward()
    return pairs | {name: (p.grad, P[name].grad) for name, p in step.named_parameters()}


class _Emitted(torch.autograd.Function):
    """A step as autograd sees it: its loss, a function of its parameters."""

    @staticmethod
    def forward(ctx, step, inputs, *values):
        for parameter, value in zip(step.parameters(), values, strict=True):
            parameter.data.copy_(value)
            parameter.grad = None
        torch.manual_seed(5)  # the same dropout
        loss = step(*inputs)
        step.backward()
        ctx.gradients = [parameter.grad.clone() for parameter in step.parameters()]
        return loss

    @staticmethod
    def backward(ctx, upstream):
        return None, None, *(upstream * gradient for gradient in ctx.gradients)


def assert_slopes_are_gradients(step, inputs):
    """By finite differences along random directions, in double precision."""
    values = [parameter.detach().clone().requires_grad_() for parameter in step.parameters()]
    assert torch.autograd.gradcheck(
        lambda *values: _Emitted.apply(step, inputs, *values),
        values,
        check_undefined_grad=False,
        fast_mode=True,
    )


def assert_equal_pairs(pairs, rounded):
    """Bit by bit, or to rounding."""
    for name, (mine, other) in pairs.items():
        if rounded:
            torch.testing.assert_close(mine, other)
        else:
            assert torch.equal(mine, other), (name, float((mine - other).abs().max()))


def assert_close_pairs(pairs):
    """In double precision."""
    for name, (mine, other) in pairs.items():
        torch.testing.assert_close(mine, other, rtol=1e-10, atol=1e-12, msg=name)
