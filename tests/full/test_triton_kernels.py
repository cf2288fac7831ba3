"""The Triton kernels compile for GPUs that are not here, without a fused multiply-add."""

import pathlib
import subprocess
import sys

import pytest

pytest.importorskip("triton")

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "bench" / "triton_kernels.py"


@pytest.mark.parametrize("only", ["quantize 4", "ceresz", "dct CF 4 square"])
def test_kernels_compile_for_nvidia_and_amd_and_fuse_nothing(only):
    command = [sys.executable, SCRIPT, "--only", only, "--targets", "sm_90", "gfx942"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert only in done.stdout and "wrong" not in done.stdout
