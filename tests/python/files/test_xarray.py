"""xarray opens .tpz files lazily, with names, axes and attributes where the stream has them."""

import json
import pickle

import numpy as np
import pytest
import xarray
from conftest import FERRET, error_of, waves

import tensorpress
from tensorpress.xarray import attributes_of


def write(path, array, **attributes):
    path.write_bytes(
        tensorpress.compress(array, absolute=1e-3, chunk_shape=(4, 16), attributes=attributes)
    )
    return path


def test_a_bare_file_is_one_variable_named_after_it(tmp_path):
    original = waves((10, 40))
    with xarray.open_dataset(
        write(tmp_path / "salt.tpz", original), engine="tensorpress"
    ) as dataset:
        assert list(dataset) == ["salt"] and dataset.salt.dims == ("dim_0", "dim_1")
        assert error_of(dataset.salt, original) <= 1e-3


@pytest.mark.parametrize("name", ["name", "var"])
@pytest.mark.parametrize("dims", ['["lat", "lon"]', "lat,lon", "lat lon"])
def test_names_axes_coordinates_and_attributes_come_from_the_stream(tmp_path, name, dims):
    path = write(
        tmp_path / "x.tpz",
        waves((10, 40)),
        **{
            name: "TEMP",
            "dims": dims,
            "units": "K",
            "level": "5",
            "coord:lat": json.dumps(list(range(10))),
        },
    )
    with xarray.open_dataset(path) as dataset:  # found by the file's ending
        assert dataset.TEMP.dims == ("lat", "lon") and dataset.TEMP.attrs == {
            "units": "K",
            "level": 5,
        }
        assert dataset.TEMP.sel(lat=3).shape == (40,)


@pytest.mark.parametrize(
    "attributes",
    [
        {"dims": "lat"},
        {"dims": "a,a"},
        {"dims": "{}"},
        {"dims": "[[1], 2]"},
        {"name": ""},
        {"dims": "lat,lon", "coord:lat": "[1, 2]"},
        {"dims": "lat,lon", "coord:lat": "no list"},
        {"_FillValue": "many"},
        {"_FillValue": '["a"]'},
        {"scale_factor": "a half", "add_offset": "-"},
        {"name": "x", "dims": "x,lon", "coord:x": "[0, 1, 2, 3, 4, 5, 6, 7, 8, 9]"},
    ],
)
def test_attributes_that_make_no_sense_do_not_keep_the_data_from_being_read(tmp_path, attributes):
    with xarray.open_dataset(write(tmp_path / "x.tpz", waves((10, 40)), **attributes)) as dataset:
        assert dataset["x"].shape == (10, 40) and error_of(dataset["x"], waves((10, 40))) <= 1e-3


@pytest.mark.parametrize("fill", ["300", "-1", "NaN", "[1, 999]"])
def test_a_fill_value_that_the_type_cannot_hold_is_left_out(tmp_path, fill):
    picture = (255 * abs(waves((16, 16)))).astype("uint8")
    packed = tensorpress.compress(picture, "dct-chop", cf=8, attributes={"_FillValue": fill})
    (tmp_path / "x.tpz").write_bytes(packed)
    with xarray.open_dataset(tmp_path / "x.tpz") as dataset:
        assert dataset["x"].dtype == "uint8" and "_FillValue" not in dataset["x"].encoding
        assert np.array_equal(dataset["x"], tensorpress.decompress(packed))


def test_fill_values_become_nan_unless_told_otherwise(tmp_path):
    original = waves((10, 40))
    original[2, 3] = -1e34
    packed = tensorpress.compress(
        original, relative=1e-3, fill_values=-1e34, attributes={"name": "T", "_FillValue": "-1e34"}
    )
    (tmp_path / "x.tpz").write_bytes(packed)
    with xarray.open_dataset(tmp_path / "x.tpz") as dataset:
        assert np.isnan(dataset["T"][2, 3]) and not np.isnan(dataset["T"]).all()
        assert dataset["T"].encoding["_FillValue"] == np.float32(-1e34)
    with xarray.open_dataset(tmp_path / "x.tpz", mask_and_scale=False) as dataset:
        assert dataset["T"][2, 3] == np.float32(-1e34)


def test_only_what_is_asked_for_is_read(tmp_path):
    path = write(tmp_path / "x.tpz", waves((10, 40)))
    stream = bytearray(path.read_bytes())
    footer = int.from_bytes(stream[-12:-4], "little")
    stream[footer - 20] ^= 0xFF  # in the last chunk
    path.write_bytes(stream)
    with xarray.open_dataset(path) as dataset:
        assert dataset["x"][0:4].values.shape == (4, 40)
        assert dataset["x"].isel(dim_0=[1, 3], dim_1=[20, 5, 5]).values.shape == (2, 3)
        assert dataset["x"][3::-1, ::3].values.shape == (4, 14)
        with pytest.raises(tensorpress.CorruptError):
            dataset["x"][9, 39].load()


def test_dask_reads_it_in_pieces(tmp_path):
    original = waves((10, 40))
    with xarray.open_dataset(write(tmp_path / "x.tpz", original), chunks={"dim_0": 3}) as dataset:
        assert dataset["x"].chunks == ((3, 3, 3, 1), (40,))
        assert error_of(dataset["x"].mean(), original.astype("f8").mean()) <= 1e-3
        assert error_of(pickle.loads(pickle.dumps(dataset))["x"].compute(), original) <= 1e-3


def test_a_closed_dataset_and_a_file_that_is_none_are_errors(tmp_path):
    dataset = xarray.open_dataset(write(tmp_path / "x.tpz", waves((10, 40))))
    dataset.close()
    with pytest.raises(ValueError, match="closed"):
        dataset["x"].load()
    (tmp_path / "y.tpz").write_text("nothing")
    with pytest.raises(tensorpress.CorruptError):
        xarray.open_dataset(tmp_path / "y.tpz")
    with pytest.raises(FileNotFoundError):
        xarray.open_dataset(tmp_path / "z.tpz", engine="tensorpress")


NOTES = {
    "variable": "TEMP",
    "type": "f32",
    "dimensions": ["lat", "lon"],
    "unlimited": ["lat"],
    "attributes": {
        "units": "K",
        "_FillValue": {"f32": [-1e34]},
        "levels": {"i16": [1, 2]},
        "limit": {"f64": ["nan"]},
        "latin": {"text": [77, 252]},
    },
    "coordinates": {
        "lat": {"attributes": {"units": "degrees_north"}, "values": {"f64": list(range(10))}},
        "lon": {"attributes": {}, "values": {"f64": [1, 2]}},
    },
    "global": {"history": "made for a test"},
}


def test_the_notes_of_the_command_line_are_understood(tmp_path):
    original = waves((10, 40))
    original[2, 3] = -1e34
    text = json.dumps(NOTES)
    path = tmp_path / "x.tpz"
    pieces = {"netcdf": text[:100], "netcdf.1": text[100:]}
    path.write_bytes(
        tensorpress.compress(original, absolute=1e-3, fill_values=-1e34, attributes=pieces)
    )
    with xarray.open_dataset(path) as dataset:
        found = dataset["TEMP"]
        assert found.dims == ("lat", "lon") and np.isnan(found[2, 3])
        assert found.attrs["units"] == "K" and found.attrs["levels"].tolist() == [1, 2]
        assert np.isnan(found.attrs["limit"]) and found.attrs["latin"].startswith("M")
        assert list(dataset.coords) == ["lat"]  # lon has another length
        assert dataset["lat"].attrs == {"units": "degrees_north"}
        assert dataset.attrs == {"history": "made for a test"}


def test_unpacked_numbers_are_not_unpacked_again(tmp_path):
    packing = {"scale_factor": {"f64": [0.01]}, "_FillValue": {"i16": [-1]}, "units": "m"}
    notes = {**NOTES, "type": "i16", "attributes": packing}
    path = write(tmp_path / "x.tpz", waves((10, 40)), netcdf=json.dumps(notes))
    with xarray.open_dataset(path) as dataset:
        assert error_of(dataset["TEMP"], waves((10, 40))) <= 1e-3
        assert dataset["TEMP"].encoding["scale_factor"] == 0.01
        dataset.to_netcdf(tmp_path / "packed.nc", engine="netcdf4")
    with xarray.open_dataset(tmp_path / "packed.nc", mask_and_scale=False) as packed:
        assert packed["TEMP"].dtype == "int16" and packed["TEMP"].attrs["_FillValue"] == -1


@pytest.mark.parametrize(
    "notes",
    [
        "",
        "{",
        "[]",
        "null",
        '{"variable": 5}',
        json.dumps({**NOTES, "attributes": [1]}),
        json.dumps({**NOTES, "attributes": {"a": {"i16": [99999]}}}),
        "[" * 5000,
        json.dumps({**NOTES, "coordinates": {"lat": 7}}),
    ],
)
def test_damaged_notes_do_not_keep_the_data_from_being_read(tmp_path, notes):
    path = write(tmp_path / "x.tpz", waves((10, 40)), netcdf=notes)
    with xarray.open_dataset(path) as dataset:
        assert list(dataset) == ["x"] and dataset["x"].shape == (10, 40)


def test_an_array_of_a_climate_file_comes_back_with_all_that_is_known_of_it(tmp_path):
    path = FERRET / "coads_climatology.cdf"
    if not path.exists():
        pytest.skip("apt-get install ferret-datasets")
    with xarray.open_dataset(path, decode_times=False) as dataset:  # its year 0 is no date
        original = dataset.SST.load()
    packed = tensorpress.compress(original, relative=1e-4, attributes=attributes_of(original))
    (tmp_path / "sst.tpz").write_bytes(packed)
    with xarray.open_dataset(tmp_path / "sst.tpz", decode_times=False) as dataset:
        copy = dataset.SST.load()
    limit = 1e-4 * float(original.max() - original.min())
    xarray.testing.assert_allclose(copy, original, rtol=0, atol=limit)
    assert copy.indexes["TIME"].equals(original.indexes["TIME"])
    assert copy.attrs == original.attrs
    assert copy.COADSX.attrs["units"] == original.COADSX.attrs["units"]


def test_dates_are_dates_again(tmp_path):
    days = np.array(["2020-01-01", "2020-02-29", "2021-01-01"], "datetime64[ns]")
    original = xarray.DataArray(waves((3,)), dims="time", coords={"time": days}, name="T")
    packed = tensorpress.compress(original, absolute=1e-3, attributes=attributes_of(original))
    (tmp_path / "x.tpz").write_bytes(packed)
    with xarray.open_dataset(tmp_path / "x.tpz") as dataset:
        assert (dataset["T"].time.values == days).all()
        assert dataset["T"].sel(time="2020-02").shape == (1,)


def test_attributes_that_a_stream_cannot_hold_are_left_out(tmp_path):
    kept = {"units": "K", "levels": [1, 2], "flag": True, "scale": np.float16(0.5)}
    others = {
        "complex": np.complex64(1j),
        "date": np.array(["2000-01-01"], "datetime64[D]"),
        "ragged": [[1], [1, 2]],
        "objects": np.array([None]),
        "nothing": None,
    }
    array = xarray.DataArray(waves((10, 40)), dims=("y", "x"), name="T", attrs={**kept, **others})
    write(tmp_path / "x.tpz", array.values, **attributes_of(array))
    with xarray.open_dataset(tmp_path / "x.tpz") as dataset:
        found = dataset["T"].attrs
        assert set(found) == set(kept) and found["units"] == "K" and list(found["levels"]) == [1, 2]


@pytest.mark.parametrize(
    "option", ["decode_timedelta", "decode_coords", "concat_characters", "mask_and_scale"]
)
def test_it_is_opened_with_the_options_of_every_backend(tmp_path, option):
    array = xarray.DataArray(
        waves((10, 40)), {"t": np.arange(10).astype("timedelta64[s]")}, ("t", "x"), "T"
    )
    write(tmp_path / "x.tpz", array.values, **attributes_of(array))
    with xarray.open_dataset(tmp_path / "x.tpz", **{option: False}) as dataset:
        decoded = dataset["t"].dtype.kind == "m"
        assert dataset["T"].shape == (10, 40) and decoded == (option != "decode_timedelta")
