"""Accuracy of emitted training steps against how few bytes they save, in pairs by seed.

    .venv/bin/python bench/model_accuracy.py DATA --runs RUNS [--output OUTPUT]
        [--epochs 1] [--seeds 10:22]

A very small AlexNet becomes text by to_text, the text a Step by `tensorpress model emit` with one
plan after the other; each trains on 10,000 images of CIFAR-10 (DATA/cifar10/train_10000.bin) in
batches of 50 and classifies the whole test set. Bytes are those of a batch of 100. Plans: the named
ones, one codec for every lossy activation, and what `model plan --ratio` chooses with statistics
that were measured after an epoch without codecs (12 is 8 bits everywhere, which is `safe` too).

`off` draws dropout as PyTorch does, all other plans from seeds of their own. `lossless` has exact
gradients with the dropout of the lossy plans, so that it is the baseline of the pairs; `off` beside
it shows what dropout alone does. Scores are those of tensorpress.torch.scores, each activation
alone lossy, at the end of the run; their mean is the poster's average score.

Each run leaves RUNS/<plan>-<seed>.json; what is there is not run again. Writes OUTPUT.json,
OUTPUT.md and, where matplotlib is, OUTPUT.svg.
"""

from __future__ import annotations

import functools
import importlib.util
import json
import pathlib
import statistics
from typing import Any

import torch
from cifar_training import BATCH, LAST_STEPS, accuracy, normalized, train
from compiled_steps import (
    Rule,
    begin_as_he_did,
    emitted,
    gradients,
    held_by_autograd,
    held_by_step,
    lossy_rules,
    plan_file,
    profile,
    run,
)
from paired_runs import (
    Run,
    arguments,
    by_seed,
    command,
    difference,
    finished,
    kept,
    machines,
    means,
    write,
)
from torch import nn

import tensorpress.torch
from tensorpress.eval.networks.alexnet import AlexNet
from tensorpress.eval.sources import cifar10
from tensorpress.torch.scores import least_score

NAMED = ("off", "lossless", "balanced", "max")
UNIFORM: dict[str, Rule] = {
    "2 bits nearest": {"codec": "quantize", "bits": 2},
    "1 bit": {"codec": "quantize", "bits": 1, "rounding": "stochastic"},
    "1 bit nearest": {"codec": "quantize", "bits": 1},
}
# In the order in which they are run, all of one seed before the next: wherever it stops, plans have
# the same seeds.
PLANS = (
    "lossless",
    "off",
    "ratio 12",
    "ratio 16",
    "balanced",
    "ratio 20",
    "max",
    "2 bits nearest",
    "1 bit",
    "1 bit nearest",
)
BASE = "lossless"
PEAK = 0.05  # of the learning rate
TRAINED_BATCH = 50
SIZE = ("--batch", str(BATCH))


def network() -> AlexNet:
    """72 thousand parameters."""
    made = AlexNet((8, 16, 32, 48), (64, 32), dropout=0.1)
    begin_as_he_did(made)
    return made


class Plans:
    """The model's text, and a plan file (or a plan's name) for every entry of PLANS."""

    def __init__(self, folder: pathlib.Path, data: Any) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder, self.data = folder, data
        self.text = folder / "alexnet.tpm"
        example = torch.zeros(BATCH, 3, 32, 32)
        self.text.write_text(tensorpress.torch.to_text(network(), (example,)))

    def statistics(self) -> pathlib.Path:
        """Measured on one batch, after an epoch with exact gradients of a seed of its own."""
        path = self.folder / "statistics.json"

        def measure() -> Run:
            _, step, _ = trained(self, "lossless", seed=99, epochs=1)
            scored = self.step("balanced")
            scored.load_state_dict(step.state_dict())
            return tensorpress.torch.measure_activations(scored, *self.batch())

        kept(path, measure)
        return path

    def batch(self) -> tuple[torch.Tensor, torch.Tensor]:
        return normalized(self.data.train_inputs[:BATCH]), self.data.train_targets[:BATCH]

    @functools.cache
    def option(self, plan: str) -> str:
        """What --plan takes."""
        if plan in NAMED:
            return plan
        if plan in UNIFORM:
            lossy = lossy_rules(profile(self.text, "--plan", "balanced", *SIZE))
            rules = dict.fromkeys(lossy, UNIFORM[plan])
            return str(plan_file(self.folder, plan.replace(" ", "-"), rules))
        path = self.folder / f"{plan.replace(' ', '-')}.plan.json"
        ratio = plan.split()[1]
        options = ("--ratio", ratio, "--statistics", self.statistics(), "-o", path, *SIZE)
        run("model", "plan", self.text, *options)
        return str(path)

    def step(self, plan: str) -> nn.Module:
        made: nn.Module = emitted(self.text, "--plan", self.option(plan), *SIZE).Step()
        return made

    @functools.cache
    def with_one(self, activation: str, rule: str) -> nn.Module:
        """Exact but for one activation."""
        path = plan_file(self.folder, "one", {activation: json.loads(rule)})
        made: nn.Module = emitted(self.text, "--plan", str(path), *SIZE).Step()
        return made


def trained(plans: Plans, plan: str, seed: int, epochs: int) -> tuple[nn.Module, nn.Module, Run]:
    """The network and the step, which has trained; the network has its weights too."""
    torch.manual_seed(seed)
    model = network()
    step = plans.step(plan)
    step.load_state_dict(model.state_dict())
    torch.manual_seed(2000 + seed)  # dropout and rounding

    def gradients(x: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        loss: torch.Tensor = step(x, labels)
        step.backward()
        return loss

    found = train(
        step, gradients, plans.data, seed=seed, epochs=epochs, peak=PEAK, batch=TRAINED_BATCH
    )
    model.load_state_dict(step.state_dict())
    return model, step, found


def scores(plans: Plans, plan: str, step: nn.Module) -> dict[str, float]:
    """Of each activation that the plan stores with an error, with the weights of the step."""
    rules = lossy_rules(profile(plans.text, "--plan", plans.option(plan), *SIZE))
    exact_step = plans.with_one("classifier.3", '{"codec": "keep"}')
    exact_step.load_state_dict(step.state_dict())
    exact = gradients(exact_step, plans.batch(), seed=7)
    found = {}
    for activation, rule in rules.items():
        lossy = plans.with_one(activation, json.dumps(rule))
        lossy.load_state_dict(step.state_dict())
        found[activation] = least_score(exact, gradients(lossy, plans.batch(), seed=7))
    return found


def one_run(plans: Plans, plan: str, seed: int, epochs: int) -> Run:
    model, step, found = trained(plans, plan, seed, epochs)
    batch = plans.batch()
    plain = held_by_autograd(model, batch, lambda m, x, y: nn.functional.cross_entropy(m(x), y))
    return {
        "plan": plan,
        "seed": seed,
        "accuracy": accuracy(model, plans.data),
        "train_loss": statistics.fmean(found["losses"][-LAST_STEPS:]),
        "plain_bytes": plain,
        "saved_bytes": held_by_step(step, batch),
        "scores": scores(plans, plan, step),
        "seconds": found["seconds"],
    }


def summary(runs: list[Run]) -> list[dict[str, Any]]:
    by_plan = by_seed(runs, "plan")
    rows = []
    for plan, of_plan in by_plan.items():
        row = {"plan": plan, **means(of_plan, by_plan[BASE], ("accuracy", "train_loss"))}
        row["ratio"] = statistics.fmean(
            each["plain_bytes"] / each["saved_bytes"] for each in of_plan.values()
        )
        each_score = [value for each in of_plan.values() for value in each["scores"].values()]
        row["mean_score"] = statistics.fmean(each_score) if each_score else 1.0
        row["lowest_score"] = min(each_score, default=1.0)
        rows.append(row)
    return sorted(rows, key=lambda row: row["ratio"])


def table(result: dict[str, Any]) -> str:
    lines = [
        "# Accuracy of emitted steps against saved bytes, paired by seed",
        "",
        f"`{result['command']}`; {result['data']}, {result['epochs']} epoch(s), a small AlexNet; "
        f"tensorpress {result['version']}; {machines(result['runs'])}. "
        f"Differences are plan minus {BASE} of the same seed, mean and 95 % interval; loss is that "
        f"of the last {LAST_STEPS} training steps. Saved bytes are counted in the running step, "
        "against what autograd holds; scores at the end of each run, each activation alone lossy.",
        "",
        "| plan | seeds | saved bytes, times fewer | mean score | lowest score | accuracy % "
        "| difference, points | loss | difference |",
        "|---|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for row in result["rows"]:
        lines.append(
            f"| {row['plan']} | {len(row['seeds'])} | {row['ratio']:.2f} "
            f"| {row['mean_score']:.4f} | {row['lowest_score']:.4f} | {row['accuracy']:.2f} "
            f"| {difference(row.get('accuracy_difference'), 2)} "
            f"| {row['train_loss']:.4f} | {difference(row.get('train_loss_difference'), 4)} |"
        )
    return "\n".join(lines) + "\n"


def figure(path: pathlib.Path, rows: list[dict[str, Any]]) -> None:
    """The differences with their intervals, against the ratio and against the mean score."""
    if importlib.util.find_spec("matplotlib") is None:
        print("no figure, because matplotlib is not installed")
        return
    import matplotlib

    matplotlib.use("svg")
    import matplotlib.pyplot as plt

    compared = [row for row in rows if "accuracy_difference" in row]
    with matplotlib.rc_context({"svg.hashsalt": "tensorpress", "font.size": 8, "axes.grid": True}):
        drawing, both = plt.subplots(1, 2, figsize=(9.6, 3.8), sharey=True)
        for axes, key, label in zip(
            both, ("ratio", "mean_score"), ("saved bytes, times fewer", "mean score"), strict=True
        ):
            for row in compared:
                apart = row["accuracy_difference"]
                axes.errorbar(row[key], apart["mean"], apart["half_width"] or 0, fmt="o", capsize=3)
                axes.annotate(
                    row["plan"],
                    (row[key], apart["mean"]),
                    (4, 4),
                    textcoords="offset points",
                    fontsize=7,
                )
            axes.axhline(0, color="black", linewidth=0.8)
            axes.set_xlabel(label)
        both[0].set_ylabel(f"accuracy minus that of {BASE}, points")
        drawing.tight_layout()
        drawing.savefig(path, metadata={"Date": None})


def seed_range(text: str) -> range:
    first, end = map(int, text.split(":"))
    return range(first, end)


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--seeds", type=seed_range, default=range(5), metavar="FIRST:END")
    parser.add_argument("--epochs", type=int, default=1)
    options = parser.parse_args()
    torch.set_num_threads(1)
    data = cifar10.load(options.data)
    plans = Plans(options.runs / "plans", data)
    runs = []
    for seed in options.seeds:
        for plan in PLANS:
            path = options.runs / f"{plan.replace(' ', '-')}-{seed}.json"
            if options.collect and not path.exists():
                continue
            make = functools.partial(one_run, plans, plan, seed, options.epochs)
            runs.append(finished(path, make, {"epochs": options.epochs}))
    result = {
        "command": command(options),
        "data": data.source,
        "epochs": options.epochs,
        "version": tensorpress.__version__,
        "rows": summary(runs),
        "runs": runs,
    }
    write(options.output, result, table(result))
    if options.output:
        figure(options.output.with_suffix(".svg"), result["rows"])


if __name__ == "__main__":
    main()
