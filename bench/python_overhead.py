"""What Python adds to the library: both on the same 256 MB in one process, in turn, best of many.

    ./dev build && .venv/bin/python bench/python_overhead.py [--megabytes 256] [--repeat 15]

`library` is the C++ call into memory that stays warm from call to call; `one call` is C++ that
allocates its result, as Python does when it is not given `out`. Times are CPU time of the thread,
in the program and in the kernel, which other programs disturb least. Peak memory is what a call
adds to the process beyond what it held before.
"""

import argparse
import ctypes
import pathlib
import time

import numpy as np

import tensorpress

TIMER = pathlib.Path(__file__).resolve().parents[1] / "build" / "bench" / "tensorpress_timer.so"
CASES = [("ceresz", "rel", 1e-3), ("dense", "rel", 1e-3), ("dct-chop", "", None)]


def load_timer() -> ctypes.CDLL:
    timer = ctypes.CDLL(str(TIMER))
    for name in (
        "seconds_to_compress",
        "seconds_to_compress_in_one_call",
        "seconds_to_decompress",
        "seconds_to_decompress_in_one_call",
    ):
        getattr(timer, name).restype = ctypes.c_double
    return timer


def make_field(megabytes: int) -> np.ndarray:
    """Waves with a little noise, as smooth as a field of a simulation."""
    planes = megabytes // 4
    rng = np.random.default_rng(7)
    z, y, x = np.arange(planes) / 9, np.arange(1024) / 40, np.arange(1024) / 60
    field = np.empty((planes, 1024, 1024), "float32")
    for number in range(planes):
        field[number] = np.sin(z[number] + y[:, None]) * np.cos(x) + 1e-3 * rng.standard_normal(
            (1024, 1024), dtype="float32"
        )
    return field


def address(array: np.ndarray) -> ctypes.c_void_p:
    return ctypes.c_void_p(array.ctypes.data)


def seconds(call) -> float:
    began = time.thread_time()
    call()
    return time.thread_time() - began


def peak_of(call) -> int:
    """Bytes that the process needed at most while `call` ran, beyond what it had before."""

    def high_water() -> int:
        with open("/proc/self/status") as status:
            return next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmHWM"))

    with open("/proc/self/clear_refs", "w") as refs:
        refs.write("5")
    before = high_water()
    kept = call()
    after = high_water()
    del kept
    return after - before


def measure(
    timer: ctypes.CDLL, field: np.ndarray, case: tuple, repeat: int
) -> dict[str, tuple[float, float]]:
    """{row: (seconds in C++, seconds in Python)}."""
    codec, kind, value = case
    chosen = tensorpress.Codec(codec) if value is None else tensorpress.Codec(codec, relative=value)
    text = b"" if value is None else f"{kind} {value!r}".encode()
    packed = tensorpress.compress(field, chosen)
    room = np.ones(field.nbytes + (1 << 20), "uint8")
    out, length = np.ones_like(field), ctypes.c_uint64()
    shape = [ctypes.c_uint64(extent) for extent in field.shape]
    size = ctypes.c_uint64(len(packed))
    compress = [codec.encode(), text, address(field), *shape]

    def library() -> float:
        return timer.seconds_to_compress(
            *compress, address(room), ctypes.c_uint64(room.size), ctypes.byref(length)
        )

    pairs = {
        "compress (library / out=)": (
            library,
            lambda: tensorpress.compress(field, chosen, out=room),
        ),
        "compress (library / bytes)": (library, lambda: tensorpress.compress(field, chosen)),
        "compress (one call / bytes)": (
            lambda: timer.seconds_to_compress_in_one_call(*compress),
            lambda: tensorpress.compress(field, chosen),
        ),
        "decompress (library / out=)": (
            lambda: timer.seconds_to_decompress(packed, size, address(out), *shape),
            lambda: tensorpress.decompress(packed, out=out),
        ),
        "decompress (one call / new array)": (
            lambda: timer.seconds_to_decompress_in_one_call(packed, size),
            lambda: tensorpress.decompress(packed),
        ),
    }
    rows = {}
    for name, (cplusplus, python) in pairs.items():
        best = [float("inf"), float("inf")]
        for _ in range(repeat):
            taken = cplusplus()
            if taken < 0:
                raise RuntimeError(f"{name} failed in the library")
            best = [min(best[0], taken), min(best[1], seconds(python))]
        rows[name] = tuple(best)
    assert room[: length.value].tobytes() == packed, "the library and Python wrote different bytes"
    compressing = peak_of(lambda: tensorpress.compress(field, chosen)) / 2**20
    decompressing = peak_of(lambda: tensorpress.decompress(packed, out=out)) / 2**20
    print(f"\n{codec} {text.decode()}: {field.nbytes >> 20} MB -> {len(packed) / 2**20:.1f} MB")
    print(f"  peak memory {compressing:.1f} MB to bytes, {decompressing:.1f} MB back into out=")
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--megabytes", type=int, default=256)
    parser.add_argument("--repeat", type=int, default=15)
    options = parser.parse_args()
    timer, field = load_timer(), make_field(options.megabytes)
    isa = tensorpress.show_config()["isa"]
    print(f"tensorpress {tensorpress.__version__}, {isa}, CPU time, best of {options.repeat}")
    for case in CASES:
        for name, (library, python) in measure(timer, field, case, options.repeat).items():
            times = f"C++ {library * 1e3:8.1f} ms   Python {python * 1e3:8.1f} ms"
            print(f"  {name:36} {times}   {100 * (python / library - 1):+6.1f} %")


if __name__ == "__main__":
    main()
