"""Whether `off` changes a bit: every model text that we ship, and every client, in every form.

    ./dev build && .venv/bin/pip install --no-deps -r requirements/clients.txt
    .venv/bin/python bench/same_bits.py [CASE...] [--forms FORM...] [--runs RUNS]

Three steps of training with and without compression, from the same weights and seeds, compared by
all weights and buffers at the end:

    eager     a plain loop, and the same in compress_activations(model, "off")
    autocast  the same, forward in autocast to bfloat16 and backward outside of it
    compiled  torch.compile with Inductor, and tensorpress.torch.compile(model, "off")
    emitted   of a model text: the step of `tensorpress model emit --plan off`, and autograd

A trainer has its callback (or what its adapter offers) in both forms. RUNS keeps each finished
case, so that an interrupted script continues. Writes bench/results/same_bits.{json,md}.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import pathlib
import sys
import time
import traceback
import warnings
from typing import Any

import torch
from client_cases import COMPILED, EAGER, MODELS, STEPS, TRAINERS, Weights, weights_of
from compiled_steps import ROOT, emitted
from paired_runs import described, kept, machine

import tensorpress.torch
from tensorpress.eval.networks.shipped import TWINS

RESULTS = pathlib.Path(__file__).resolve().parent / "results"
AUTOCAST, EMITTED = "autocast", "emitted"
FORMS = (EAGER, AUTOCAST, COMPILED, EMITTED)
SAME = "same bits"
BATCH = {"alexnet": 8, "gcn": 64, "graphsage": 64}


def trained(make: Any, batch: Any, loss_of: Any, form: str, level: str | None) -> Weights:
    """What a plain loop ends with, by SGD."""
    torch.manual_seed(1)
    model = make().train()
    torch.manual_seed(2)
    data = batch()
    run: Any = contextlib.nullcontext()
    called = model
    if form == COMPILED:
        torch._dynamo.reset()
        called = torch.compile(model) if level is None else tensorpress.torch.compile(model, level)
    elif level is not None:
        run = tensorpress.torch.compress_activations(model, level)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-2)
    with run:
        for _ in range(STEPS):
            optimizer.zero_grad()
            with torch.autocast("cpu", torch.bfloat16, enabled=form == AUTOCAST):
                loss = loss_of(called, data)
            loss.backward()
            optimizer.step()
    return weights_of(model)


def trained_by_text(name: str, level: str) -> Weights:
    """What the emitted step ends with."""
    twin = TWINS[name]
    torch.manual_seed(1)
    model = twin.make().train()
    options = ("--plan", level)
    step = emitted(ROOT / "models" / f"{name}.tpm", *options).Step()
    step.load_state_dict(model.state_dict())
    torch.manual_seed(2)
    data = twin.batch(BATCH.get(name, 2))
    optimizer = torch.optim.SGD(step.parameters(), lr=1e-2)
    for _ in range(STEPS):
        optimizer.zero_grad()
        step(*data)
        step.backward()
        optimizer.step()
    return weights_of(step)


def pair(name: str, form: str) -> tuple[Weights, Weights]:
    """Without us, and with `off`."""
    if name in TRAINERS:
        torch._dynamo.reset()
        plain = TRAINERS[name](form, None)
        torch._dynamo.reset()
        return plain, TRAINERS[name](form, "off")
    if name in MODELS:
        model = MODELS[name]
        arguments: Any = (model.make, model.batch, model.loss)
    else:
        twin = TWINS[name]
        arguments = (
            twin.make,
            lambda: twin.batch(BATCH.get(name, 2)),
            lambda model, batch: twin.loss(model, *batch),
        )
    if form == EMITTED:
        return trained(*arguments, EAGER, None), trained_by_text(name, "off")
    return trained(*arguments, form, None), trained(*arguments, form, "off")


def compared(name: str, form: str) -> dict[str, Any]:
    began = time.time()
    try:
        plain, off = pair(name, form)
    except Exception as error:
        traceback.print_exc()
        result = f"{type(error).__name__}: {' '.join(str(error).split())[:160]}"
    else:
        others = [key for key in plain if key not in off or not torch.equal(plain[key], off[key])]
        missing = set(off) - set(plain)
        result = SAME if not others and not missing else f"{len(others)} of {len(plain)} differ"
    return {"case": name, "form": form, "result": result, "seconds": time.time() - began}


def table(runs: list[dict[str, Any]], where: str) -> str:
    rows: dict[str, dict[str, str]] = {}
    for run in runs:
        rows.setdefault(run["case"], {})[run["form"]] = run["result"]
    same = sum(run["result"] == SAME for run in runs)
    lines = [
        "# What `off` changes",
        "",
        f"`bench/same_bits.py`, {where}. All weights and buffers after {STEPS} steps, with and "
        f"without compression: {same} of {len(runs)} pairs have the same bits.",
        "",
        f"| | {' | '.join(FORMS)} |",
        "|---" * (1 + len(FORMS)) + "|",
    ]
    lines += [
        f"| {name} | {' | '.join(found.get(form, '') for form in FORMS)} |"
        for name, found in rows.items()
    ]
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("cases", nargs="*", metavar="CASE")
    parser.add_argument("--forms", nargs="+", choices=FORMS, default=FORMS)
    parser.add_argument("--runs", type=pathlib.Path, help="folder of finished cases")
    parser.add_argument("--output", type=pathlib.Path, default=RESULTS / "same_bits")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    known = [*TWINS, *MODELS, *TRAINERS]
    unknown = set(options.cases) - set(known)
    if unknown:
        raise SystemExit(f"no case {unknown.pop()!r}; there are {', '.join(known)}")
    runs = []
    for name in options.cases or known:
        for form in options.forms:
            if (form == EMITTED and name not in TWINS) or (form == AUTOCAST and name in TRAINERS):
                continue
            make = lambda name=name, form=form: compared(name, form)
            if options.runs is None:
                run = make()
                print(run, flush=True)
            else:
                run = kept(options.runs / f"{name} {form}.json".replace(" ", "_"), make)
            runs.append(run)
    text = table(runs, described(machine()))
    print(text)
    options.output.parent.mkdir(parents=True, exist_ok=True)
    options.output.with_suffix(".json").write_text(
        json.dumps({"machine": machine(), "runs": runs}, indent=1) + "\n"
    )
    options.output.with_suffix(".md").write_text(text)
    sys.exit(any(run["result"] != SAME for run in runs))


if __name__ == "__main__":
    main()
