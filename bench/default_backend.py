"""PyTorch's own operations, eager and compiled by Inductor, beside the library on the CPU.

    ./dev build && .venv/bin/python bench/default_backend.py [--values N] [--repeat N]

Quantizing and back, stochastic rounding, signs: milliseconds of the CPU, one thread, the least of
alternating runs, and whether the bytes are the library's. Writes
bench/results/default_backend.{json,md}.
"""

from __future__ import annotations

import argparse
import functools
import json
import pathlib
import time
from collections.abc import Callable
from typing import Any

import torch
from paired_runs import described, machine

from tensorpress.torch.backends import cpu, default

RESULTS = pathlib.Path(__file__).resolve().parent / "results"


def cases(values: torch.Tensor) -> dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]]:
    """The library's, and the same by PyTorch's operations; both take what the first argument is."""
    shape, dtype = values.shape, values.dtype
    return {
        "quantize 4 nearest": (
            lambda x: cpu.quantize_pack(x, 4, 256, "nearest", 1),
            lambda x: default.quantize_pack(x, 4, 256, "nearest", 1),
        ),
        "quantize 4 stochastic": (
            lambda x: cpu.quantize_pack(x, 4, 256, "stochastic", 1),
            lambda x: default.quantize_pack(x, 4, 256, "stochastic", 1),
        ),
        "quantize 3 nearest": (
            lambda x: cpu.quantize_pack(x, 3, 256, "nearest", 1),
            lambda x: default.quantize_pack(x, 3, 256, "nearest", 1),
        ),
        "dequantize 4": (
            lambda x: cpu.quantize_unpack(x, shape, dtype, 4, 256),
            lambda x: default.quantize_unpack(x, shape, dtype, 4, 256),
        ),
        "signs": (cpu.sign_pack, default.sign_pack),
    }


def milliseconds(work: Callable[[], Any]) -> float:
    began = time.thread_time()
    work()
    return 1e3 * (time.thread_time() - began)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--values", type=int, default=1 << 22)
    parser.add_argument("--repeat", type=int, default=7)
    options = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    values = torch.randn(options.values)
    packed = cpu.quantize_pack(values, 4, 256, "nearest", 1)
    rows = []
    for name, (native, plain) in cases(values).items():
        first = packed if name.startswith("dequantize") else values
        plain(first)  # makes the spare rows, which a graph only uses
        began = time.perf_counter()
        compiled = torch.compile(plain, fullgraph=True, dynamic=False)
        same = all(torch.equal(native(first), run(first)) for run in (plain, compiled))
        seconds = time.perf_counter() - began
        best = {"library": 1e9, "eager": 1e9, "inductor": 1e9}
        for _ in range(options.repeat):
            for which, run in (("library", native), ("eager", plain), ("inductor", compiled)):
                spent = milliseconds(functools.partial(run, first))
                best[which] = min(best[which], spent)
        rows.append({"operator": name, "same_bytes": same, "compile_seconds": seconds, **best})
        print(rows[-1], flush=True)
    result = {"machine": machine(), "values": options.values, "torch": torch.__version__}
    result["rows"] = rows
    (RESULTS / "default_backend.json").write_text(json.dumps(result, indent=1) + "\n")
    lines = [
        "# PyTorch's own operations beside the library",
        "",
        f"Milliseconds of one CPU thread for {options.values} values of float32, the least of "
        f"{options.repeat}; {described(result['machine'])}. "
        f"`bench/default_backend.py --values {options.values} --repeat {options.repeat}` wrote "
        "this.",
        "",
        "| | library | eager | compiled by Inductor | same bytes |",
        "|---|---|---|---|---|",
    ]
    for row in rows:
        times = " | ".join(f"{row[which]:.1f}" for which in ("library", "eager", "inductor"))
        lines.append(f"| {row['operator']} | {times} | {'yes' if row['same_bytes'] else 'NO'} |")
    (RESULTS / "default_backend.md").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
