"""Compressed checkpoints bring back the structure exactly and every tensor within its bound."""

import collections
import json
import math
import os
import zipfile

import pytest

torch = pytest.importorskip("torch")

from torch import nn

import tensorpress
from tensorpress.torch import Checkpoint, load, save


@pytest.fixture
def path(tmp_path):
    return tmp_path / "run.tpck"


class Block(nn.Module):
    """Convolutions, norms, an embedding tied to the output, a buffer."""

    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 48, 3)
        self.norm = nn.BatchNorm2d(48)
        self.embedding = nn.Embedding(100, 48)
        self.attention = nn.MultiheadAttention(48, 4)
        self.head = nn.Linear(48, 100, bias=False)
        self.head.weight = self.embedding.weight
        self.register_buffer("positions", torch.arange(64))

    def forward(self, images, words):
        x = self.norm(self.conv(images)).relu().mean((2, 3))
        x = x + self.embedding(words)
        return self.head(self.attention(x, x, x)[0])


def trained(optimizer=torch.optim.Adam, steps=3, **settings):
    torch.manual_seed(1)
    torch.set_num_threads(1)
    model = Block()
    optimizer = optimizer(model.parameters(), lr=1e-3, **settings)
    for _ in range(steps):
        optimizer.zero_grad()
        out = model(torch.randn(8, 3, 8, 8), torch.randint(0, 50, (8,)))
        nn.functional.cross_entropy(out, torch.randint(0, 100, (8,))).backward()
        optimizer.step()
    return model, optimizer


def tensors_in(value, path=""):
    """(name, tensor) of everything nested."""
    if isinstance(value, torch.Tensor):
        yield path, value
    elif isinstance(value, dict):
        for key, each in value.items():
            yield from tensors_in(each, f"{path}.{key}".lstrip("."))
    elif isinstance(value, (list, tuple)):
        for at, each in enumerate(value):
            yield from tensors_in(each, f"{path}.{at}".lstrip("."))


def span(tensor):
    finite = tensor.double()[torch.isfinite(tensor)]
    return float(finite.max() - finite.min())


def bits(tensor):
    return tensor.detach().contiguous().view(-1).view(torch.uint8).numpy().tobytes()


# ---- Models and optimizers ----


@pytest.mark.parametrize(
    "optimizer, settings",
    [
        (torch.optim.Adam, {"amsgrad": True}),
        (torch.optim.SGD, {"momentum": 0.9}),
        (torch.optim.RMSprop, {}),
        (torch.optim.Adagrad, {}),
    ],
)
def test_a_model_and_its_optimizer_go_on_with_every_tensor_within_its_bound(
    path, optimizer, settings
):
    model, optimizer = trained(optimizer, **settings)
    before = {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "epoch": 7}
    report = save(before, path, relative=1e-3)
    after = load(path)
    originals, copies = dict(tensors_in(before)), dict(tensors_in(after))
    assert copies.keys() == originals.keys()
    for name, original in originals.items():
        copy = copies[name]
        assert (copy.dtype, copy.shape) == (original.dtype, original.shape)
        if original.numel() < 1024 or not original.is_floating_point():
            assert bits(copy) == bits(original), name
        else:
            worst = (copy.double() - original.double()).abs().max()
            assert worst <= 1e-3 * span(original), name
    assert report.ratio > 2
    assert after["epoch"] == 7
    assert after["model"]._metadata == before["model"]._metadata
    assert after["optimizer"]["param_groups"] == before["optimizer"]["param_groups"]
    model.load_state_dict(after["model"])
    optimizer.load_state_dict(after["optimizer"])
    optimizer.step()
    assert all(torch.isfinite(p).all() for p in model.parameters())


def test_loading_gives_what_torch_load_gives_when_everything_is_exact(path):
    model, optimizer = trained()
    before = {"model": model.state_dict(), "optimizer": optimizer.state_dict()}
    save(before, path, "exact")
    torch.save(before, path.with_suffix(".pt"))
    wanted = torch.load(path.with_suffix(".pt"), weights_only=True)
    found = load(path)
    assert type(found["model"]) is type(wanted["model"])
    assert list(found["model"]) == list(wanted["model"])
    assert found["optimizer"].keys() == wanted["optimizer"].keys()
    for (name, a), (other, b) in zip(tensors_in(found), tensors_in(wanted), strict=True):
        assert name == other and bits(a) == bits(b) and a.stride() == b.stride()


def test_second_moments_keep_each_values_own_scale_and_their_sign(path):
    """Adam divides by the root of these: one that became 0 would make a huge step."""
    generator = torch.Generator().manual_seed(4)
    moments = torch.rand(64, 64, generator=generator).pow(12)
    moments[3] = 0
    save({"state": {0: {"exp_avg_sq": moments, "running_var": moments}}}, path, relative=1e-2)
    for name, copy in tensors_in(load(path)):
        assert ((copy - moments).abs() <= 1e-2 * moments).all(), name
        assert (copy[3] == 0).all()
    save({"exp_avg_sq": moments}, path, absolute=1e-2)
    assert bits(load(path)["exp_avg_sq"]) == bits(moments)


def test_values_that_were_not_negative_stay_so_and_zeros_stay_zeros(path):
    generator = torch.Generator().manual_seed(4)
    values = torch.randn(100, 100, generator=generator).relu() * 0.01
    values[0, 0] = 1
    for settings in ({"relative": 0.05}, {"absolute": 0.05, "codec": "ceresz"}):
        save({"w": values}, path, **settings)
        copy = load(path)["w"]
        assert (copy >= 0).all()
        assert (copy[values == 0] == 0).all()
        assert (copy - values).abs().max() <= 0.05


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_nan_keeps_its_bits_where_nothing_is_negative(path, dtype):
    values = torch.rand(40, 50).to(dtype)
    values[::3, ::7] = math.nan
    save({"w": values}, path, relative=0.05)
    copy = load(path)["w"]
    assert bits(copy[::3, ::7]) == bits(values[::3, ::7])
    assert not (copy < 0).any()


@pytest.mark.parametrize("codec", ["dense", "ceresz", "ceresz2"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16, torch.bfloat16])
def test_bounds_hold_for_every_codec_and_type(path, codec, dtype):
    weights = torch.randn(50, 60, generator=torch.Generator().manual_seed(2)).to(dtype)
    weights[1, 2:5] = torch.tensor([math.nan, math.inf, -math.inf])
    save({"w": weights}, path, codec, relative=0.01)
    copy = load(path)["w"]
    finite = torch.isfinite(weights)
    assert copy.dtype == dtype
    assert bits(copy[~finite]) == bits(weights[~finite])
    error = (copy.double() - weights.double())[finite].abs().max()
    assert 0 < error <= 0.01 * span(weights)


def test_codecs_of_a_fixed_rate_are_welcome(path):
    weights = torch.randn(64, 64)
    assert (
        save({"w": weights}, path, "cast", to="bf16").tensors[0].codec == "Codec('cast', to='bf16')"
    )
    assert torch.equal(load(path)["w"], weights.bfloat16().float())
    save({"w": weights}, path, tensorpress.Codec("quantize", bits=8))
    assert (load(path)["w"] - weights).abs().max() < 8 / 255


def test_a_whole_training_state_with_a_scheduler_comes_back(path):
    _, optimizer = trained(torch.optim.SGD, momentum=0.9)
    scheduler = torch.optim.lr_scheduler.MultiStepLR(optimizer, [3, 3, 9])
    save({"scheduler": scheduler.state_dict(), "rng": torch.get_rng_state()}, path, "exact")
    after = load(path)
    scheduler.load_state_dict(after["scheduler"])
    assert scheduler.milestones == collections.Counter({3: 2, 9: 1})
    torch.set_rng_state(after["rng"])


# ---- Rules by name ----


def test_the_first_pattern_that_matches_a_name_decides(path):
    weights = {name: torch.randn(40, 40) for name in ("first", "second", "third", "fourth")}
    bounds = {
        "model.first": "exact",
        "model.s*": {"absolute": 0.5},
        "model.*d": tensorpress.Codec("cast", to="f16"),
    }
    report = save({"model": weights}, path, relative=1e-2, bounds=bounds)
    copies = load(path)["model"]
    assert bits(copies["first"]) == bits(weights["first"])
    worst = (copies["second"] - weights["second"]).abs().max()
    assert 0.05 * span(weights["second"]) < worst <= 0.5
    assert torch.equal(copies["third"], weights["third"].half().float())
    assert [each.codec.split("(")[0] for each in report.tensors] == ["exact"] + ["Codec"] * 3
    assert 0 < report.tensors[3].max_rel_error <= 1e-2


def test_with_bounds_alone_everything_else_is_exact(path):
    weights = {"a": torch.randn(40, 40), "b": torch.randn(40, 40), "small": torch.randn(300)}
    save(weights, path, bounds={"a": {"relative": 1e-2}, "small": {"absolute": 0.3}})
    copies = load(path)
    assert bits(copies["b"]) == bits(weights["b"])
    assert bits(copies["a"]) != bits(weights["a"])
    assert 0 < (copies["small"] - weights["small"]).abs().max() <= 0.3
    save(weights, path, bounds={"*": {"absolute": 0.3}})
    assert bits(load(path)["small"]) == bits(weights["small"])


def test_bad_rules_say_what_is_wrong(path):
    weights = {"a": torch.randn(40, 40)}
    for settings, message in [
        ({}, "keeps an error bound and none is given"),
        (
            {"relative": 1e-3, "bounds": {"model.b": "exact"}},
            "'model.b', which is not the name of a tensor",
        ),
        ({"bounds": {"a": 0.1}}, 'say "exact"'),
        ({"bounds": {"a": {"codec": "brotli"}}}, "there is no codec 'brotli'"),
        ({"relative": 1e-3, "absolute": 1e-3}, "one bound at a time"),
        ({"codec": "exact", "relative": 1e-3}, "takes no relative"),
        ({"codec": "exac"}, "no codec 'exac'; use exact, dense, "),
        ({"relatve": 1e-3}, "Did you mean relative"),
    ]:
        with pytest.raises((ValueError, TypeError), match=message):
            save(weights, path, **settings)
    assert os.listdir(path.parent) == []


# ---- Memory that tensors share ----


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


# ---- Parts, reports, places ----


def test_one_tensor_is_read_without_the_others(path):
    weights = {f"w{n}": torch.randn(300, 300) for n in range(4)}
    save({"model": weights, "steps": torch.arange(5)}, path, relative=1e-3)
    data = bytearray(path.read_bytes())
    with zipfile.ZipFile(path) as archive:
        damaged = archive.getinfo("streams/1.tpz").header_offset + 5000
    data[damaged] ^= 1
    path.write_bytes(data)
    with Checkpoint(path) as checkpoint:
        assert checkpoint.names == ("model.w0", "model.w1", "model.w2", "model.w3", "steps")
        assert (checkpoint["model.w2"] - weights["w2"]).abs().max() < 0.02
        assert torch.equal(checkpoint["steps"], torch.arange(5))
        assert checkpoint.info("model.w0")["codec"] == "dense"
        assert checkpoint.info("model.w0")["parameters"]["bound"] == "rel 0.001"
        assert checkpoint.info("steps")["codec"] == "exact"
        with pytest.raises(tensorpress.CorruptError, match=r"streams/1\.tpz"):
            checkpoint["model.w1"]
        with pytest.raises(KeyError, match=r"\.names has all"):
            checkpoint["model.w9"]


def test_parts_are_streams_that_every_tool_reads(path, tmp_path):
    weights = torch.randn(64, 48)
    save({"w": weights}, path, relative=1e-3)
    with zipfile.ZipFile(path) as archive:
        stream = archive.read("streams/0.tpz")
        assert json.loads(archive.read("checkpoint.json"))["object"] == {"w": {"$tensor": 0}}
    assert tensorpress.info(stream)["shape"] == (64, 48)
    assert tensorpress.verify(weights, stream)["ok"]


def test_the_report_counts_the_bytes_of_the_file_and_the_errors_by_module(path):
    model, _ = trained()
    report = save({"model": model.state_dict()}, path, relative=1e-2)
    assert report.bytes_out == path.stat().st_size
    modules = report.by_module()
    assert set(modules) == {
        "model",
        "model.conv",
        "model.norm",
        "model.embedding",
        "model.attention",
        "model.attention.out_proj",
    }
    weight = model.conv.weight.detach()
    worst = (load(path)["model"]["conv.weight"] - weight).abs().max()
    assert modules["model.conv"]["max_abs_error"] == pytest.approx(worst.item(), rel=1e-6)
    assert modules["model.norm"]["max_abs_error"] == 0
    assert sum(row["bytes_in"] for row in modules.values()) == report.bytes_in
    assert "model.attention" in str(report)
    json.dumps(report.to_dict())


def test_equal_objects_make_equal_files(path):
    model, _ = trained()
    save(model.state_dict(), path, relative=1e-3)
    first = path.read_bytes()
    save(model.state_dict(), path, relative=1e-3, threads=2)
    assert path.read_bytes() == first


def test_tensors_go_where_map_location_says(path):
    save({"w": torch.randn(40, 40)}, path, relative=1e-3)
    assert load(path, "meta")["w"].device.type == "meta"
    assert load(path, {"cpu": "meta"})["w"].device.type == "meta"
    assert load(path, torch.device("cpu"))["w"].device.type == "cpu"
    with pytest.raises(TypeError, match="map_location is a device"):
        load(path, 7)
    if not torch.cuda.is_available():
        with pytest.raises(RuntimeError, match="map_location='cpu'"):
            load(path, "cuda")
