"""Names and contents of files agree: no format is written under the name of another, and what is
given for something that it is not is told what it is."""

import os

import h5py
import netCDF4
import numpy as np
import pytest

MISSING = 9.96921e36


@pytest.fixture
def files(tensorpress, smooth):
    """x.npy and x.tpz; run.nc, classic.nc and run.h5 with fill values; z.npz, text and raw."""
    folder = tensorpress.directory
    field = smooth((16, 16))
    np.save(folder / "x.npy", field)
    np.savez(folder / "z.npz", a=field)
    field.tofile(folder / "x.raw")
    (folder / "text.npy").write_text("no numbers at all, but words")
    (folder / "text.nc").write_text("no numbers at all, but words")
    field[3, 4] = MISSING
    for name, kind in ("run.nc", "NETCDF4"), ("classic.nc", "NETCDF3_CLASSIC"):
        with netCDF4.Dataset(folder / name, "w", format=kind) as file:
            for axis in "y", "x":
                file.createDimension(axis, 16)
            file.createVariable("T", "f4", ("y", "x"), fill_value=MISSING)[...] = field
    with h5py.File(folder / "run.h5", "w") as file:
        file.create_dataset("T", data=field, fillvalue=MISSING)
    tensorpress("compress", "x.npy", "--rel", "1e-3", "-o", "x.tpz")
    return folder


WRONG_NAMES = {
    "stream as .npy": (["compress", "x.npy", "--rel", "1e-3", "-o", "y.npy"], "name it .tpz"),
    "stream as .NPZ": (["compress", "x.npy", "--rel", "1e-3", "-o", "y.NPZ"], "name it .tpz"),
    "stream as .raw": (["compress", "x.npy", "--rel", "1e-3", "-o", "y.raw"], "name it .tpz"),
    "variable as .npy": (["compress", "run.nc", "--rel", "1e-3", "-o", "y.npy"], "name it .tpz"),
    "stream as .zarr": (["compress", "x.npy", "--rel", "1e-3", "-o", "y.zarr"], "name it .tpz"),
}


@pytest.mark.parametrize("arguments, words", WRONG_NAMES.values(), ids=WRONG_NAMES.keys())
def test_no_format_is_written_under_the_name_of_another(tensorpress, files, arguments, words):
    before = sorted(os.listdir(files))
    sentence = tensorpress.refuses(*arguments)
    assert f"'{arguments[-1]}' would hold" in sentence and words in sentence
    assert sorted(os.listdir(files)) == before


@pytest.mark.parametrize("name", ["y.npz", "y.tpz", "t.zarr", "t.png", "t", "dir.raw/t"])
def test_numbers_go_under_names_that_say_what_they_are(tensorpress, files, name):
    (files / "dir.raw").mkdir()
    before = sorted(os.listdir(files))
    sentence = tensorpress.refuses("decompress", "x.tpz", "-o", name)
    assert f"'{name}' " in sentence and "an output is .npy, .nc, " in sentence
    assert "--raw writes raw numbers under any name" in sentence
    assert sorted(os.listdir(files)) == before
    tensorpress("decompress", "x.tpz", "--raw", "-o", name)
    assert np.fromfile(files / name, "f4").shape == (256,)


@pytest.mark.parametrize("name", ["y.raw", "y.bin", "y.dat", "y.f32", "y_16x16.F32"])
def test_raw_numbers_have_names_of_their_own(tensorpress, files, name):
    tensorpress("decompress", "x.tpz", "-o", name)
    assert np.fromfile(files / name, "f4").shape == (256,)


def test_a_name_of_another_type_is_refused(tensorpress, files):
    sentence = tensorpress.refuses("decompress", "x.tpz", "-o", "y.f64")
    assert "'y.f64' is named as f64, and the tensor is f32; name it .f32" in sentence
    assert not (files / "y.f64").exists()


def test_capital_letters_name_the_same_format(tensorpress, files):
    tensorpress("decompress", "x.tpz", "-o", "y.npy")
    tensorpress("decompress", "x.tpz", "-o", "Y.NPY")
    assert (files / "Y.NPY").read_bytes() == (files / "y.npy").read_bytes()
    tensorpress("decompress", "x.tpz", "--raw", "-o", "raw.npz")
    assert np.fromfile(files / "raw.npz", "f4").shape == (256,)


ARRAY_FILES = ["run.nc", "classic.nc", "run.h5"]
# Verbs that would take the fill values of such files for numbers.
READERS = {
    "bench": ["bench", "--codec", "dense", "--rel", "1e-3", "--json"],
    "bench --peers": ["bench", "--peers", "--codec", "dense", "--json"],
    "wafer run": ["wafer", "run", "--rel", "1e-3", "--mesh", "8x8"],
    "codebook build": ["codebook", "build", "--rel", "1e-3", "-o", "b.json"],
}


@pytest.mark.parametrize("name", ARRAY_FILES)
@pytest.mark.parametrize("arguments", READERS.values(), ids=READERS.keys())
def test_fill_values_are_never_taken_for_numbers(tensorpress, files, arguments, name):
    sentence = tensorpress.refuses(*arguments, name)
    assert f"'{name}' is a NetCDF or HDF5 file" in sentence and "compress --var" in sentence


@pytest.mark.parametrize("name", ARRAY_FILES)
def test_a_netcdf_or_hdf5_file_is_written_again_as_such_only(tensorpress, files, name):
    sentence = tensorpress.refuses("decompress", name, "-o", "y.npy")
    assert f"'{name}' is a NetCDF or HDF5 file" in sentence and "name the output .nc" in sentence


@pytest.mark.parametrize("name", ARRAY_FILES)
def test_a_netcdf_or_hdf5_file_is_no_stream(tensorpress, files, name):
    sentence = tensorpress.refuses("verify", "x.npy", name)
    assert f"'{name}' is a" in sentence and "not a .tpz stream" in sentence
    assert "tools read it" in sentence and "compress --var" in sentence


def test_the_input_that_is_no_stream_is_told_before_the_output(tensorpress, files):
    for arguments in (["x.npy"], ["x.npy", "-o", "x.npy"]):
        assert "'x.npy' is a .npy file" in tensorpress.refuses("decompress", *arguments)
    assert "archive (.npz)" in tensorpress.refuses("decompress", "z.npz")


SAID_BY_INFO = {
    "text.npy": "it is not a .npy file; for raw numbers",
    "x.raw": "raw numbers do not say their shape and type",
    "z.npz": "archive (.npz), not a .tpz stream",
}


@pytest.mark.parametrize("name, words", SAID_BY_INFO.items())
def test_info_says_what_a_file_is_not(tensorpress, files, name, words):
    assert words in tensorpress.refuses("info", name)


def test_compress_says_what_its_input_is(tensorpress, files):
    assert "neither NetCDF nor HDF5" in tensorpress.refuses("compress", "text.nc", "--abs", "1")
    np.save(files / "s.npy", np.zeros(3, [("a", "f4"), ("b", "f8")]))
    sentence = tensorpress.refuses("compress", "s.npy", "--abs", "1")
    assert "structures of several fields" in sentence and "descr" not in sentence
    assert "numpy.save('x.npy', array['field'])" in sentence
    np.save(files / "c.npy", np.ones(3, "c8"))
    assert "array.imag" in tensorpress.refuses("compress", "c.npy", "--abs", "1")


def test_a_packed_coordinate_is_listed_in_two_words(tensorpress, files):
    with netCDF4.Dataset(files / "p.nc", "w") as file:
        file.createDimension("x", 3)
        coordinate = file.createVariable("x", "i2", "x")
        coordinate.scale_factor = 0.5
        coordinate[...] = [1, 2, 3]
    assert b"coordinate, packed" in tensorpress("info", "p.nc").out
