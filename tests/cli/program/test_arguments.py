"""Wrong options and values: a sentence with the option, what it was given and what it takes."""

import os

import numpy as np
import pytest
from conftest import ROOT


@pytest.fixture
def field(tensorpress, smooth):
    """x.npy, and s.tpz made of it."""
    np.save(tensorpress.directory / "x.npy", smooth((16, 16)))
    tensorpress("compress", "x.npy", "--rel", "1e-3", "-o", "s.tpz")
    return tensorpress.directory


COMPRESS = ["compress", "x.npy", "-o", "t.tpz"]
EMPTY = {
    "--fill": [*COMPRESS, "--rel", "1e-3"],
    "--range": [*COMPRESS, "--rel", "1e-3"],
    "--codec": [*COMPRESS, "--rel", "1e-3"],
    "--chunk-shape": [*COMPRESS, "--rel", "1e-3"],
    "--shape": [*COMPRESS, "--rel", "1e-3", "--dtype", "f32"],
    "--abs": COMPRESS,
    "--cf": COMPRESS,
    "--threads": [*COMPRESS, "--rel", "1e-3"],
    "--output": ["compress", "x.npy", "--rel", "1e-3"],
    "--slice": ["decompress", "s.tpz", "-o", "t.npy"],
    "--var": ["verify", "x.npy", "s.tpz"],
    "--html": ["codebook", "study", "x.npy"],
    "--mesh": ["wafer", "run", "x.npy", "--rel", "1e-3"],
}


@pytest.mark.parametrize("option, arguments", EMPTY.items(), ids=EMPTY.keys())
def test_an_empty_value_is_refused(tensorpress, field, option, arguments):
    sentence = tensorpress.refuses(*arguments, option, "")
    assert f"{option} is empty; give a " in sentence
    assert sorted(os.listdir(field)) == ["s.tpz", "x.npy"]


def test_an_empty_file_name_is_refused(tensorpress):
    assert "IN is empty" in tensorpress.refuses("compress", "", "--rel", "1e-3")
    assert "FILE is empty" in tensorpress.refuses("info", "")


VALUES = {
    "word": (["--abs", "abc"], "--abs is abc, not a number;"),
    "half": (["--abs", "1e-3x"], "--abs is 1e-3x, not a number;"),
    "huge": (["--abs", "1e400"], "--abs is 1e400, beyond the range of a double;"),
    "tiny": (["--abs", "1e-400"], "--abs is 1e-400, beyond the range of a double;"),
    "twice": (["--abs", "1", "--abs", "2"], "--abs is given twice;"),
    "missing": (["--abs"], "--abs needs a number;"),
    "missing word": (["--range"], "--range needs a value;"),
    "negative": (["--abs", "1", "--threads", "-1"], "--threads is -1, which is negative;"),
    "fraction": (["--abs", "1", "--threads", "1.5"], "--threads is 1.5, not a whole number"),
}


@pytest.mark.parametrize("options, words", VALUES.values(), ids=VALUES.keys())
def test_a_bad_value_is_named_with_what_is_wanted(tensorpress, field, options, words):
    assert words in tensorpress.refuses(*COMPRESS, *options) + ";"


def test_a_bound_may_be_subnormal_and_a_fill_value_nan(tensorpress, field):
    tensorpress(*COMPRESS, "--abs", "1e-310", "--fill", "nan", "--fill", "-1e34")


NEGATIVE = {
    "--count": ["device", "time", "--device", "ipu"],
    "--serialize": ["device", "time", "--device", "ipu"],
    "--nodes": ["device", "check", "--device", "ipu", "--network", "gcn"],
    "--stages": ["device", "train", "resnet34"],
    "--blocks": ["wafer", "trace"],
    "--symbols": ["codebook", "build", "x.npy", "-o", "b.json"],
    "--megabytes": ["bench"],
    "--images": ["bench", "x.npy", "--study", "dct-energy"],
    "-1": ["zfp", "-f", "-a", "1", "-i", "x.npy", "-z", "t.tpz"],
}


@pytest.mark.parametrize("option, arguments", NEGATIVE.items(), ids=NEGATIVE.keys())
def test_negative_sizes_and_counts_are_refused(tensorpress, field, option, arguments):
    sentence = tensorpress.refuses(*arguments, option, "-30")
    assert f"{option} is -30, which is negative;" in sentence
    assert sorted(os.listdir(field)) == ["s.tpz", "x.npy"]


def test_numbers_beyond_their_type_are_refused(tensorpress, field):
    build = ["codebook", "build", "x.npy", "-o", "b.json", "--symbols"]
    assert "--symbols is 4294967296, which is too large" in tensorpress.refuses(*build, 2**32)
    assert f"--symbols is {2**64}, beyond" in tensorpress.refuses(*build, 2**64)


BENCH_SIZES = {
    "no plane": (["--planes", "0"], "--planes is 0; it must be from 1 to 16384"),
    "one of several": (["--planes", "32,0"], "--planes is 0;"),
    "4 * plane * plane is 2^64": (["--planes", str(2**31)], f"--planes is {2**31};"),
    "plane * plane is 2^64": (["--planes", str(2**32)], f"--planes is {2**32};"),
    "no batch": (["--megabytes", "0"], "--megabytes is 0; it must be from 1 to 65536"),
    "2^64 bytes": (["--megabytes", str(2**44)], f"--megabytes is {2**44};"),
}


@pytest.mark.parametrize("options, words", BENCH_SIZES.values(), ids=BENCH_SIZES.keys())
def test_bench_refuses_batches_that_cannot_be(tensorpress, options, words):
    assert words in tensorpress.refuses("bench", *options)


def test_bench_refuses_chop_factors_that_it_would_not_run_with(tensorpress):
    said = tensorpress.refuses("bench", "--codec", "quantize", "--cfs", "2")
    assert "--cfs" in said and "quantize has no cf" in said
    assert "--cfs says which" in tensorpress.refuses("bench", "--codec", "dct-chop", "--cf", "2")


NOT_ALLOWED = {
    "range": ([*COMPRESS, "--abs", "1", "--threads", "0"], "--threads is 0; it must be from 1 to"),
    "above": ([*COMPRESS, "--abs", "1", "--threads", "1025"], "--threads is 1025; it must be from"),
    "words": (
        ["model", "profile", "r.tpm", "--optimizer", "rms"],
        "--optimizer is rms; it must be sgd or adam",
    ),
    "colon": (
        ["model", "profile", "r.tpm", "--optimizer", "a: b"],
        "--optimizer is a: b; it must be sgd or adam",
    ),
    "numbers": (
        ["model", "plan", "r.tpm", "--fewest-bits", "7"],
        "--fewest-bits is 7; it must be 1, 2, 3, 4, 5, 6 or 8",
    ),
    "beyond numbers": (
        ["model", "plan", "r.tpm", "--fewest-bits", str(2**40)],
        f"--fewest-bits is {2**40}, which is too large",
    ),
    "pair": (
        [*COMPRESS, "--abs", "1", "--rel", "1e-3"],
        "--abs and --rel exclude each other; leave one out",
    ),
}


@pytest.mark.parametrize("arguments, words", NOT_ALLOWED.values(), ids=NOT_ALLOWED.keys())
def test_a_value_that_is_not_allowed_is_told_with_those_that_are(
    tensorpress, field, arguments, words
):
    sentence = tensorpress.refuses(*arguments)
    assert words in sentence and "not in" not in sentence and "excludes" not in sentence
    assert sorted(os.listdir(field)) == ["s.tpz", "x.npy"]


UNKNOWN = {
    "no file": (["compress", "--bogus"], "there is no option --bogus"),
    "value": (["compress", "--relx", "1"], "there is no option --relx (did you mean '--rel'?)"),
    "equals": (["compress", "x.npy", "--relx=1"], "there is no option --relx "),
    "program": (["-x"], "there is no option -x; see tensorpress --help"),
    "inner": (["wafer", "run", "--bogus"], "--bogus; see tensorpress wafer run --help"),
    "file": (["compress", "-dash.npy", "--rel", "1e-3"], "-dash.npy; the file is ./-dash.npy"),
    "after --": (["hdf5", "args", "--", "--rel", "1e-3"], "options go before it"),
    "too many": (["hdf5", "args", "--abs", "1", "s.tpz"], "'s.tpz' is one argument too many"),
    "inner verb": (["wafer", "fly"], "'fly' is not a verb of wafer; there are run, heatmap"),
    "no inner verb": (["wafer"], "wafer needs a verb: run, heatmap"),
}


@pytest.mark.parametrize("arguments, words", UNKNOWN.values(), ids=UNKNOWN.keys())
def test_an_unknown_argument_is_named(tensorpress, field, arguments, words):
    (field / "-dash.npy").write_bytes((field / "x.npy").read_bytes())
    assert words in tensorpress.refuses(*arguments)


TRAIN = ["device", "train", "resnet34"]
BENCH = ["bench", "x.npy", "--codec", "dense", "--rel", "1e-3"]
IGNORED = {
    "form": (["decompress", "s.tpz", "-o", "t.npy", "--form", "matmul"], "codec dense; --form"),
    "default form": (["decompress", "s.tpz", "-o", "t.npy", "--form", "block"], "for dct-chop"),
    "bench planes": ([*BENCH, "--planes", "32"], "--planes has no place here"),
    "bench cfs": ([*BENCH, "--cfs", "2"], "--cfs has no place here"),
    "bench megabytes": ([*BENCH, "--megabytes", "1"], "--megabytes has no place here"),
    "bench no matmul": ([*BENCH, "--no-matmul"], "--no-matmul has no place here"),
    "bench images": ([*BENCH, "--images", "3"], "--images has no place here"),
    "study": (["bench", "--study", "pack", "--cfs", "2"], "--cfs has no place here"),
    "chop factor": ([*TRAIN, "--cf", "4", "--uncompressed"], "--cf has no place here"),
    "no devices": ([*TRAIN, "--search", "--count", "0"], "--count is 0; it must be at least 1"),
    "edges": (
        ["device", "check", "--device", "ipu", "--network", "gcn", "--edges-per-node", "5"],
        "add --adjacency csr",
    ),
    "two formats": (["device", "show", "ipu", "--toml", "--json"], "exclude each other"),
    "toml of a file": (["device", "show", "mine.toml", "--toml"], "is a file already"),
    "seed": ([*COMPRESS, "--bits", "4", "--seed", "5"], "--rounding stochastic"),
    "two notes": ([*COMPRESS, "--abs", "1", "--attr", "a=1", "--attr", "a=2"], "--attr a is given"),
    "no threads": (
        ["hdf5", "args", "--abs", "1", "--filter-threads", "0"],
        "--filter-threads is 0; it must be from 1 to 1024",
    ),
}


@pytest.mark.parametrize("arguments, words", IGNORED.values(), ids=IGNORED.keys())
def test_what_would_be_ignored_is_refused(tensorpress, field, arguments, words):
    assert words in tensorpress.refuses(*arguments)
    assert sorted(os.listdir(field)) == ["s.tpz", "x.npy"]


RAW_SZ3 = ["sz3", "-f", "-2", "16", "16", "-i", "x.raw"]
WAYS_OUT = {
    "bench": (["bench", "x.npy", "--codec", "dense"], "none is given: --abs E or --rel E"),
    "wafer": (["wafer", "run", "x.npy", "--mesh", "8x8"], "is missing: --abs E or --rel E"),
    "wafer, exact": (["wafer", "run", "x.npy", "--rel", "0", "--mesh", "8x8"], "more than 0"),
    "heatmap, exact": (["wafer", "heatmap", "x.npy", "--abs", "0"], "more than 0"),
    "filter": (["hdf5", "args"], "none is given: --abs E, --rel E"),
    "fixed rate": ([*COMPRESS, "--codec", "dct-chop", "--rel", "1e-3"], "use --codec dense"),
    "pipe": (["model", "check", "-"], "not from standard input"),
    "codebook": (
        [*COMPRESS, "--codec", "ceresz2", "--rel", "1e-3", "--codebook", "x"],
        "file ends in .json",
    ),
    "offsets": (["wafer", "offsets", "--by", "foo"], "--by foo; it is mesh or look-back"),
    "three values": ([*RAW_SZ3, "-M", "ABS", "1e-3", "5"], "-M takes 2 values at most"),
    "extent": (
        [*COMPRESS, "--abs", "1", "--shape", f"{10**30}x2", "--dtype", "f32"],
        "an extent beyond 64 bits",
    ),
    "mesh": (["wafer", "offsets", "--mesh", f"{10**20}x8"], "the wafer has room for 1x1 to"),
    "npy for zfp": (["zfp", "-i", "x.npy", "-z", "t.tpz", "-a", "1"], "is a .npy file"),
    "compressed already": (["compress", "s.tpz", "--abs", "1e-9", "-o", "t.tpz"], "--from-here"),
}


@pytest.mark.parametrize("arguments, words", WAYS_OUT.values(), ids=WAYS_OUT.keys())
def test_the_way_out_is_one_that_the_verb_has(tensorpress, field, arguments, words):
    (field / "x.json").write_text("{}")
    assert words in tensorpress.refuses(*arguments)
    assert sorted(os.listdir(field)) == ["s.tpz", "x.json", "x.npy"]


def test_sizes_of_a_model_have_a_range(tensorpress):
    model = ROOT / "models" / "resnet18.tpm"
    for size in "N=0", f"N={2**41}":
        said = tensorpress.refuses("model", "profile", model, "--size", size)
        assert f"--size is '{size}'; its number must be from 1 to" in said


def test_options_of_different_codecs_are_named_with_their_codecs(tensorpress, field):
    sentence = tensorpress.refuses(*COMPRESS, "--cf", "3", "--bits", "4")
    assert "--bits (quantize) and --cf (dct-chop)" in sentence and "dense" not in sentence
    assert "no parameter 'bits'" in tensorpress.refuses(
        *COMPRESS, "--codec", "dct-chop", "--bits", "4"
    )


@pytest.mark.parametrize(
    "arguments",
    [
        ["compress", "nofile.nc", "--var", "T", "--rel", "1e-3"],
        ["compress", "nofile.nc", "--rel", "1e-3", "-o", "y.nc"],
        ["verify", "nofile.nc", "s.tpz", "--var", "T"],
    ],
    ids=" ".join,
)
def test_a_missing_file_is_called_missing(tensorpress, field, arguments):
    assert "'nofile.nc': No such file or directory" in tensorpress.refuses(*arguments)


def test_the_piped_example_of_verify_works_as_printed(tensorpress, field):
    text = tensorpress("verify", "--help").out.decode()
    line = next(line for line in text.splitlines() if "|" in line and "-o -" in line)
    first, second = (part.split()[1:] for part in line.split("|"))
    tensorpress(*second, stdin=tensorpress(*first).out)
