"""Ctrl-C ends a long call between two chunks, and the process can go on."""

import subprocess
import sys

import pytest

# A thread sends the signal when the call has begun and the time it takes is known to be longer than
# any chunk; the call is repeated until it is hit, so nothing depends on the speed of the machine.
PROGRAM = """
import os, signal, sys, threading, time
import numpy as np
import tensorpress

signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell may have had it ignored
noise = np.random.default_rng(1).standard_normal((256, 256), dtype="f4").cumsum(axis=1)
array = noise + np.arange(300, dtype="f4")[:, None, None]
threads = {threads}
{prepare}

def work():
    {work}

sent = []

def interrupt():
    time.sleep(0.3)
    sent.append(time.perf_counter())
    os.kill(os.getpid(), signal.SIGINT)

threading.Thread(target=interrupt).start()
try:
    while True:
        work()
except KeyboardInterrupt:
    waited = time.perf_counter() - sent[0]
print(waited)
# All is as before: the next call works.
small = array[:2]
assert tensorpress.verify(small, tensorpress.compress(small, absolute=0.1))["ok"]
"""

PACKED = "stream = tensorpress.compress(array, 'ceresz', absolute=0.1, threads=2)"

CALLS = {
    "dense": ("", "tensorpress.compress(array, relative=1e-4, threads=threads)"),
    "ceresz": ("", "tensorpress.compress(array, 'ceresz', relative=1e-4, threads=threads)"),
    "psnr": ("", "tensorpress.compress(array, psnr=60, threads=threads)"),
    "ratio": ("", "tensorpress.compress(array, ratio=8, threads=threads)"),
    "dct-chop": ("", "tensorpress.compress(array, 'dct-chop', cf=4, threads=threads)"),
    "decompress": (PACKED, "tensorpress.decompress(stream, threads=threads)"),
    "slices": (PACKED, "tensorpress.open(stream, threads=threads)[1:, 3:, ::-1]"),
    "verify": (PACKED, "tensorpress.verify(array, stream, threads=threads)"),
}


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("call", CALLS)
def test_an_interrupted_call_ends_soon_with_keyboard_interrupt(call, threads):
    prepare, work = CALLS[call]
    program = PROGRAM.format(threads=threads, prepare=prepare, work=work)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    # A call of the slow codecs takes many seconds.
    assert float(done.stdout) < 2


HANDLER = """
import os, signal, threading
import numpy as np
import tensorpress

array = np.random.default_rng(1).standard_normal((100, 256, 256), dtype="f4")
seen = []
signal.signal(signal.SIGUSR1, lambda number, frame: seen.append(number))
running = threading.Event()

def send():
    running.wait()
    while not seen:  # until it has come while the call runs
        os.kill(os.getpid(), signal.SIGUSR1)

sender = threading.Thread(target=send)
sender.start()
running.set()
stream = tensorpress.compress(array, relative=1e-3)
sender.join()
print(len(seen) > 0, stream == tensorpress.compress(array, relative=1e-3))
"""


def test_a_handler_that_returns_changes_nothing():
    done = subprocess.run([sys.executable, "-c", HANDLER], capture_output=True, text=True)
    assert done.stdout.split() == ["True", "True"], done.stderr


ELSEWHERE = """
import os, signal, threading
import numpy as np
import tensorpress

signal.signal(signal.SIGINT, signal.default_int_handler)
array = np.random.default_rng(1).standard_normal((100, 256, 256), dtype="f4")
results = []

def work():
    results.append(tensorpress.compress(array, relative=1e-3))

worker = threading.Thread(target=work)
worker.start()
try:
    os.kill(os.getpid(), signal.SIGINT)
    worker.join()
except KeyboardInterrupt:
    worker.join()
print(results[0] == tensorpress.compress(array, relative=1e-3))
"""


def test_work_on_another_thread_is_not_interrupted():
    done = subprocess.run([sys.executable, "-c", ELSEWHERE], capture_output=True, text=True)
    assert done.stdout.split() == ["True"], done.stderr
