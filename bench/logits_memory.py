"""Linear layer and cross entropy in slices on a small Llama: peaks, times and gradients.

    ./dev build && .venv/bin/python bench/logits_memory.py [--vocabularies 8000 32000] [--repeat 5]

A model of Llama's form (8 layers of 256 features, SwiGLU of 688, 8 heads of attention, random
weights) trains on random tokens, in float32, with SGD. The ways to compute its loss:

    plain            F.cross_entropy of all logits
    torch chunks     F.linear_cross_entropy with LinearCrossEntropyOptions(), of PyTorch 2.13
    sliced           tensorpress.torch.linear_cross_entropy
    sliced twice     the same, with gradients from a second product in backward, as for losses of
                     rows: what the gradients in forward save
    balanced         plain inside compress_activations
    sliced balanced  both

Peaks are what PyTorch's profiler counted in one step on top of weights and optimizer; times are the
best of the repetitions, all ways in turn; the difference of gradients is relative to the plain ones
(L2, all parameters). Writes bench/results/logits_memory.{json,md}.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import pathlib
import time

import torch
import torch.nn.functional as F
from paired_runs import described, machine
from torch import nn

from tensorpress.torch import compress_activations, linear_cross_entropy
from tensorpress.torch.peak_memory import measured_peak

RESULTS = pathlib.Path(__file__).resolve().parent / "results"
LAYERS, FEATURES, HEADS, INNER = 8, 256, 8, 688
WAYS = ("plain", "torch chunks", "sliced", "sliced twice", "balanced", "sliced balanced")


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.before_attention, self.before_gate = nn.RMSNorm(FEATURES), nn.RMSNorm(FEATURES)
        self.query, self.key, self.value, self.result = (
            nn.Linear(FEATURES, FEATURES, bias=False) for _ in range(4)
        )
        self.gate, self.up = (nn.Linear(FEATURES, INNER, bias=False) for _ in range(2))
        self.down = nn.Linear(INNER, FEATURES, bias=False)

    def forward(self, x: torch.Tensor, angles: torch.Tensor) -> torch.Tensor:
        y = self.before_attention(x)
        query, key, value = (
            layer(y).unflatten(-1, (HEADS, -1)).transpose(1, 2)
            for layer in (self.query, self.key, self.value)
        )
        mixed = F.scaled_dot_product_attention(
            rotated(query, angles), rotated(key, angles), value, is_causal=True
        )
        x = x + self.result(mixed.transpose(1, 2).flatten(2))
        y = self.before_gate(x)
        return x + self.down(F.silu(self.gate(y)) * self.up(y))


def rotated(x: torch.Tensor, angles: torch.Tensor) -> torch.Tensor:
    """Rotary positions."""
    one, other = x.chunk(2, -1)
    return torch.cat((one, other), -1) * angles.cos() + torch.cat((-other, one), -1) * angles.sin()


class Llama(nn.Module):
    def __init__(self, vocabulary: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, FEATURES)
        self.blocks = nn.ModuleList(Block() for _ in range(LAYERS))
        self.norm = nn.RMSNorm(FEATURES)
        self.lm_head = nn.Linear(FEATURES, vocabulary, bias=False)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        half = FEATURES // HEADS // 2
        rates = 10000.0 ** (-torch.arange(half) / half)
        angles = (torch.arange(tokens.shape[1])[:, None] * rates).repeat(1, 2)
        x = self.embedding(tokens)
        for block in self.blocks:
            x = block(x, angles)
        return self.norm(x)


def loss_of(way: str, model: Llama, tokens: torch.Tensor) -> torch.Tensor:
    hidden, labels = model(tokens[:, :-1]), tokens[:, 1:]
    weight = model.lm_head.weight
    if "sliced" in way:
        if "twice" in way:
            return linear_cross_entropy(hidden, weight, labels, reduction="none").mean()
        return linear_cross_entropy(hidden, weight, labels)
    hidden, labels = hidden.flatten(0, 1), labels.flatten()
    if way == "torch chunks":
        options = nn.LinearCrossEntropyOptions()
        return F.linear_cross_entropy(hidden, weight, labels, options=options)
    return F.cross_entropy(F.linear(hidden, weight), labels)


def step(way: str, model: Llama, optimizer: torch.optim.Optimizer, tokens: torch.Tensor) -> None:
    optimizer.zero_grad()
    compressed = compress_activations(model) if "balanced" in way else contextlib.nullcontext()
    with compressed:
        loss = loss_of(way, model, tokens)
    loss.backward()


def measure(vocabulary: int, batch: int, length: int, repeat: int) -> dict[str, dict[str, float]]:
    torch.manual_seed(0)
    model = Llama(vocabulary)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    tokens = torch.randint(0, vocabulary, (batch, length + 1))
    rows: dict[str, dict[str, float]] = {way: {} for way in WAYS}
    exact: list[torch.Tensor] = []
    for way in WAYS:
        step(way, model, optimizer, tokens)
        found = [parameter.grad.clone() for parameter in model.parameters()]
        exact = exact or found
        apart = sum(float((a - b).square().sum()) for a, b in zip(found, exact, strict=True))
        rows[way]["difference"] = (apart / sum(float(a.square().sum()) for a in exact)) ** 0.5
        del found
        optimizer.zero_grad()
        with measured_peak(model) as peaks:
            step(way, model, optimizer, tokens)
        rows[way]["peak_step_bytes"] = peaks[0].activations_and_gradients
    for _ in range(repeat):
        for way in WAYS:
            wall, cpu = time.perf_counter(), time.process_time()
            step(way, model, optimizer, tokens)
            for name, seconds in (
                ("seconds", time.perf_counter() - wall),
                ("cpu_seconds", time.process_time() - cpu),
            ):
                rows[way][name] = min(rows[way].get(name, seconds), seconds)
    return rows


def table(results: dict) -> str:
    lines = [
        "# The loss of a language model without its logits",
        "",
        f"`bench/logits_memory.py`; {described(results['machine'])}. "
        f"{LAYERS} layers of {FEATURES} features, {results['batch']} x {results['length']} tokens; "
        "times are against plain.",
    ]
    for vocabulary, rows in results["vocabularies"].items():
        plain = rows["plain"]
        logits = 4 * int(vocabulary) * results["batch"] * results["length"]
        lines += [
            "",
            f"Vocabulary {vocabulary}: all logits are {logits / 1e6:.1f} MB.",
            "",
            "| | peak of the step MB | times lower | step s | times plain | CPU time, times plain "
            "| difference of gradients |",
            "|---|---|---|---|---|---|---|",
        ]
        lines += [
            f"| {way} | {row['peak_step_bytes'] / 1e6:.1f} | "
            f"{plain['peak_step_bytes'] / row['peak_step_bytes']:.2f} | {row['seconds']:.3f} | "
            f"{row['seconds'] / plain['seconds']:.3f} | "
            f"{row['cpu_seconds'] / plain['cpu_seconds']:.3f} | {row['difference']:.1e} |"
            for way, row in rows.items()
        ]
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--vocabularies", type=int, nargs="+", default=[8000, 32000])
    parser.add_argument("--batch", type=int, default=4)
    parser.add_argument("--length", type=int, default=256)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--output", type=pathlib.Path, default=RESULTS)
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    results: dict = {
        "machine": machine(),
        "batch": arguments.batch,
        "length": arguments.length,
        "vocabularies": {},
    }
    for vocabulary in arguments.vocabularies:
        results["vocabularies"][vocabulary] = measure(
            vocabulary, arguments.batch, arguments.length, arguments.repeat
        )
    arguments.output.mkdir(exist_ok=True)
    (arguments.output / "logits_memory.json").write_text(json.dumps(results, indent=1) + "\n")
    (arguments.output / "logits_memory.md").write_text(table(results))
    print(table(results))


if __name__ == "__main__":
    main()
