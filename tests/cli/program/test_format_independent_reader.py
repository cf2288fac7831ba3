"""The reader that was written from docs/format.md alone (tpz_reader) against the program: golden
streams and fresh ones of every codec, to the last bit."""

import re

import numpy as np
import pytest
import tpz_reader
from conftest import ROOT

FORMAT_PAGE = ROOT / "docs" / "format.md"
GOLDEN = ROOT / "tests" / "golden"


@pytest.mark.parametrize("stream", sorted(GOLDEN.glob("*.tpz")), ids=lambda path: path.stem)
def test_golden_streams_decode_to_the_same_bits(stream):
    assert (
        tpz_reader.read(stream.read_bytes()).elements.tobytes()
        == stream.with_suffix(".raw").read_bytes()
    )


@pytest.mark.parametrize(
    "stream", sorted(GOLDEN.glob("must-fail/*.tpz")), ids=lambda path: path.stem
)
def test_streams_that_must_fail_are_refused_by_this_reader_too(stream):
    with pytest.raises(Exception):  # noqa: B017  whatever it stumbles over first
        tpz_reader.read(stream.read_bytes())


def field(shape, dtype, kind="waves"):
    """Waves with noise; with land, zeros and holes; steep; spikes that no predictor meets; or a
    hill with zeros around."""
    generator = np.random.default_rng(sum(shape) + len(kind))
    grids = np.meshgrid(*(np.arange(extent) for extent in shape), indexing="ij")
    values = (
        sum(np.sin(grid * 0.21 / (axis + 1) + axis) for axis, grid in enumerate(grids)) * 40 + 3
    )
    values = values + 0.02 * generator.standard_normal(shape)
    if kind == "land":
        values[values < -20] = 0
        values[(values > 30) & (values < 34)] = np.nan
        values[(values > 40) & (values < 44)] = -1e34 if dtype != "f2" else np.inf
    if kind == "steep":
        values = np.exp(values / 9) * np.sign(values)
    if kind == "spikes":
        values[generator.random(shape) < 0.01] *= 1e6 if dtype != "f2" else 100
    if kind == "nearly empty":
        values[np.hypot(grids[0] - 6, grids[1] - 9) > 4] = 0
    if kind == "hill":
        values = 90 * np.exp(-0.03 * sum((grid - 9) ** 2 for grid in grids))
        values[values < 1e-4] = 0
    if kind == "noise":
        values = generator.standard_normal(shape) * 1e3
    return values.astype(dtype)


FRESH = [
    ((13, 21, 34), "f4", "nearly empty", ["--abs", "1e-2", "--chunk-shape", "1x7x17"]),
    ((24, 30, 40), "f4", "hill", ["--rel", "1e-2", "--whole-range"]),
    ((60, 80), "f8", "hill", ["--rel", "1e-3", "--whole-range"]),
    ((13, 21, 34), "f4", "waves", ["--rel", "1e-4"]),
    ((13, 21, 34), "f4", "land", ["--rel", "1e-3", "--fill", "-1e34"]),
    ((9, 20, 24), "f8", "waves", ["--rel", "1e-7"]),
    ((9, 20, 24), "f8", "spikes", ["--abs", "1e-9"]),
    ((50, 61), "f4", "spikes", ["--abs", "0.01"]),
    ((50, 61), "f2", "land", ["--abs", "0.5"]),
    ((24, 25, 3), "f4", "waves", ["--rel", "1e-4"]),
    ((5, 6, 7), "f4", "waves", ["--rel", "1e-3"]),
    ((1, 40, 1, 33), "f4", "steep", ["--pw-rel", "1e-3"]),
    ((16, 16, 16), "f8", "steep", ["--pw-rel", "1e-9"]),
    ((2, 3, 12, 20), "f4", "noise", ["--rel", "1e-5"]),
    ((999,), "f4", "noise", ["--abs", "1e-3"]),
    ((1500,), "f8", "waves", ["--psnr", "90"]),
    ((), "f4", "waves", ["--abs", "0.1"]),
    ((0, 4), "f4", "waves", ["--abs", "0.1"]),
]
CODERS = [
    ["--codec", "ceresz"],
    ["--codec", "ceresz2"],
    ["--codec", "ceresz2", "--codebook", "dynamic"],
    ["--codec", "dense"],
    ["--codec", "dense", "--effort", "fast"],
]


@pytest.mark.parametrize("coder", CODERS, ids=lambda words: " ".join(words[1:]).replace("--", ""))
def test_fresh_streams_with_a_bound_decode_to_the_programs_bits(tensorpress, coder):
    for shape, dtype, kind, bound in FRESH:
        np.save(tensorpress.directory / "x.npy", field(shape, dtype, kind))
        tensorpress("compress", "x.npy", "-f", "-o", "x.tpz", *coder, *bound)
        tensorpress("decompress", "x.tpz", "-f", "-o", "y.npy")
        tensor = tpz_reader.read((tensorpress.directory / "x.tpz").read_bytes())
        assert tensor.elements.tobytes() == np.load(tensorpress.directory / "y.npy").tobytes(), (
            shape,
            dtype,
            kind,
            bound,
        )


@pytest.mark.parametrize("zeros", [False, True])
def test_fresh_wavelet_streams_decode_to_the_programs_bits(tensorpress, monkeypatch, zeros):
    """Rings around a point, as a wave makes them; with zeros where it has not arrived yet."""
    z, y, x = np.meshgrid(*[np.arange(51)] * 3, indexing="ij")
    radius = np.sqrt((z - 11.0) ** 2 + (y - 15) ** 2 + (x - 20) ** 2)
    values = 10 * np.sin(radius / 3)
    if zeros:
        values *= np.clip(1.5 - radius / 30, 0, 1) ** 2
    np.save(tensorpress.directory / "x.npy", values.astype("f4"))
    tensorpress("compress", "x.npy", "-o", "x.tpz", "--rel", "1e-3")
    tensorpress("decompress", "x.tpz", "-o", "y.npy")
    decoded = []
    decode = tpz_reader.wavelet.decode
    monkeypatch.setattr(
        tpz_reader.wavelet, "decode", lambda *given: decoded.append(1) or decode(*given)
    )
    tensor = tpz_reader.read((tensorpress.directory / "x.tpz").read_bytes())
    assert decoded == [1]
    assert tensor.elements.tobytes() == np.load(tensorpress.directory / "y.npy").tobytes()


def test_fresh_streams_of_lines_in_lanes_decode_to_the_programs_bits(tensorpress, monkeypatch):
    """A tone that rises, in doubles: 16 lanes, of which the last is not full."""
    at = np.arange(65570)
    values = np.sin(0.04 * at + 2e-7 * at * at) + 1e-4 * np.random.default_rng(3).random(len(at))
    np.save(tensorpress.directory / "x.npy", values.reshape(1, -1))
    tensorpress("compress", "x.npy", "-o", "x.tpz", "--rel", "1e-3")
    tensorpress("decompress", "x.tpz", "-o", "y.npy")
    decoded = []
    decode = tpz_reader.wavelet.decode_lanes
    monkeypatch.setattr(
        tpz_reader.wavelet, "decode_lanes", lambda *given: decoded.append(1) or decode(*given)
    )
    tensor = tpz_reader.read((tensorpress.directory / "x.tpz").read_bytes())
    assert decoded == [1]
    assert tensor.elements.tobytes() == np.load(tensorpress.directory / "y.npy").tobytes()


@pytest.mark.parametrize(
    ("shape", "dtype"), [((34, 33, 32), "f4"), ((31, 35, 36), "f8"), ((200, 180), "f4")]
)
def test_fresh_stencil_streams_decode_to_the_programs_bits(tensorpress, monkeypatch, shape, dtype):
    """Waves in several directions, which need points off the axes."""
    grids = np.meshgrid(*(np.arange(extent) for extent in shape), indexing="ij")
    values = 10 * np.sin(sum(g * (0.35 + 0.1 * axis) for axis, g in enumerate(grids)))
    values += 7 * np.cos(sum(g * (-0.5, 0.4)[axis % 2] for axis, g in enumerate(grids)))
    values += 3 * np.sin(0.004 * sum(g * g for g in grids))
    np.save(tensorpress.directory / "x.npy", values.astype(dtype))
    tensorpress("compress", "x.npy", "-o", "x.tpz", "--rel", "1e-3")
    tensorpress("decompress", "x.tpz", "-o", "y.npy")
    refined = []
    refine = tpz_reader.stencils.refine
    monkeypatch.setattr(
        tpz_reader.stencils, "refine", lambda *given: refined.append(1) or refine(*given)
    )
    tensor = tpz_reader.read((tensorpress.directory / "x.tpz").read_bytes())
    assert refined
    assert tensor.elements.tobytes() == np.load(tensorpress.directory / "y.npy").tobytes()


def recurring_fields():
    """Few values, or planes that repeat: every way of predictor 3 occurs in one of them."""
    z, y, x = np.meshgrid(*[np.arange(n) for n in (12, 31, 40)], indexing="ij")
    hills = np.sin(x / 9) + np.sin(y / 7 + 1) + np.sin(z / 5 + 2)
    random = np.random.default_rng(4)
    steps = 20 * np.round(9 * hills)
    yield "steps", steps, "1e-3"
    pairs = 50 * random.integers(0, 3, hills.shape) + random.integers(0, 2, hills.shape)
    yield "shared entries", pairs, "3e-2"
    yield "counts", random.poisson(2 + hills / 2)[0], "1e-3"
    yield "classes", np.array([11, 3, 40, 7, 21, 90])[np.round(hills + 2.5).astype(int)], "1e-3"
    yield (
        "classes in a plane",
        np.array([11, 3, 40, 7, 2, 9])[np.round(hills[3] + 2.5).astype(int)],
        "1e-3",
    )
    yield "whole degrees", np.round(200 * hills[0]) % 360, "1e-4"
    yield "tenths", np.round(hills * 80) / 10 + 280, "1e-4"
    yield "odd values", np.exp(np.round(3 * hills)), "1e-6"
    yield "a mask", hills > 0.4, "1e-3"
    yield "a slope", np.round(np.cumsum(3 + np.sin(np.arange(900) / 40))) % 100, "1e-4"
    yield "planes", random.standard_normal((3, 17, 20))[[0, 1, 0, 2, 2, 1, 1, 0]], "1e-3"
    yield "stepped planes", steps[[0, 1, 2, 3] * 5], "1e-3"
    yield "a period", np.tile(random.standard_normal(301), 9)[:2500], "1e-3"


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("effort", ["normal", "best"])
def test_fresh_streams_of_values_that_recur_decode_to_the_programs_bits(
    tensorpress, monkeypatch, dtype, effort
):
    decoded = []
    decode = tpz_reader.recurring.decode
    monkeypatch.setattr(
        tpz_reader.recurring, "decode", lambda *given: decoded.append(1) or decode(*given)
    )
    for name, values, bound in recurring_fields():
        decoded.clear()
        np.save(tensorpress.directory / "x.npy", values.astype(dtype))
        tensorpress("compress", "x.npy", "-f", "-o", "x.tpz", "--rel", bound, "--effort", effort)
        tensorpress("decompress", "x.tpz", "-f", "-o", "y.npy")
        tensor = tpz_reader.read((tensorpress.directory / "x.tpz").read_bytes())
        assert decoded, name
        assert tensor.elements.tobytes() == np.load(tensorpress.directory / "y.npy").tobytes(), name


CHOPPED = [
    [],
    ["--cf", 1],
    ["--cf", 3],
    ["--cf", 6],
    ["--cf", 7, "--layout", "triangle"],
    ["--cf", 8],
    ["--cf", 8, "--layout", "triangle"],
    ["--cf", 2, "--transform", "zfp"],
    ["--cf", 5, "--coefficients", "bf16"],
    ["--cf", 4, "--transform", "zfp", "--layout", "triangle", "--coefficients", "f16"],
]


@pytest.mark.parametrize(
    "flags", CHOPPED, ids=lambda words: " ".join(map(str, words)).replace("--", "")
)
def test_fresh_chopped_streams_decode_to_the_programs_bits(tensorpress, smooth, flags):
    for shape, dtype in [
        ((3, 30, 41), "f4"),
        ((2, 2, 16, 20), "f8"),
        ((19, 23), "u1"),
        ((77,), "i2"),
        ((9, 9), "f2"),
    ]:
        np.save(tensorpress.directory / "x.npy", smooth(shape, dtype))
        arguments = ["--codec", "dct-chop", "--attr", "unit=K", *flags, "--force"]
        tensorpress("compress", "x.npy", "-o", "x.tpz", *arguments)
        tensorpress("decompress", "x.tpz", "-f", "-o", "y.npy")
        tensor = tpz_reader.read((tensorpress.directory / "x.tpz").read_bytes())
        assert tensor.elements.tobytes() == np.load(tensorpress.directory / "y.npy").tobytes(), (
            shape,
            dtype,
        )
        assert tensor.attributes == {"unit": "K"}


PACKED = [
    ("f4", ["--bits", 4]),
    ("f4", ["--bits", 1]),
    ("f4", ["--bits", 3]),
    ("f4", ["--bits", 5, "--rounding", "stochastic"]),
    ("f2", ["--bits", 6, "--group", 128]),
    ("f4", ["--bits", 2, "--rounding", "stochastic", "--seed", 9, "--group", 384]),
    ("f8", ["--bits", 8, "--group", 96]),
    ("f2", ["--bits", 4, "--rounding", "stochastic"]),
    ("f4", ["--to", "bf16"]),
    ("f4", ["--to", "f16"]),
    ("f4", ["--to", "e4m3"]),
    ("f2", ["--to", "e5m2"]),
    ("f4", ["--codec", "mask"]),
    ("u1", ["--codec", "mask"]),
]


@pytest.mark.parametrize(
    "dtype, flags",
    PACKED,
    ids=lambda value: " ".join(map(str, value)) if isinstance(value, list) else value,
)
def test_packed_codecs_decode_to_the_programs_bits(tensorpress, smooth, dtype, flags):
    original = smooth((3, 30, 41), dtype)
    if "mask" in flags:
        original = np.where(original > 128, original.dtype.type(3), original.dtype.type(0))
    np.save(tensorpress.directory / "x.npy", original)
    tensorpress("compress", "x.npy", "-o", "x.tpz", "--chunk-shape", "2x30x41", *flags)
    tensorpress("decompress", "x.tpz", "-o", "y.npy")
    tensor = tpz_reader.read((tensorpress.directory / "x.tpz").read_bytes())
    decoded = np.load(tensorpress.directory / "y.npy")
    assert np.array_equal(tensor.elements, decoded)
    assert tensor.statistics["raw_chunks"] == 0
    difference = np.sqrt(np.sum((decoded.astype("f8") - original.astype("f8")) ** 2))
    assert difference == pytest.approx(tensor.statistics["l2_error"], rel=1e-6)


def test_raw_chunks_hold_the_elements(tensorpress, smooth):
    original = smooth((4, 5), "u1")
    np.save(tensorpress.directory / "x.npy", original)
    tensorpress("compress", "x.npy", "-o", "x.tpz", "--cf", 8)
    tensor = tpz_reader.read((tensorpress.directory / "x.tpz").read_bytes())
    assert tensor.statistics["raw_chunks"] > 0
    assert np.array_equal(tensor.elements, original)


def test_the_roundings_on_the_format_page_are_what_the_program_does(tensorpress):
    """Stochastic codes, recomputed from the page: 2 bits, two chunks, f32."""
    bits, group, seed, rows, width = 2, 128, 12345678901234567890, 4, 300
    original = np.random.default_rng(5).standard_normal((rows, width)).astype("f4")
    np.save(tensorpress.directory / "x.npy", original)
    tensorpress(
        "compress",
        "x.npy",
        "-o",
        "x.tpz",
        "--bits",
        bits,
        "--group",
        group,
        "--rounding",
        "stochastic",
        "--seed",
        seed,
        "--chunk-shape",
        f"2x{width}",
    )
    word = 2**64 - 1

    def mix(z):
        z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 & word
        z = (z ^ z >> 27) * 0x94D049BB133111EB & word
        return z ^ z >> 31

    def fraction(i, key):
        x = (8 * (i // 16) + i % 8) ^ key & 0xFFFFFFFF
        x = (x ^ x >> 16) * 0x7FEB352D & 0xFFFFFFFF
        x = ((x ^ x >> 15) + (key >> 32)) * 0x846CA68B & 0xFFFFFFFF
        x ^= x >> 16
        return x % 2**14 if i % 16 < 8 else x >> 18

    tensor = tpz_reader.read((tensorpress.directory / "x.tpz").read_bytes()).elements
    for first_row in (0, 2):
        own_seed = seed if first_row == 0 else mix(seed ^ mix(8 * first_row + 0))
        key = mix(own_seed + 0x9E3779B97F4A7C15 & word)
        values = original[first_row : first_row + 2].reshape(-1)
        decoded = tensor[first_row : first_row + 2].reshape(-1)
        for g in range(0, values.size, group):
            part = values[g : g + group]
            least = part.min()
            raw = int(least.view("u4")) + (0x1FFF if least < 0 else 0)
            minimum = np.array(raw >> 13 << 13, "u4").view("f4")
            exact = int(((part.max() - minimum) / np.float32(3)).view("u4"))
            scale = np.array((exact + 0x3FFFF) >> 18 << 18, "u4").view("f4")
            t = np.rint(
                np.minimum(
                    (part - minimum) * (np.float32(1) / scale * np.float32(2**14)),
                    np.float32(3 * 2**14),
                )
            )
            codes = [int(t[i]) + fraction(g + i, key) >> 14 for i in range(part.size)]
            assert np.array_equal(np.array(codes, "f4") * scale + minimum, decoded[g : g + group])


def test_the_stream_on_the_format_page_is_what_the_program_writes(tensorpress):
    lines = re.findall(
        r"^[0-9a-f]{4}  ((?:[0-9a-f]{2} ?){1,16})", FORMAT_PAGE.read_text(), re.MULTILINE
    )
    printed = bytes.fromhex(" ".join(lines))
    np.save(tensorpress.directory / "tiny.npy", np.arange(64, dtype="f4").reshape(8, 8))
    tensorpress("compress", "tiny.npy", "--cf", 1, "--attr", "unit=K")
    assert (tensorpress.directory / "tiny.tpz").read_bytes() == printed
    assert np.allclose(tpz_reader.read(printed).elements, 31.5)
