"""tensorpress test: every checksum is compared and everything is decoded; nothing is written."""

import os

import h5py
import netCDF4
import numpy as np
import pytest
import tpz_reader


@pytest.fixture
def stream(tensorpress, smooth):
    """The bytes of a good x.tpz with four chunks."""
    np.save(tensorpress.directory / "x.npy", smooth((4, 32, 32)))
    tensorpress("compress", "x.npy", "--abs", "1e-2", "--chunk-shape", "1x32x32", "--attr", "u=K")
    return (tensorpress.directory / "x.tpz").read_bytes()


def test_a_whole_stream_passes_from_a_file_and_from_a_pipe(tensorpress, stream):
    before = sorted(os.listdir(tensorpress.directory))
    assert tensorpress("test", "x.tpz").out == b"x.tpz: ok, 4 chunks, 16 KiB\n"
    assert tensorpress("test", "-", stdin=stream).out.startswith(b"standard input: ok, 4 chunks")
    assert tensorpress("test", "--quiet", "x.tpz").out == b""
    report = tensorpress("test", "x.tpz", "--json").json
    assert report["ok"] is True and report["chunks"] == 4 and report["bytes_out"] == len(stream)
    assert sorted(os.listdir(tensorpress.directory)) == before


def test_every_flipped_byte_is_damage(tensorpress, stream):
    generator = np.random.default_rng(3)
    for position in [8, len(stream) - 1, *generator.integers(16, len(stream), 20)]:
        damaged = bytearray(stream)
        damaged[position] ^= 0x20
        (tensorpress.directory / "bad.tpz").write_bytes(damaged)
        status = 2 if position == 8 else 1  # another version of the format is no damage
        outcome = tensorpress("test", "bad.tpz", status=status)
        assert outcome.out == b"" and outcome.err.count("\n") == 1 and "bad.tpz" in outcome.err
        tensorpress("test", "-", stdin=bytes(damaged), status=status)


def test_damage_is_told_with_its_chunk(tensorpress, stream):
    damaged = bytearray(stream)
    damaged[tpz_reader.payload_places(stream)[3] + 28] ^= 1
    (tensorpress.directory / "bad.tpz").write_bytes(damaged)
    outcome = tensorpress("test", "bad.tpz", "--json", status=1)
    assert outcome.json["ok"] is False
    assert "chunk 3 is corrupt: checksum" in outcome.json["error"]
    assert outcome.json["error"] in outcome.err
    (tensorpress.directory / "cut.tpz").write_bytes(stream[:-40])
    tensorpress("test", "cut.tpz", status=1)


def test_what_is_no_stream_cannot_be_tested(tensorpress, stream):
    assert "'x.npy' is a .npy file" in tensorpress.refuses("test", "x.npy")
    assert "No such file" in tensorpress.refuses("test", "none.tpz")


@pytest.fixture
def array_file(tensorpress, smooth):
    """w.nc with A and B, rewritten to small.nc."""
    field = smooth((8, 64, 64))
    with netCDF4.Dataset(tensorpress.directory / "w.nc", "w") as file:
        for name, extent in zip("zyx", field.shape, strict=True):
            file.createDimension(name, extent)
        for name in "AB":
            file.createVariable(name, "f4", ("z", "y", "x"))[:] = field
        file.createVariable("when", "f8", ("z",))[:] = np.arange(8)
    tensorpress("compress", "w.nc", "--var", "A", "--var", "B", "--abs", "1e-3", "-o", "small.nc")
    return tensorpress.directory


def test_every_variable_with_our_filter_is_read(tensorpress, array_file):
    assert b"small.nc: ok, 2 of 3 variables" in tensorpress("test", "small.nc").out
    report = tensorpress("test", "small.nc", "--json").json
    assert report["ok"] is True and report["variables"] == ["A", "B"]
    assert "nothing to test" in tensorpress.refuses("test", "w.nc")


def test_a_damaged_chunk_of_a_variable_is_found(tensorpress, array_file):
    with h5py.File(array_file / "small.nc") as file:
        chunk = file["B"].id.get_chunk_info(0)
    content = bytearray((array_file / "small.nc").read_bytes())
    content[chunk.byte_offset + chunk.size // 2] ^= 0x10
    (array_file / "bad.nc").write_bytes(content)
    outcome = tensorpress("test", "small.nc", "bad.nc", status=1)
    assert "bad.nc" in outcome.err and "B" in outcome.err
