"""Streams of earlier versions decode to the same bits, on every instruction set; broken ones stay
refused."""

import pytest
from conftest import ROOT

GOLDEN = ROOT / "tests" / "golden"
STREAMS = sorted(GOLDEN.glob("*.tpz"))
BROKEN = sorted((GOLDEN / "must-fail").glob("*.tpz"))


def test_there_are_golden_streams():
    assert len(STREAMS) >= 6 and len(BROKEN) >= 9


@pytest.mark.parametrize("isa", ["scalar", "sse4", "avx2", "avx512"])
@pytest.mark.parametrize("stream", STREAMS, ids=lambda path: path.stem)
def test_golden_streams_decode_to_the_same_bits(tensorpress, stream, isa):
    tensorpress(
        "decompress", stream, "--raw", "-o", "x.raw", environment={"TENSORPRESS_MAX_ISA": isa}
    )
    assert (tensorpress.directory / "x.raw").read_bytes() == stream.with_suffix(".raw").read_bytes()


@pytest.mark.parametrize("stream", BROKEN, ids=lambda path: path.stem)
def test_broken_streams_are_refused(tensorpress, stream):
    tensorpress.refuses("decompress", stream, "-o", "x.npy")
    tensorpress.refuses("decompress", "-", "-o", "x.npy", stdin=stream.read_bytes())
    assert not (tensorpress.directory / "x.npy").exists()
