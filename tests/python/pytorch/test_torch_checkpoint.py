"""Compressed checkpoints bring back the structure exactly and every tensor within its bound."""

import collections
import json
import math
import os
import zipfile

import pytest

torch = pytest.importorskip("torch")

from checkpoint_samples import bits, span, tensors_in, trained

import tensorpress
from tensorpress.torch import Checkpoint, load, save


@pytest.fixture
def path(tmp_path):
    return tmp_path / "run.tpck"


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
