"""Codecs that follow the training: scored on real batches, chosen anew, and taken back in time.

    adaptive = tensorpress.torch.Adaptive(model, target=0.95, every=500)
    for images, labels in loader:
        loss = adaptive.step(optimizer, lambda: criterion(model(images), labels))
    print(adaptive.plan)

or, for a Step that `tensorpress model emit --adaptive` has written,

    adaptive = tensorpress.torch.AdaptiveStep(step, target=0.95, every=500)
    for images, labels in loader:
        loss = adaptive.step(optimizer, images, labels)

Every `every` steps each activation is scored (scores.py): the batch's gradients with only this one
lossy, beside the exact ones. Then codecs get stronger, where most bytes are won for the least
score, until the mean score is down to `target`; no activation goes below `least`. A guard runs as
often: `guard_steps` steps are done twice from the same state, once without any codec. If the mean
loss of the others is higher by more than `tolerance` of it, everything becomes exact and the target
moves half the way towards 1, so that the next plan is milder.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch

from ..packing.codecs import TensorCodec
from ..policy.levels import LADDER
from ..policy.policy import Policy
from ..scores import LEVELS, least_score, measure_activations, packed_sizes
from .run import compress_activations

Closure = Callable[[], torch.Tensor]


class Adaptive:
    """Runs training steps with codecs that keep the mean score at `target`."""

    def __init__(
        self,
        model: torch.nn.Module,
        *,
        target: float = 0.95,
        least: float = 0.7,
        every: int = 500,
        guard_steps: int = 5,
        tolerance: float = 0.05,
        seed: int = 0,
    ) -> None:
        for name, value in (("target", target), ("least", least)):
            if not 0 <= value <= 1:
                raise ValueError(f"{name} is {value!r}; scores are 0 to 1")
        if every < 1 or guard_steps < 0 or not tolerance >= 0:
            raise ValueError("every is at least 1, guard_steps and tolerance are not negative")
        self.model = model
        self.target = target
        self.least = least
        self.every = every
        self.guard_steps = min(guard_steps, every)
        self.tolerance = tolerance
        self.seed = seed
        self.steps = 0
        self.fallbacks = 0
        self.scores: dict[str, dict[str, float]] = {}  # activation -> codec -> score
        self.sizes: dict[str, list[int]] = {}  # activation -> bytes with each codec of LADDER
        self.choice: dict[str, int] = {}  # activation -> place in LADDER
        self._guard: list[tuple[float, float]] = []  # losses without and with codecs
        self._shadow: tuple[Any, Any] | None = None

    @property
    def plan(self) -> Policy:
        """What compress_activations runs with: exact forms, and the codecs that were chosen."""
        return self._policy_with(self.choice)

    @property
    def mean_score(self) -> float:
        """Of the last scores, under the codecs chosen now."""
        each = [self._score_of(name, place) for name, place in self.choice.items()]
        return sum(each) / len(each) if each else 1.0

    def step(self, optimizer: torch.optim.Optimizer, closure: Closure) -> torch.Tensor:
        """Forward, backward and the optimizer's step; `closure` gives the loss of one batch."""
        if self.steps % self.every == 0:
            self._rescore(closure)
            self._guard = []
            self._shadow = self._state(optimizer)
        guarded = self._shadow is not None and len(self._guard) < self.guard_steps
        exact = self._shadow_step(optimizer, closure) if guarded else None
        loss = self._train(optimizer, closure, self.plan)
        if exact is not None:
            self._guard.append((exact, float(loss)))
            if len(self._guard) == self.guard_steps:
                self._judge()
        self.steps += 1
        return loss

    # --- Training ---------------------------------------------------------------------------------

    def _train(self, optimizer: torch.optim.Optimizer, closure: Closure, plan: Any) -> torch.Tensor:
        optimizer.zero_grad()
        with compress_activations(self.model, plan, seed=self.seed + self.steps):
            loss = closure()
        loss.backward()
        optimizer.step()
        return loss.detach()

    def _state(self, optimizer: torch.optim.Optimizer) -> tuple[Any, Any]:
        return copy.deepcopy(self.model.state_dict()), copy.deepcopy(optimizer.state_dict())

    def _load(self, optimizer: torch.optim.Optimizer, state: tuple[Any, Any]) -> None:
        self.model.load_state_dict(state[0])
        optimizer.load_state_dict(copy.deepcopy(state[1]))

    def _shadow_step(self, optimizer: torch.optim.Optimizer, closure: Closure) -> float:
        """The same batch on a copy that has trained without codecs since the guard began."""
        assert self._shadow is not None
        real, random = self._state(optimizer), torch.get_rng_state()
        self._load(optimizer, self._shadow)
        try:
            loss = float(self._train(optimizer, closure, "off"))
            self._shadow = self._state(optimizer)
        finally:  # a batch that fails must not leave the copy in the model's place
            self._load(optimizer, real)
            torch.set_rng_state(random)
        return loss

    def _judge(self) -> None:
        """Whether the codecs have cost more of the loss than is tolerated."""
        self._shadow = None
        plain = sum(each for each, _ in self._guard) / len(self._guard)
        lossy = sum(each for _, each in self._guard) / len(self._guard)
        if math.isfinite(lossy) and lossy - plain <= self.tolerance * abs(plain):
            return
        self.fallbacks += 1
        self.target += (1 - self.target) / 2
        self.choice = dict.fromkeys(self.choice, 0)

    # --- Scores -----------------------------------------------------------------------------------

    def _rescore(self, closure: Closure) -> None:
        """One backward pass for each activation and codec, and two more."""
        buffers = {name: each.clone() for name, each in self.model.named_buffers()}
        grads = {name: each.grad for name, each in self.model.named_parameters()}
        random = torch.get_rng_state()

        def gradients(plan: Any) -> tuple[dict[str, torch.Tensor], Any]:
            torch.set_rng_state(random)
            for name, each in self.model.named_buffers():
                each.copy_(buffers[name])
            self.model.zero_grad()
            with compress_activations(self.model, plan, seed=self.seed) as run:
                closure().backward()
            found = {
                name: each.grad.detach().clone()
                for name, each in self.model.named_parameters()
                if each.grad is not None
            }
            return found, run.report()

        try:
            exact, _ = gradients("off")
            _, report = gradients("max")
            self.sizes = {
                each.name: [_size(codec, each) for codec in LADDER]
                for each in report.activations
                if each.lossy and ":" in each.name  # inside a module: a plan can say it
            }
            self.scores = {name: {} for name in self.sizes}
            for name in self.sizes:
                for place, codec in enumerate(LADDER[1:], 1):
                    lossy, _ = gradients(self._policy_with({name: place}))
                    self.scores[name][codec.describe()] = least_score(exact, lossy)
        finally:
            torch.set_rng_state(random)
            for name, buffer in self.model.named_buffers():
                buffer.copy_(buffers[name])
            for name, parameter in self.model.named_parameters():
                parameter.grad = grads[name]
        self.choice = choose_for_score(self.sizes, self._places(), self.target, self.least)

    def _places(self) -> dict[str, list[float]]:
        return {
            name: [self._score_of(name, place) for place in range(len(LADDER))]
            for name in self.sizes
        }

    def _score_of(self, name: str, place: int) -> float:
        return 1.0 if place == 0 else self.scores[name][LADDER[place].describe()]

    def _policy_with(self, choice: Mapping[str, int]) -> Policy:
        rules = {name: LADDER[place].as_dict() for name, place in choice.items() if place > 0}
        return Policy.read({"level": "lossless", "by_name": rules})


class AdaptiveStep(Adaptive):
    """The same for an emitted step, whose `bits` say how each activation is stored.

    step:  an object of the class Step of a file that `model emit --adaptive` has written
    """

    def __init__(self, step: torch.nn.Module, **options: Any) -> None:
        if not isinstance(getattr(step, "bits", None), dict):
            raise ValueError(
                "the step has no bits to choose: emit it with `tensorpress model emit --adaptive` "
                "and a plan"
            )
        super().__init__(step, **options)

    @property
    def plan(self) -> dict[str, int]:
        """The bits of each activation; 32: kept."""
        return {name: _BITS[self.choice.get(name, 0)] for name in self._bits}

    @property
    def _bits(self) -> dict[str, int]:
        bits: dict[str, int] = self.model.bits
        return bits

    def step(self, optimizer: torch.optim.Optimizer, *batch: torch.Tensor) -> torch.Tensor:
        """Forward, backward and the optimizer's step for one batch."""
        return super().step(optimizer, batch)

    def _train(self, optimizer: torch.optim.Optimizer, closure: Any, plan: Any) -> torch.Tensor:
        self._bits.update(dict.fromkeys(self._bits, 32) if plan == "off" else plan)
        optimizer.zero_grad()
        loss = self.model(*closure)
        self.model.backward()
        optimizer.step()
        return loss

    def _rescore(self, closure: Any) -> None:
        self._bits.update(dict.fromkeys(self._bits, 8))  # so that everything is packed
        random = torch.get_rng_state()
        names = list(self._bits)
        self.sizes = packed_sizes(self.model, *closure, names=names, bits=_BITS)
        torch.set_rng_state(random)
        statistics = measure_activations(self.model, *closure, names=names)
        torch.set_rng_state(random)
        self.scores = {
            name: {codec.describe(): each["scores"][level] for level, codec in LEVELS.items()}
            for name, each in statistics["activations"].items()
        }
        self.sizes = {name: self.sizes[name] for name in self.scores}
        self.choice = choose_for_score(self.sizes, self._places(), self.target, self.least)


# Of the places in LADDER: LEVELS is made of all but the first, which is kept.
_BITS = (32, *(codec.bits for codec in LEVELS.values()))


def choose_for_score(
    sizes: Mapping[str, Sequence[int]],
    scores: Mapping[str, Sequence[float]],
    target: float,
    least: float,
) -> dict[str, int]:
    """For each name a place in its sizes and scores: repeatedly the move that wins most bytes for
    the score it costs, while the mean score stays at `target` or above and each at `least`."""
    choice = dict.fromkeys(sizes, 0)
    room = (1 - target) * len(choice) + 1e-12
    while True:
        best, rate = None, 0.0
        for name, place in choice.items():
            for further in range(place + 1, len(sizes[name])):
                won = sizes[name][place] - sizes[name][further]
                paid = scores[name][place] - scores[name][further]
                if won <= 0 or paid > room or scores[name][further] < least:
                    continue
                if won / max(paid, 1e-9) > rate:
                    best, rate = (name, further, paid), won / max(paid, 1e-9)
        if best is None:
            return choice
        name, further, paid = best
        choice[name] = further
        room -= paid


def _size(codec: TensorCodec, activation: Any) -> int:
    dtype = getattr(torch, activation.dtype.removeprefix("torch."))
    size = codec.stored_bytes(tuple(activation.shape), dtype)
    return activation.bytes_before if size is None else size
