"""Compiles the Triton kernels for GPUs that are not here, and says what the compilers made of them.

    python bench/triton_kernels.py [--output FILE.json] [--targets sm_90 gfx942] [--only quantize]

For every kernel and target: registers of a thread, shared memory, spilled bytes, fused
multiply-adds (none may be: bytes would differ), divisions that are not correctly rounded, and
instructions that flush subnormal numbers. And once for a kernel, from its IR: bytes read and
written per element, beside what has to be. Nothing runs. Exit code 1 when a kernel fuses, divides
roughly, flushes or does not compile. Writes bench/results/triton_kernels.{json,md} when all were
asked for.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from typing import Any

import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

from tensorpress.torch.backends.sizes import blocks_of
from tensorpress.torch.backends.triton import bits, cast, ceresz, chop, quantize
from tensorpress.torch.backends.triton.launch import warps_for

RESULTS = pathlib.Path(__file__).resolve().parent / "results"
TARGETS = {
    "sm_80": GPUTarget("cuda", 80, 32),
    "sm_90": GPUTarget("cuda", 90, 32),
    "sm_100": GPUTarget("cuda", 100, 32),
    "gfx90a": GPUTarget("hip", "gfx90a", 64),
    "gfx942": GPUTarget("hip", "gfx942", 64),
    "gfx1100": GPUTarget("hip", "gfx1100", 32),
}
TILE, GROUP, SLOTS = 1 << 11, 256, 4095
FUSED = re.compile(
    r"\b(?:fma\.rn\.(?:ftz\.)?f32|v_(?:dual_)?(?:pk_)?(?:fma|fmac|fmaak|fmamk|mad|mac)_"
    r"(?:f32|mix\w*)(?:_e\d+)?)\b"
)
QUOTIENT = re.compile(r"\bv_div_fmas_f32\b")
OF_A_QUOTIENT = 5  # fused operations of a correctly rounded division on AMD
ALLOWED_TO_FUSE = re.compile(
    r"llvm\.fma|llvm\.fmuladd|\bf(?:add|sub|mul)\b[^=]*\b(?:contract|fast)\b"
)
DIVISION = re.compile(r"\b(div\.full\.f32|div\.full\.ftz\.f32|div\.approx\S*)\b")
FLUSHING = re.compile(r"\b\w+(?:\.\w+)*\.ftz\.f32\b")
MOVING = re.compile(r"\btt\.(load|store)\b.*?: (?:tensor<([\dx]+)x)?!tt\.ptr<(\w+)>")
SIZES = {"i1": 1, "i8": 1, "i16": 2, "i32": 4, "i64": 8, "bf16": 2, "f16": 2, "f32": 4, "f64": 8}


@dataclasses.dataclass(frozen=True)
class Job:
    """`needed` is what has to be moved per element: read and written."""

    name: str
    kernel: Any
    types: dict[str, str]
    constants: dict[str, Any]
    elements: int  # of a program
    needed: float
    loops: tuple[int, ...] = ()  # how often each loop runs, in order; inner ones after outer ones
    # Of tensors of this shape that are loaded or stored, how much the masks let pass.
    shares: dict[tuple[str, str], float] = dataclasses.field(default_factory=dict)


def jobs() -> Iterator[Job]:
    groups = TILE // GROUP
    for width in (1, 2, 3, 4, 5, 6, 8):
        rows, words = blocks_of(width)
        sizes = {"BITS": width, "GROUP": GROUP, "PADDED": GROUP, "GROUPS": groups}
        sizes |= {"BLOCK_ROWS": rows, "WORDS": words, "SLOTS": SLOTS}
        code = (width * GROUP / 8 + 4) / GROUP
        for stochastic in (False, True):
            name = f"quantize {width} {'stochastic' if stochastic else 'nearest'}"
            ring = {"counter": "*i64", "rows": "*fp32", "count": "i64"}
            if width == 1 and not stochastic:
                constants = {key: sizes[key] for key in ("GROUP", "PADDED", "GROUPS", "SLOTS")}
                types = {"values": "*fp32", "packed": "*i32", **ring}
                loops = (GROUP // 16, GROUP // 16)
                yield Job(name, quantize.split_kernel, types, constants, TILE, 4 + code, loops)
                continue
            types = {"values": "*fp32", "packed": "*i32", **ring}
            types |= {"begin": "i64", "first": "i32", "second": "i32"}
            constants = {**sizes, "STOCHASTIC": stochastic}
            yield Job(name, quantize.pack_kernel, types, constants, TILE, 4 + code)
        types = {"packed": "*i32", "values": "*bf16", "signs": "*u8"}
        types |= {"counter": "*i64", "rows": "*fp32", "count": "i64"}
        name = f"dequantize {width} to bf16"
        yield Job(name, quantize.unpack_kernel, types, {**sizes, "SIGNS": False}, TILE, 2 + code)
    for to, word in (("bf16", "*u16"), ("f16", "*u16"), ("e4m3", "*u8"), ("e5m2", "*u8")):
        constants = {"TO": to, "TILE": TILE}
        size = 2 if word == "*u16" else 1
        types = {"values": "*fp32", "packed": word, "count": "i64"}
        yield Job(f"cast to {to}", cast.cast_kernel, types, constants, TILE, 4 + size)
        types = {"packed": word, "values": "*fp32", "count": "i64"}
        yield Job(f"cast from {to}", cast.uncast_kernel, types, constants, TILE, 4 + size)
    sizes = {"E4M3": True, "GROUP": 128, "PADDED": 128, "GROUPS": TILE // 128}
    types = {"values": "*fp32", "codes": "*u8", "scales": "*u8", "count": "i64"}
    scaled = {**sizes, "EXPONENT": 8}
    yield Job("fp8 with scales", cast.fp8_kernel, types, scaled, TILE, 5 + 1 / 128)
    types = {"codes": "*u8", "scales": "*u8", "values": "*fp32", "count": "i64"}
    yield Job("from fp8 with scales", cast.unfp8_kernel, types, sizes, TILE, 5 + 1 / 128)
    tile = {"TILE": TILE}
    types = {"values": "*fp32", "packed": "*u8", "count": "i64"}
    yield Job("signs", bits.sign_kernel, types, tile, TILE, 4 + 1 / 8)
    types = {"packed": "*u8", "values": "*fp32", "count": "i64"}
    yield Job("from signs", bits.unsign_kernel, types, tile, TILE, 4 + 1 / 8)
    types = {"values": "*fp32", "signs": "*u8", "count": "i64"}
    yield Job("restore signs", bits.restore_kernel, types, tile, TILE, 8 + 1 / 8)
    types = {"patterns": "*i32", "packed": "*u8", "extremes": "*i64", "count": "i64"}
    yield Job("mask", bits.mask_kernel, types, tile, TILE, 4 + 1 / 8)
    types = {"packed": "*u8", "patterns": "*i32", "count": "i64"}
    yield Job("from mask", bits.unmask_kernel, types, {**tile, "WIDTH": 4}, TILE, 4 + 1 / 8)
    ints = {"height": "i32", "width": "i32", "rows": "i32", "columns": "i32"}
    for transform, points, cf in (("dct", 8, 2), ("dct", 8, 4), ("dct", 8, 8), ("zfp", 4, 2)):
        for square in (True, False):
            constants = {"CF": cf, "SQUARE": square, "P": points, "BLOCKS": 16}
            kept = cf * cf if square else cf * (cf + 1) // 2
            needed = 4 + 4 * kept / points**2
            name = f"{transform} CF {cf} {'square' if square else 'triangle'}"
            elements, lines = 16 * points**2, f"16x{points}"
            of_lines = kept / (cf * points)
            types = {"planes": "*fp32", "kept": "*fp32", **ints}
            shares = {("store", lines): of_lines}
            yield Job(name, chop.pack_kernel, types, constants, elements, needed, (), shares)
            types = {"kept": "*fp32", "planes": "*fp32", **ints}
            shares, name = {("load", lines): of_lines}, f"inverse {name}"
            yield Job(name, chop.unpack_kernel, types, constants, elements, needed, (), shares)
    # Blocks of 8 planes, none uncompressed.
    each, width, blocks = {"BLOCKS": TILE // 32}, 8, f"{TILE // 32}x32"
    types = {"values": "*fp32", "largest": "*i32", "slack_byte": "*u8", "widths": "*u8"}
    types |= {"staged": "*i32", "sums": "*i32", "count": "i64", "blocks": "i64", "limit": "fp32"}
    needed = 4 + (4 * width + 1) / 32
    raw = {("store", blocks): 0.0}
    yield Job("ceresz encode", ceresz.encode_kernel, types, each, TILE, needed, (width,), raw)
    types = {"widths": "*u8", "staged": "*i32", "ends": "*i64", "planes": "*i32", "blocks": "i64"}
    shares = {("load", blocks): width / 32, ("store", blocks): width / 32}
    moved_words = (8 * width + 1) / 32
    yield Job("ceresz compact", ceresz.compact_kernel, types, each, TILE, moved_words, (), shares)
    types = {"slack_byte": "*u8", "widths": "*u8", "ends": "*i64", "planes": "*i32"}
    types |= {"values": "*fp32", "count": "i64", "blocks": "i64", "room": "i64", "limit": "fp32"}
    raw = {("load", blocks): 0.0}
    yield Job("ceresz decode", ceresz.decode_kernel, types, each, TILE, needed, (width,), raw)
    types = {"values": "*fp32", "largest": "*i32", "count": "i64"}
    constants = {"STEP": 64, "TILE": TILE}
    yield Job("ceresz sample", ceresz.sample_kernel, types, constants, 64 * TILE, 4 / 64)
    types = {"widths": "*u8", "sums": "*i32", "blocks": "i64"}
    yield Job("ceresz sums", ceresz.sum_kernel, types, each, TILE, 1 / 32)


def compiled(job: Job, target: GPUTarget) -> Any:
    signature = {**job.types, **dict.fromkeys(job.constants, "constexpr")}
    source = ASTSource(fn=job.kernel, signature=signature, constexprs=job.constants)
    warps = warps_for(job.elements if job.elements == TILE else 1024)
    options = {"num_warps": warps, "enable_fp_fusion": False}
    return triton.compile(source, target=target, options=options)


# ---- What the compilers made ---------------------------------------------------------------------


def of_nvidia(kernel: Any, architecture: int) -> dict[str, int]:
    """ptxas compiles the PTX again, to say what it did."""
    from triton.backends.nvidia.compiler import get_ptxas

    tool = get_ptxas(architecture)
    program = getattr(tool, "path", tool[0] if isinstance(tool, tuple) else tool)
    suffix = "a" if architecture >= 90 else ""
    with tempfile.TemporaryDirectory() as folder:
        text = pathlib.Path(folder, "kernel.ptx")
        text.write_text(kernel.asm["ptx"])
        command = [program, "-v", "-fmad=false", f"-arch=sm_{architecture}{suffix}", text]
        command += ["-o", text.with_suffix(".cubin")]
        said = subprocess.run(command, check=True, capture_output=True, text=True).stderr
    number = lambda pattern: sum(map(int, re.findall(pattern, said)))
    return {
        "registers": number(r"Used (\d+) registers"),
        "spilled_bytes": number(r"(\d+) bytes spill stores"),
    }


def of_amd(text: str) -> dict[str, int]:
    found = dict(re.findall(r"\.(vgpr_count|vgpr_spill_count|sgpr_spill_count):\s+(\d+)", text))
    spilled = int(found["vgpr_spill_count"]) + int(found["sgpr_spill_count"])
    return {"registers": int(found["vgpr_count"]), "spilled_bytes": 4 * spilled}


def measured(job: Job, target: GPUTarget) -> dict[str, Any]:
    began = time.perf_counter()
    kernel = compiled(job, target)
    seconds = time.perf_counter() - began
    nvidia = target.backend == "cuda"
    text = kernel.asm["ptx" if nvidia else "amdgcn"]
    # A correctly rounded division is one instruction on NVIDIA; AMD's has fused ones of its own.
    fused = abs(len(FUSED.findall(text)) - OF_A_QUOTIENT * len(QUOTIENT.findall(text)))
    fused += len(ALLOWED_TO_FUSE.findall(kernel.asm["llir"]))
    about = of_nvidia(kernel, target.arch) if nvidia else of_amd(text)
    return {
        **about,
        "shared_bytes": kernel.metadata.shared,
        "fused": fused,
        "rough_divisions": len(DIVISION.findall(text)),
        "flushing": len(FLUSHING.findall(text)),
        "seconds": round(seconds, 1),
    }


# ---- What the IR moves ---------------------------------------------------------------------------


def moved(job: Job, text: str) -> float:
    """Bytes that loads and stores of a program touch, over its elements. What lies in a branch is
    left out: those are for groups that cannot be coded. Masks count as set but for `shares`."""
    open_regions: list[str] = []  # "loop n", "branch" or "other"
    loops = iter(job.loops)
    total = 0.0
    for line in text.splitlines():
        if line.lstrip().startswith("}"):
            closed = open_regions.pop()
            if line.rstrip().endswith("{"):  # } else {
                open_regions.append(closed)
            continue
        operation = MOVING.search(line)
        if operation and "branch" not in open_regions:
            times = 1
            for each in open_regions:
                times *= int(each.removeprefix("loop ")) if each.startswith("loop") else 1
            extent = 1
            for size in (operation[2] or "1").split("x"):
                extent *= int(size)
            share = job.shares.get((operation[1], operation[2] or ""), 1.0)
            total += times * extent * SIZES[operation[3]] * share
        if line.rstrip().endswith("{"):
            if "scf.for" in line:
                open_regions.append(f"loop {next(loops)}")
            else:
                open_regions.append("branch" if "scf.if" in line else "other")
    return total / job.elements


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--output", type=pathlib.Path)
    parser.add_argument("--targets", nargs="+", choices=TARGETS, default=list(TARGETS))
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    rows, wrong = [], []
    for job in jobs():
        if options.only not in job.name:
            continue
        row: dict[str, Any] = {"kernel": job.name, "needed_bytes": round(job.needed, 4)}
        for name in options.targets:
            try:
                if "bytes" not in row:
                    text = compiled(job, TARGETS[name]).asm["ttir"]
                    row["bytes"] = round(moved(job, text), 4)
                    row["share"] = round(row["bytes"] / job.needed, 3)
                row[name] = measured(job, TARGETS[name])
            except Exception as error:
                wrong.append(f"{job.name} on {name}: {type(error).__name__} {str(error)[:200]}")
                continue
            for fault in ("fused", "rough_divisions", "flushing"):
                if row[name][fault]:
                    wrong.append(f"{job.name} on {name}: {row[name][fault]} {fault}")
        rows.append(row)
        of = {name: row[name]["registers"] for name in options.targets if name in row}
        print(f"{job.name:28s} {row.get('bytes', 0):7.3f} B of {job.needed:7.3f}  {of}", flush=True)
    for each in wrong:
        print("wrong:", each)
    result = {"triton": triton.__version__, "group": GROUP, "tile": TILE, "kernels": rows}
    result["wrong"] = wrong
    if options.output:
        options.output.write_text(json.dumps(result, indent=1) + "\n")
    if not options.only and len(options.targets) == len(TARGETS):
        (RESULTS / "triton_kernels.json").write_text(json.dumps(result, indent=1) + "\n")
        (RESULTS / "triton_kernels.md").write_text(page(result))
    return 1 if wrong else 0


def page(result: dict[str, Any]) -> str:
    head = " | ".join(TARGETS)
    found = [
        f"{row['kernel']} on {name}, {row[name]['spilled_bytes']} bytes"
        for row in result["kernels"]
        for name in TARGETS
        if name in row and row[name]["spilled_bytes"]
    ]
    spilled = "; ".join(found) or "nothing"
    lines = [
        "# Triton kernels, compiled ahead of time",
        "",
        f"`bench/triton_kernels.py` wrote this with Triton {result['triton']}. Nothing ran on a "
        "GPU. Bytes an element of f32 are counted from the kernels' IR, for `ceresz` with 8 planes "
        "a block. (1 bit nearest reads a group three times, but once from memory.) Then "
        "registers of a thread and bytes of shared memory for each target. Fused multiply-adds, "
        "divisions that are not correctly rounded and flushed subnormals: "
        f"{len(result['wrong']) or 'none, in any kernel on any target'}. Spilled: {spilled}.",
        "",
        f"| kernel | bytes | needed | {head} |",
        "|---|---|---|" + "---|" * len(TARGETS),
    ]
    for row in result["kernels"]:
        cells = [
            f"{row[name]['registers']} / {row[name]['shared_bytes']}" if name in row else "-"
            for name in TARGETS
        ]
        moved_bytes = f"{row.get('bytes', 0):.3f} | {row['needed_bytes']:.3f}"
        lines.append(f"| {row['kernel']} | {moved_bytes} | {' | '.join(cells)} |")
    if result["wrong"]:
        lines += ["", *(f"- {each}" for each in result["wrong"])]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.exit(main())
