"""What optimizers divide by keeps a bound for each value, by the bits of floats where they suit."""

import json
import zipfile

import pytest

torch = pytest.importorskip("torch")

from checkpoint_samples import bits

import tensorpress
from tensorpress.torch import Checkpoint, load, save

SHARE = 1e-3


@pytest.fixture
def path(tmp_path):
    return tmp_path / "run.tpck"


def moments(count=50_000, lowest=-30, highest=1):
    """Second moments: many powers of ten, some neighbours alike."""
    generator = torch.Generator().manual_seed(3)
    powers = torch.rand(count, generator=generator) * (highest - lowest) + lowest
    return 10.0**powers


def document(path):
    with zipfile.ZipFile(path) as archive:
        return json.loads(archive.read("checkpoint.json"))


def rewritten(path, change):
    """The same file with another description."""
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    fields = json.loads(parts["checkpoint.json"])
    change(fields)
    parts["checkpoint.json"] = json.dumps(fields).encode()
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in parts.items():
            archive.writestr(name, content)


def shares(copy, original):
    return (copy.double() - original.double()).abs() / original.double()


@pytest.mark.parametrize("codec", ["dense", "ceresz"])
@pytest.mark.parametrize("share", [1e-4, 1e-3, 0.1])
def test_every_value_keeps_its_own_bound(path, codec, share):
    values = moments()
    values[::7] = 0
    report = save({"exp_avg_sq": values}, path, codec, relative=share)
    copy = load(path)["exp_avg_sq"]
    there = values > 0
    assert shares(copy[there], values[there]).max() <= share
    assert bits(copy[~there]) == bits(values[~there])
    assert document(path)["version"] == 2
    assert document(path)["storages"][0]["floats_as_bits"]
    error = (copy.double() - values.double()).abs().max()
    assert report.tensors[0].max_abs_error == pytest.approx(float(error), rel=1e-6)
    assert report.ratio > 1.2
    with Checkpoint(path) as checkpoint:
        assert checkpoint.info("exp_avg_sq")["floats_as_bits"]


def test_powers_of_two_and_their_neighbours_keep_the_bound(path):
    """Where the exponent changes, an error in the bits means most."""
    edges = 2.0 ** torch.arange(-120, 120, dtype=torch.float32)
    below = torch.nextafter(edges, torch.tensor(0.0))
    values = (
        torch.stack([below, edges, torch.nextafter(edges, edges * 2)], 1).repeat(7, 1).flatten()
    )
    save({"exp_avg_sq": values}, path, relative=0.2)
    assert document(path)["version"] == 2
    assert shares(load(path)["exp_avg_sq"], values).max() <= 0.2


@pytest.mark.parametrize(
    "odd",
    [
        [1e-40],
        [-0.0],
        [-1.0],
        [float("inf")],
        [float("nan")],
        [3e38],
    ],
)
def test_values_that_bits_do_not_suit_keep_their_bound_too(path, odd):
    values = moments(5000)
    values[100 : 100 + len(odd)] = torch.tensor(odd)
    save({"exp_avg_sq": values}, path, relative=SHARE)
    assert document(path)["version"] == 1
    copy = load(path)["exp_avg_sq"]
    special = ~torch.isfinite(values) | (values == 0)
    assert bits(copy[special]) == bits(values[special])
    ordinary = ~special
    assert (copy - values).abs()[ordinary].double().div(
        values[ordinary].abs()
    ).max() <= SHARE * 1.01
    assert shares(copy[ordinary], values[ordinary]).abs().max() <= SHARE


@pytest.mark.parametrize("dtype", [torch.float64, torch.float16, torch.bfloat16])
def test_other_types_go_the_codecs_own_way(path, dtype):
    values = moments(5000, lowest=-3).to(dtype)
    save({"exp_avg_sq": values}, path, relative=0.01)
    assert document(path)["version"] == 1
    assert shares(load(path)["exp_avg_sq"], values).max() <= 0.01


def test_a_bound_finer_than_the_rounding_of_bits_is_kept_otherwise(path):
    save({"exp_avg_sq": moments(5000)}, path, relative=1e-6)
    assert document(path)["version"] == 1
    assert shares(load(path)["exp_avg_sq"], moments(5000)).max() <= 1e-6


def test_streams_of_bits_that_hold_anything_are_no_danger(path):
    wild = torch.randn(4096) * 1e30
    wild[:3] = torch.tensor([float("nan"), float("inf"), -float("inf")])
    save({"exp_avg_sq": wild}, path, bounds={"exp_avg_sq": {"absolute": 1e27}})

    def lie(fields):
        fields["version"] = 2
        fields["storages"][0]["floats_as_bits"] = True

    rewritten(path, lie)
    copy = load(path)["exp_avg_sq"]
    assert copy.shape == wild.shape and not torch.isinf(copy).any() and not (copy < 0).any()


def test_bits_of_another_type_are_damage(path):
    save({"exp_avg_sq": moments(4096).double()}, path, relative=0.01)

    def lie(fields):
        fields["version"] = 2
        fields["storages"][0]["floats_as_bits"] = True

    rewritten(path, lie)
    with pytest.raises(tensorpress.CorruptError, match="something else than float32"):
        load(path)


# ---- Effort and threads ----


def test_dense_works_at_its_fast_effort_if_nothing_is_said(path):
    weights = {"w": torch.randn(100, 100)}
    assert "fast" in save(weights, path, relative=1e-3).tensors[0].codec
    assert "fast" in save(weights, path, bounds={"w": {"relative": 1e-3}}).tensors[0].codec
    asked = save(weights, path, relative=1e-3, effort="normal").tensors[0].codec
    assert "normal" in asked and "fast" not in asked
    bounds = {"w": {"codec": "ceresz", "relative": 1e-3}}
    assert "ceresz" in save(weights, path, bounds=bounds).tensors[0].codec


def test_any_number_of_threads_writes_the_same_file_and_reads_it(tmp_path):
    generator = torch.Generator().manual_seed(5)
    state = {f"w{i}": torch.randn(30 * i + 40, 50, generator=generator) for i in range(8)}
    state |= {f"{i}": {"exp_avg_sq": moments(3000 + i)} for i in range(3)}
    state["step"] = torch.tensor(3)
    contents = []
    for threads in (1, 2, 5):
        save(state, tmp_path / "run.tpck", relative=1e-3, threads=threads)
        contents.append((tmp_path / "run.tpck").read_bytes())
    assert contents[0] == contents[1] == contents[2]
    one, three = (load(tmp_path / "run.tpck", threads=threads) for threads in (1, 3))
    assert list(one) == list(three) == list(state)
    for name, tensor in one.items():
        if isinstance(tensor, torch.Tensor):
            assert bits(tensor) == bits(three[name])
        else:
            assert bits(tensor["exp_avg_sq"]) == bits(three[name]["exp_avg_sq"])


def test_a_fault_in_a_thread_is_raised_and_leaves_the_old_file(tmp_path):
    path = tmp_path / "run.tpck"
    save({"a": torch.ones(2000)}, path, "exact")
    before = path.read_bytes()
    state = {f"w{i}": torch.randn(2000) for i in range(4)}
    with pytest.raises(ValueError, match="out of reach"):
        save(state, path, bounds={"w2": {"ratio": 1e6}, "*": {"relative": 0.1}}, threads=3)
    assert path.read_bytes() == before and len(list(tmp_path.iterdir())) == 1
