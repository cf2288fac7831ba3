"""The tools of HDF5 and NetCDF, netCDF4 and xarray on real climate files with their fill values."""

import h5py
import netCDF4
import numpy as np
import pytest
import xarray
from conftest import FERRET

from tensorpress import hdf5
from tensorpress.hdf5 import Filter

FILES = {
    "coads_climatology.cdf": ("SST", "AIRT", "SLP"),
    "levitus_climatology.cdf": ("TEMP", "SALT"),
    "ocean_atlas_subset.nc": ("TEMP",),
    "etopo60.cdf": ("ROSE",),
}


def raw(path, variable):
    with netCDF4.Dataset(path) as file:
        file.set_auto_maskandscale(False)
        return file[variable][...], getattr(file[variable], "_FillValue", None)


def check_bound(original, fill, back, relative):
    """Within the bound of the whole range, which is no smaller than that of a chunk; fill values
    bit for bit."""
    missing = np.zeros(original.shape, bool) if fill is None else original == fill
    assert np.array_equal(back[missing], original[missing])
    ordinary = original[~missing].astype(np.float64)
    assert np.abs(back[~missing] - ordinary).max() <= relative * np.ptp(ordinary)


def words(filter_options):
    return ",".join(map(str, filter_options))


@pytest.mark.parametrize("name", FILES)
def test_nccopy_compresses_real_files_and_ncdump_reads_them(tmp_path, tool, name):
    values = words(Filter(relative=1e-3).filter_options)
    tool(
        "nccopy",
        "-4",
        *[x for v in FILES[name] for x in ("-F", f"{v},{hdf5.FILTER_ID},{values}")],
        FERRET / name,
        "out.nc",
    )
    assert f"{hdf5.FILTER_ID},1,1,2," in tool("ncdump", "-hs", "out.nc")
    assert (tmp_path / "out.nc").stat().st_size < (FERRET / name).stat().st_size
    for variable in FILES[name]:
        original, fill = raw(FERRET / name, variable)
        check_bound(original, fill, raw(tmp_path / "out.nc", variable)[0], 1e-3)
        assert "_" in tool("ncdump", "-v", variable, "out.nc")


def test_h5repack_compresses_floats_and_leaves_the_rest(tmp_path, tool):
    tool("nccopy", "-4", FERRET / "levitus_climatology.cdf", "plain.nc")
    with h5py.File(tmp_path / "plain.nc", "a") as file:
        file["whole_numbers"] = np.arange(5000)
    options = Filter(relative=1e-3, fill_values=[-1e10]).filter_options
    tool(
        "h5repack",
        "-f",
        f"TEMP,SALT:UD={hdf5.FILTER_ID},0,{len(options)},{words(options)}",
        "plain.nc",
        "packed.nc",
    )
    for variable in ("TEMP", "SALT"):
        original, fill = raw(tmp_path / "plain.nc", variable)
        check_bound(original, fill, raw(tmp_path / "packed.nc", variable)[0], 1e-3)
    with h5py.File(tmp_path / "packed.nc") as file:
        assert np.array_equal(file["whole_numbers"], np.arange(5000))
    listing = tool("h5dump", "-p", "-H", "-d", "/TEMP", "packed.nc")
    assert f"FILTER_ID {hdf5.FILTER_ID}" in listing and "COMMENT tensorpress" in listing


def test_h5repack_takes_an_optional_filter_for_a_whole_file(tmp_path, tool, field):
    with h5py.File(tmp_path / "plain.h5", "w") as file:
        file.create_dataset("floats", data=field((100, 100)), chunks=(50, 50))
        file.create_dataset("whole", data=np.arange(10000), chunks=(100,))
    options = Filter(absolute=0.01).filter_options
    tool(
        "h5repack",
        "-f",
        f"UD={hdf5.FILTER_ID},1,{len(options)},{words(options)}",
        "plain.h5",
        "packed.h5",
    )
    with h5py.File(tmp_path / "packed.h5") as file:
        assert np.abs(file["floats"][...] - field((100, 100))).max() <= 0.01
        assert file["floats"].id.get_create_plist().get_nfilters() == 1
        assert np.array_equal(file["whole"], np.arange(10000))


def test_a_copy_of_a_compressed_dataset_keeps_its_settings(tmp_path, tool, field):
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file.create_dataset(
            "x", data=field((64, 64)), chunks=(32, 32), fillvalue=-1, **Filter(relative=1e-2)
        )
    tool("h5repack", "a.h5", "b.h5")
    with h5py.File(tmp_path / "a.h5") as a, h5py.File(tmp_path / "b.h5") as b:
        settings = [file["x"].id.get_create_plist().get_filter(0) for file in (a, b)]
        assert settings[0] == settings[1]


def test_h5dump_prints_values(tmp_path, tool):
    with h5py.File(tmp_path / "x.h5", "w") as file:
        file.create_dataset("x", data=np.full((4, 4), 2.5), chunks=(2, 2), **Filter(absolute=0.1))
    assert tool("h5dump", "-d", "/x", "x.h5").count("2.5") == 16


def test_a_missing_plugin_is_told_by_hdf5(tmp_path, tool, monkeypatch, field):
    with h5py.File(tmp_path / "x.h5", "w") as file:
        file.create_dataset("x", data=field((8, 8)), chunks=(8, 8), **Filter(absolute=0.1))
    monkeypatch.setenv("HDF5_PLUGIN_PATH", "/nowhere")
    assert "tensorpress" in tool("h5dump", "--enable-error-stack", "-d", "/x", "x.h5", status=1)


def test_xarray_writes_and_reads_through_h5netcdf(tmp_path):
    with xarray.open_dataset(FERRET / "levitus_climatology.cdf", engine="netcdf4") as original:
        temperature = original["TEMP"].load()
    encoding = {
        "TEMP": {
            **Filter(absolute=0.01),
            "chunksizes": (1, 90, 100),
            "_FillValue": np.float32(-1e10),
        }
    }
    temperature.to_dataset().to_netcdf(tmp_path / "x.nc", engine="h5netcdf", encoding=encoding)
    with xarray.open_dataset(tmp_path / "x.nc", engine="h5netcdf") as back:
        assert back["TEMP"].attrs["units"] == "DEG C"
        assert np.array_equal(np.isnan(back["TEMP"]), np.isnan(temperature))
        assert float(abs(back["TEMP"] - temperature).max()) <= 0.01 + 1e-6
    # netCDF4's own HDF5 reads the same file in this very process.
    back, fill = raw(tmp_path / "x.nc", "TEMP")
    assert (back == fill).sum() == int(np.isnan(temperature).sum())


def test_netcdf4_and_h5py_work_in_one_process_in_turns(tmp_path, field):
    data = field((40, 40))
    for turn in range(3):
        path = tmp_path / f"{turn}.h5"
        with h5py.File(path, "w") as file:
            file.create_dataset("x", data=data, chunks=(20, 20), **Filter(absolute=0.01))
        assert np.abs(raw(path, "x")[0] - data).max() <= 0.01
