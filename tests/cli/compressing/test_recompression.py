"""Compressing again what has lost something already: a bound is meant against the first values, so
what was lost before counts, in files and in streams."""

import h5py
import netCDF4
import numpy as np
import pytest
from netcdf_files import attributes, needs_plugin, raw

SHAPE = (60, 80)


@pytest.fixture
def original(tensorpress):
    values = np.random.default_rng(11).uniform(-5, 5, SHAPE).astype("f4")
    with netCDF4.Dataset(tensorpress.directory / "run.nc", "w") as file:
        file.createDimension("y", SHAPE[0])
        file.createDimension("x", SHAPE[1])
        file.createVariable("t", "f4", ("y", "x"), zlib=True, shuffle=True)[...] = values
    return values


def error_of(tensorpress, name, values):
    return np.abs(raw(tensorpress.directory / name, "t").astype("f8") - values).max()


def row_of(outcome):
    (row,) = [each for each in outcome.json["variables"] if each["variable"] == "t"]
    return row


@needs_plugin
def test_a_looser_bound_uses_what_is_left_of_it(tensorpress, original):
    tensorpress("compress", "run.nc", "--abs", "0.05", "-o", "g1.nc")
    told = row_of(tensorpress("compress", "g1.nc", "--abs", "0.5", "-o", "g2.nc", "--json"))
    assert told["treatment"] == "compressed"
    assert 0.4 < error_of(tensorpress, "g2.nc", original) <= 0.5
    own = attributes(tensorpress.directory / "g2.nc", "t")
    assert own["tensorpress_bound"] == "abs 0.5"
    assert 0.4999 < own["tensorpress_max_abs_error"] <= 0.5
    steps = own["tensorpress_history"].split("; ")
    assert steps[0] == "dense abs 0.05" and len(steps) == 2
    # Once more: the history goes on.
    tensorpress("compress", "g2.nc", "--abs", "2", "-o", "g3.nc")
    assert 1 < error_of(tensorpress, "g3.nc", original) <= 2
    history = attributes(tensorpress.directory / "g3.nc", "t")["tensorpress_history"]
    assert history.startswith(own["tensorpress_history"] + "; dense abs 1.")


@needs_plugin
@pytest.mark.parametrize("second", ["0.0500001", "0.06", "0.07"])
def test_a_little_room_never_breaks_the_promise(tensorpress, original, second):
    """What is left may not be worth another compression; then the values stay as they are."""
    tensorpress("compress", "run.nc", "--abs", "0.05", "-o", "g1.nc")
    tensorpress("compress", "g1.nc", "--abs", second, "-o", "g2.nc")
    assert error_of(tensorpress, "g2.nc", original) <= float(second)
    own = attributes(tensorpress.directory / "g2.nc", "t")
    assert error_of(tensorpress, "g2.nc", original) <= own["tensorpress_max_abs_error"]


@needs_plugin
def test_a_point_wise_bound_uses_what_is_left_of_it(tensorpress, original):
    tensorpress("compress", "run.nc", "--pw-rel", "0.01", "-o", "g1.nc")
    tensorpress("compress", "g1.nc", "--pw-rel", "0.03", "-o", "g2.nc")
    error = np.abs(raw(tensorpress.directory / "g2.nc", "t").astype("f8") - original)
    assert (error <= 0.03 * np.abs(original)).all() and (error > 0.01 * np.abs(original)).any()
    said = tensorpress.refuses("compress", "g1.nc", "--abs", "1", "-o", "g3.nc")
    assert "variable 't'" in said and "pw-rel 0.01" in said and "--from-here" in said


@pytest.mark.parametrize("bound", [["--abs", "0.05"], ["--rel", "1e-3"], ["--pw-rel", "1e-2"]])
def test_the_same_bound_again_copies_the_variable(tensorpress, original, bound):
    tensorpress("compress", "run.nc", *bound, "-o", "g1.nc")
    told = row_of(tensorpress("compress", "g1.nc", *bound, "-o", "g2.nc", "--json"))
    assert told["treatment"] == "kept_already" and told["bytes_out"] == told["stored_before"]
    table = tensorpress("compress", "g1.nc", *bound, "-o", "g2.nc", "--force").out.decode()
    assert "keeps the bound already" in table
    first, second = (attributes(tensorpress.directory / name, "t") for name in ("g1.nc", "g2.nc"))
    assert first == second


def test_a_bound_below_what_was_lost_is_refused_with_both_and_the_way_out(tensorpress, original):
    tensorpress("compress", "run.nc", "--abs", "0.05", "-o", "g1.nc")
    for arguments in (
        ["--abs", "0.01", "-o", "g2.nc"],
        ["--rel", "1e-4", "-o", "g2.nc"],
        ["--abs", "0", "-o", "g2.nc"],
        ["--psnr", "90", "-o", "g2.nc"],
    ):
        said = tensorpress.refuses("compress", "g1.nc", *arguments)
        assert "'t'" in said and "0.05" in said and said.endswith("--from-here"), said
    said = tensorpress.refuses("compress", "g1.nc", "--var", "t", "--abs", "0.01", "-o", "t.tpz")
    assert "t: " in said and "0.05" in said and "0.01" in said and said.endswith("--from-here")
    assert sorted(each.name for each in tensorpress.directory.iterdir()) == ["g1.nc", "run.nc"]


@needs_plugin
def test_from_here_counts_from_the_values_as_they_are_and_tells_the_sum(tensorpress, original):
    tensorpress("compress", "run.nc", "--abs", "0.05", "-o", "g1.nc")
    tensorpress("compress", "g1.nc", "--abs", "0.5", "--from-here", "-o", "g2.nc")
    now = raw(tensorpress.directory / "g1.nc", "t").astype("f8")
    again = raw(tensorpress.directory / "g2.nc", "t").astype("f8")
    assert 0.45 < np.abs(again - now).max() <= 0.5
    own = attributes(tensorpress.directory / "g2.nc", "t")
    assert own["tensorpress_history"] == "dense abs 0.05; dense abs 0.5"
    # The bound that it carries is the one against the first values.
    assert own["tensorpress_bound"] == "abs 0.55"
    assert own["tensorpress_max_abs_error"] == pytest.approx(0.55)
    assert error_of(tensorpress, "g2.nc", original) <= own["tensorpress_max_abs_error"]
    # So it is not kept by asking for the smaller one again.
    assert "0.55" in tensorpress.refuses("compress", "g2.nc", "--abs", "0.5", "-o", "g3.nc")


def test_an_unknown_loss_is_refused_and_kept_in_the_history(tensorpress):
    smooth = np.add.outer(np.sin(np.arange(64) / 9), np.cos(np.arange(64) / 7)).astype("f4")
    with h5py.File(tensorpress.directory / "in.h5", "w") as file:
        file["t"] = smooth
    tensorpress("compress", "in.h5", "--cf", "4", "-o", "g1.h5")
    said = tensorpress.refuses("compress", "g1.h5", "--abs", "0.5", "-o", "g2.h5")
    assert "variable 't' was compressed before" in said and "abs 0.5" in said
    assert said.endswith("--from-here")
    tensorpress("compress", "g1.h5", "--abs", "0.5", "--from-here", "-o", "g2.h5")
    (told,) = tensorpress("info", "g2.h5", "--json").json["variables"]
    assert told["lost"] is None and told["history"].endswith("; dense abs 0.5")


def test_one_variable_to_a_stream_takes_its_history_along(tensorpress, original):
    tensorpress("compress", "run.nc", "--abs", "0.05", "-o", "g1.nc")
    tensorpress("compress", "g1.nc", "--var", "t", "--abs", "0.07", "-o", "t.tpz")
    told = tensorpress("info", "t.tpz", "--json").json
    assert told["attributes"]["tensorpress_history"] == "dense abs 0.05"
    assert "tensorpress_" not in told["attributes"]["netcdf"]
    tensorpress("verify", "run.nc", "t.tpz")
    # And back into a file nothing is forgotten.
    tensorpress("decompress", "t.tpz", "-o", "t.nc")
    assert 0.05 < error_of(tensorpress, "t.nc", original) <= 0.07
    history = attributes(tensorpress.directory / "t.nc", "t")["tensorpress_history"]
    assert history.startswith("dense abs 0.05; dense abs 0.0")
    assert "0.07" in tensorpress.refuses("compress", "t.nc", "--abs", "0.06", "-o", "g2.nc")


@pytest.mark.parametrize("rel", [1e-3, 0.05])
def test_a_filter_without_a_history_is_asked_what_it_kept(tensorpress, original, rel):
    """As h5py writes it: a bound of each chunk's own range, and no attribute."""
    values = original.copy()
    values[:30] *= 100
    words = tensorpress("hdf5", "args", "--rel", rel, "--json").json["values"]
    with h5py.File(tensorpress.directory / "in.h5", "w") as file:
        file.create_dataset(
            "t", data=values, chunks=(30, 80), compression=54352, compression_opts=tuple(words)
        )
    lost = rel / (1 - 2 * rel) * np.ptp(values)
    said = tensorpress.refuses(
        "compress", "in.h5", "--abs", 0.5 * rel * np.ptp(values), "-o", "out.h5"
    )
    assert "'t'" in said and said.endswith("--from-here")
    tensorpress("compress", "in.h5", "--abs", 3 * lost, "-o", "out.h5")
    with h5py.File(tensorpress.directory / "out.h5") as file:
        back = file["t"][...].astype("f8")
        (first, second) = file["t"].attrs["tensorpress_history"].decode().split("; ")
    assert rel * np.ptp(values) <= float(first.split()[-1]) <= 1.1 * lost
    assert float(first.split()[-1]) + float(second.split()[-1]) <= 3 * lost
    assert np.abs(back - values).max() <= 3 * lost


def test_a_damaged_history_is_unknown_and_no_crash(tensorpress, original):
    tensorpress("compress", "run.nc", "--abs", "0.05", "-o", "g1.nc")
    for history in ["x y z", "dense abs -1", "dense abs 1e999", "; ; ", "dense rel 0.1", "\t"]:
        with netCDF4.Dataset(tensorpress.directory / "g1.nc", "a") as file:
            file["t"].tensorpress_history = history
        tensorpress("info", "g1.nc")
        said = tensorpress.refuses("compress", "g1.nc", "--abs", "0.04", "-o", "g2.nc")
        assert said.endswith("--from-here"), said


def test_info_shows_the_history(tensorpress, original):
    tensorpress("compress", "run.nc", "--abs", "0.05", "-o", "g1.nc")
    tensorpress("compress", "g1.nc", "--abs", "0.5", "-o", "g2.nc")
    assert "lost abs 0.05 in 1 step: dense abs 0.05" in tensorpress("info", "g1.nc").out.decode()
    (told,) = tensorpress("info", "g2.nc", "--json").json["variables"]
    assert told["history"].startswith("dense abs 0.05; dense abs ")
    kind, number = told["lost"].split()
    assert kind == "abs" and 0.4999 < float(number) <= 0.5
    assert "history" not in tensorpress("info", "run.nc", "--json").json["variables"][0]
