"""One stream, everywhere: the bytes depend on neither the instruction set nor the threads."""

import numpy as np
import pytest

SETTINGS = [
    ["--cf", "4"],
    ["--cf", "7", "--layout", "triangle"],
    ["--transform", "zfp", "--cf", "3"],
    ["--coefficients", "f16"],
]


def streams(tensorpress, flags, variants):
    """One compressed file and one decompressed file a variant; a variant is (flags,
    environment)."""
    made = []
    for extra, environment in variants:
        tensorpress(
            "compress",
            "--codec",
            "dct-chop",
            "x.npy",
            "--force",
            "-o",
            "x.tpz",
            *flags,
            *extra,
            environment=environment,
        )
        tensorpress("decompress", "x.tpz", "-f", "-o", "y.npy", *extra, environment=environment)
        made.append([(tensorpress.directory / name).read_bytes() for name in ("x.tpz", "y.npy")])
    return made


@pytest.mark.parametrize("flags", SETTINGS, ids=" ".join)
@pytest.mark.parametrize("dtype", ["f4", "f8", "u1"])
def test_every_instruction_set_writes_the_same_bytes(tensorpress, smooth, flags, dtype):
    np.save(tensorpress.directory / "x.npy", smooth((3, 75, 131), dtype))
    variants = [([], {"TENSORPRESS_MAX_ISA": isa}) for isa in ("scalar", "sse4", "avx2", "avx512")]
    first, *others = streams(tensorpress, flags, variants)
    assert all(other == first for other in others)


def test_every_number_of_threads_writes_the_same_bytes(tensorpress, smooth):
    np.save(tensorpress.directory / "x.npy", smooth((40, 100, 90)))
    flags = ["--cf", "5", "--chunk-shape", "3x100x90"]
    first, *others = streams(tensorpress, flags, [(["--threads", n], {}) for n in (1, 2, 7)])
    assert all(other == first for other in others)


def test_the_instruction_set_is_capped_by_the_environment(tensorpress):
    report = tensorpress("info", "--json", environment={"TENSORPRESS_MAX_ISA": "scalar"}).json
    assert report["isa"] == "scalar"
    sentence = tensorpress.refuses("info", environment={"TENSORPRESS_MAX_ISA": "mmx"})
    assert "TENSORPRESS_MAX_ISA" in sentence and "mmx" in sentence and "avx2" in sentence
