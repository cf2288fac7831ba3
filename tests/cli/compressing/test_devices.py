"""compress --device: the stream of the host, made in the memory of a device. ./dev test installs an
OpenCL device that runs on the CPU; without one these tests skip."""

import ctypes.util
import pathlib

import numpy as np
import pytest

GOLDEN = pathlib.Path(__file__).resolve().parents[2] / "golden"
ON_DEVICES = ("cast", "ceresz", "chop", "dct", "mask", "quantize", "zfp")


@pytest.fixture
def device(tensorpress):
    devices = tensorpress("info", "--json").json["devices"]
    if not devices:
        pytest.skip("there is no OpenCL device")
    return devices[0]


def test_info_lists_devices(tensorpress, device):
    assert device["name"] == "opencl:0"
    assert device["memory_bytes"] > 0
    text = tensorpress("info").out.decode()
    assert f"\nDevices:\n  opencl:0  {device['description']}, " in text


@pytest.mark.parametrize(
    "options",
    [
        ["--codec", "ceresz", "--rel", "1e-3"],
        ["--codec", "quantize", "--bits", "2", "--rounding", "stochastic"],
        ["--codec", "cast", "--to", "e4m3"],
        ["--codec", "mask"],
        ["--codec", "ceresz2", "--rel", "1e-3"],
        ["--codec", "ceresz2", "--rel", "1e-3", "--codebook", "dynamic"],
        ["--rel", "1e-3"],  # dense: the host does it
    ],
)
def test_streams_are_those_of_the_host(tensorpress, device, smooth, tmp_path, options):
    field = smooth((40, 50, 60))
    field[3, 4, 5] = np.nan
    np.save(tmp_path / "field.npy", field)
    tensorpress("compress", "field.npy", *options, "-o", "host.tpz")
    tensorpress("compress", "field.npy", *options, "--device", "opencl", "-o", "device.tpz")
    assert (tmp_path / "device.tpz").read_bytes() == (tmp_path / "host.tpz").read_bytes()
    tensorpress("decompress", "host.tpz", "-o", "host.npy")
    tensorpress("decompress", "host.tpz", "--device", "opencl", "-o", "device.npy")
    assert (tmp_path / "device.npy").read_bytes() == (tmp_path / "host.npy").read_bytes()


@pytest.mark.parametrize("options", [["--cf", "4"], ["--transform", "zfp", "--cf", "2"]])
def test_chopped_streams_are_those_of_the_host(tensorpress, device, smooth, tmp_path, options):
    np.save(tmp_path / "field.npy", smooth((4, 50, 64)))
    chop = ["compress", "field.npy", "--codec", "dct-chop", *options]
    tensorpress(*chop, "-o", "host.tpz")
    tensorpress(*chop, "--device", "opencl", "-o", "device.tpz")
    assert (tmp_path / "device.tpz").read_bytes() == (tmp_path / "host.tpz").read_bytes()


def test_golden_streams_decode_on_a_device(tensorpress, device, tmp_path):
    streams = [path for path in sorted(GOLDEN.glob("*.tpz")) if path.stem.startswith(ON_DEVICES)]
    assert len(streams) > 10
    for stream in streams:
        tensorpress("decompress", stream, "--device", "opencl", "--raw", "-o", "copy.raw")
        assert (tmp_path / "copy.raw").read_bytes() == stream.with_suffix(".raw").read_bytes()
        (tmp_path / "copy.raw").unlink()


def test_bench_measures_a_device_beside_the_host(tensorpress, device, smooth, tmp_path):
    np.save(tmp_path / "field.npy", smooth((40, 50, 60)))
    bench = ["bench", "field.npy", "--device", "opencl", "--threads", "1", "--repetitions", "1"]
    rows = tensorpress(*bench, "--codec", "ceresz", "--rel", "1e-3,1e-2", "--json").json
    assert [row["bound"] for row in rows] == ["rel 0.001", "rel 0.01"]
    assert all(row["same_bytes"] and row["device"] == "opencl:0" for row in rows)
    assert all(row["device_chunks"] > 0 and row["host_chunks"] == 0 for row in rows)
    images = ["bench", "--device", "opencl", "--planes", "32", "--megabytes", "1"]
    text = tensorpress(*images, "--repetitions", "1", "--threads", "1").out.decode()
    assert "compress: device" in text and "x3x32x32" in text
    assert "--peers" in tensorpress.refuses(*bench, "--peers")


def test_what_cannot_be_done_is_said(tensorpress, device, smooth, tmp_path):
    np.save(tmp_path / "field.npy", smooth((4, 5)))
    compress = ["compress", "field.npy", "--rel", "1e-3"]
    message = tensorpress.refuses(*compress, "--device", "toaster")
    assert "there is no device 'toaster'; a device is opencl or opencl:N" in message
    assert "opencl:77" in tensorpress.refuses(*compress, "--device", "opencl:77")
    assert not (tmp_path / "field.tpz").exists()
    tensorpress(*compress, "-o", "field.tpz")
    slice_of_it = ["decompress", "field.tpz", "--slice", "0:2", "--device", "opencl"]
    assert "--device decompresses whole" in tensorpress.refuses(*slice_of_it, "-o", "part.npy")
    tensorpress("decompress", "field.tpz", "-o", "field.nc")
    whole = ["compress", "field.nc", "-o", "small.nc", "--rel", "1e-3"]
    assert "--device writes .tpz files" in tensorpress.refuses(*whole, "--device", "opencl")


@pytest.mark.parametrize(
    ("name", "library", "message"),
    [("cuda:0", "cuda", "need libcuda.so.1"), ("hip", "amdhip64", "need libamdhip64.so")],
)
def test_missing_libraries_of_vendors_are_named(
    tensorpress, smooth, tmp_path, name, library, message
):
    if ctypes.util.find_library(library):
        pytest.skip(f"lib{library} is installed")
    np.save(tmp_path / "field.npy", smooth((4, 5)))
    assert message in tensorpress.refuses("compress", "field.npy", "--rel", "1", "--device", name)
