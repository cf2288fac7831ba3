"""No copy of an array is made: the peak of memory shows it, in a process of its own."""

import subprocess
import sys

import pytest

MEGABYTES = 64

PROGRAM = f"""
import numpy as np
import tensorpress

def peak():  # bytes; reset by writing to clear_refs, read from status
    for line in open("/proc/self/status"):
        if line.startswith("VmHWM"):
            return int(line.split()[1]) * 1024

def reset():
    open("/proc/self/clear_refs", "w").write("5")

array = np.random.default_rng(1).standard_normal({MEGABYTES} << 18, dtype="float32").reshape(64, -1)
{{layout}}
tensorpress.compress(array[:1, :64], {{codec}})
reset(); before = peak()
packed = tensorpress.compress(array, {{codec}})
print(peak() - before, len(packed))
out = np.ones(array.shape, "float32")
reset(); before = peak()
tensorpress.decompress(packed, out=out)
print(peak() - before)
"""


def measure(codec, layout=""):
    program = PROGRAM.replace("{layout}", layout).replace("{codec}", codec)
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    return [int(number) for number in done.stdout.split()]


@pytest.mark.parametrize(
    "layout",
    [
        "",
        "array = np.asfortranarray(array)",
        "array = array[:, ::-1]",
        "array.flags.writeable = False",
    ],
)
def test_compressing_and_decompressing_take_the_memory_of_the_stream_and_of_a_few_chunks(layout):
    compressing, stream, decompressing = measure("'ceresz', absolute=0.01", layout)
    a_few_chunks = 16 << 20
    assert compressing <= stream + a_few_chunks
    assert decompressing <= a_few_chunks


def test_room_for_the_worst_case_takes_no_memory_while_it_is_not_used():
    compressing, stream, _ = measure("'dct-chop', cf=1")
    assert stream < (MEGABYTES << 20) / 32
    assert compressing < (MEGABYTES << 20) / 4


def test_a_reader_that_outlives_python_is_nothing_to_print_about():
    """Datasets in worker processes end so."""
    program = """
import ctypes, numpy, tensorpress
reader = tensorpress.open(tensorpress.compress(numpy.zeros(9, "f4"), absolute=1))
ctypes.pythonapi.Py_IncRef(ctypes.py_object(reader._core))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
