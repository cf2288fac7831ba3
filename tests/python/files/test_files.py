"""save and load: the whole file or the old one, and errors that name it."""

import errno
import io
import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest
from conftest import error_of, waves

import tensorpress
from tensorpress import _files


def test_what_is_saved_is_loaded_within_the_bound(tmp_path, field):
    for path in (tmp_path / "a.tpz", str(tmp_path / "b.tpz"), os.fsencode(tmp_path / "c.tpz")):
        assert tensorpress.save(path, field, absolute=1e-3, attributes={"units": "K"}) is None
        copy = tensorpress.load(path, threads=2)
        assert copy.dtype == field.dtype and error_of(copy, field) <= 1e-3
    assert tensorpress.info(tmp_path / "a.tpz")["attributes"] == {"units": "K"}


def test_a_name_without_the_extension_gets_it_as_numpy_does(tmp_path, field):
    tensorpress.save(tmp_path / "a", field, absolute=1e-3)
    tensorpress.save(tmp_path / "b.dat", field, absolute=1e-3)
    assert {path.name for path in tmp_path.iterdir()} == {"a.tpz", "b.dat.tpz"}
    with pytest.raises(FileNotFoundError):
        tensorpress.load(tmp_path / "a")


def test_codecs_and_types_go_through_a_file(tmp_path, field):
    ml_dtypes = pytest.importorskip("ml_dtypes")
    path = tmp_path / "x.tpz"
    tensorpress.save(path, field, "dct-chop", cf=8)
    assert error_of(tensorpress.load(path), field) < 1e-3
    tensorpress.save(path, field.astype(ml_dtypes.bfloat16), tensorpress.Codec(absolute=0.01))
    assert tensorpress.load(path).dtype == ml_dtypes.bfloat16
    for shape in ((), (0, 3)):
        tensorpress.save(path, np.ones(shape), absolute=0)
        assert np.array_equal(tensorpress.load(path), np.ones(shape))


def test_open_files_are_written_and_read(tmp_path, field):
    buffer = io.BytesIO()
    tensorpress.save(buffer, field, absolute=1e-3)
    buffer.seek(0)
    assert error_of(tensorpress.load(buffer), field) <= 1e-3
    for buffering in (0, -1):
        with open(tmp_path / "x.bin", "wb", buffering=buffering) as file:
            tensorpress.save(file, field, absolute=1e-3)
        with open(tmp_path / "x.bin", "rb", buffering=buffering) as file:
            assert error_of(tensorpress.load(file), field) <= 1e-3


@pytest.mark.parametrize(
    "file", [5, None, ["x.tpz"], io.StringIO()], ids=lambda it: type(it).__name__
)
def test_what_is_no_file_is_a_type_error(file, field):
    with pytest.raises(TypeError, match="file is"):
        tensorpress.save(file, field, absolute=1e-3)
    with pytest.raises(TypeError, match="file is"):
        tensorpress.load(file)


def test_save_takes_no_output_buffer(tmp_path, field):
    with pytest.raises(TypeError, match="no out="):
        tensorpress.save(tmp_path / "x.tpz", field, absolute=1, out=bytearray(10))


def test_a_file_is_replaced_with_its_permissions_and_links_stay(tmp_path, field):
    path, link = tmp_path / "x.tpz", tmp_path / "link.tpz"
    tensorpress.save(path, field, absolute=1e-3)
    assert path.stat().st_mode & 0o777 == 0o666 & ~_umask()
    path.chmod(0o640)
    link.symlink_to(path)
    tensorpress.save(link, field + 1, absolute=1e-3)
    assert link.is_symlink() and path.stat().st_mode & 0o777 == 0o640
    assert error_of(tensorpress.load(path), field + 1) <= 1e-3
    assert sorted(each.name for each in tmp_path.iterdir()) == ["link.tpz", "x.tpz"]


def _umask():
    mask = os.umask(0)
    os.umask(mask)
    return mask


def broken_fsync(*_):
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_a_failed_save_leaves_the_old_file_and_nothing_else(tmp_path, field, monkeypatch):
    path = tmp_path / "x.tpz"
    tensorpress.save(path, field, absolute=1e-3)
    before = path.read_bytes()
    for name, failure in (
        ("fsync", broken_fsync),
        ("replace", broken_fsync),
    ):
        with monkeypatch.context() as patch:
            patch.setattr(_files.os, name, failure)
            with pytest.raises(OSError, match=r"No space left on device.*x\.tpz"):
                tensorpress.save(path, field + 1, absolute=1e-3)
        assert path.read_bytes() == before and len(list(tmp_path.iterdir())) == 1
    with pytest.raises(ValueError):
        tensorpress.save(path, field)
    assert path.read_bytes() == before


def test_a_full_quota_leaves_the_old_file(tmp_path, field):
    """The limit of the process ends the write with EFBIG, in the middle of the stream."""
    path = tmp_path / "x.tpz"
    tensorpress.save(path, field, absolute=0.5)
    before = path.read_bytes()
    program = f"""
import resource, signal, numpy, tensorpress
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (20000, 20000))
noise = numpy.random.default_rng(1).standard_normal(100000)
try:
    tensorpress.save({str(path)!r}, noise, absolute=1e-9)
except OSError as error:
    print(type(error).__name__, error.filename)
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["OSError", str(path)]
    assert path.read_bytes() == before and len(list(tmp_path.iterdir())) == 1


def test_folders_and_missing_places_are_pythons_own_errors(tmp_path, field):
    (tmp_path / "folder.tpz").mkdir()
    with pytest.raises(IsADirectoryError):
        tensorpress.save(tmp_path / "folder.tpz", field, absolute=1)
    with pytest.raises(IsADirectoryError):
        tensorpress.load(tmp_path)
    with pytest.raises(FileNotFoundError):
        tensorpress.save(tmp_path / "nowhere" / "x.tpz", field, absolute=1)
    with pytest.raises(FileNotFoundError):
        tensorpress.load(tmp_path / "nowhere.tpz")


def test_what_is_no_stream_is_told_with_its_path(tmp_path, field):
    path = tmp_path / "x.tpz"
    tensorpress.save(path, field, absolute=1e-3)
    whole = path.read_bytes()
    for damaged in (b"", b"hello", whole[:-1], whole[: len(whole) // 2], whole + b"x"):
        path.write_bytes(damaged)
        with pytest.raises(tensorpress.CorruptError, match=r"x\.tpz: "):
            tensorpress.load(path)
    path.write_bytes(whole)
    with pytest.raises(tensorpress.TooLargeError, match=r"x\.tpz: the stream claims"):
        tensorpress.load(path, max_bytes=field.nbytes - 1)


def test_a_pipe_takes_a_stream(tmp_path):
    fifo = tmp_path / "x.tpz"
    os.mkfifo(fifo)
    reader = subprocess.Popen(["cat", fifo], stdout=subprocess.PIPE)
    tensorpress.save(fifo, waves((8, 8)), absolute=0.1)
    stream, _ = reader.communicate()
    assert tensorpress.decompress(stream).shape == (8, 8) and fifo.is_fifo()


def test_paths_are_named_as_they_were_given(tmp_path, field, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(FileNotFoundError) as missing:
        tensorpress.save(pathlib.Path("no") / "x.tpz", field, absolute=1)
    assert missing.value.filename == "no/x.tpz"
