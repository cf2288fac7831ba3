"""--slice takes what NumPy takes between the brackets, and gives what NumPy gives."""

import os

import numpy as np
import pytest
import tpz_reader


@pytest.fixture
def field(tensorpress, smooth):
    """What x.tpz holds: 13 x 17 x 19 in chunks of 4 x 5 x 6."""
    np.save(tensorpress.directory / "x.npy", smooth((13, 17, 19)))
    tensorpress("compress", "x.npy", "--abs", "1e-2", "--chunk-shape", "4x5x6")
    tensorpress("decompress", "x.tpz", "-o", "whole.npy")
    return np.load(tensorpress.directory / "whole.npy")


SLICES = [
    *[
        "3",
        "-1",
        "...",
        "..., 3",
        "1, ..., -2",
        "0:10, :, 5:8",
        " 2 : 9 : 3 , : , 4 ",
        "::2,::3,::5",
    ],
    *["::-1", "::-1,::-2,::-3", "10:2:-3", "-3:", ":-3", "100:", ":100", "5:2", "1,2,3", "4:5,"],
    *["-100:100:7", "..., ::-19", "12::-12, 16, 18", "+1:+3", "::100", "3:3:2", "5:5, ..."],
]


@pytest.mark.parametrize("text", SLICES)
def test_a_slice_is_numpys(tensorpress, field, text):
    tensorpress("decompress", "x.tpz", f"--slice={text}", "-o", "part.npy")
    part = np.load(tensorpress.directory / "part.npy")
    expected = eval(f"field[{text}]", {"field": field})
    assert part.shape == np.shape(expected)
    np.testing.assert_array_equal(part, expected)


def test_a_slice_goes_to_raw_pipes_and_netcdf_too(tensorpress, field):
    expected = field[::-3, ..., 2::4]
    argument = "--slice=::-3, ..., 2::4"
    raw = tensorpress("decompress", "x.tpz", argument, "--raw", "-o", "-").out
    np.testing.assert_array_equal(np.frombuffer(raw, "f4").reshape(expected.shape), expected)
    netCDF4 = pytest.importorskip("netCDF4")
    tensorpress("decompress", "x.tpz", argument, "-o", "part.nc")
    with netCDF4.Dataset(tensorpress.directory / "part.nc") as file:
        np.testing.assert_array_equal(file["data"][...], expected)


def test_coordinates_are_sliced_as_their_axes_are(tensorpress):
    netCDF4 = pytest.importorskip("netCDF4")
    with netCDF4.Dataset(tensorpress.directory / "w.nc", "w") as file:
        for name, extent in ("t", 6), ("x", 10):
            file.createDimension(name, extent)
            file.createVariable(name, "f8", (name,))[:] = np.arange(extent) * 1.5
        file.createVariable("T", "f4", ("t", "x"))[:] = np.arange(60.0).reshape(6, 10)
    tensorpress("compress", "w.nc", "--var", "T", "--abs", "0")
    tensorpress("decompress", "w.T.tpz", "--slice", "-2, 8:1:-3", "-o", "part.nc")
    with netCDF4.Dataset(tensorpress.directory / "part.nc") as file:
        assert list(file.dimensions) == ["x"]
        np.testing.assert_array_equal(file["x"][:], np.array([8, 5, 2]) * 1.5)
        np.testing.assert_array_equal(file["T"][:], [48, 45, 42])


def test_a_step_does_not_read_the_chunks_between(tensorpress, field):
    """Chunks that hold no element of the slice may be damaged."""
    stream = bytearray((tensorpress.directory / "x.tpz").read_bytes())
    places = tpz_reader.payload_places(bytes(stream))
    assert len(places) == 4 * 4 * 4
    for number, place in enumerate(places):
        if number // 16 != 0 and number // 16 != 2:
            stream[place] ^= 1
    (tensorpress.directory / "bad.tpz").write_bytes(stream)
    tensorpress("decompress", "bad.tpz", "--slice", "::8", "-o", "part.npy")
    np.testing.assert_array_equal(np.load(tensorpress.directory / "part.npy"), field[::8])
    tensorpress.refuses("decompress", "bad.tpz", "--slice", "::4", "-o", "other.npy")


WRONG = {
    "empty": ("", "--slice is empty; give a value"),
    "blank": (" ", "it is empty"),
    "word": ("a", "it is not a whole number"),
    "step 0": ("::0", "a step of 0 leads nowhere"),
    "four parts": ("1:2:3:4", "more than three parts"),
    "two ellipses": ("...,...", "'...' may stand in it once"),
    "index": ("13", "index 13 is outside an axis of 13, which has -13 to 12"),
    "axes": (":,:,:,:", "more than the 3 axes"),
    "entry": ("1,,2", "an entry is empty"),
}


@pytest.mark.parametrize("text, words", WRONG.values(), ids=WRONG.keys())
def test_what_is_no_slice_is_refused(tensorpress, field, text, words):
    before = sorted(os.listdir(tensorpress.directory))
    assert words in tensorpress.refuses("decompress", "x.tpz", f"--slice={text}", "-o", "part.npy")
    assert words in tensorpress.refuses("decompress", f"--slice={text}", "x.tpz", "-o", "part.npy")
    assert sorted(os.listdir(tensorpress.directory)) == before
