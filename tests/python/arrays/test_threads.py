"""Several threads at once, inside the library and around it."""

import concurrent.futures
import inspect
import os
import threading

import numpy as np
import pytest
from conftest import waves

import tensorpress


@pytest.mark.parametrize(
    "codec",
    [
        tensorpress.Codec(absolute=1e-3),
        tensorpress.Codec("ceresz", absolute=1e-3),
        tensorpress.Codec("dct-chop", cf=3),
    ],
    ids=repr,
)
def test_bytes_do_not_depend_on_threads(codec):
    array = waves((40, 100, 100))
    one = tensorpress.compress(array, codec, chunk_shape=(8, 40, 100))
    assert tensorpress.compress(array, codec, chunk_shape=(8, 40, 100), threads=4) == one
    assert np.array_equal(tensorpress.decompress(one, threads=3), tensorpress.decompress(one))


def test_every_function_has_one_thread_by_default_and_0_is_all_cores(tmp_path):
    from tensorpress._reader import checked_threads

    for function in (
        tensorpress.decompress,
        tensorpress.open,
        tensorpress.verify,
        tensorpress.load,
        tensorpress.Reader,
    ):
        assert inspect.signature(function).parameters["threads"].default == 1, function
    source = inspect.getsource(tensorpress.compress)
    assert "threads: int = 1" in source
    assert checked_threads(0) == len(os.sched_getaffinity(0))
    array = waves((40, 100, 100))
    one = tensorpress.compress(array, absolute=1e-3, chunk_shape=(8, 40, 100))
    assert tensorpress.compress(array, absolute=1e-3, chunk_shape=(8, 40, 100), threads=0) == one
    path = tmp_path / "x.tpz"
    path.write_bytes(one)
    with tensorpress.open(path, threads=0) as reader:
        assert np.array_equal(reader[...], tensorpress.decompress(one, threads=0))


def test_many_python_threads_compress_and_decompress_at_once():
    arrays = [waves((10 + i, 50, 50)) for i in range(8)]
    expected = [tensorpress.compress(array, absolute=1e-3) for array in arrays]

    def work(i):
        packed = tensorpress.compress(arrays[i % 8], absolute=1e-3)
        return packed == expected[i % 8] and tensorpress.verify(arrays[i % 8], packed)["ok"]

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        assert all(pool.map(work, range(64)))


def test_other_python_threads_run_while_one_compresses():
    """The loop below only gets on while the compressing thread has let go of the interpreter."""
    array = waves((60, 256, 256))
    done = threading.Event()

    def compress():
        tensorpress.compress(array, relative=1e-4)
        done.set()

    worker = threading.Thread(target=compress)
    worker.start()
    turns = 0
    while not done.is_set():
        turns += 1
    worker.join()
    assert turns > 1000
