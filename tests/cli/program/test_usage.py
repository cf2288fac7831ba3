"""The words around the work: help, version, wrong arguments."""

import os

import numpy as np
import pytest


def listed_verbs(tensorpress):
    lines = tensorpress("--help").out.decode().split("Verbs:\n")[1].split("\n\n")[0].splitlines()
    return [line.split()[0] for line in lines if line.startswith("  ") and line[2] != " "]


def test_help_lists_the_verbs(tensorpress):
    assert {"compress", "decompress", "info", "verify"} <= set(listed_verbs(tensorpress))


def test_help_of_every_verb_ends_with_examples(tensorpress):
    for verb in listed_verbs(tensorpress):
        text = tensorpress(verb, "--help").out.decode()
        examples = text[text.rindex("Examples:") :].strip().splitlines()[1:]
        assert 2 <= len(examples) <= 6, verb
        assert any(f"tensorpress {verb}" in line for line in examples), verb


@pytest.mark.parametrize("verb", ["compress", "decompress", "info", "verify"])
def test_verbs_that_report_know_json(tensorpress, verb):
    assert "--json" in tensorpress(verb, "--help").out.decode()


def test_codec_flags_come_with_choices_and_defaults(tensorpress):
    text = tensorpress("compress", "--help").out.decode()
    for flag in ("--cf 1..8 (4)", "--layout square|triangle (square)", "--transform dct|zfp (dct)"):
        assert flag in text
    for flag in ("--coefficients", "--form", "--serialize"):
        assert flag in text
    for flag in (
        "--bits 1|2|3|4|5|6|8 (4)",
        "--rounding nearest|stochastic (nearest)",
        "--to bf16|f16|e4m3|e5m2 (bf16)",
    ):
        assert flag in text


def test_version_has_three_numbers(tensorpress):
    name, version = tensorpress("--version").out.decode().split()
    assert name == "tensorpress" and len([int(part) for part in version.split(".")]) == 3


WRONG = {
    "no verb": ([], "tensorpress --help"),
    "unknown verb": (["squeeze"], "'squeeze'"),
    "no file": (["compress"], "tensorpress compress --help"),
    "unknown flag": (["compress", "x.npy", "--colour", "red"], "--colour"),
    "missing value": (["compress", "x.npy", "--cf"], "--cf"),
    "too many files": (["verify", "x.npy", "x.npy", "x.npy"], "ORIGINAL... DIR/"),
    "threads": (["compress", "x.npy", "--threads", "0"], "--threads"),
    "unknown codec": (["compress", "x.npy", "--codec", "zip"], "dct-chop"),
    "unknown layout": (["compress", "x.npy", "--layout", "round"], "triangle"),
    "shape alone": (["compress", "x.npy", "--shape", "3x4"], "--dtype"),
    "dtype alone": (["compress", "x.npy", "--dtype", "f32"], "--shape"),
    "bad shape": (["compress", "x.npy", "--shape", "3*4", "--dtype", "f32"], "3*4"),
    "bad dtype": (["compress", "x.npy", "--shape", "3x4", "--dtype", "i64"], "i64"),
    "bad attribute": (["compress", "x.npy", "--attr", "kelvin"], "NAME=VALUE"),
    "bad chunk shape": (["compress", "x.npy", "--cf", "4", "--chunk-shape", "3"], "3"),
    "verify a pipe": (["compress", "-", "--verify"], "--verify"),
    "two pipes": (["verify", "-", "-"], "standard input"),
}


@pytest.mark.parametrize("arguments, hint", WRONG.values(), ids=WRONG.keys())
def test_wrong_usage_is_one_sentence_with_a_way_out(tensorpress, smooth, arguments, hint):
    np.save(tensorpress.directory / "x.npy", smooth((16, 16)))
    assert hint in tensorpress.refuses(*arguments)
    assert os.listdir(tensorpress.directory) == ["x.npy"]


def test_the_input_is_never_overwritten(tensorpress, smooth):
    path = tensorpress.directory / "x.npy"
    np.save(path, smooth((16, 16)))
    before = path.read_bytes()
    (tensorpress.directory / "link.npy").symlink_to("x.npy")
    for output in ("x.npy", "./x.npy", path, "link.npy"):
        assert "is the input" in tensorpress.refuses(
            "compress", "--codec", "dct-chop", "x.npy", "-o", output
        )
    tensorpress("compress", "--codec", "dct-chop", "x.npy", "-o", "x.tpz")
    assert "is the input" in tensorpress.refuses("decompress", "x.tpz", "-o", "x.tpz")
    (tensorpress.directory / "y.tpz").write_bytes(before)
    assert "is the input" in tensorpress.refuses("compress", "--codec", "dct-chop", "y.tpz")
    assert path.read_bytes() == before


def test_a_file_may_be_named_like_a_verb(tensorpress, smooth):
    with open(tensorpress.directory / "info", "wb") as file:
        np.save(file, smooth((16, 16)))
    tensorpress("compress", "--codec", "dct-chop", "info", "-o", "verify")
    tensorpress("verify", "info", "verify")
    tensorpress("info", "verify")


def test_an_existing_output_is_replaced_when_it_is_forced(tensorpress, smooth):
    np.save(tensorpress.directory / "x.npy", smooth((16, 16)))
    (tensorpress.directory / "x.tpz").write_bytes(b"old")
    tensorpress("compress", "--codec", "dct-chop", "x.npy", "--force")
    tensorpress("verify", "x.npy", "x.tpz")


def test_help_and_version_are_verbs_too(tensorpress):
    assert tensorpress("help").out == tensorpress("--help").out
    assert tensorpress("version").out == tensorpress("--version").out
    for verb in (["compress"], ["wafer", "run"]):
        assert tensorpress("help", *verb).out == tensorpress(*verb, "--help").out
    assert "'nonsense' is not a verb" in tensorpress.refuses("help", "nonsense")


HINTS = {"comress": "compress", "Compress": "compress", "verfy": "verify", "hlep": "help"}


@pytest.mark.parametrize("typed, meant", HINTS.items())
def test_a_mistyped_verb_gets_a_hint(tensorpress, typed, meant):
    sentence = tensorpress.refuses(typed, "x.npy")
    assert f"'{typed}' is not a verb (did you mean '{meant}'?)" in sentence


def test_a_word_far_from_every_verb_gets_none(tensorpress):
    assert "did you mean" not in tensorpress.refuses("squeeze")


ALIASES = {
    "--absolute": ["--abs", "0.5"],
    "--relative": ["--rel", "1e-3"],
    "--pointwise-relative": ["--pw-rel", "1e-2"],
}


@pytest.mark.parametrize("name, short", ALIASES.items(), ids=ALIASES.keys())
def test_bounds_have_their_names_in_python_too(tensorpress, smooth, name, short):
    np.save(tensorpress.directory / "x.npy", smooth((16, 16)))
    words = [name, short[1], "--fill-value", "9"]
    one = tensorpress("compress", "x.npy", *short, "--fill", "9", "-o", "-").out
    assert tensorpress("compress", "x.npy", *words, "-o", "-").out == one


@pytest.mark.parametrize("option", ["--slice", "--output", "--codec"])
def test_an_empty_value_does_not_take_the_next_word(tensorpress, smooth, option):
    verb = "decompress" if option == "--slice" else "compress"
    assert f"{option} is empty; give a value" in tensorpress.refuses(verb, f"{option}=", "x.npy")
