"""torch.distributed.checkpoint writes and reads compressed checkpoints, in one process and two."""

import copy
import json

import pytest

torch = pytest.importorskip("torch")

import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from checkpoint_samples import bits, span, tensors_in, trained
from torch.distributed.checkpoint.state_dict import get_state_dict, set_state_dict
from torch.distributed.tensor import Shard, distribute_tensor, init_device_mesh
from two_ranks import Ranks

import tensorpress
from tensorpress.torch import DistributedReader, DistributedWriter, load

pytestmark = pytest.mark.filterwarnings("ignore:torch.distributed is disabled")


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "run"


def state_of(model, optimizer):
    weights, moments = get_state_dict(model, optimizer)
    return {"model": weights, "optimizer": moments, "epoch": 7, "names": ["a", "b"]}


def saved(folder, *arguments, **settings):
    model, optimizer = trained()
    state = state_of(model, optimizer)
    before = copy.deepcopy(state)
    writer = DistributedWriter(folder, *arguments, **settings)
    dcp.save(state, storage_writer=writer)
    return before, writer


# ---- One process ----


def test_a_model_and_its_optimizer_go_on(folder):
    before, writer = saved(folder, relative=1e-3)
    model, optimizer = trained(steps=1)
    state = state_of(model, optimizer)
    dcp.load(state, storage_reader=DistributedReader(folder, threads=2))
    assert state["epoch"] == 7 and state["names"] == ["a", "b"]
    copies = dict(tensors_in(state))
    for name, original in tensors_in(before):
        if original.numel() < 1024 or not original.is_floating_point():
            assert bits(copies[name]) == bits(original), name
        else:
            worst = (copies[name].double() - original.double()).abs().max()
            assert worst <= 1e-3 * span(original), name
    weights, moments = state["model"], state["optimizer"]
    set_state_dict(model, optimizer, model_state_dict=weights, optim_state_dict=moments)
    optimizer.step()
    (report,) = writer.reports
    assert report.ratio > 2
    assert any(each.names == ["model.conv.weight"] for each in report.tensors)


def test_a_rank_file_is_a_checkpoint_of_its_own(folder):
    before, _ = saved(folder, relative=1e-3)
    (file,) = folder.glob("*.tpck")
    weight = load(file)["model.conv.weight"]
    assert (weight - before["model"]["conv.weight"]).abs().max() <= 1e-3 * span(weight) * 1.01


def test_bounds_are_by_the_names_of_dcp(folder):
    before, _ = saved(folder, bounds={"model.attention.*": {"relative": 1e-2}})
    model, optimizer = trained(steps=1)
    state = state_of(model, optimizer)
    dcp.load(state, storage_reader=DistributedReader(folder))
    for name, original in before["model"].items():
        same = bits(state["model"][name]) == bits(original)
        assert same == (not name.startswith("attention") or original.numel() < 1024), name
    with pytest.raises(dcp.CheckpointException) as raised:
        saved(folder, bounds={"model.atention.*": "exact"}, relative=1e-2)
    assert "is not the name of a tensor" in str(raised.value.failures)


def test_a_new_save_replaces_the_old_one_and_its_files(folder):
    saved(folder, relative=1e-3)
    old = set(folder.glob("*.tpck"))
    saved(folder, relative=1e-2)
    new = set(folder.glob("*.tpck"))
    assert len(new) == 1 and not old & new


def test_a_save_that_fails_leaves_the_old_checkpoint(folder):
    before, _ = saved(folder, "exact")
    with pytest.raises(dcp.CheckpointException):  # such a ratio is out of reach
        writer = DistributedWriter(folder, ratio=1e6)
        dcp.save({"w": torch.randn(2000)}, storage_writer=writer)
    model, optimizer = trained(steps=1)
    state = state_of(model, optimizer)
    dcp.load(state, storage_reader=DistributedReader(folder))
    copies = dict(tensors_in(state))
    assert all(bits(copies[name]) == bits(each) for name, each in tensors_in(before))


LIES = {
    "another format": lambda d: d.update(format="zip"),
    "no storage": lambda d: d.pop("storage"),
    "a file elsewhere": lambda d: d["storage"][0].__setitem__(2, "../run.tpck"),
    "no type": lambda d: next(iter(d["state"].values())).update(dtype="float33"),
    "the planner's": lambda d: d.update(planner={"$tensor": 0}),
}


@pytest.mark.parametrize("lie", LIES)
def test_descriptions_that_lie_are_errors(folder, lie):
    saved(folder, relative=1e-3)
    document = json.loads((folder / "metadata.json").read_text())
    LIES[lie](document)
    (folder / "metadata.json").write_text(json.dumps(document))
    with pytest.raises(tensorpress.CorruptError):
        DistributedReader(folder).read_metadata()


def test_a_newer_version_is_refused(folder):
    saved(folder, relative=1e-3)
    document = json.loads((folder / "metadata.json").read_text())
    (folder / "metadata.json").write_text(json.dumps({**document, "version": 2}))
    with pytest.raises(tensorpress.UnsupportedError, match="version 2"):
        DistributedReader(folder).read_metadata()


# ---- Two processes ----


@pytest.fixture(scope="module")
def ranks(tmp_path_factory):
    started = Ranks(tmp_path_factory.mktemp("gloo") / "rendezvous")
    yield started
    started.stop()


def whole():
    generator = torch.Generator().manual_seed(4)
    return torch.randn(81, 60, generator=generator)


def save_shards(rank, folder):
    mesh = init_device_mesh("cpu", (dist.get_world_size(),))
    sharded = distribute_tensor(whole(), mesh, [Shard(0)])
    state = {"sharded": sharded, "same": whole() + 1, "step": 5}
    writer = DistributedWriter(folder, relative=1e-3, bounds={"same": "exact"})
    dcp.save(state, storage_writer=writer)
    return [each.names for report in writer.reports for each in report.tensors]


def load_shards(rank, folder, axis):
    mesh = init_device_mesh("cpu", (dist.get_world_size(),))
    sharded = distribute_tensor(torch.zeros(81, 60), mesh, [Shard(axis)])
    state = {"sharded": sharded, "same": torch.zeros(81, 60), "step": 0}
    dcp.load(state, storage_reader=DistributedReader(folder))
    return state["sharded"].full_tensor().numpy(), state["same"].numpy(), state["step"]


def test_two_ranks_write_their_parts_and_read_them_in_any_way(ranks, folder):
    names = ranks.run(save_shards, folder)
    assert ["sharded"] in names[0] and ["sharded"] in names[1]
    assert sum(["same"] in each for each in names) == 1
    for axis in (0, 1):
        for sharded, same, step in ranks.run(load_shards, folder, axis):
            worst = (torch.from_numpy(sharded) - whole()).abs().max()
            assert 0 < worst <= 1e-3 * span(whole())
            assert bits(torch.from_numpy(same)) == bits(whole() + 1) and step == 5


def test_one_process_reads_what_two_have_written(ranks, folder):
    ranks.run(save_shards, folder)
    state = {"sharded": torch.zeros(81, 60), "same": torch.zeros(81, 60), "step": 0}
    dcp.load(state, storage_reader=DistributedReader(folder))
    assert 0 < (state["sharded"] - whole()).abs().max() <= 1e-3 * span(whole())
    assert state["step"] == 5
