"""Memory that tensors of a checkpoint share: stored once, and shared again when it is loaded."""

import pytest

torch = pytest.importorskip("torch")

from checkpoint_samples import bits, span, trained
from torch import nn

from tensorpress.torch import load, save


@pytest.fixture
def path(tmp_path):
    return tmp_path / "run.tpck"


def test_tied_weights_are_stored_once_and_stay_tied(path):
    model, _ = trained()
    report = save(model.state_dict(), path, relative=1e-3)
    state = load(path)
    assert state["head.weight"].data_ptr() == state["embedding.weight"].data_ptr()
    state["head.weight"][0, 0] = 5
    assert state["embedding.weight"][0, 0] == 5
    (tied,) = [each for each in report.tensors if len(each.names) == 2]
    assert tied.names == ["embedding.weight", "head.weight"]
    unique = {p.data_ptr(): p.nbytes for p in model.state_dict().values()}
    assert report.bytes_in == sum(unique.values())


def test_tied_weights_keep_the_smaller_of_their_bounds(path):
    weight = torch.randn(40, 40)
    tied = {"a": weight, "b": weight.T}
    save(tied, path, bounds={"a": {"absolute": 0.1}, "b": {"absolute": 0.01}})
    assert (load(path)["a"] - weight).abs().max() <= 0.01
    save(tied, path, relative=0.1, bounds={"b": "exact"})
    assert bits(load(path)["a"]) == bits(weight)
    with pytest.raises(ValueError, match="a and b share memory and have different bounds"):
        save(tied, path, bounds={"a": {"absolute": 0.1}, "b": {"relative": 0.01}})


def test_the_same_tensor_twice_is_the_same_tensor_again(path):
    weight = nn.Parameter(torch.randn(40, 40))
    save([weight, {"again": weight}], path, relative=1e-2)
    first, second = load(path)
    assert first is second["again"] and isinstance(first, nn.Parameter)


def test_views_see_each_others_memory_and_keep_their_own_bounds(path):
    """A flat buffer with small and large parts: the bound is that of the smallest."""
    whole = torch.randn(4096, generator=torch.Generator().manual_seed(1))
    whole[:2048] *= 1e-3
    before = {"flat": whole, "low": whole[:2048].view(32, 64), "high": whole[2048:].view(64, 32).T}
    save(before, path, relative=1e-2)
    after = load(path)
    for name, tensor in before.items():
        assert after[name].stride() == tensor.stride()
        assert (after[name] - tensor).abs().max() <= 1e-2 * span(tensor), name
    after["low"].zero_()
    assert (after["flat"][:2048] == 0).all() and (after["high"] != 0).any()


def test_a_slice_does_not_carry_the_rest_of_its_storage(path):
    big = torch.randn(1000, 1000)
    report = save({"part": big[10:12, ::2]}, path, "exact")
    assert report.bytes_out < 20_000
    assert torch.equal(load(path)["part"], big[10:12, ::2])
    assert load(path)["part"].stride() == (1000, 2)


@pytest.mark.parametrize(
    "make",
    [
        lambda: torch.randn(8, 16, 4, 4).to(memory_format=torch.channels_last),
        lambda: torch.randn(50, 40).T,
        lambda: torch.randn(40).expand(50, 40),
        lambda: torch.randn(1, 50, 1, 40),
        lambda: torch.randn(2, 2, 2, 2, 2, 2, 2, 2, 2, 2),
        lambda: torch.randn(60, 60)[::2, 1::3],
    ],
    ids=["channels last", "transposed", "expanded", "ones", "ten axes", "steps"],
)
def test_strides_come_back(path, make):
    tensor = make()
    save({"t": tensor}, path, relative=1e-3)
    copy = load(path)["t"]
    assert copy.stride() == tensor.stride()
    assert (copy - tensor).abs().max() <= 1e-3 * span(tensor)


def test_memory_seen_through_two_types_is_exact(path):
    numbers = torch.randn(2000)
    save({"floats": numbers, "bits": numbers[1:].view(torch.int32)}, path, relative=1e-2)
    copies = load(path)
    assert torch.equal(copies["floats"], numbers)
    assert torch.equal(copies["bits"], numbers[1:].view(torch.int32))
    copies["bits"].zero_()
    assert (copies["floats"][1:] == 0).all() and copies["floats"][0] != 0
