"""Whether a Hadamard rotation of each group makes quantized inputs of linear layers better.

    .venv/bin/python bench/rotated_groups.py [--steps 150] [--batches 12] [--output OUTPUT]

A Llama (4 layers of 128 features) learns a Markov chain for a while. Then gradients of new batches
are computed with the inputs of all linear layers quantized in groups of 256, as they are (codec
`quantize`) and rotated (`rotated`), at the same bytes: relative errors of the gradients of all
linear layers together, means over the batches, and the ratio rotated / as they are with its 95 %
interval. Rounding is what levels have: to the nearest at 4 bits, stochastic below.
"""

from __future__ import annotations

import argparse
import math
import pathlib
import statistics
from typing import Any

import torch
from compiled_training import Llama, loss_of
from paired_runs import command, described, machine, write
from torch import nn

import tensorpress
from tensorpress.eval.comparison import interval
from tensorpress.torch.packing.codecs import Quantize, TensorCodec
from tensorpress.torch.packing.rotated import Rotated

TOKENS = 64
WIDTHS = {4: "nearest", 3: "stochastic", 2: "stochastic"}
KINDS = ("qkv", "out", "gate", "up", "down", "head")


class Rounding:
    """Values as they come back from storage. `codec` None: exactly."""

    def __init__(self) -> None:
        self.codec: TensorCodec | None = None
        self.seed = 0

    def __call__(self, values: torch.Tensor) -> torch.Tensor:
        if self.codec is None:
            return values
        self.seed += 1
        stored = self.codec.store(values.contiguous(), self.seed)
        assert stored is not None
        return stored.values()


ROUNDING = Rounding()


class _Linear(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
        ctx.save_for_backward(ROUNDING(x), weight)
        return x @ weight.T

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        x, weight = ctx.saved_tensors
        return gradient @ weight, gradient.flatten(0, -2).T @ x.flatten(0, -2)


def batch(chain: torch.Tensor, seed: int) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(seed)
    tokens = [torch.randint(TOKENS, (8,), generator=generator)]
    for _ in range(64):
        tokens.append(torch.multinomial(chain[tokens[-1]], 1, generator=generator).flatten())
    text = torch.stack(tokens, 1)
    return text[:, :-1], text[:, 1:].flatten()


def trained(steps: int) -> tuple[nn.Module, torch.Tensor]:
    torch.manual_seed(0)
    chain = torch.softmax(3 * torch.randn(TOKENS, TOKENS), -1)
    model = Llama(TOKENS, 4, 128)
    for module in model.modules():
        if isinstance(module, nn.Linear):
            module.forward = lambda x, module=module: _Linear.apply(x, module.weight)
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
    for step in range(steps):
        x, y = batch(chain, step)
        optimizer.zero_grad()
        loss_of(model(x), y).backward()
        optimizer.step()
    return model, chain


def gradients(model: nn.Module, given: tuple[torch.Tensor, torch.Tensor]) -> dict[str, Any]:
    model.zero_grad()
    loss_of(model(given[0]), given[1]).backward()
    linear = [name for name, module in model.named_modules() if isinstance(module, nn.Linear)]
    named = dict(model.named_parameters())
    return {name: named[f"{name}.weight"].grad.clone() for name in linear}


def errors(found: dict[str, Any], exact: dict[str, Any]) -> dict[str, float]:
    """Of all together, and of each kind of layer."""
    result = {}
    for kind in ("all", *KINDS):
        names = [name for name in exact if kind in ("all", name.rpartition(".")[2])]
        wrong = sum(float((found[name] - exact[name]).square().sum()) for name in names)
        result[kind] = math.sqrt(wrong / sum(float(exact[n].square().sum()) for n in names))
    return result


def measure(steps: int, batches: int) -> list[dict[str, Any]]:
    model, chain = trained(steps)
    rows = []
    for bits, rounding in WIDTHS.items():
        codecs = {False: Quantize(bits, rounding=rounding), True: Rotated(bits, rounding)}
        found: dict[bool, list[dict[str, float]]] = {False: [], True: []}
        for number in range(batches):
            given = batch(chain, 10_000 + number)
            ROUNDING.codec = None
            exact = gradients(model, given)
            for rotated in found:
                ROUNDING.codec = codecs[rotated]
                found[rotated].append(errors(gradients(model, given), exact))
        for kind in ("all", *KINDS):
            plain, turned = ([each[kind] for each in found[rotated]] for rotated in (False, True))
            logs = [math.log(b / a) for a, b in zip(plain, turned, strict=True)]
            rows.append(
                {
                    "bits": bits,
                    "layers": kind,
                    "plain": statistics.fmean(plain),
                    "rotated": statistics.fmean(turned),
                    "ratio": interval(logs),
                }
            )
    return rows


def table(result: dict[str, Any]) -> str:
    lines = [
        "# Groups as they are and rotated",
        "",
        f"`{result['command']}`; tensorpress {result['version']}; "
        f"{described(result['machine'])}. Relative error of the gradients of linear layers.",
        "",
        "| bits | layers | as they are | rotated | ratio |",
        "|---|---|---:|---:|---|",
    ]
    for row in result["rows"]:
        mean, half = row["ratio"]["mean"], row["ratio"]["half_width"] or 0.0
        low, middle, high = (math.exp(mean + sign * half) for sign in (-1, 0, 1))
        lines.append(
            f"| {row['bits']} | {row['layers']} | {row['plain']:.4f} | {row['rotated']:.4f} "
            f"| {middle:.2f} ({low:.2f} to {high:.2f}) |"
        )
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=150)
    parser.add_argument("--batches", type=int, default=12)
    parser.add_argument("--output", type=pathlib.Path)
    options = parser.parse_args()
    torch.set_num_threads(1)
    result = {
        "command": command(options),
        "version": tensorpress.__version__,
        "machine": machine(),
        "rows": measure(options.steps, options.batches),
    }
    write(options.output, result, table(result))


if __name__ == "__main__":
    main()
