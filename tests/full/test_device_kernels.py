"""The kernels of devices as NVIDIA's compiler takes them: they compile for every generation, keep
their registers, and no multiplication was fused with an addition. Nothing is run. Needs nvcc."""

import pathlib
import re
import shutil
import subprocess

import pytest

KERNELS = pathlib.Path(__file__).resolve().parents[2] / "src" / "device" / "kernels"
COMMON = ("sums", "halves", "doubles")
SOURCES = sorted(path.stem for path in KERNELS.glob("*.inl") if path.stem not in COMMON)
ARCHITECTURES = ("sm_80", "sm_90", "sm_100", "sm_120")

pytestmark = pytest.mark.skipif(shutil.which("nvcc") is None, reason="there is no nvcc")


@pytest.fixture(params=SOURCES)
def source(request, tmp_path):
    """One file as the library puts it together."""
    parts = ["language.h", "chunks.h", *(f"{name}.inl" for name in (*COMMON, request.param))]
    path = tmp_path / f"{request.param}.cu"
    path.write_text("".join((KERNELS / part).read_text() for part in parts))
    return path


def nvcc(*arguments):
    done = subprocess.run(
        ["nvcc", "-fmad=false", *map(str, arguments)], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_no_product_is_fused_with_a_sum(source, architecture):
    ptx = source.with_suffix(".ptx")
    nvcc(f"-arch={architecture}", "-ptx", source, "-o", ptx)
    code = ptx.read_text()
    assert ".entry" in code
    assert not re.search(r"\bfma\.", code)


def test_registers_stay_registers(source):
    told = nvcc("-arch=sm_80", "-cubin", "-Xptxas", "-v", source, "-o", source.with_suffix(".bin"))
    spilled = re.findall(r"(\d+) bytes spill stores", told)
    registers = re.findall(r"Used (\d+) registers", told)
    assert spilled and set(spilled) == {"0"}
    assert all(int(count) <= 96 for count in registers)
