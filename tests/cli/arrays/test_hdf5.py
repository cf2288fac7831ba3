"""tensorpress hdf5: values of the filter for other tools, and back."""

import struct
import subprocess

import pytest


def test_args_prints_a_line_for_h5repack_and_one_for_nccopy(tensorpress):
    low, high = struct.unpack("<II", struct.pack("<d", 1e-4))
    out = tensorpress("hdf5", "args", "--rel", "1e-4", "--var", "*").out.decode().splitlines()
    assert out == [
        f"h5repack -f UD=54352,1,5,1,1,2,{low},{high} IN.h5 OUT.h5",
        f"nccopy -4 -F '*,54352,1,1,2,{low},{high}' IN.nc OUT.nc",
    ]


def test_args_leaves_a_place_for_the_name(tensorpress):
    # Every variable would be the coordinates as well.
    out = tensorpress("hdf5", "args", "--abs", "1").out.decode()
    assert "-f VAR:UD=" in out and "-F 'VAR," in out


def test_args_names_one_variable_and_makes_the_filter_mandatory(tensorpress):
    out = tensorpress("hdf5", "args", "--abs", "1", "--var", "TEMP").out.decode()
    assert "h5repack -f TEMP:UD=54352,0,5,1,1,1,0,1072693248 " in out
    assert "nccopy -4 -F 'TEMP,54352,1,1,1,0,1072693248' " in out


def test_the_help_of_args_offers_what_the_filter_takes_and_nothing_else(tensorpress):
    text = tensorpress("hdf5", "args", "--help").out.decode()
    for taken in ("--abs", "--psnr", "--fill", "--effort", "--cf", "--layout", "--coefficients"):
        assert f"{taken}" in text
    assert "--codec dense|ceresz|ceresz2|dct-chop\n" in text.replace(" " * 4, "\n")
    for refused in (
        "--ratio",
        "--range",
        "--whole-range",
        "--bits",
        "--to",
        "--rounding",
        "--seed",
    ):
        assert f"{refused} " not in text and f"{refused}," not in text
    assert "ratio" in tensorpress.refuses("hdf5", "args", "--ratio", "10")


def as_a_shell_reads(line):
    return subprocess.check_output(["bash", "-c", f"printf '%s\\n' {line}"], text=True).splitlines()


@pytest.mark.parametrize("name", ["TEMP", "group/TEMP", "it's", "two words", "$HOME"])
def test_lines_of_hdf5_args_may_be_pasted(tensorpress, name):
    lines = tensorpress("hdf5", "args", "--abs", "0.01", "--var", name).out.decode().splitlines()
    h5repack, nccopy = map(as_a_shell_reads, lines)
    assert h5repack[:2] == ["h5repack", "-f"] and h5repack[2].startswith(f"{name}:UD=")
    assert nccopy[:3] == ["nccopy", "-4", "-F"] and nccopy[3].startswith(f"{name},")
    assert h5repack[3:] == ["IN.h5", "OUT.h5"] and nccopy[4:] == ["IN.nc", "OUT.nc"]


@pytest.mark.parametrize(
    "arguments, expected",
    [
        (["--rel", "1e-4", "--effort", "fast"], {"codec": "dense", "bound": "rel 1e-04"}),
        (["--codec", "ceresz", "--pw-rel", "0.01"], {"codec": "ceresz", "bound": "pw-rel 0.01"}),
        (
            ["--psnr", "60", "--fill", "-1e34", "--fill", "0"],
            {"bound": "psnr 60", "fill_values": [-1e34, 0]},
        ),
        (["--cf", "3", "--layout", "triangle"], {"codec": "dct-chop"}),
        (["--abs", "1", "--filter-threads", "7"], {"threads": 7}),
    ],
)
def test_decode_says_what_args_encoded(tensorpress, arguments, expected):
    values = tensorpress("hdf5", "args", *arguments, "--json").json["values"]
    decoded = tensorpress("hdf5", "decode", ",".join(map(str, values)), "--json").json
    assert {key: decoded[key] for key in expected} == expected


def test_decode_reads_what_h5dump_ncdump_and_h5repack_print(tensorpress):
    plain = tensorpress("hdf5", "decode", "1,1,2,3539053052,1062232653").out
    assert b"rel 0.001" in plain
    for same in (
        "1 1 2 -755914244 1062232653",
        "54352,1,1,2,3539053052,1062232653",
        "54352,1,5,1,1,2,3539053052,1062232653",
    ):
        assert tensorpress("hdf5", "decode", same).out == plain


@pytest.mark.parametrize(
    "arguments, sentence",
    [
        (["args"], "none is given"),
        (["args", "--ratio", "10"], "it sees one chunk at a time"),
        (["args", "--rel", "1e-3", "--range", "0:1"], "--range does not go with"),
        (["args", "--cf", "4", "--abs", "1"], "takes no bound"),
        (["decode", "x"], "'x' is not a number"),
        (["decode", "2,1,1,0,0"], "a layout that this version does not know"),
        (["decode", ""], "VALUES is empty"),
        (["decode", "1,1,1,0,1072693248,0,0,0,1,0,0,9"], "a rank of 9"),
    ],
)
def test_wrong_arguments_are_told(tensorpress, arguments, sentence):
    assert sentence in tensorpress.refuses("hdf5", *arguments)
