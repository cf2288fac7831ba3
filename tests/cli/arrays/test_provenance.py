"""What a rewritten NetCDF or HDF5 file says about itself, the way back to a plain file, and ratios
against the bytes that stand in the file."""

import h5py
import netCDF4
import numpy as np
import pytest
from netcdf_files import attributes, needs_plugin, raw

REPRODUCIBLE = {"SOURCE_DATE_EPOCH": "1800000000"}
STAMP = "2027-01-15T08:00:00Z tensorpress "


def waves(shape):
    total = np.zeros(shape)
    for axis, extent in enumerate(shape):
        wave = np.sin(np.arange(extent) / (7 + axis))
        total = total + wave.reshape([-1 if a == axis else 1 for a in range(len(shape))])
    return total.astype("f4")


def write(path, form="NETCDF4", **storage):
    """Waves `t` on a growing axis, a noisy `n`, whole numbers `k` and a coordinate."""
    noise = np.random.default_rng(3).standard_normal((24, 900)).astype("f4")
    with netCDF4.Dataset(path, "w", format=form) as file:
        file.createDimension("time", None)
        file.createDimension("x", 900)
        file.history = "Wed Nov 18 00:00:00 2026: ncks a.nc b.nc"
        file.createVariable("x", "f4", ("x",))[:] = np.arange(900)
        for name, values in (("t", waves((24, 900))), ("n", noise)):
            variable = file.createVariable(name, "f4", ("time", "x"), **storage)
            variable.units = "K"
            variable[0:24] = values
        counts = np.arange(24 * 900).reshape(24, 900)
        file.createVariable("k", "i4", ("time", "x"), **storage)[0:24] = counts


def storage_of(path, name):
    with netCDF4.Dataset(path) as file:
        return file[name].filters(), file[name].chunking()


@needs_plugin
@pytest.mark.parametrize("form", ["NETCDF3_CLASSIC", "NETCDF4"])
def test_a_rewritten_file_says_what_was_done(tensorpress, form):
    write(tensorpress.directory / "in.nc", form)
    arguments = ["compress", "in.nc", "--rel", "1e-3", "-o", "small.nc"]
    told = tensorpress(*arguments, "--json", environment=REPRODUCIBLE).json["variables"]
    small = tensorpress.directory / "small.nc"
    version = tensorpress("--version").out.decode().split()[1]
    with netCDF4.Dataset(small) as file:
        first, second = file.history.split("\n")
        assert first == f"{STAMP}{version}: {' '.join(arguments)} --json"
        assert second == "Wed Nov 18 00:00:00 2026: ncks a.nc b.nc"
    own = attributes(small, "t")
    (bound,) = [each["bound"] for each in told if each["variable"] == "t"]
    assert own["tensorpress_codec"] == "dense" and own["tensorpress_bound"] == "rel 0.001"
    assert own["tensorpress_version"] == version
    assert own["tensorpress_history"] == f"dense {bound}"
    error = np.abs(raw(small, "t").astype("f8") - raw(tensorpress.directory / "in.nc", "t")).max()
    assert error <= own["tensorpress_max_abs_error"] == pytest.approx(float(bound.split()[1]))
    assert own["units"] == "K"
    # What was not compressed has nothing to tell.
    assert not [name for name in attributes(small, "k") if name.startswith("tensorpress")]
    xarray = pytest.importorskip("xarray")
    with xarray.open_dataset(small, engine="netcdf4") as opened:
        assert opened["t"].shape == (24, 900) and opened["t"].attrs["tensorpress_codec"] == "dense"


@needs_plugin
def test_the_same_call_makes_the_same_file(tensorpress):
    write(tensorpress.directory / "in.nc")
    files = []
    for name in ("one", "two"):
        (tensorpress.directory / name).mkdir()
        tensorpress.directory = tensorpress.directory / name
        arguments = ["compress", "../in.nc", "--abs", "0.01", "-o", "small.nc"]
        tensorpress(*arguments, environment=REPRODUCIBLE)
        files.append((tensorpress.directory / "small.nc").read_bytes())
        tensorpress.directory = tensorpress.directory.parent
    assert files[0] == files[1]
    said = tensorpress.refuses(
        "compress", "in.nc", "--abs", "1", "-o", "x.nc", environment={"SOURCE_DATE_EPOCH": "soon"}
    )
    assert "SOURCE_DATE_EPOCH is 'soon'" in said


@pytest.mark.parametrize("kind", ["absent", "any length", "fixed", "numbers", "several"])
def test_hdf5_files_get_their_history_whatever_was_there(tensorpress, kind):
    before = {
        "any length": "an older line",
        "fixed": np.bytes_("an older line"),
        "numbers": np.arange(3),
        "several": np.array(["one", "two"], dtype=object),
    }.get(kind)
    with h5py.File(tensorpress.directory / "in.h5", "w") as file:
        file["group/t"] = waves((64, 64))
        if before is not None:
            file.attrs["history"] = before
    tensorpress("compress", "in.h5", "--abs", "0.1", "-o", "out.h5", environment=REPRODUCIBLE)
    with h5py.File(tensorpress.directory / "out.h5") as file:
        history = file.attrs["history"]
        assert file["group/t"].attrs["tensorpress_bound"] == b"abs 0.1"
        assert "history" not in file["group"].attrs
    if kind == "numbers":
        assert list(history) == [0, 1, 2]
    elif kind == "several":
        assert list(history) == ["one", "two"]
    else:
        history = history.decode() if isinstance(history, bytes) else history
        lines = history.split("\n")
        assert lines[0].startswith(STAMP) and lines[1:] == ["an older line"] * (kind != "absent")


STORAGES = {
    "deflated": {"zlib": True, "complevel": 7, "shuffle": True},
    "deflated only": {"zlib": True, "complevel": 2, "shuffle": False, "chunksizes": (6, 900)},
    "with checksums": {"zlib": True, "shuffle": True, "fletcher32": True},
    "plain": {"chunksizes": (12, 300)},
}


@needs_plugin
@pytest.mark.parametrize("storage", STORAGES.values(), ids=STORAGES.keys())
def test_decompress_of_a_whole_file_restores_the_filters_that_were_there(tensorpress, storage):
    write(tensorpress.directory / "in.nc", **storage)
    tensorpress("compress", "in.nc", "--abs", "0.01", "-o", "small.nc")
    arguments = ["decompress", "small.nc", "-o", "plain.nc"]
    tensorpress(*arguments, environment=REPRODUCIBLE)
    old, small, plain = (tensorpress.directory / f"{n}.nc" for n in ("in", "small", "plain"))
    for name in ("t", "n", "k", "x"):
        assert storage_of(plain, name) == storage_of(old, name), name
        assert np.array_equal(raw(plain, name), raw(small, name))
        own = attributes(plain, name)
        # The values still carry the error.
        history = own.pop("tensorpress_history", None)
        assert history == ("dense abs 0.01" if name in "tn" else None)
        assert own == attributes(old, name)
    with netCDF4.Dataset(plain) as file, netCDF4.Dataset(small) as before:
        assert file.history.startswith(STAMP) and file.history.endswith("\n" + before.history)
        assert file.dimensions["time"].isunlimited()
    assert "0.01" in tensorpress.refuses("compress", "plain.nc", "--abs", "0.005", "-o", "x.nc")


def test_decompress_restores_what_was_not_chunked(tensorpress):
    with h5py.File(tensorpress.directory / "in.h5", "w") as file:
        file["t"] = waves((64, 64))
    tensorpress("compress", "in.h5", "--abs", "0.1", "-o", "small.h5")
    told = tensorpress("decompress", "small.h5", "-o", "plain.h5", "--json").json["variables"]
    assert told[0]["treatment"] == "restored" and told[0]["filters"] == "contiguous"
    with h5py.File(tensorpress.directory / "plain.h5") as file:
        assert file["t"].chunks is None and list(file["t"].attrs) == ["tensorpress_history"]


@pytest.mark.parametrize("before", [None, "4:32,4", "61234:1", "\x01 what", "deflate:x", "6:2,2"])
def test_filters_that_are_not_known_or_not_here_become_shuffle_and_deflate(tensorpress, before):
    with h5py.File(tensorpress.directory / "in.h5", "w") as file:
        file["t"] = waves((64, 64))
    tensorpress("compress", "in.h5", "--abs", "0.1", "-o", "small.h5")
    with h5py.File(tensorpress.directory / "small.h5", "a") as file:
        del file["t"].attrs["tensorpress_filters_before"]
        if before is not None:
            file["t"].attrs["tensorpress_filters_before"] = np.bytes_(before)
    told = tensorpress("decompress", "small.h5", "-o", "plain.h5", "--json").json["variables"]
    assert told[0]["filters"] == "shuffle deflate:4"
    with h5py.File(tensorpress.directory / "plain.h5") as file:
        assert file["t"].shuffle and file["t"].compression_opts == 4


def test_decompress_of_a_file_without_our_filter_is_refused(tensorpress):
    write(tensorpress.directory / "in.nc")
    said = tensorpress.refuses("decompress", "in.nc", "-o", "out.nc")
    assert "no variable is compressed with our filter" in said
    assert "-o" in tensorpress.refuses("decompress", "in.nc")
    assert "--slice" in tensorpress.refuses("decompress", "in.nc", "--slice", "0:1", "-o", "x.nc")
    assert [each.name for each in tensorpress.directory.iterdir()] == ["in.nc"]


@pytest.mark.parametrize("storage", STORAGES.values(), ids=STORAGES.keys())
@pytest.mark.parametrize("bound", [["--abs", "0"], ["--rel", "0"], ["--pw-rel", "0"]])
def test_a_bound_of_zero_never_makes_a_file_larger(tensorpress, storage, bound):
    source = tensorpress.directory / "in.nc"
    write(source, **storage)
    told = tensorpress("compress", "in.nc", *bound, "-o", "out.nc", "--json").json["variables"]
    out = tensorpress.directory / "out.nc"
    assert out.stat().st_size <= source.stat().st_size
    for each in told:
        assert each["bytes_out"] <= each["stored_before"], each
        assert np.array_equal(raw(out, each["variable"]), raw(source, each["variable"]))
        if storage.get("zlib") and storage["shuffle"]:
            assert storage_of(out, each["variable"]) == storage_of(source, each["variable"])
    # Nothing was lost, so there is nothing to tell.
    assert attributes(out, "t") == attributes(source, "t")


def test_a_bound_of_zero_shuffles_and_deflates_what_was_plain(tensorpress):
    source = tensorpress.directory / "in.nc"
    with netCDF4.Dataset(source, "w", format="NETCDF3_64BIT_OFFSET") as file:
        file.createDimension("y", 300)
        file.createDimension("x", 300)
        file.createVariable("t", "f4", ("y", "x"))[...] = np.floor(100 * waves((300, 300)))
        noise = np.random.default_rng(1).integers(0, 256, (300, 300 * 4), dtype="u1").view("f4")
        file.createVariable("n", "f4", ("y", "x"))[...] = np.nan_to_num(noise)
    told = tensorpress("compress", "in.nc", "--abs", "0", "-o", "out.nc", "--json").json
    treatments = {each["variable"]: each["treatment"] for each in told["variables"]}
    assert treatments["t"] == "exact" and not told["copied"]
    out = tensorpress.directory / "out.nc"
    assert out.stat().st_size < 0.7 * source.stat().st_size
    assert np.array_equal(raw(out, "t"), raw(source, "t"))
    assert np.array_equal(raw(out, "n").view("u4"), raw(source, "n").view("u4"))
    with netCDF4.Dataset(out) as file:
        assert file["t"].filters()["zlib"] and file["t"].filters()["shuffle"]


def test_where_nothing_gets_smaller_without_loss_the_output_is_a_copy(tensorpress):
    source = tensorpress.directory / "in.nc"
    with netCDF4.Dataset(source, "w", format="NETCDF3_CLASSIC") as file:
        file.createDimension("x", 10)
        file.createVariable("t", "f4", ("x",))[:] = np.arange(10)
    outcome = tensorpress("compress", "in.nc", "--abs", "0", "-o", "out.nc")
    assert "the output is a copy" in outcome.err and outcome.err.count("\n") == 1
    assert (tensorpress.directory / "out.nc").read_bytes() == source.read_bytes()


@pytest.mark.parametrize("name", ["in.h5", "in.nc", "classic.nc"])
def test_what_a_codec_makes_larger_is_copied_and_told(tensorpress, name):
    """Noise that a fixed rate cannot shrink beside waves that it can."""
    values = np.random.default_rng(2).integers(0, 256, (64, 64 * 4), dtype="u1").view("f4")
    values = np.where(np.isfinite(values), values, 0)
    source = tensorpress.directory / name
    if name == "in.h5":
        with h5py.File(source, "w") as file:
            file["n"], file["t"] = values, waves((64, 64))
            file["also"] = file["n"]
    else:
        form = "NETCDF3_CLASSIC" if name == "classic.nc" else "NETCDF4"
        with netCDF4.Dataset(source, "w", format=form) as file:
            file.createDimension("y", 64)
            file.createDimension("x", 64)
            for each, data in (("n", values), ("t", waves((64, 64)))):
                file.createVariable(each, "f4", ("y", "x"), fill_value=False)[...] = data
    output = "out" + source.suffix
    outcome = tensorpress("compress", name, "--cf", "4", "-o", output, "--json")
    treatments = {each["variable"]: each for each in outcome.json["variables"]}
    assert treatments["n"]["treatment"] == "not_smaller"
    assert treatments["n"]["bytes_out"] == treatments["n"]["stored_before"]
    assert treatments["t"]["treatment"] == "compressed"
    assert "would take more space" in outcome.err and outcome.err.rstrip().endswith("n")
    with h5py.File(tensorpress.directory / output) as file:
        assert file["n"].chunks is None and not file["n"].attrs.get("tensorpress_codec")
        assert np.array_equal(file["n"][...].view("u4"), values.view("u4"))
        if name == "in.h5":
            assert file["also"] == file["n"]


@pytest.mark.parametrize("form", ["NETCDF3_CLASSIC", "NETCDF4"])
def test_the_ratio_of_packed_numbers_is_against_the_bytes_in_the_file(tensorpress, form):
    with netCDF4.Dataset(tensorpress.directory / "cmip.nc", "w", format=form) as file:
        file.createDimension("y", 200)
        file.createDimension("x", 250)
        storage = {"zlib": True} if form == "NETCDF4" else {}
        variable = file.createVariable("tas", "i2", ("y", "x"), **storage)
        variable.scale_factor, variable.add_offset = 0.01, 273.0
        variable[...] = 280 + 5 * waves((200, 250))
    arguments = ["compress", "cmip.nc", "--var", "tas", "--abs", "0.05", "-o", "tas.tpz"]
    told = tensorpress(*arguments, "--json").json
    size = (tensorpress.directory / "tas.tpz").stat().st_size
    assert told["bytes_in"] == 2 * 200 * 250 and told["bytes_out"] == size
    assert told["unpacked_bytes"] == 8 * 200 * 250
    assert told["ratio"] == pytest.approx(100_000 / size)
    if form == "NETCDF4":
        with h5py.File(tensorpress.directory / "cmip.nc") as file:
            assert told["stored_bytes"] == file["tas"].id.get_storage_size() < 100_000
    line = tensorpress(*arguments, "--force").out.decode()
    assert line.startswith("cmip.nc:tas: 97.66 KiB"), line
    assert f"ratio {100_000 / size:.4g}" in line and (" stored) ->" in line) == (form == "NETCDF4")
    assert tensorpress("info", "tas.tpz", "--json").json["ratio"] == told["ratio"]


def test_the_table_of_a_rewrite_shows_what_was_stored_before(tensorpress):
    source = tensorpress.directory / "in.nc"
    write(source, **STORAGES["deflated"])
    outcome = tensorpress("compress", "in.nc", "--abs", "0.01", "-o", "out.nc")
    heading = outcome.out.decode().splitlines()[0].split()
    assert heading == ["variable", "type", "shape", "bytes", "in", "stored", "out", "ratio"]
    arguments = ["compress", "in.nc", "--abs", "0.01", "-o", "out.nc", "--force"]
    told = tensorpress(*arguments, "--json").json
    with h5py.File(source) as file:
        for each in told["variables"]:
            name = each["variable"]
            assert each["stored_before"] == file[name].id.get_storage_size()
            assert each["bytes_in"] == file[name].size * file[name].dtype.itemsize


def test_packed_numbers_that_come_back_exactly_have_no_history(tensorpress):
    with netCDF4.Dataset(tensorpress.directory / "in.nc", "w") as file:
        file.createDimension("x", 5000)
        variable = file.createVariable("t", "i2", ("x",))
        variable.scale_factor = 0.1
        variable[...] = 100 * waves((5000,))
    original = raw(tensorpress.directory / "in.nc", "t")
    for bound, history in (("0.01", None), ("0.2", "dense abs 0.2; packing abs 0.1")):
        tensorpress("compress", "in.nc", "--abs", bound, "-o", "t.tpz", "--force")
        tensorpress("decompress", "t.tpz", "-o", "t.nc", "--force")
        back = raw(tensorpress.directory / "t.nc", "t")
        assert np.array_equal(back, original) == (history is None)
        own = attributes(tensorpress.directory / "t.nc", "t")
        assert own.get("tensorpress_history") == history
