"""The command line of the test kit; see __init__.py."""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import pathlib
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from typing import Any

import tensorpress

INTERPRETED = "--in-the-interpreter"


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tensorpress.device_check", description="Compares devices with the CPU."
    )
    parser.add_argument(
        "--device", help="of PyTorch, such as cuda:0 or xpu; the first one there is"
    )
    parser.add_argument("--json", type=pathlib.Path, help="write the result here, to send it back")
    parser.add_argument("--small", action="store_true", help="fewer and smaller tensors")
    parser.add_argument(INTERPRETED, action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    try:
        import torch
    except ImportError:
        print("PyTorch is not installed, and this compares its devices: pip install torch")
        return 2
    began = time.perf_counter()
    result: dict[str, Any] = {
        "tensorpress": tensorpress.__version__,
        "torch": torch.__version__,
        "python": platform.python_version(),
        "system": platform.platform(),
        "parts": [],
    }
    if options.in_the_interpreter:
        result["parts"].append(_interpreted(options.small))
    else:
        result["parts"] += _parts(options)
    result["seconds"] = round(time.perf_counter() - began, 1)
    if options.json:
        options.json.write_text(json.dumps(result, indent=1) + "\n")
    failed = sum(len(part.get("failures", ())) for part in result["parts"])
    if not options.in_the_interpreter:
        _say(result, options.json)
    return 1 if failed else 0


def _parts(options: argparse.Namespace) -> list[dict[str, Any]]:
    from ..torch.backends.registry import kernels_for
    from .checks import all_checks, default_checks

    parts = []
    device = options.device or _first_device()
    if device is not None:
        import torch

        from .speeds import measured

        kind = torch.device(device).type
        packing = kernels_for(kind)
        part = _counted(f"{device}: {_name_of(device)}", all_checks(device, packing, options.small))
        part["backend"] = packing.backend_of("quantize_pack")  # type: ignore[attr-defined]
        part["waits"] = _waits(device)
        if part["waits"]:
            part["failures"].append({"name": "no waiting", "detail": part["waits"]})
        part["speeds"] = measured(device, packing)
        parts.append(part)
    else:
        parts.append(_in_a_process(options.small))
    parts.append(_counted("PyTorch's operations on the CPU", default_checks(True)))
    return parts


def _first_device() -> str | None:
    import torch

    if torch.cuda.is_available():
        return "cuda:0"
    if hasattr(torch, "xpu") and torch.xpu.is_available():
        return "xpu:0"
    return None


def _name_of(device: str) -> str:
    import torch

    module = torch.get_device_module(torch.device(device).type)
    return str(module.get_device_name(device))


def _counted(name: str, outcomes: Iterable[Any]) -> dict[str, Any]:
    began, count, failures = time.perf_counter(), 0, []
    for outcome in outcomes:
        count += 1
        if not outcome.same:
            failures.append({"name": outcome.name, "detail": outcome.detail})
    seconds = round(time.perf_counter() - began, 1)
    return {"what": name, "checks": count, "failures": failures, "seconds": seconds}


def _waits(device: str) -> str:
    """What made the host wait for the device while something was packed, or nothing."""
    import torch

    from ..torch.backends.registry import kernels_for

    if torch.device(device).type != "cuda":
        return ""
    packing = kernels_for("cuda")
    values = torch.randn(1 << 16, device=device)
    before = torch.cuda.get_sync_debug_mode()
    torch.cuda.set_sync_debug_mode("error")
    try:
        packed = packing.quantize_pack(values, 4, 256, "stochastic", 1)
        assert packed is not None
        packing.quantize_unpack(packed, values.shape, values.dtype, 4, 256)
        packing.sign_pack(values)
        packing.cast_pack(values, "e4m3")
        packing.chop_pack(values.view(-1, 64, 64), 4, "square", "dct")
        room, _ = packing.ceresz_pack(values, 1e-3)
        packing.ceresz_unpack(room, values.shape, values.dtype, 1e-3)
    except RuntimeError as error:
        return str(error)[:300]
    finally:
        torch.cuda.set_sync_debug_mode(before)
    return ""


def _in_a_process(small: bool) -> dict[str, Any]:
    """Triton decides when it is imported whether it interprets."""
    if importlib.util.find_spec("triton") is None:
        return {"what": "Triton's interpreter: not run, Triton is not installed", "checks": 0}
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "result.json")
        command = [sys.executable, "-m", "tensorpress.device_check", INTERPRETED, "--small"]
        environment = {**os.environ, "TRITON_INTERPRET": "1", "PYTHONWARNINGS": "ignore"}
        done = subprocess.run(
            [*command, "--json", str(path)], env=environment, capture_output=True, text=True
        )
        if not path.exists():
            detail = done.stderr[-300:]
            return {
                "what": "Triton's interpreter",
                "checks": 0,
                "failures": [{"name": "starting it", "detail": detail}],
            }
        return json.loads(path.read_text())["parts"][0]  # type: ignore[no-any-return]


def _interpreted(small: bool) -> dict[str, Any]:
    from ..torch.backends import triton
    from .checks import all_checks

    return _counted("Triton's interpreter on the CPU", all_checks("cpu", triton, small))


def _say(result: dict[str, Any], path: pathlib.Path | None) -> None:
    for part in result["parts"]:
        failures = part.get("failures", [])
        print(f"{part['what']}: {part['checks']} checks, {len(failures)} failed")
        for failure in failures[:10]:
            print(f"  {failure['name']}: {failure['detail']}")
        for row in part.get("speeds", ()):
            share = f"{row['share_of_copy']:.0%} of a copy"
            print(f"  {row['operator']:24s} {row['gb_per_s']:8.1f} GB/s  {share}")
    if not any("speeds" in part for part in result["parts"]):
        print(
            "There is no GPU that PyTorch can use, so nothing ran on one and no speed was measured."
        )
    if path is not None:
        print(f"Please send {path} back, whatever it says.")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
