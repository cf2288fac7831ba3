"""tensorpress codebook: building, showing and studying static codebooks."""

import json

import numpy as np
import pytest


@pytest.fixture
def sets(tensorpress, smooth):
    """Four data sets of different roughness: a.npy to d.npy."""
    generator = np.random.default_rng(1)
    names = []
    for name, noise in zip("abcd", [0, 1e-3, 1e-2, 1e-1], strict=True):
        values = smooth((64, 96)) + noise * generator.standard_normal((64, 96))
        np.save(tensorpress.directory / f"{name}.npy", values.astype(np.float32))
        names.append(f"{name}.npy")
    return names


def test_a_codebook_is_built_and_shown(tensorpress, sets):
    tensorpress(
        "codebook",
        "build",
        "--codec",
        "ceresz2",
        "a.npy,b.npy",
        "c.npy",
        "--rel",
        "1e-4",
        "-o",
        "book.json",
    )
    book = json.loads((tensorpress.directory / "book.json").read_text())
    assert book["codec"] == "ceresz2"
    assert book["symbols"] == len(book["lengths"]) == 2000
    assert book["first_symbol"] == -1000
    assert sum(2.0**-length for length in book["lengths"]) == 1
    assert "codebook build" in book["made_with"] and "a.npy,b.npy c.npy" in book["made_with"]
    shown = tensorpress("codebook", "show", "book.json", "--json").json
    assert shown["lengths"] == book["lengths"]
    assert "expected bits" in tensorpress("codebook", "show", "book.json").out.decode()
    assert tensorpress("codebook", "show", "default", "--json").json["symbols"] == 2000


def test_fill_values_do_not_count(tensorpress, smooth):
    values = smooth((64, 96)).astype(np.float32)
    np.save(tensorpress.directory / "x.npy", values)
    values[::7] = -1e34
    np.save(tensorpress.directory / "y.npy", values)
    rough = tensorpress("codebook", "study", "y.npy", "--rel", "1e-4", "--json").json["sets"][0]
    fine = tensorpress(
        "codebook", "study", "y.npy", "--rel", "1e-4", "--fill=-1e34", "--json"
    ).json["sets"][0]
    assert fine["dynamic_ratio"] < rough["dynamic_ratio"]  # one huge range makes everything zero


def test_the_study_prints_figures_6_and_7_and_table_1(tensorpress, sets):
    study = tensorpress(
        "codebook", "study", *sets, "--rel", "1e-4", "--html", "study.html", "--json"
    ).json
    assert [each["name"] for each in study["sets"]] == ["a", "b", "c", "d"]
    assert [size["symbols"] for size in study["sets"][0]["sizes"]][::4] == [50, 1000, 5000]
    assert all(each["static_ratio"] <= each["dynamic_ratio"] * 1.001 for each in study["sets"])
    assert all(
        len(draw["trained_on"]) == 3 and len(draw["held_out"]) == 1 for draw in study["draws"]
    )
    assert "<svg" in (tensorpress.directory / "study.html").read_text()
    again = tensorpress("codebook", "study", *sets, "--rel", "1e-4").out.decode()
    assert "Table I" in again and "trained on" in again


@pytest.mark.parametrize(
    "content, words",
    [
        ("", "not JSON at line 1"),
        ('{"codec": "ceresz2", "lengths": [1, 2, 3]}', "no prefix code"),
        ('{"codec": "ceresz2", "symbols": 4, "lengths": [1, 2, 2]}', "symbols"),
        (json.dumps({"codec": "ceresz2", "lengths": [16] * 65536}), "65536 symbols"),
    ],
    ids=["empty", "no prefix code", "wrong number", "too many"],
)
def test_a_bad_codebook_is_refused(tensorpress, content, words):
    (tensorpress.directory / "bad.json").write_text(content)
    sentence = tensorpress.refuses("codebook", "show", "bad.json")
    assert words in sentence and "bad.json" in sentence


def test_options_of_a_codebook_that_would_be_ignored_are_refused(tensorpress, sets):
    build = ["codebook", "build", "a.npy", "--rel", "1e-4"]
    assert "leave one out" in tensorpress.refuses(*build, "--text", "-o", "book.json")
    assert len(tensorpress(*build, "--text").out.split()) == 1
    for options in (["--text"], ["--symbols", "2000"]):
        said = tensorpress.refuses(*build, "--codec", "dense", "-o", "tables", *options)
        assert f"{options[0]} has no place here: it is of --codec ceresz2" in said
    assert sorted(path.name for path in tensorpress.directory.iterdir()) == sets


def test_bad_options_are_refused(tensorpress, sets):
    assert "65536" in tensorpress.refuses(
        "codebook", "build", "a.npy", "--symbols", "65536", "-o", "x.json"
    )
    assert "bound" in tensorpress.refuses(
        "codebook", "build", "a.npy", "--rel", "-1", "-o", "x.json"
    )
    assert "-o" in tensorpress.refuses("codebook", "build", "a.npy", "--rel", "1e-4")
    np.save(tensorpress.directory / "i.npy", np.arange(100, dtype=np.uint8))
    assert "u8" in tensorpress.refuses("codebook", "build", "i.npy", "-o", "x.json")
    assert not (tensorpress.directory / "x.json").exists()
