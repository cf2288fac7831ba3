"""model cost: a model's real graph, liveness and plan on one and many accelerators."""

import pytest

TEXT = """
model small
input x: f32[N, 3, 32, 32]
target y: i64[N]
h = conv1: conv2d(x, 32, 3, padding = 1)
h = relu(h)
h = conv2: conv2d(h, 32, 3, padding = 1)
h = relu(h)
h = fc: linear(flatten(h), 10)
loss cross_entropy(h, y)
"""
DEVICES = ["a100", "cs2", "groqchip", "ipu", "sn30"]


@pytest.fixture
def cost(tensorpress, tmp_path):
    path = tmp_path / "small.tpm"
    path.write_text(TEXT)
    return lambda *options: tensorpress("model", "cost", path, "--json", *options).json


def test_parameters_and_flops_are_those_of_the_model(tensorpress, cost, tmp_path):
    one = cost("--batch", "100")
    weights = 3 * 32 * 9 + 32 + 32 * 32 * 9 + 32 + 32 * 32 * 32 * 10 + 10
    # Weights, gradients and one value of momentum.
    assert sum(stage["parameter_bytes"] for stage in one["by_stage"]) == pytest.approx(
        3 * 4 * weights
    )
    flops = tensorpress("model", "check", tmp_path / "small.tpm", "--json", "--batch", "100").json[
        "forward_flops"
    ]
    # Forward and at most twice that backward, at the peak or slower where memory is.
    assert one["by_stage"][0]["compute_seconds"] >= 2 * flops / 87.1e12


@pytest.mark.parametrize("device", DEVICES)
def test_every_device_has_a_cost(cost, device):
    assert cost("--device", device, "--batch", "10")["samples_per_second"] > 0


def test_a_plan_pays_where_activations_stream(cost):
    batch = ["--batch", "2000", "--micro-batches", "1"]
    plain, packed = cost(*batch), cost(*batch, "--plan", "max")
    assert not plain["by_stage"][0]["stash_on_chip"]
    assert packed["by_stage"][0]["stash_bytes"] < plain["by_stage"][0]["stash_bytes"]
    assert packed["speedup"] > 1.1 and plain["speedup"] == 1


def test_devices_are_split_as_asked(cost):
    assert cost("--ipus", "4", "--parallel", "pipeline")["stages"] == 4
    assert cost("--ipus", "4", "--parallel", "data")["replicas"] == 4
    mixed = cost("--ipus", "4", "--parallel", "mixed")
    assert (mixed["stages"], mixed["replicas"]) == (2, 2)
    best = cost("--ipus", "4", "--search")
    assert best["samples_per_second"] >= mixed["samples_per_second"]


def test_impossible_splits_are_refused(tensorpress, cost, tmp_path):
    path = tmp_path / "small.tpm"
    refuse = lambda *options: tensorpress.refuses("model", "cost", path, *options)
    assert "operators to put into them" in refuse("--ipus", "64", "--parallel", "pipeline")
    assert "not one of pipeline" in refuse("--parallel", "tensor")
    assert "several replicas" in refuse("--ipus", "3", "--parallel", "mixed")
    assert "did you mean 'ipu'" in refuse("--device", "ipv")


def test_that_nothing_fits_is_an_answer_with_status_1(tensorpress, cost, tmp_path):
    options = ["model", "cost", tmp_path / "small.tpm", "--batch", "100000", "--micro-batches", "1"]
    words = tensorpress(*options, status=1).out.decode()
    assert "does not fit" in words and "would fit" in words and words.count("\n") == 1
    told = tensorpress(*options, "--json", status=1).json
    assert told["fits"] is False and told["batch"] == 100000
    assert told["reasons"] == [words.strip()]


def test_samples_are_those_of_the_batch(tensorpress, cost, tmp_path):
    path = tmp_path / "small.tpm"
    said = tensorpress.refuses("model", "cost", path, "--size", "N=8")
    assert "--size N=8 is the batch" in said and "--batch is 100; give --batch 8" in said
    assert cost("--batch", "8", "--size", "N=8") == cost("--batch", "8")
    assert tensorpress("model", "check", path, "--size", "N=8").out.endswith(b"flops at N = 8\n")


def test_options_that_would_change_nothing_are_refused(tensorpress, cost, tmp_path):
    path = tmp_path / "small.tpm"
    said = tensorpress.refuses("model", "cost", path, "--statistics", "nowhere.json")
    assert "--statistics" in said
    assert "--micro-batches" in tensorpress.refuses("model", "cost", path, "--micro-batches", "0")


def test_what_fits_only_packed_is_told_so(tensorpress, tmp_path):
    (tmp_path / "small.tpm").write_text(TEXT)
    ipu = tensorpress("device", "show", "ipu", "--toml").out.decode()
    assert "value = 64e9, origin" in ipu
    # An IPU with next to no memory beside it.
    (tmp_path / "alone.toml").write_text(
        ipu.replace("value = 64e9, origin", "value = 1e6, origin", 1)
    )
    options = ["--device", tmp_path / "alone.toml", "--micro-batches", "1", "--batch", "2000"]
    sentence = tensorpress("model", "cost", tmp_path / "small.tpm", *options, status=1).out.decode()
    assert "would fit; with --plan max this batch would fit" in sentence
    tensorpress("model", "cost", tmp_path / "small.tpm", *options, "--plan", "max")
