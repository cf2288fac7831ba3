"""Raw numbers: byte orders, shapes and types in file names, and files that come through a pipe."""

import numpy as np
import pytest


def copy_of(tensorpress, name, *arguments):
    """What comes back of a file that is compressed without loss."""
    tensorpress("compress", name, "--abs", "0", *arguments, "-o", "x.tpz", "--force")
    tensorpress("decompress", "x.tpz", "-o", "x.npy", "--force")
    return np.load(tensorpress.directory / "x.npy")


@pytest.mark.parametrize("dtype", ["<f4", ">f4", ">f8", "<f8", ">f2", "f4", "=f8", "float32"])
def test_both_byte_orders_are_read(tensorpress, smooth, dtype):
    field = smooth((5, 7)).astype(dtype)
    field.tofile(tensorpress.directory / "a.raw")
    back = copy_of(tensorpress, "a.raw", "--shape", "5x7", "--dtype", dtype)
    np.testing.assert_array_equal(back, field)
    assert back.dtype == np.dtype(dtype).newbyteorder("=")
    arguments = ["--shape", "5x7", "--dtype", dtype]
    tensorpress("verify", "a.raw", "x.tpz", *arguments)
    piped = tensorpress(*["compress", "-", "--abs", "0", *arguments], stdin=field.tobytes()).out
    assert piped == (tensorpress.directory / "x.tpz").read_bytes()


def test_whole_numbers_have_byte_orders_too(tensorpress, smooth):
    field = smooth((16, 16)).astype(">i2")
    field.tofile(tensorpress.directory / "a.raw")
    arguments = ["--shape", "16x16", "--codec", "dct-chop", "--cf", "8"]
    tensorpress("compress", "a.raw", *arguments, "--dtype", ">i2")
    little = tensorpress(
        "compress", "-", *arguments, "--dtype", "i16", stdin=field.astype("<i2").tobytes()
    )
    assert little.out == (tensorpress.directory / "a.tpz").read_bytes()


def test_a_type_that_is_none_is_refused(tensorpress, smooth):
    smooth((4,)).tofile(tensorpress.directory / "a.raw")
    for dtype in (">i8", "x4", ">", ""):
        sentence = tensorpress.refuses("compress", "a.raw", "--shape", "4", "--dtype", dtype)
        assert "dtype" in sentence or "type" in sentence


NAMED = {
    "field_3x4x5.f32": "f4",
    "field_3_4_5.f32": "f4",
    "CLDHGH_1_3_20.f32": "f4",
    "t_2020_3_4_5.f64": "f8",
    "pressure_60.d64": "f8",
    "half_3x20.f16": "f2",
}


@pytest.mark.parametrize("name, dtype", NAMED.items())
def test_the_name_says_shape_and_type(tensorpress, name, dtype):
    numbers = [int(n) for n in name.split(".")[0].replace("x", "_").split("_")[1:]]
    shape = [n for n in numbers if n != 2020]
    field = np.arange(60, dtype=dtype).reshape(shape)
    field.tofile(tensorpress.directory / name)
    np.testing.assert_array_equal(copy_of(tensorpress, name), field)
    tensorpress("verify", name, "x.tpz")


def test_flags_complete_and_correct_what_the_name_says(tensorpress):
    field = np.arange(60, dtype=">f4").reshape(3, 4, 5)
    field.tofile(tensorpress.directory / "field_3x4x5.f32")
    np.testing.assert_array_equal(copy_of(tensorpress, "field_3x4x5.f32", "--dtype", ">f4"), field)
    little = field.astype("<f4")
    little.tofile(tensorpress.directory / "field.f32")
    np.testing.assert_array_equal(copy_of(tensorpress, "field.f32", "--shape", "3x4x5"), little)


def test_a_name_that_the_size_contradicts_is_told(tensorpress):
    for name in ("field_3x4x5.f32", "field_2020.f32", "field.f32"):
        np.arange(59, dtype="f4").tofile(tensorpress.directory / name)
    sentence = tensorpress.refuses("compress", "field_3x4x5.f32", "--abs", "0")
    assert "has 236 bytes, but the shape 3x4x5 of f32 needs 240" in sentence
    for name in ("field_2020.f32", "field.f32"):
        sentence = tensorpress.refuses("compress", name, "--abs", "0")
        assert "--shape" in sentence and "--dtype" in sentence


def test_an_array_may_be_named_like_raw_numbers(tensorpress, smooth):
    with open(tensorpress.directory / "field_3x4.f32", "wb") as file:
        np.save(file, smooth((5, 6)))
    assert copy_of(tensorpress, "field_3x4.f32").shape == (5, 6)


@pytest.fixture
def array_files(tensorpress, smooth):
    """w.nc (netCDF-4), w.cdf (classic) and w.h5, each with T and, but for w.h5, U."""
    h5py = pytest.importorskip("h5py")
    netCDF4 = pytest.importorskip("netCDF4")
    field = smooth((12, 20))
    for name, kind in ("w.nc", "NETCDF4"), ("w.cdf", "NETCDF3_CLASSIC"):
        with netCDF4.Dataset(tensorpress.directory / name, "w", format=kind) as file:
            for axis, extent in zip("yx", field.shape, strict=True):
                file.createDimension(axis, extent)
            for variable in "TU":
                file.createVariable(variable, "f4", ("y", "x"))[:] = field
    with h5py.File(tensorpress.directory / "w.h5", "w") as file:
        file.create_dataset("T", data=field)
    return tensorpress.directory


@pytest.mark.parametrize("name", ["w.nc", "w.cdf", "w.h5"])
def test_array_files_come_through_a_pipe(tensorpress, array_files, name):
    content = (array_files / name).read_bytes()
    arguments = ["--var", "T", "--rel", "1e-4"]
    tensorpress("compress", name, *arguments, "-o", "file.tpz")
    tensorpress("compress", "-", *arguments, "-o", "pipe.tpz", stdin=content)
    assert (array_files / "pipe.tpz").read_bytes() == (array_files / "file.tpz").read_bytes()
    (array_files / "spool").mkdir()
    spool = {"TMPDIR": str(array_files / "spool")}
    piped = tensorpress("compress", "-", *arguments, stdin=content, environment=spool).out
    assert piped == (array_files / "file.tpz").read_bytes()
    assert list((array_files / "spool").iterdir()) == []


def test_several_variables_come_through_a_pipe(tensorpress, array_files):
    content = (array_files / "w.nc").read_bytes()
    sentence = tensorpress.refuses("compress", "-", "--rel", "1e-4", stdin=content)
    assert "several variables: T, U" in sentence
    tensorpress("compress", "-", "--var", "*", "--rel", "1e-4", "-o", "out/", stdin=content)
    assert sorted(path.name for path in (array_files / "out").iterdir()) == [
        "stdin.T.tpz",
        "stdin.U.tpz",
    ]
    sentence = tensorpress.refuses("compress", "-", "--rel", "1e-4", "-o", "y.nc", stdin=content)
    assert "not from pipes" in sentence


def test_a_cut_off_pipe_is_refused(tensorpress, array_files):
    content = (array_files / "w.nc").read_bytes()[:3000]
    tensorpress.refuses(
        "compress", "-", "--var", "T", "--rel", "1e-4", "-o", "y.tpz", stdin=content
    )
    assert not (array_files / "y.tpz").exists()


def test_the_spool_needs_room(tensorpress, array_files):
    sentence = tensorpress.refuses(
        *["compress", "-", "--var", "T", "--rel", "1e-4", "-o", "y.tpz"],
        stdin=(array_files / "w.nc").read_bytes(),
        environment={"TMPDIR": "/nowhere"},
    )
    assert "temporary file in '/nowhere'" in sentence and "TMPDIR" in sentence
