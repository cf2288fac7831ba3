"""A small network trained twice on the same batches: as PyTorch does it, and with compressed
activations.

The two take turns, so that both see the same machine. How many steps there are is decided after the
first few, so that the whole fits into the time that the demo has for it.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import time
from dataclasses import dataclass, field
from typing import Any

import fashion_mnist
import page
from demonstration import Demonstration, Highlight, Missing, Section, Shown
from plots import Axis, Series, plot

BATCH = 200
MOST_STEPS = 600  # two epochs
ROUNDS = 10  # turns of each, and points of the accuracy's curve
TESTED_ON_THE_WAY = 500
HIGHEST_RATE = 0.15
LEVEL = "balanced"


@dataclass
class Runner:
    """One of the two trainings."""

    name: str
    model: Any
    optimizer: Any
    run: Any  # of compress_activations, or nothing
    accuracies: list[tuple[float, float]] = field(default_factory=list)
    seconds: float = 0.0

    def inside(self) -> Any:
        return self.run if self.run is not None else contextlib.nullcontext()


def show(demo: Demonstration) -> Shown:
    # PyTorch's profiler talks on stderr otherwise.
    os.environ.setdefault("KINETO_LOG_LEVEL", "99")
    os.environ.setdefault("TORCH_CPP_LOG_LEVEL", "ERROR")
    # Threads that spin while they wait are slow where others compute too.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    try:
        import torch
    except ModuleNotFoundError:
        raise Missing(
            "PyTorch is not installed: pip install -r requirements/training.txt"
        ) from None
    data, generated = _data()
    threads = torch.get_num_threads()
    runners = [
        _runner("plain PyTorch", None),
        _runner(f'compress_activations(model, "{LEVEL}")', LEVEL),
    ]
    batches = _batches(len(data["train_inputs"]))
    demo.say(f"{data['name']}: how many steps there is time for")
    steps = _affordable(demo, runners, data, batches)
    demo.say(f"training twice, {steps} steps of {BATCH} pictures, on {threads} threads")
    _train(demo, runners, data, batches, steps)
    final = [
        _accuracy(runner.model, data["test_inputs"], data["test_targets"]) for runner in runners
    ]
    timelines = [_timeline(runner, data) for runner in runners]
    peaks = [max(held for _, held in timeline) for timeline in timelines]
    report = runners[1].run.report()
    saved = (report.saved_bytes, report.stored_bytes)
    html = page.paragraph(
        "While a network is trained, PyTorch keeps every layer's inputs until the backward "
        "pass has used them. "
        "One line stores them in about 4 bits a value instead of 32; signs, masks and pooling "
        "indices stay exact."
    )
    if generated:
        html += page.note(generated)
    html += page.commands(
        f'with tensorpress.torch.compress_activations(model, "{LEVEL}"):',
        "    train(model)  # as before",
    )
    html += page.side_by_side(
        [_accuracy_plot(runners, steps), _memory_plot(runners, timelines)], 330
    )
    rows = [
        ["test accuracy", *(f"{accuracy:.2f} %" for accuracy in final)],
        ["saved for backward", *(f"{size / 1e6:.1f} MB" for size in saved)],
        ["peak of a step", *(f"{peak / 1e6:.1f} MB" for peak in peaks)],
        ["time of a step", *(f"{1e3 * runner.seconds / steps:.0f} ms" for runner in runners)],
    ]
    html += page.table(["", "plain", LEVEL], rows)
    count = sum(parameter.numel() for parameter in runners[0].model.parameters())
    html += page.paragraph(
        f"A residual network of {count:,} weights trains for {steps} steps of {BATCH} pictures "
        f"of {data['name']} and is tested on {len(data['test_inputs']):,} pictures that it has "
        "not seen. Each is a single run, so differences below a point mean nothing "
        "(bench/results/activation-accuracy.md has pairs of many seeds). The peak falls less "
        "than the saved bytes, because backward still makes whole gradients, one layer at a "
        "time. Packing takes a larger share of the time in a small network like this one than "
        "in a large one: on ResNet-18 a step takes 1.01 to 1.08 times as long "
        "(bench/results/activation_memory.md).",
        "caption",
    )
    words = (
        f"saved for the backward pass in training; accuracy {final[1]:.1f} % "
        f"instead of {final[0]:.1f} %"
    )
    return Shown(html, Highlight(f"{saved[0] / saved[1]:.1f} times fewer bytes", words))


SECTION = Section("training", "Training with compressed activations", show)


def _data() -> tuple[dict[str, Any], str]:
    """Tensors, and a note if they were generated."""
    import torch

    def inputs(name: str) -> Any:
        pixels = torch.from_numpy(fashion_mnist.read_idx(f"{name}-images-idx3").copy())
        return (pixels[:, None].float() / 255 - 0.286) / 0.353

    def targets(name: str) -> Any:
        return torch.from_numpy(fashion_mnist.read_idx(f"{name}-labels-idx1").copy()).long()

    try:
        data = {
            "train_inputs": inputs("train"),
            "train_targets": targets("train"),
            "test_inputs": inputs("t10k"),
            "test_targets": targets("t10k"),
            "name": "Fashion-MNIST",
        }
    except FileNotFoundError as error:
        return (
            _generated(),
            f"Not real data: {error}. These are generated pictures, easier than clothes.",
        )
    return data, ""


def _generated() -> dict[str, Any]:
    from tensorpress.eval.sources import generated

    made = generated.pictures(6000, 1000, 28)
    return {
        "train_inputs": made.train_inputs.float().mean(1, keepdim=True),
        "train_targets": made.train_targets,
        "test_inputs": made.test_inputs.float().mean(1, keepdim=True),
        "test_targets": made.test_targets,
        "name": "generated pictures",
    }


def _runner(name: str, level: str | None) -> Runner:
    import torch

    import tensorpress.torch
    from tensorpress.eval.networks import resnet_small

    torch.manual_seed(0)  # both begin with the same weights
    model = resnet_small(channels=1).to(memory_format=torch.channels_last)
    optimizer = torch.optim.SGD(
        model.parameters(), lr=HIGHEST_RATE, momentum=0.9, nesterov=True, weight_decay=5e-4
    )
    run = None if level is None else tensorpress.torch.compress_activations(model, level)
    return Runner(name, model, optimizer, run)


def _batches(count: int) -> list[Any]:
    """Indices of two epochs of batches, the same for both."""
    import torch

    order = torch.Generator().manual_seed(1)
    epochs = (torch.randperm(count, generator=order).split(BATCH) for _ in itertools.count())
    return list(itertools.islice(itertools.chain.from_iterable(epochs), MOST_STEPS))


def _step(runner: Runner, data: dict[str, Any], chosen: Any, rate: float) -> None:
    import torch

    for group in runner.optimizer.param_groups:
        group["lr"] = rate
    inputs = data["train_inputs"][chosen].contiguous(memory_format=torch.channels_last)
    outputs = runner.model(inputs)
    loss = torch.nn.functional.cross_entropy(outputs, data["train_targets"][chosen])
    runner.optimizer.zero_grad()
    loss.backward()
    runner.optimizer.step()


def _affordable(
    demo: Demonstration, runners: list[Runner], data: dict[str, Any], batches: list[Any]
) -> int:
    """As many steps as the time allows, judged by a few that change no weight. Forward, which is
    all that a test needs, takes about a third of a step."""
    measured = 6
    seconds = []
    for runner in runners:
        with runner.inside():
            _step(runner, data, batches[0], 0.0)
            began = time.monotonic()
            for chosen in batches[:measured]:
                _step(runner, data, chosen, 0.0)
            seconds.append((time.monotonic() - began) / measured)
    pictures = len(runners) * (ROUNDS * TESTED_ON_THE_WAY + len(data["test_inputs"]))
    tests = seconds[0] / 3 * pictures / BATCH
    steps = int((demo.training_seconds - tests) / sum(seconds))
    return max(ROUNDS, min(MOST_STEPS, steps) // ROUNDS * ROUNDS)


def _train(
    demo: Demonstration, runners: list[Runner], data: dict[str, Any], batches: list[Any], steps: int
) -> None:
    each = steps // ROUNDS
    for turn in range(ROUNDS):
        for runner in runners:
            began = time.monotonic()
            with runner.inside():
                for step in range(turn * each, (turn + 1) * each):
                    rate = HIGHEST_RATE * min(
                        (step + 1) / (0.2 * steps), (steps - step) / (0.8 * steps)
                    )
                    _step(runner, data, batches[step], rate)
            runner.seconds += time.monotonic() - began
            accuracy = _accuracy(
                runner.model,
                data["test_inputs"][:TESTED_ON_THE_WAY],
                data["test_targets"][:TESTED_ON_THE_WAY],
            )
            runner.accuracies.append(((turn + 1) * each, accuracy))
        told = ", ".join(f"{runner.accuracies[-1][1]:.1f} %" for runner in runners)
        demo.say(f"step {(turn + 1) * each} of {steps}: accuracy {told} (plain, compressed)")


def _accuracy(model: Any, inputs: Any, targets: Any) -> float:
    import torch

    model.eval()
    with torch.inference_mode():
        found = torch.cat([model(part).argmax(1) for part in inputs.split(500)])
    model.train()
    return 100 * float((found == targets).double().mean())


def _timeline(runner: Runner, data: dict[str, Any]) -> list[tuple[float, int]]:
    """(share of the step, bytes allocated since its start), from PyTorch's profiler."""
    import torch
    from torch.profiler import ProfilerActivity, profile

    from tensorpress.torch.peak_memory import memory_events

    chosen = torch.arange(BATCH)
    with (
        runner.inside(),
        profile(activities=[ProfilerActivity.CPU], profile_memory=True) as profiler,
    ):
        _step(runner, data, chosen, 0.0)
    events = memory_events(profiler)
    first, last = events[0][0], events[-1][0]
    held = itertools.accumulate(size for _, size in events)
    return [
        ((at - first) / (last - first), bytes_)
        for (at, _), bytes_ in zip(events, held, strict=True)
    ]


def _accuracy_plot(runners: list[Runner], steps: int) -> str:
    series = [
        Series(short, runner.accuracies, color=color, marks=True)
        for color, (short, runner) in enumerate(zip(("plain", LEVEL), runners, strict=True))
    ]
    drawn = plot("Test accuracy", Axis("steps", low=0, high=steps), Axis("%"), series)
    return page.figure(drawn, f"On {TESTED_ON_THE_WAY} pictures, after every tenth of the steps.")


def _memory_plot(runners: list[Runner], timelines: list[list[tuple[float, int]]]) -> str:
    series = [
        Series(short, [(share, held / 1e6) for share, held in timeline], color=color, step=True)
        for color, (short, timeline) in enumerate(zip(("plain", LEVEL), timelines, strict=True))
    ]
    drawn = plot(
        "Memory during one step",
        Axis("share of the step: forward, then backward", low=0, high=1),
        Axis("MB", low=0),
        series,
    )
    return page.figure(
        drawn,
        "What a step allocates beyond the weights: it climbs in forward and falls in backward.",
    )
