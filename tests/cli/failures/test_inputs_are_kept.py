"""No verb writes over what it reads, under whatever name: the file, a symbolic or a hard link."""

import os
import shutil

import numpy as np
import pytest
from conftest import ROOT


@pytest.fixture
def inputs(tensorpress, smooth):
    """A field as .npy and raw, a model, a plan, a device, statistics and a codebook."""
    folder = tensorpress.directory
    field = smooth((8, 16, 16))
    np.save(folder / "k.npy", field)
    field.tofile(folder / "a.raw")
    shutil.copy(ROOT / "models" / "resnet18.tpm", folder / "r.tpm")
    (folder / "d.toml").write_bytes(tensorpress("device", "show", "ipu", "--toml").out)
    tensorpress("codebook", "build", "k.npy", "--rel", "1e-3", "-o", "book.json")
    tensorpress("model", "plan", "r.tpm", "--ratio", "4", "-o", "plan.json")
    shutil.copy(folder / "k.npy", folder / "k.svg")
    tensorpress("compress", "k.npy", "--rel", "1e-3", "-o", "k.tpz")
    return folder


RAW = ["-f", "-3", "16", "16", "8"]
SWEEP = ["device", "time", "--device", "d.toml", "--shape", "1x3x32x32", "--sweep", "cf", "--html"]
# The last argument is the input and becomes the output.
WRITERS = {
    "compress": ["compress", "k.npy", "--rel", "1e-3", "-o", "k.npy"],
    "decompress": ["decompress", "k.tpz", "-o", "k.tpz"],
    "zfp": ["zfp", *RAW, "-a", "1", "-i", "a.raw", "-o", "a.raw"],
    "zfp, both": ["zfp", *RAW, "-a", "1", "-i", "a.raw", "-z", "z.tpz", "-o", "a.raw"],
    "zfp, compressed": ["zfp", *RAW, "-a", "1", "-i", "a.raw", "-z", "a.raw"],
    "zfp back": ["zfp", "-z", "k.tpz", "-o", "k.tpz"],
    "sz3": ["sz3", *RAW, "-A", "1", "-i", "a.raw", "-o", "a.raw"],
    "sz3, both": ["sz3", *RAW, "-A", "1", "-i", "a.raw", "-z", "z.tpz", "-o", "a.raw"],
    "codebook build": ["codebook", "build", "k.npy", "--rel", "1e-3", "-o", "k.npy"],
    "codebook build, two": ["codebook", "build", "k.svg,k.npy", "--rel", "1e-3", "-o", "k.npy"],
    "codebook study": ["codebook", "study", "k.npy", "--rel", "1e-3", "--html", "k.npy"],
    "codebook study, codebook": [
        *["codebook", "study", "k.npy", "--codebook", "book.json", "--html", "book.json"],
    ],
    "wafer run": ["wafer", "run", "k.npy", "--rel", "1e-3", "--mesh", "8x8", "-o", "k.npy"],
    "wafer heatmap": ["wafer", "heatmap", "k.svg", "--rel", "1e-3", "--mesh", "8x8", "-o", "k.svg"],
    "model emit": ["model", "emit", "r.tpm", "-o", "r.tpm"],
    "model emit, plan": ["model", "emit", "r.tpm", "--plan", "plan.json", "-o", "plan.json"],
    "model profile": ["model", "profile", "r.tpm", "--html", "r.tpm"],
    "model plan": ["model", "plan", "r.tpm", "--ratio", "4", "-o", "r.tpm"],
    "model plan, device": [
        *["model", "plan", "r.tpm", "--ratio", "4", "--offload", "d.toml", "-o", "d.toml"],
    ],
    "device time": [*SWEEP, "d.toml"],
    "bench study": ["bench", "k.npy", "--study", "dct-energy", "--output", "k.npy"],
    "bench peers": ["bench", "k.npy", "--peers", "--codec", "dense", "--html", "k.npy"],
}


@pytest.mark.parametrize("arguments", WRITERS.values(), ids=WRITERS.keys())
def test_the_input_is_not_the_output(tensorpress, inputs, arguments):
    *words, name = arguments
    before = (inputs / name).read_bytes()
    ending = os.path.splitext(name)[1]
    (inputs / f"symbolic{ending}").symlink_to(name)
    os.link(inputs / name, inputs / f"hard{ending}")
    files = sorted(os.listdir(inputs))
    for output in (name, f"symbolic{ending}", f"hard{ending}", inputs / name):
        sentence = tensorpress.refuses(*words, output)
        assert f"the output '{output}' is the input" in sentence and words[-1] in sentence
    assert (inputs / name).read_bytes() == before
    assert sorted(os.listdir(inputs)) == files


def test_decompress_replaces_an_existing_file_only_by_force(tensorpress, inputs):
    before = (inputs / "k.npy").read_bytes()
    (inputs / "k.raw").write_bytes(b"mine")
    for options, name in ([], "k.npy"), (["--raw"], "k.raw"), (["-o", "k.npy"], "k.npy"):
        sentence = tensorpress.refuses("decompress", "k.tpz", *options)
        assert f"'{name}' exists; --force replaces it" in sentence
    assert (inputs / "k.npy").read_bytes() == before
    assert (inputs / "k.raw").read_bytes() == b"mine"
    tensorpress("decompress", "k.tpz", "-o", "k.npy", "--force")
    assert (inputs / "k.npy").read_bytes() != before
    (inputs / "k.npy").unlink()
    tensorpress("decompress", "k.tpz")
    assert (inputs / "k.npy").exists()


def test_a_page_is_not_written_over_the_fields_it_is_about(tensorpress, smooth):
    folder = tensorpress.directory / "sdr" / "CESM-ATM"
    folder.mkdir(parents=True)
    field = folder / "CLDHGH_18x36.f32"
    smooth((18, 36)).tofile(field)
    before = field.read_bytes()
    (tensorpress.directory / "symbolic.html").symlink_to(field)
    os.link(field, tensorpress.directory / "hard.html")
    for page in (field, "sdr/CESM-ATM/CLDHGH_18x36.f32", "symbolic.html", "hard.html"):
        for name in (["table4"], []):
            sentence = tensorpress.refuses("reproduce", *name, "--data", "sdr", "--html", page)
            assert f"the output '{page}' is the input" in sentence and "--html" in sentence
    assert field.read_bytes() == before


REPRODUCE_IGNORES = {
    "two formats": (["table4", "--data", "sdr", "--markdown", "--json"], "leave one out"),
    "two formats of all": (["--markdown", "--json"], "--markdown and --json"),
    "page of the list": (["list", "--html", "x.html"], "--html has no place here"),
    "Markdown of the list": (["list", "--markdown"], "--markdown has no place here"),
    "data of the list": (["list", "--data", "sdr"], "--data has no place here"),
    "data for nothing": (["dct-chop", "--data", "sdr"], "dct-chop is computed and reads no data"),
}


@pytest.mark.parametrize(
    "arguments, words", REPRODUCE_IGNORES.values(), ids=REPRODUCE_IGNORES.keys()
)
def test_reproduce_refuses_what_it_would_ignore(tensorpress, arguments, words):
    assert words in tensorpress.refuses("reproduce", *arguments)
    assert os.listdir(tensorpress.directory) == []


def test_a_check_of_emitted_python_is_not_written_over_the_model(tensorpress, inputs):
    shutil.copy(inputs / "r.tpm", inputs / "step_check.py")
    before = (inputs / "step_check.py").read_bytes()
    sentence = tensorpress.refuses("model", "emit", "step_check.py", "--check", "-o", "step.py")
    assert "is the input" in sentence
    assert (inputs / "step_check.py").read_bytes() == before
    assert not (inputs / "step.py").exists()
