"""No verb replaces a file that exists unless it is told to: --force."""

import os
import shutil

import numpy as np
import pytest
from conftest import ROOT


@pytest.fixture
def inputs(tensorpress, smooth):
    folder = tensorpress.directory
    field = smooth((8, 16, 16))
    np.save(folder / "k.npy", field)
    field.tofile(folder / "a.raw")
    shutil.copy(ROOT / "models" / "resnet18.tpm", folder / "r.tpm")
    tensorpress("compress", "k.npy", "--rel", "1e-3", "-o", "k.tpz")
    (folder / "data").mkdir()
    np.save(folder / "data" / "field.npy", smooth((3, 70, 90)))
    return folder


RAW = ["-f", "-3", "16", "16", "8"]
SWEEP = ["device", "time", "--device", "ipu", "--shape", "1x3x32x32", "--sweep", "cf"]
# The arguments, and the file that they write.
WRITERS = {
    "compress": (["compress", "k.npy", "--rel", "1e-3", "-o", "new.tpz"], "new.tpz"),
    "compress by default": (["compress", "k.npy", "--rel", "1e-3"], "k.tpz"),
    "decompress": (["decompress", "k.tpz", "-o", "new.npy"], "new.npy"),
    "decompress by default": (["decompress", "k.tpz", "--raw"], "k.raw"),
    "zfp": (["zfp", *RAW, "-a", "1", "-i", "a.raw", "-z", "new.tpz"], "new.tpz"),
    "zfp, copy": (["zfp", *RAW, "-a", "1", "-i", "a.raw", "-o", "new.raw"], "new.raw"),
    "zfp back": (["zfp", "-z", "k.tpz", "-o", "new.raw"], "new.raw"),
    "sz3 by default": (["sz3", *RAW, "-M", "ABS", "1", "-i", "a.raw"], "a.raw.sz"),
    "sz3 back by default": (["sz3", "-z", "k.tpz"], "k.tpz.out"),
    "codebook build": (["codebook", "build", "k.npy", "--rel", "1e-3", "-o", "b.json"], "b.json"),
    "codebook study": (
        ["codebook", "study", "k.npy", "--rel", "1e-3", "--html", "p.html"],
        "p.html",
    ),
    "wafer run": (
        ["wafer", "run", "k.npy", "--rel", "1e-3", "--mesh", "8x8", "-o", "new.tpz"],
        "new.tpz",
    ),
    "wafer heatmap by default": (
        ["wafer", "heatmap", "k.npy", "--rel", "1e-3", "--mesh", "8x8"],
        "heatmap.html",
    ),
    "wafer trace by default": (["wafer", "trace", "--mesh", "2x2"], "trace.json"),
    "model emit": (["model", "emit", "r.tpm", "-o", "step.py"], "step.py"),
    "model emit, check": (["model", "emit", "r.tpm", "--check", "-o", "s.py"], "s_check.py"),
    "model plan": (["model", "plan", "r.tpm", "--ratio", "4", "-o", "plan.json"], "plan.json"),
    "model profile": (["model", "profile", "r.tpm", "--html", "p.html"], "p.html"),
    "device time": ([*SWEEP, "--html", "p.html"], "p.html"),
    "bench study by default": (["bench", "k.npy", "--study", "dct-energy"], "dct-energy.html"),
    "reproduce": (["reproduce", "dct-chop", "--html", "p.html"], "p.html"),
    "demo": (["demo", "--data", "data", "-o", "."], "report.html"),
}


@pytest.mark.parametrize("arguments, name", WRITERS.values(), ids=WRITERS.keys())
def test_a_file_that_exists_is_replaced_only_by_force(tensorpress, inputs, arguments, name):
    (inputs / name).write_bytes(b"precious")
    files = sorted(os.listdir(inputs))
    sentence = tensorpress.refuses(*arguments)
    assert f"'{name}' exists; --force replaces it" in sentence.replace("'./", "'")
    assert (inputs / name).read_bytes() == b"precious"
    assert sorted(os.listdir(inputs)) == files
    tensorpress(*arguments, "--force")
    assert (inputs / name).read_bytes() != b"precious"


def test_bench_peers_does_not_replace_a_page(tensorpress, inputs):
    (inputs / "p.html").write_bytes(b"precious")
    sentence = tensorpress.refuses(
        "bench", "k.npy", "--peers", "--codec", "dense", "--html", "p.html"
    )
    assert "'p.html' exists; --force replaces it, and --html NAME writes elsewhere" in sentence


def test_the_short_flag_forces_too(tensorpress, inputs):
    tensorpress("compress", "k.npy", "--rel", "1e-3", "-f")
    tensorpress("decompress", "-f", "k.tpz", "-o", "k.npy")


def test_devices_and_dangling_links_need_no_force(tensorpress, inputs):
    tensorpress("compress", "k.npy", "--rel", "1e-3", "-o", "/dev/null")
    (inputs / "link.npy").symlink_to("target.npy")
    tensorpress("decompress", "k.tpz", "-o", "link.npy")
    assert "exists" in tensorpress.refuses("decompress", "k.tpz", "-o", "link.npy")
    assert (inputs / "target.npy").is_file()


def test_a_page_of_the_demo_is_made_again(tensorpress, inputs):
    tensorpress("demo", "--data", "data", "-o", "demo")
    tensorpress("demo", "--data", "data", "-o", "demo")


def test_a_variable_does_not_replace_a_file(tensorpress, smooth):
    netCDF4 = pytest.importorskip("netCDF4")
    with netCDF4.Dataset(tensorpress.directory / "m.nc", "w") as file:
        file.createDimension("x", 64)
        for name in "AB":
            file.createVariable(name, "f4", ("x",))[:] = np.sin(np.arange(64.0))
    for name in ("m.B.tpz", "small.nc"):
        (tensorpress.directory / name).write_bytes(b"precious")
    bound = ["--abs", "1e-3"]
    assert "'m.B.tpz' exists" in tensorpress.refuses("compress", "m.nc", "--var", "*", *bound)
    assert not (tensorpress.directory / "m.A.tpz").exists()
    assert "'small.nc' exists" in tensorpress.refuses("compress", "m.nc", *bound, "-o", "small.nc")
    tensorpress("compress", "m.nc", "--var", "*", *bound, "--force")
    tensorpress("compress", "m.nc", *bound, "-o", "small.nc", "--force")
