"""What compress, info and verify say: names, exact ratios, and numbers that numpy agrees with."""

import json
import math

import numpy as np
import pytest
import reference

BLOCK_VALUES = {"dct": 64, "zfp": 16}


def compressed(tensorpress, array, *flags):
    np.save(tensorpress.directory / "x.npy", array)
    return tensorpress("compress", "--codec", "dct-chop", "x.npy", "-f", "--json", *flags).json


def payload_cases():
    for transform, largest in (("dct", 8), ("zfp", 4)):
        for layout in ("square", "triangle"):
            for cf in range(1, largest + 1):
                yield transform, layout, cf


@pytest.mark.parametrize("transform, layout, cf", payload_cases())
def test_payload_ratio_is_the_papers_formula(tensorpress, smooth, transform, layout, cf):
    array = smooth((2, 64, 64))
    flags = ["--cf", cf, "--layout", layout, "--transform", transform]
    values = cf * cf if layout == "square" else cf * (cf + 1) // 2
    for coefficients, bytes_per_value in (("f32", 4), ("bf16", 2), ("f16", 2)):
        report = compressed(tensorpress, array, *flags, "--coefficients", coefficients)
        assert report["payload_ratio"] == pytest.approx(
            BLOCK_VALUES[transform] * 4 / (values * bytes_per_value), rel=1e-15
        )


def test_a_full_square_is_never_larger_than_raw(tensorpress, smooth):
    report = compressed(tensorpress, smooth((61, 67)), "--cf", 8)
    assert report["payload_ratio"] >= 1


def test_one_dimension_keeps_cf_of_eight(tensorpress, smooth):
    assert compressed(tensorpress, smooth((4096,)), "--cf", 2)["payload_ratio"] == 4


def test_compress_reports_every_statistic_under_its_name(tensorpress, smooth):
    array = smooth((5, 48, 80))
    report = compressed(
        tensorpress,
        array,
        "--cf",
        3,
        "--layout",
        "triangle",
        "--attr",
        "unit=kelvin",
        "--attr",
        "note=a=b",
    )
    size = (tensorpress.directory / "x.tpz").stat().st_size
    assert report["codec"] == "dct-chop"
    assert report["parameters"]["cf"] == 3 and report["parameters"]["layout"] == "triangle"
    assert (
        report["parameters"]["transform"] == "dct" and report["parameters"]["coefficients"] == "f32"
    )
    assert report["dtype"] == "f32" and report["shape"] == [5, 48, 80]
    assert len(report["chunk_shape"]) == 3 and report["chunks"] >= 1 and report["raw_chunks"] == 0
    assert report["bytes_in"] == array.nbytes and report["bytes_out"] == size
    assert report["payload_bytes"] == array.nbytes * 6 // 64
    assert report["ratio"] == pytest.approx(array.nbytes / size)
    assert report["bits_per_value"] == pytest.approx(8 * size / array.size)
    assert report["attributes"] == {"unit": "kelvin", "note": "a=b"}
    assert report["seconds"] > 0
    assert report["compress_gb_per_s"] == pytest.approx(array.nbytes / 1e9 / report["seconds"])


def test_info_repeats_what_compress_said(tensorpress, smooth):
    report = compressed(tensorpress, smooth((5, 48, 80)), "--attr", "unit=kelvin")
    for timing in ("seconds", "compress_gb_per_s"):
        del report[timing]
    assert tensorpress("info", "x.tpz", "--json").json == report
    piped = tensorpress("info", "-", "--json", stdin=(tensorpress.directory / "x.tpz").read_bytes())
    assert piped.json == report


def test_info_prints_a_line_a_field(tensorpress, smooth):
    report = compressed(tensorpress, smooth((5, 48, 80)), "--attr", "evil=\x1b[2J")
    lines = tensorpress("info", "x.tpz").out.decode().splitlines()
    assert [line.split()[0] for line in lines] == [
        name for name in report if name not in ("seconds", "compress_gb_per_s")
    ]
    assert ["shape", "5x48x80"] in [line.split() for line in lines]
    assert not any("\x1b" in line for line in lines)


def test_info_shows_the_matrix_form_s_cost(tensorpress, smooth):
    """Equations 5 and 7 of the paper for n x n planes: both products of Y = LHS A RHS, two
    operations a step."""
    n, cf, planes = 64, 4, 6
    report = compressed(tensorpress, smooth((planes, n, n)), "--cf", cf, "--form", "matmul")
    m = cf * n // 8
    assert report["flops_compress"] == planes * (m * n * (2 * n - 1) + m * m * (2 * n - 1))
    assert report["flops_decompress"] == planes * (n * m * (2 * m - 1) + n * n * (2 * m - 1))
    parts = compressed(
        tensorpress, smooth((planes, n, n)), "--cf", cf, "--form", "matmul", "--serialize", 2
    )
    assert parts["matrix_bytes"] * 4 == report["matrix_bytes"]


def test_info_describes_npy_files(tensorpress):
    np.save(tensorpress.directory / "x.npy", np.asfortranarray(np.zeros((4, 6), ">i2")))
    report = tensorpress("info", "x.npy", "--json").json
    assert report["dtype"] == "i16" and report["shape"] == [4, 6] and report["order"] == "fortran"


def test_info_without_a_file_describes_the_program(tensorpress):
    report = tensorpress("info", "--json").json
    assert report["version"] == tensorpress("--version").out.decode().split()[1]
    assert report["format_version"] == 2 and report["isa"] == report["detected_isa"]
    assert report["codecs"]["dct-chop"]["layout"] == "square|triangle"


def test_info_without_a_file_lists_codecs_one_a_line(tensorpress):
    text = tensorpress("info").out.decode()
    assert "\n\nCodecs:\n" in text
    lines = text.split("Codecs:\n")[1].split("\n\nDevices:")[0].splitlines()
    names = [line.split()[0] for line in lines]
    assert names == list(tensorpress("info", "--json").json["codecs"])
    assert all(len(line.split()) > 3 and len(line) < 120 for line in lines)


def test_numbers_are_numbers_in_json(tensorpress, smooth):
    np.save(tensorpress.directory / "x.npy", smooth((16, 16)))
    options = ["--abs", "0.25", "--fill", "-1e34", "--fill", "7"]
    for report in (
        tensorpress("compress", "x.npy", *options, "--json").json,
        tensorpress("info", "x.tpz", "--json").json,
    ):
        parameters = report["parameters"]
        assert parameters["limit"] == 0.25 and parameters["fill"] == [-1e34, 7]
    assert "fill -1e+34 7" in tensorpress("info", "x.tpz").out.decode()


def test_notes_about_a_variable_are_an_object_in_json(tensorpress):
    netCDF4 = pytest.importorskip("netCDF4")
    with netCDF4.Dataset(tensorpress.directory / "w.nc", "w") as file:
        file.createDimension("x", 9000)  # so many coordinates that the notes come in pieces
        file.createVariable("x", "f8", ("x",))[:] = np.sqrt(np.arange(9000))
        variable = file.createVariable("T", "f4", ("x",))
        variable[:] = np.sin(np.arange(9000.0))
        variable.units = "K"
    tensorpress("compress", "w.nc", "--var", "T", "--abs", "1e-2", "--attr", "mine=[1]")
    attributes = tensorpress("info", "w.T.tpz", "--json").json["attributes"]
    assert attributes["mine"] == "[1]"
    notes = attributes["netcdf"]
    assert notes["variable"] == "T" and notes["dimensions"] == ["x"]
    assert not any(name.startswith("netcdf.") for name in attributes)
    assert len(tensorpress("info", "w.T.tpz").out) < 2000


@pytest.mark.parametrize("dtype", ["i2", "u1"])
def test_whole_numbers_without_a_bound_are_told_what_is_possible(tensorpress, smooth, dtype):
    np.save(tensorpress.directory / "x.npy", smooth((16, 16), dtype))
    for bound in ([], ["--abs", "1"]):
        sentence = tensorpress.refuses("compress", "x.npy", *bound)
        assert "--codec dct-chop takes whole numbers" in sentence and "--abs" not in sentence
    tensorpress("compress", "x.npy", "--codec", "dct-chop")


def test_stored_error_is_the_dropped_energy(tensorpress, smooth):
    """Parseval: the DCT is orthonormal, so what is dropped is the error."""
    array = smooth((3, 64, 128))
    report = compressed(tensorpress, array, "--cf", 4)
    blocks = array.astype(float).reshape(3, 8, 8, 16, 8).swapaxes(2, 3)
    matrix = reference.dct_matrix()
    coefficients = matrix @ blocks @ matrix.T
    dropped = coefficients * ~reference.kept("dct", "square", 4)
    rounding = 36 * 2.0**-24 * np.linalg.norm(array.astype(float))  # docs/format.md
    assert report["l2_error"] == pytest.approx(np.linalg.norm(dropped) + rounding, rel=1e-5)


@pytest.mark.parametrize("dtype", ["f4", "f8", "f2", "u1", "i2"])
@pytest.mark.parametrize(
    "flags", [["--cf", "3"], ["--cf", "8"], ["--transform", "zfp", "--cf", "2"]], ids=" ".join
)
def test_verify_measures_what_numpy_measures(tensorpress, smooth, dtype, flags):
    array = smooth((2, 50, 67), dtype)
    np.save(tensorpress.directory / "x.npy", array)
    tensorpress("compress", "--codec", "dct-chop", "x.npy", *flags)
    tensorpress("decompress", "x.tpz", "-o", "y.npy")
    original, copy = array.astype(float), np.load(tensorpress.directory / "y.npy").astype(float)
    report = tensorpress("verify", "x.npy", "x.tpz", "--json").json
    value_range = original.max() - original.min()
    rmse = np.sqrt(np.mean((original - copy) ** 2))
    assert report["ok"] is True
    assert report["max_abs_error"] == pytest.approx(np.abs(original - copy).max())
    assert report["max_rel_error"] == pytest.approx(np.abs(original - copy).max() / value_range)
    assert report["nrmse"] == pytest.approx(rmse / value_range)
    assert report["l2_error"] == pytest.approx(np.linalg.norm(original - copy))
    assert report["l2_error"] <= report["stored_l2_error"]
    if rmse > 0:
        assert report["psnr_db"] == pytest.approx(20 * math.log10(value_range / rmse))
        assert 0 < report["ssim"] < 1


def test_a_perfect_copy_has_null_psnr(tensorpress):
    np.save(tensorpress.directory / "x.npy", np.zeros((32, 32), "f4"))
    tensorpress("compress", "--codec", "dct-chop", "x.npy")
    report = tensorpress("verify", "x.npy", "x.tpz", "--json").json
    assert report["psnr_db"] is None and report["max_abs_error"] == 0 and report["ok"] is True
    assert "psnr_db" in tensorpress("verify", "x.npy", "x.tpz").out.decode()


def test_verify_takes_a_pipe_on_either_side(tensorpress, smooth):
    np.save(tensorpress.directory / "x.npy", smooth((3, 40, 48)))
    tensorpress("compress", "--codec", "dct-chop", "x.npy")
    from_files = tensorpress("verify", "x.npy", "x.tpz", "--json").json
    for arguments, name in ((("-", "x.tpz"), "x.npy"), (("x.npy", "-"), "x.tpz")):
        stdin = (tensorpress.directory / name).read_bytes()
        assert tensorpress("verify", *arguments, "--json", stdin=stdin).json == from_files


def test_verify_fails_with_status_1_when_the_error_is_exceeded(tensorpress, smooth):
    array = smooth((32, 32))
    np.save(tensorpress.directory / "x.npy", array)
    tensorpress("compress", "x.npy", "--cf", 6)
    np.save(tensorpress.directory / "other.npy", array + np.float32(1))
    outcome = tensorpress("verify", "other.npy", "x.tpz", "--json", status=1)
    assert outcome.json["ok"] is False and outcome.json["l2_error"] > 31
    assert outcome.err.startswith("tensorpress: x.tpz: ") and "exceeds" in outcome.err


def test_compress_verifies_what_it_wrote(tensorpress, smooth):
    report = compressed(tensorpress, smooth((3, 40, 48)), "--verify")
    assert report["verify"] == tensorpress("verify", "x.npy", "x.tpz", "--json").json


def test_a_person_gets_one_line_with_the_ratio(tensorpress, smooth):
    array = smooth((8, 64, 64))
    np.save(tensorpress.directory / "x.npy", array)
    outcome = tensorpress("compress", "x.npy", "--cf", 4)
    assert (
        outcome.out.decode().startswith("x.npy: 128 KiB -> x.tpz: ")
        and ", ratio 3.9" in outcome.out.decode()
    )
    assert outcome.out.count(b"\n") == 1 and outcome.err == ""


SMALL_BENCH = ["--planes", 32, "--megabytes", 1, "--repetitions", 1, "--threads", 1]


@pytest.mark.parametrize("codec, setting", [("quantize", "bits"), ("cast", "to")])
def test_bench_runs_a_codec_without_chop_factors_once(tensorpress, codec, setting):
    (row,) = tensorpress("bench", "--codec", codec, *SMALL_BENCH, "--json").json
    assert row["codec"] == codec and "cf" not in row and "matmul_gb_per_s" not in row
    lines = tensorpress("bench", "--codec", codec, *SMALL_BENCH).out.decode().splitlines()
    assert len(lines) == 2 and " cf " not in lines[1]
    assert f" {setting} {row['parameters'][setting]} " in lines[1]


def test_bench_runs_dct_chop_with_every_chop_factor_and_both_forms(tensorpress):
    rows = tensorpress("bench", *SMALL_BENCH, "--json").json
    assert [row["cf"] for row in rows] == list(range(1, 9))
    for row in rows:
        assert row["parameters"]["cf"] == row["cf"] and row["matmul_gb_per_s"] > 0
        assert row["payload_ratio"] == pytest.approx(64 / row["cf"] ** 2)
    lines = tensorpress("bench", *SMALL_BENCH, "--cfs", "3,5").out.decode().splitlines()
    assert len(lines) == 3 and " cf 3 " in lines[1] and " cf 5 " in lines[2]


def test_reports_leave_stdout_to_the_data(tensorpress, smooth):
    np.save(tensorpress.directory / "x.npy", smooth((16, 16)))
    tensorpress("compress", "--codec", "dct-chop", "x.npy")
    outcome = tensorpress("compress", "--codec", "dct-chop", "x.npy", "-o", "-", "--json")
    assert outcome.out == (tensorpress.directory / "x.tpz").read_bytes()
    assert json.loads(outcome.err)["bytes_out"] == len(outcome.out)
    outcome = tensorpress("decompress", "x.tpz", "-o", "-", "--json")
    assert outcome.out.startswith(b"\x93NUMPY")
    assert json.loads(outcome.err)["decompress_gb_per_s"] > 0


def test_raw_chunks_are_explained(tensorpress, smooth):
    np.save(
        tensorpress.directory / "x.npy", smooth((3, 3))
    )  # one block of 16 values would be larger than 9
    outcome = tensorpress("compress", "x.npy", "--cf", 4, "--json")
    assert outcome.json["raw_chunks"] == 1 and outcome.json["l2_error"] == 0
    assert (
        outcome.err.startswith("tensorpress: stored uncompressed: 1 of 1 chunks")
        and outcome.err.count("\n") == 1
    )
