"""quantize, cast and mask as a user meets them: flags, ratios, what happens to values that do not
fit."""

import numpy as np
import pytest


@pytest.fixture
def activations():
    return np.random.default_rng(3).standard_normal((8, 64, 32, 32)).astype("f4")


def compressed(tensorpress, array, *flags):
    np.save(tensorpress.directory / "x.npy", array)
    outcome = tensorpress("compress", "x.npy", "-o", "x.tpz", *flags, "--force", "--json")
    tensorpress("decompress", "x.tpz", "--force", "-o", "y.npy")
    return np.load(tensorpress.directory / "y.npy"), outcome


@pytest.mark.parametrize(
    "bits, ratio",
    [(bits, 1024 / (4 + 32 * bits)) for bits in (1, 2, 3, 4, 5, 6, 8)],
)
@pytest.mark.parametrize("rounding", ["nearest", "stochastic"])
def test_the_ratio_of_a_group_of_256_is_known_beforehand(
    tensorpress, activations, bits, ratio, rounding
):
    back, _ = compressed(
        tensorpress, activations, "--codec", "quantize", "--bits", bits, "--rounding", rounding
    )
    info = tensorpress("info", "x.tpz", "--json").json
    assert info["payload_ratio"] == pytest.approx(ratio, rel=1e-6)
    assert back.shape == activations.shape and np.abs(back - activations).max() < 20 / 2**bits


def test_a_flag_is_enough_to_choose_the_codec(tensorpress, activations):
    compressed(tensorpress, activations, "--bits", 4)
    assert tensorpress("info", "x.tpz", "--json").json["codec"] == "quantize"
    np.save(tensorpress.directory / "z.npy", activations)
    tensorpress("compress", "z.npy", "--to", "e4m3")
    assert tensorpress("info", "z.tpz", "--json").json["codec"] == "cast"


@pytest.mark.parametrize(
    "flags", [["--bits", 4], ["--bits", 1], ["--to", "e4m3"], ["--to", "f16"]], ids=str
)
def test_chunks_with_nan_come_back_bit_for_bit_and_are_counted(tensorpress, activations, flags):
    activations[3, 1, 2, 3] = np.nan
    activations[3, 1, 2, 4] = -np.inf
    back, outcome = compressed(tensorpress, activations, *flags, "--chunk-shape", "1x64x32x32")
    assert np.array_equal(back[3].view("u4"), activations[3].view("u4"))
    assert not np.array_equal(back[2], activations[2])
    assert tensorpress("info", "x.tpz", "--json").json["raw_chunks"] == 1
    assert "stored uncompressed: 1 of 8 chunks" in outcome.err


def test_values_beyond_a_type_are_stored_raw_and_never_become_infinite(tensorpress, activations):
    activations[0, 0, 0, 0] = 70000
    back, outcome = compressed(
        tensorpress, activations, "--to", "f16", "--chunk-shape", "1x64x32x32"
    )
    assert np.isfinite(back).all() and back[0, 0, 0, 0] == 70000
    assert "stored uncompressed" in outcome.err


def test_rectified_values_keep_their_zeros(tensorpress, activations):
    rectified = np.maximum(activations, 0)
    for rounding in ("nearest", "stochastic"):
        back, _ = compressed(tensorpress, rectified, "--bits", 2, "--rounding", rounding)
        assert not back[rectified == 0].any()


def test_seeds_give_other_roundings_and_the_same_seed_the_same_bytes(tensorpress, activations):
    np.save(tensorpress.directory / "x.npy", activations)
    streams = []
    for seed, threads in ((1, 1), (1, 2), (2, 1)):
        tensorpress(
            "compress",
            "x.npy",
            "-o",
            f"{seed}{threads}.tpz",
            "--bits",
            2,
            "--rounding",
            "stochastic",
            "--seed",
            seed,
            "--threads",
            threads,
        )
        streams.append((tensorpress.directory / f"{seed}{threads}.tpz").read_bytes())
    assert streams[0] == streams[1] != streams[2]


def test_chunks_do_not_repeat_the_roundings_of_the_first(tensorpress):
    same = np.tile(np.random.default_rng(1).standard_normal(4096).astype("f4"), (4, 1))
    back, _ = compressed(
        tensorpress, same, "--bits", 2, "--rounding", "stochastic", "--chunk-shape", "1x4096"
    )
    assert len({row.tobytes() for row in back}) == 4


@pytest.mark.parametrize("dtype", ["u1", "i2", "f4", "f8", "f2"])
def test_masks_take_one_bit_a_value_and_are_exact(tensorpress, dtype):
    mask = (np.random.default_rng(2).random((100, 1000)) < 0.3).astype(dtype)
    back, _ = compressed(tensorpress, mask, "--codec", "mask")
    assert np.array_equal(back, mask) and back.dtype == mask.dtype
    assert tensorpress("info", "x.tpz", "--json").json["payload_bytes"] <= 12500 + 8


def test_a_third_value_makes_the_chunk_raw(tensorpress):
    mask = np.zeros((2, 1000), "u1")
    mask[1, :3] = 1, 2, 1
    back, outcome = compressed(tensorpress, mask, "--codec", "mask", "--chunk-shape", "1x1000")
    assert np.array_equal(back, mask) and "stored uncompressed: 1 of 2 chunks" in outcome.err


@pytest.mark.parametrize(
    "flags, named",
    [
        (["--bits", 7], "1|2|3|4|5|6|8"),
        (["--bits", 3, "--group", 128], "multiple of 256"),
        (["--bits", 4, "--group", 100], "multiple of 64"),
        (["--bits", 4, "--group", 70000], "65536"),
        (["--rounding", "up"], "nearest|stochastic"),
        (["--codec", "quantize", "--seed", "-1"], "seed"),
        (["--to", "f8"], "bf16|f16|e4m3|e5m2"),
    ],
    ids=str,
)
def test_wrong_parameters_are_named(tensorpress, flags, named):
    np.save(tensorpress.directory / "x.npy", np.zeros(10, "f4"))
    assert named in tensorpress.refuses("compress", "x.npy", *flags)


def test_types_that_a_codec_does_not_take_are_named(tensorpress):
    np.save(tensorpress.directory / "x.npy", np.zeros(1000, "i2"))
    assert "i16" in tensorpress.refuses("compress", "x.npy", "--bits", 4)
    assert "i16" in tensorpress.refuses("compress", "x.npy", "--to", "bf16")


def test_the_study_of_packing_names_every_case_with_memcpy_beside_it(tensorpress):
    rows = tensorpress(
        "bench", "--study", "pack", "--megabytes", 1, "--repetitions", 1, "--json"
    ).json
    assert {
        "quantize 4 bits nearest",
        "quantize 4 bits stochastic",
        "cast e4m3",
        "mask",
        "signs",
    } <= {row["what"] for row in rows}
    assert all(
        row["memcpy_gb_per_s"] > 0 and row["pack_gb_per_s"] > 0 and row["unpack_gb_per_s"] > 0
        for row in rows
    )
    assert "pack" in tensorpress.refuses("bench", "--study", "packing")
