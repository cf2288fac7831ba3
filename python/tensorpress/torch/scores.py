"""How much of a layer's gradient survives a codec: the score S of 0...1, measured on real batches.

With dW the exact gradient and dW' the one from a lossy stored activation, of the same batch:

    proj = <dW', dW> / <dW, dW>            1: the length along the true gradient is kept
    err2 = |dW' - dW|^2 / |dW|^2           0: nothing is added
    S    = min(1 - |1 - proj|, 1 / (1 + err2 / 2)),   at least 0

The first part sees bias (a codec that shrinks the gradient slows training although the angle stays
good), the second sees noise. The score of an activation is the least over the parameters whose
gradients it reaches: the weights of the layers that read it, gamma and beta of a normalization, and
through that one's input gradient the layers before it.

    # A Step that `model emit` has written, and some batches: one alone is a noisy judge.
    statistics = measure_activations(step, [(x, target), (x2, target2), (x3, target3)])
    json.dump(statistics, open("statistics.json", "w"))
    # tensorpress model plan net.tpm --peak 2GiB --statistics statistics.json
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import torch

from .. import _core
from .._chop import transform_matrices
from .packing.codecs import Quantize
from .policy.levels import LADDER
from .policy.levels import ONE_BIT as _ONE_BIT

Gradients = Mapping[str, torch.Tensor]


def _storing(codec: Quantize) -> str:
    """What plans of the model compiler call it (src/model/policy/policy.cc)."""
    bits = f"{codec.bits} bit" + ("s" if codec.bits > 1 else "")
    return f"quantize {bits}" + (" stochastic" if codec.rounding == "stochastic" else "")


LEVELS = {_storing(codec): codec for codec in LADDER if isinstance(codec, Quantize)}
# Measured only on request, as only a plan that names one bit has it.
ONE_BIT = _storing(_ONE_BIT)
_ALL_LEVELS = LEVELS | {ONE_BIT: _ONE_BIT}


def score(exact: torch.Tensor, lossy: torch.Tensor) -> float:
    """S of one gradient; 1 where both are zero, 0 where anything is not finite.

    >>> score(torch.tensor([3.0, 4.0]), torch.tensor([1.5, 2.0]))  # half as long: biased
    0.5
    """
    exact, lossy = exact.double().flatten(), lossy.double().flatten()
    length = float(exact.dot(exact))
    error = float((lossy - exact).square().sum())
    if not (math.isfinite(length) and math.isfinite(error)):
        return 0.0
    if length == 0:
        return 1.0 if error == 0 else 0.0
    projection = float(lossy.dot(exact)) / length
    return max(0.0, min(1 - abs(1 - projection), 1 / (1 + error / length / 2)))


def least_score(exact: Gradients, lossy: Gradients) -> float:
    """The least score over all parameters. Gradients that are nothing beside the largest (a bias
    before a batch norm has only rounding errors) say nothing and are left out."""
    largest = max((float(each.abs().max()) for each in exact.values() if each.numel()), default=0.0)
    counted = [
        score(gradient, lossy[name])
        for name, gradient in exact.items()
        if gradient.numel() and float(gradient.abs().max()) > 1e-6 * largest
    ]
    return min(counted, default=1.0)


def error_of_all(exact: Gradients, lossy: Gradients) -> float:
    """The squared error of all gradients together, relative to their squared length; infinite where
    anything is not finite."""
    length = sum(float(each.double().square().sum()) for each in exact.values())
    error = sum(float((lossy[name] - each).double().square().sum()) for name, each in exact.items())
    if not (math.isfinite(length) and math.isfinite(error)):
        return math.inf
    return error / length if length > 0 else 0.0


def zeros(values: torch.Tensor) -> float:
    """The share of elements that are zero."""
    return float((values == 0).double().mean()) if values.numel() else 0.0


def dct_energy(values: torch.Tensor) -> float | None:
    """The share of energy in the lowest quarter (4 x 4) of each 8 x 8 block's DCT coefficients,
    over the blocks that fit whole; None where none does."""
    if values.dim() < 2 or min(values.shape[-2:]) < 8 or not values.is_floating_point():
        return None
    rows, columns = (extent // 8 * 8 for extent in values.shape[-2:])
    whole = values[..., :rows, :columns].double().reshape(-1, rows // 8, 8, columns // 8, 8)
    matrix = torch.as_tensor(transform_matrices("dct")[0], dtype=torch.float64)
    energy = torch.einsum("ki,bricj,lj->brkcl", matrix, whole, matrix).square()
    total = float(energy.sum())
    low = float(energy[:, :, :4, :, :4].sum())
    return low / total if total > 0 else 1.0


def measure_activations(
    step: torch.nn.Module,
    *batch: torch.Tensor | Iterable[Sequence[torch.Tensor]],
    levels: Iterable[str] = tuple(LEVELS),
    names: Iterable[str] | None = None,
) -> dict[str, Any]:
    """Statistics of every activation that `step` packs: zeros, DCT energy, and for each level the
    score and the squared error of all gradients together. `step` is a Step of a file that
    `tensorpress model emit --native` has written with the plan balanced. Its forward pass runs once
    with nothing packed, its backward pass once and once more for each activation and level;
    gradients are left as they were.

    The batch is the tensors that the step is called with, or an iterable of several batches, of
    which the means are given: `measure_activations(step, itertools.islice(loader, 6))`."""
    levels = list(levels)
    for level in levels:
        if level not in _ALL_LEVELS:
            raise ValueError(f"there is no level {level!r}; there are {', '.join(_ALL_LEVELS)}")
    wanted = None if names is None else set(names)
    several: Iterable[Any] = [batch]
    if len(batch) == 1 and not isinstance(batch[0], torch.Tensor):
        several = batch[0]
    measured = [_measure_batch(step, tuple(each), levels, wanted) for each in several]
    if not measured:
        raise ValueError("there is no batch to measure")
    return {"tensorpress_statistics": 1, "activations": _means(measured)}


def _means(measured: list[Any]) -> Any:
    """Of numbers, or of each number by its names, over those batches that have it."""
    if not isinstance(measured[0], dict):
        return math.fsum(measured) / len(measured)
    names = dict.fromkeys(name for each in measured for name in each)
    return {name: _means([each[name] for each in measured if name in each]) for name in names}


def _measure_batch(
    step: torch.nn.Module,
    batch: tuple[torch.Tensor, ...],
    levels: list[str],
    names: set[str] | None,
) -> dict[str, Any]:
    emitted = inspect.unwrap(type(step).forward).__globals__
    missing = [each for each in ("pack_bits", "unpack_bits") if each not in emitted]
    if missing:
        raise ValueError(
            "the step packs nothing: emit it with `tensorpress model emit --native --plan balanced`"
        )
    before = {name: each.grad for name, each in step.named_parameters()}
    try:
        saved, packed = _unpacked_forward(step, emitted, batch)
        wanted = [name for name in packed if names is None or name in names]
        exact = _gradients(step, saved)
        activations = {}
        for name in wanted:
            activations[name] = {
                "zeros": zeros(saved[name]),
                **({} if (e := dct_energy(saved[name])) is None else {"dct_energy": e}),
                "scores": {},
                "errors": {},
            }
            for level in levels:
                lossy = _gradients(step, saved, name, _lossy(emitted, _ALL_LEVELS[level]))
                activations[name]["scores"][level] = least_score(exact, lossy)
                error = error_of_all(exact, lossy)
                if math.isfinite(error):
                    activations[name]["errors"][level] = error
    finally:
        for name, each in step.named_parameters():
            each.grad = before[name]
        step.saved = {}
    return activations


def packed_sizes(
    step: torch.nn.Module, *batch: torch.Tensor, names: Iterable[str], bits: Iterable[int]
) -> dict[str, list[int]]:
    """The bytes of each named activation of a batch, stored with so many bits; 32: kept."""
    emitted = inspect.unwrap(type(step).forward).__globals__
    saved, packed = _unpacked_forward(step, emitted, batch)
    step.saved = {}
    return {
        name: [
            saved[name].nbytes
            if each == 32
            else _core.quantize_size(saved[name].numel(), each, Quantize.group)
            for each in bits
        ]
        for name in names
        if name in packed
    }


def _unpacked_forward(
    step: torch.nn.Module, emitted: dict[str, Any], batch: tuple[torch.Tensor, ...]
) -> tuple[dict[str, Any], list[str]]:
    """What the forward pass saves when packing gives the values themselves, and the names of what
    would have been packed. Buffers such as running means stay as they were."""
    pack = emitted["pack_bits"]
    kept: list[int] = []

    def keep(values: torch.Tensor, *_: Any, **__: Any) -> torch.Tensor:
        copy = values.clone()
        kept.append(copy.data_ptr())
        return copy

    buffers = {name: each.clone() for name, each in step.named_buffers()}
    emitted["pack_bits"] = keep
    try:
        step(*batch)
    finally:
        emitted["pack_bits"] = pack
        for name, each in step.named_buffers():
            each.copy_(buffers[name])
    saved = dict(step.saved)
    addresses = set(kept)
    packed = [
        name
        for name, each in saved.items()
        if isinstance(each, torch.Tensor) and each.data_ptr() in addresses and each.numel()
    ]
    return saved, packed


def _gradients(
    step: torch.nn.Module,
    saved: dict[str, Any],
    name: str | None = None,
    lossy: Callable[[torch.Tensor], torch.Tensor] | None = None,
) -> dict[str, torch.Tensor]:
    """Of all parameters, with one saved value lossy. Backward may overwrite what it has unpacked,
    so it gets copies."""
    copies = {
        key: each.clone() if isinstance(each, torch.Tensor) else each for key, each in saved.items()
    }
    if name is not None and lossy is not None:
        copies[name] = lossy(saved[name])
    step.saved = copies
    step.zero_grad()
    step.backward()
    return {
        key: each.grad.detach().clone()
        for key, each in step.named_parameters()
        if each.grad is not None
    }


def _lossy(emitted: dict[str, Any], codec: Quantize) -> Callable[[torch.Tensor], torch.Tensor]:
    def packed_and_back(values: torch.Tensor) -> torch.Tensor:
        packed = emitted["pack_bits"](values, codec.bits, codec.rounding, 1)
        if packed.dtype != torch.uint8:
            return packed
        return emitted["unpack_bits"](packed, codec.bits, values.shape, values.dtype)

    return packed_and_back
