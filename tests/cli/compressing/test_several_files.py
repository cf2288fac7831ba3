"""Several files by one command: each is worked on by itself, and a summary follows."""

import json
import os

import netCDF4
import numpy as np
import pytest


@pytest.fixture
def three(tensorpress, smooth):
    """a.npy, b.npy and c.npy."""
    for i, name in enumerate("abc"):
        np.save(tensorpress.directory / f"{name}.npy", smooth((16, 32)) + np.float32(i))
    return tensorpress.directory


NAMES = ["a.npy", "b.npy", "c.npy"]
BOUND = ["--abs", "1e-2"]


def listing(folder):
    """Everything below a folder."""
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


def test_every_file_goes_into_the_directory(tensorpress, three):
    outcome = tensorpress("compress", *NAMES, *BOUND, "-o", "out/")
    assert sorted(os.listdir(three / "out")) == ["a.tpz", "b.tpz", "c.tpz"]
    *lines, summary = outcome.out.decode().splitlines()
    assert [line.split(":")[0] for line in lines] == NAMES
    assert summary.startswith("3 files: 6 KiB -> ") and summary.endswith(", none failed")
    tensorpress("decompress", "out/a.tpz", "out/b.tpz", "out/c.tpz", "-o", "back/")
    for name in NAMES:
        assert np.abs(np.load(three / "back" / name) - np.load(three / name)).max() <= 1e-2


def test_a_directory_that_is_there_needs_no_slash(tensorpress, three):
    (three / "out").mkdir()
    tensorpress("compress", *NAMES, *BOUND, "-o", "out")
    (three / "back").mkdir()
    outcome = tensorpress("decompress", "out/a.tpz", "out/b.tpz", "-o", "back")
    assert outcome.out.decode().splitlines()[-1].startswith("2 files: ")
    for name in ("a.npy", "b.npy"):
        assert np.abs(np.load(three / "back" / name) - np.load(three / name)).max() <= 1e-2


def test_without_an_output_each_goes_beside_its_input(tensorpress, three):
    (three / "deep").mkdir()
    os.rename(three / "b.npy", three / "deep" / "b.npy")
    tensorpress("compress", "a.npy", "deep/b.npy", *BOUND)
    assert {"a.tpz", "deep/b.tpz"} <= set(listing(three))


def test_one_file_may_go_into_a_directory_as_well(tensorpress, three):
    tensorpress("compress", "a.npy", *BOUND, "-o", "out/")
    tensorpress("decompress", "out/a.tpz", "-o", "back/")
    assert listing(three / "out") == ["a.tpz"] and listing(three / "back") == ["a.npy"]


def test_json_has_all_files_and_a_summary(tensorpress, three):
    report = tensorpress("compress", *NAMES, *BOUND, "-o", "out/", "--json").json
    assert [each["file"] for each in report["files"]] == NAMES
    assert [each["output"] for each in report["files"]] == [f"out/{n}.tpz" for n in "abc"]
    summary = report["summary"]
    assert summary["files"] == 3 and summary["failures"] == 0
    assert summary["bytes_in"] == sum(each["bytes_in"] for each in report["files"]) == 3 * 2048
    assert summary["ratio"] == pytest.approx(summary["bytes_in"] / summary["bytes_out"])


FAILURES = {
    "damaged": lambda folder: (folder / "b.npy").write_bytes(b"no array"),
    "missing": lambda folder: (folder / "b.npy").unlink(),
    "output exists": lambda folder: (folder / "b.tpz").write_bytes(b"precious"),
}


@pytest.mark.parametrize("spoil", FAILURES.values(), ids=FAILURES.keys())
def test_one_failure_does_not_end_the_rest(tensorpress, three, spoil):
    spoil(three)
    before = (three / "b.tpz").read_bytes() if (three / "b.tpz").exists() else None
    outcome = tensorpress("compress", *NAMES, *BOUND, status=2)
    assert outcome.out.decode().splitlines()[-1].endswith(", 1 failed")
    assert outcome.err.count("\n") == 1 and "b." in outcome.err
    for name in "ac":
        tensorpress("test", f"{name}.tpz")
    assert before is None or (three / "b.tpz").read_bytes() == before
    report = json.loads(tensorpress("compress", *NAMES, *BOUND, "--json", status=2).out)
    assert [each["status"] for each in report["files"]] == [2, 2, 2]
    assert "error" in report["files"][1]


def test_the_status_is_the_worst_of_all(tensorpress, three):
    tensorpress("compress", *NAMES, *BOUND)
    (three / "b.tpz").write_bytes((three / "b.tpz").read_bytes()[:-9])
    assert tensorpress("test", "a.tpz", "b.tpz", "c.tpz", status=1).err.count("\n") == 1
    tensorpress("test", "a.tpz", "b.tpz", "c.npy", status=2)


REFUSED = {
    "one name twice": (["a.npy", "deep/a.npy", "-o", "out/"], "would both become 'out/a.tpz'"),
    "one file twice": (["a.npy", "./a.npy"], "would both become"),
    "a directory": (["a.npy", "deep"], "'deep' is a directory, not a file; name the files in it"),
    "a pipe": (["a.npy", "-"], "'-' is standard input, which cannot be one of several"),
    "one output": (["a.npy", "b.npy", "-o", "x.tpz"], "several inputs need an output directory"),
    "an input named like its output": (["a.npy", "a.tpz", "--force"], "would both become"),
    "an output that is an input": (["a.npy", "c.npy", "--force"], "'a.tpz' is the input"),
}


@pytest.mark.parametrize("arguments, words", REFUSED.values(), ids=REFUSED.keys())
def test_what_cannot_be_meant_is_refused_before_anything_is_written(
    tensorpress, three, arguments, words
):
    (three / "deep").mkdir()
    np.save(three / "deep" / "a.npy", np.zeros(4, "f4"))
    os.link(three / "c.npy", three / "a.tpz")
    before = {name: (three / name).stat().st_mtime_ns for name in listing(three)}
    assert words in tensorpress.refuses("compress", *arguments, *BOUND)
    assert {name: (three / name).stat().st_mtime_ns for name in listing(three)} == before


@pytest.mark.parametrize("verb", ["decompress", "info", "test"])
def test_other_verbs_refuse_pipes_and_directories_among_several(tensorpress, three, verb):
    tensorpress("compress", "a.npy", *BOUND)
    (three / "deep").mkdir()
    assert "'deep' is a directory" in tensorpress.refuses(verb, "a.tpz", "deep")
    assert "standard input" in tensorpress.refuses(verb, "a.tpz", "-")


def test_originals_are_compared_with_the_streams_of_their_names(tensorpress, three):
    tensorpress("compress", *NAMES, *BOUND, "-o", "out/")
    said = tensorpress("verify", *NAMES, "out/").out.decode()
    assert said.count("\nok") == 3 and said.splitlines()[-1].startswith("3 files: ")
    np.save(three / "b.npy", np.load(three / "b.npy") + np.float32(1))
    outcome = tensorpress("verify", *NAMES, "out/", "--json", status=1)
    assert [each["ok"] for each in outcome.json["files"]] == [True, False, True]
    assert "exceeds the bound" in outcome.err
    (three / "out" / "c.tpz").unlink()
    assert "there is no 'out/c.tpz'" in tensorpress("verify", *NAMES, "out/", status=2).err
    sentence = tensorpress.refuses("verify", *NAMES)
    assert "verify ORIGINAL... DIR/" in sentence and "'c.npy' is not a directory" in sentence
    assert "no directory 'none/'" in tensorpress.refuses("verify", "a.npy", "none/")
    assert "only one is given" in tensorpress.refuses("verify", "a.npy")


def test_every_variable_of_several_array_files(tensorpress):
    folder = tensorpress.directory
    for name in ("one.nc", "two.nc"):
        with netCDF4.Dataset(folder / name, "w") as file:
            file.createDimension("x", 64)
            for variable in "AB":
                file.createVariable(variable, "f4", ("x",))[:] = np.sin(np.arange(64.0))
    tensorpress("compress", "one.nc", "two.nc", "--var", "*", *BOUND, "-o", "out/")
    assert listing(folder / "out") == [f"{n}.{v}.tpz" for n in ("one", "two") for v in "AB"]
    report = tensorpress("verify", "one.nc", "two.nc", "out/", "--json").json
    assert [len(each["streams"]) for each in report["files"]] == [2, 2]


def test_info_names_each_file_above_what_it_says(tensorpress, three):
    tensorpress("compress", *NAMES, *BOUND)
    text = tensorpress("info", "a.tpz", "b.tpz", "c.npy").out.decode()
    assert text.startswith("a.tpz:\nformat_version") and "\n\nb.tpz:\n" in text
    assert text.splitlines()[-1].startswith("3 files: 4 KiB -> ")
    report = tensorpress("info", "a.tpz", "b.npy", "--json").json
    assert report["files"][1]["format"] == "npy"
