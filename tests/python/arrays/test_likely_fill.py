"""A fill value that was not named must not take the place of the data in a bound of the range."""

import json

import numcodecs
import numpy as np
import pytest
import xarray
import zarr
from conftest import FERRET, error_of, real_field, waves

import tensorpress
from tensorpress.numcodecs import Tensorpress
from tensorpress.zarr import TensorpressCodec

FILL = np.float32(-1e34)


@pytest.fixture
def ocean():
    """Temperatures between 0 and 30 with land in a corner."""
    array = 15 + 15 * waves((40, 60))
    array[:10, :10] = FILL
    return array


def ordinary_error(copy, original):
    ordinary = original != FILL
    assert np.array_equal(copy[~ordinary], original[~ordinary])
    return error_of(copy[ordinary], original[ordinary])


@pytest.mark.parametrize("codec", ["dense", "ceresz", "ceresz2"])
@pytest.mark.parametrize("bound", [{"relative": 1e-4}, {"psnr": 80}], ids=str)
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
def test_a_bound_of_the_range_is_refused_with_the_value_and_the_ways_out(
    ocean, codec, bound, dtype
):
    array = ocean.astype("float64")
    array[array == FILL] = -999
    with pytest.raises(tensorpress.LikelyFillError) as refused:
        tensorpress.compress(array.astype(dtype), codec, **bound)
    words = str(refused.value)
    assert words.startswith("100 values are -999, and all others lie between ")
    assert words.endswith("fill_values=, value_range=(low, high) or whole_range=True")
    assert isinstance(refused.value, ValueError)
    assert (refused.value.value, refused.value.count) == (-999, 100)
    stored = array.astype(dtype)[array != -999]
    assert refused.value.value_range == (stored.min(), stored.max())


@pytest.mark.parametrize("bound", [{"relative": 1e-4}, {"psnr": 80}], ids=str)
def test_every_way_out_leads_out(ocean, bound):
    width = np.ptp(ocean[ocean != FILL].astype("float64"))
    for way in ({"fill_values": FILL}, {"value_range": (0, 30)}):
        stream = tensorpress.compress(ocean, **bound, **way)
        copy = tensorpress.decompress(stream)
        allowed = 1e-4 * 30 if "value_range" in way else 1e-4 * width
        if "relative" in bound:
            assert ordinary_error(copy, ocean) <= allowed
    stream = tensorpress.compress(ocean, whole_range=True, **bound)
    assert tensorpress.verify(ocean, stream)["ok"]


def test_other_bounds_need_no_range_and_are_not_refused(ocean):
    for bound in ({"absolute": 0.01}, {"pointwise_relative": 0.01}, {"ratio": 8}):
        assert tensorpress.verify(ocean, tensorpress.compress(ocean, **bound))["ok"]


def test_the_fill_value_of_a_masked_array_is_named_by_itself(ocean):
    masked = np.ma.masked_equal(ocean, FILL)
    assert masked.fill_value == FILL
    stream = tensorpress.compress(masked, relative=1e-4)
    width = np.ptp(masked.compressed().astype("float64"))
    assert ordinary_error(tensorpress.decompress(stream), ocean) <= 1e-4 * width
    assert tensorpress.verify(masked, stream)["ok"]
    # What is hidden is not what comes back.
    hidden = np.ma.masked_array(ocean, ocean == FILL, fill_value=77)
    assert (
        tensorpress.decompress(tensorpress.compress(hidden, relative=1e-4))[:10, :10] == 77
    ).all()
    nothing_hidden = np.ma.masked_array(waves((8, 8)))
    assert tensorpress.verify(waves((8, 8)), tensorpress.compress(nothing_hidden, relative=0.1))[
        "ok"
    ]


@pytest.mark.parametrize("name", ["_FillValue", "missing_value"])
def test_fill_values_of_xarray_attributes_are_named_by_themselves(ocean, name):
    array = xarray.DataArray(ocean, dims=("y", "x"), attrs={name: FILL, "units": "K"})
    copy = tensorpress.decompress(tensorpress.compress(array, relative=1e-4))
    assert ordinary_error(copy, ocean) <= 1e-4 * 30
    array.attrs = {name: "none"}
    with pytest.raises(tensorpress.LikelyFillError):
        tensorpress.compress(array, relative=1e-4)


def test_a_netcdf4_variable_and_an_h5py_dataset_name_theirs(tmp_path, ocean):
    netCDF4 = pytest.importorskip("netCDF4")
    h5py = pytest.importorskip("h5py")
    with netCDF4.Dataset(tmp_path / "x.nc", "w") as file:
        file.createDimension("y", 40)
        file.createDimension("x", 60)
        file.createVariable("t", "f4", ("y", "x"), fill_value=FILL)[:] = ocean
    with netCDF4.Dataset(tmp_path / "x.nc") as file:
        copy = tensorpress.decompress(tensorpress.compress(file["t"], relative=1e-4))
    assert ordinary_error(copy, ocean) <= 1e-4 * 30
    with h5py.File(tmp_path / "x.nc") as file:
        copy = tensorpress.decompress(tensorpress.compress(file["t"], relative=1e-4))
    assert ordinary_error(copy, ocean) <= 1e-4 * 30


def test_numcodecs_refuses_and_keeps_the_ways_out_in_its_configuration(ocean):
    with pytest.raises(tensorpress.LikelyFillError):
        Tensorpress(relative=1e-4).encode(ocean)
    for way in (
        {"fill_values": [float(FILL)]},
        {"value_range": [0.0, 30.0]},
        {"whole_range": True},
    ):
        codec = Tensorpress(relative=1e-4, **way)
        assert way.items() <= codec.get_config().items()
        again = numcodecs.get_codec(json.loads(json.dumps(codec.get_config())))
        assert again == codec and again.encode(ocean) == codec.encode(ocean)
    assert "whole_range" not in Tensorpress(relative=1e-4).get_config()


def test_zarr_refuses_and_keeps_the_ways_out_in_its_metadata(tmp_path, ocean):
    def write(name, codec, **options):
        array = zarr.create_array(
            tmp_path / name,
            shape=ocean.shape,
            dtype="f4",
            chunks=(20, 20),
            serializer=codec,
            compressors=None,
            **options,
        )
        array[:] = ocean
        return zarr.open_array(tmp_path / name, mode="r")[:]

    with pytest.raises(tensorpress.LikelyFillError):
        write("refused", TensorpressCodec(relative=1e-4))
    assert (
        ordinary_error(write("own", TensorpressCodec(relative=1e-4), fill_value=FILL), ocean)
        <= 0.003
    )
    named = write("named", TensorpressCodec(relative=1e-4, fill_values=[float(FILL)]))
    assert ordinary_error(named, ocean) <= 0.003
    write("meant", TensorpressCodec(relative=1e-4, whole_range=True))
    stored = json.loads((tmp_path / "meant" / "zarr.json").read_text())["codecs"][0]
    assert stored["configuration"] == {"codec": "dense", "relative": 1e-4, "whole_range": True}
    assert TensorpressCodec.from_dict(stored) == TensorpressCodec(relative=1e-4, whole_range=True)


def sparse():
    array = np.zeros((64, 64), "f4")
    array[::9, ::7] = waves((8, 10))
    return array


def one_spike():
    array = waves((64, 64))
    array[5, 5] = 1234.5
    return array


def two_valued():
    return (waves((64, 64)) > 0).astype("f4")


def steps():
    return np.round(3 * waves((64, 64)))


def rain():
    """Mostly none, and a long tail."""
    return np.random.default_rng(2).lognormal(-2, 2, (64, 64)).astype("f4") * two_valued()


def clipped():
    return np.clip(waves((64, 64)), -0.5, 0.5)


@pytest.mark.parametrize(
    "make", [sparse, one_spike, two_valued, steps, rain, clipped], ids=lambda make: make.__name__
)
def test_fields_that_look_odd_but_have_no_fill_value_are_not_refused(make):
    array = make()
    for bound in ({"relative": 1e-3}, {"psnr": 70}):
        assert tensorpress.verify(array, tensorpress.compress(array, **bound))["ok"]


def test_saturated_values_far_from_the_others_are_refused_until_they_are_meant():
    array = waves((64, 64))
    array[3, 10:40] = 4095  # the sensor's last step
    with pytest.raises(tensorpress.LikelyFillError, match="30 values are 4095"):
        tensorpress.compress(array, relative=1e-3)
    assert tensorpress.verify(array, tensorpress.compress(array, relative=1e-3, whole_range=True))[
        "ok"
    ]


@pytest.mark.parametrize(
    "name, variable",
    [
        ("levitus_climatology.cdf", "TEMP"),
        ("levitus_climatology.cdf", "SALT"),
        ("coads_climatology.cdf", "SST"),
        ("coads_climatology.cdf", "AIRT"),
        ("monthly_navy_winds.cdf", "UWND"),
    ],
)
def test_real_fields_pass_with_their_fill_value_and_are_safe_without(name, variable):
    array, fill = real_field(name, variable)
    ordinary = array != fill
    width = np.ptp(array[ordinary].astype("float64"))
    copy = tensorpress.decompress(tensorpress.compress(array, relative=1e-4, fill_values=fill))
    assert error_of(copy[ordinary], array[ordinary]) <= 1e-4 * width
    if not ordinary.all():
        with pytest.raises(tensorpress.LikelyFillError) as refused:
            tensorpress.compress(array, relative=1e-4)
        assert refused.value.value == np.float32(fill)
        assert refused.value.count == np.count_nonzero(~ordinary)


def test_no_variable_of_the_real_files_is_refused_when_masked():
    netCDF4 = pytest.importorskip("netCDF4")
    paths = sorted(FERRET.glob("*.cdf")) + sorted(FERRET.glob("*.nc"))
    if not paths:
        pytest.skip(f"{FERRET} is missing; apt-get install ferret-datasets")
    compressed = 0
    for path in paths:
        with netCDF4.Dataset(path) as file:
            for variable in file.variables.values():
                if variable.dtype not in ("f4", "f8") or variable.size > 1 << 21:
                    continue
                tensorpress.compress(variable[...], relative=1e-3)
                compressed += 1
    assert compressed > 20


def test_tensors_of_networks_have_no_fill_values(tmp_path):
    """Clipped weights and flat activations are meant as they are; samples are data again."""
    torch = pytest.importorskip("torch")
    from tensorpress.torch import CompressedDataset, load, save
    from tensorpress.torch.packing.codecs import Dense

    clipped = torch.from_numpy(waves((64, 64)))
    clipped[:4] = 1000
    save({"weight": clipped}, tmp_path / "x.tpc", relative=1e-3)
    codec = Dense(value=1e-3)
    copy = codec.decode(codec.encode(clipped, 0), clipped.shape, clipped.dtype)
    assert float((copy - clipped).abs().max()) <= 1e-3 * 1001
    assert load(tmp_path / "x.tpc")["weight"].shape == clipped.shape
    samples = [clipped, clipped.flip(1)]
    with pytest.raises(tensorpress.LikelyFillError, match="in the samples from number 0 on"):
        CompressedDataset(samples, "dense", relative=1e-3)
    for way in ({"whole_range": True}, {"fill_values": [1000]}):
        assert len(CompressedDataset(samples, "dense", relative=1e-3, **way)) == 2
