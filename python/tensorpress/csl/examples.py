"""Runs every ``commands_wse2.sh`` below a folder, each in a copy, and prints what came of it."""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

_TOOLS = {
    "cslc": "-m tensorpress.csl.compiler",
    "cs_python": "-m tensorpress.csl",
}


def _tools(folder: Path) -> None:
    for name, arguments in _TOOLS.items():
        script = folder / name
        script.write_text(f'#!/bin/sh\nexec "{sys.executable}" {arguments} "$@"\n')
        script.chmod(0o755)


def _cycles(folder: Path) -> int | None:
    counts = [int(path.read_text()) for path in folder.rglob("cycles.txt")]
    return sum(counts) if counts else None


def _run(script: Path, root: Path, tools: Path, seconds: float) -> dict[str, object]:
    # Examples import files beside their own folder, so a copy of everything is what they run in.
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as copy:
        shutil.copytree(root, copy, dirs_exist_ok=True)
        folder = Path(copy) / script.parent.relative_to(root)
        environment = dict(os.environ, PATH=f"{tools}{os.pathsep}{os.environ['PATH']}")
        try:
            done = subprocess.run(
                ["bash", script.name],
                cwd=folder,
                env=environment,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=seconds,
            )
            passed, words = done.returncode == 0, done.stdout + done.stderr
        except subprocess.TimeoutExpired:
            passed, words = False, f"no end after {seconds:g} seconds"
        lines = [line.strip() for line in words.splitlines() if line.strip()]
        errors = [line for line in lines if "error: " in line or "Error: " in line]
        reason = ""
        if not passed:
            reason = errors[0] if errors else lines[-1] if lines else "no output"
            reason = reason.replace(copy + "/", "")
        return {
            "name": str(script.parent.relative_to(root)),
            "passed": passed,
            "cycles": _cycles(folder) if passed else None,
            "seconds": round(time.monotonic() - started, 1),
            "reason": reason,
        }


def main(words: list[str]) -> int:
    """Takes the arguments behind ``examples``."""
    parser = argparse.ArgumentParser(prog="python -m tensorpress.csl examples", description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seconds", type=float, default=300, help="the limit of one example (300)")
    parser.add_argument("--only", default="", help="examples whose name contains this")
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args(words)
    root = asked.folder.resolve()
    results = []
    with tempfile.TemporaryDirectory() as tools:
        _tools(Path(tools))
        for script in sorted(root.rglob("commands_wse2.sh")):
            if asked.only not in str(script.parent):
                continue
            one = _run(script, root, Path(tools), asked.seconds)
            results.append(one)
            if not asked.json:
                state = "pass" if one["passed"] else "FAIL"
                what = one["reason"] if one["cycles"] is None else f"{one['cycles']} cycles"
                print(f"{state}  {one['name']:45} {one['seconds']:6.1f} s  {what}", flush=True)
    passed = sum(bool(one["passed"]) for one in results)
    if asked.json:
        print(json.dumps({"passed": passed, "all": len(results), "examples": results}, indent=1))
    else:
        print(f"{passed} of {len(results)} examples pass")
    return 0 if passed == len(results) else 1
