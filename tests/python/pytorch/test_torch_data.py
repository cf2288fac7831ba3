"""Compressed training data: what comes out of the loader is what the codec makes of the samples."""

import datetime
import os
import pickle
import shutil
from multiprocessing.reduction import ForkingPickler

import numpy as np
import pytest

import tensorpress

torch = pytest.importorskip("torch")

from torch.utils.data import DataLoader, SubsetRandomSampler, TensorDataset

from tensorpress.torch import CompressedDataset, CompressedLoader


def pictures(count=23, shape=(3, 32, 32), seed=0):
    """Smooth enough to compress, different enough to tell apart."""
    generator = torch.Generator().manual_seed(seed)
    noise = torch.rand((count, *shape), generator=generator)
    ramp = torch.linspace(0, 1, shape[-1]).expand(noise.shape)
    return ramp + noise / 8 + torch.arange(count).reshape(-1, *[1] * len(shape))


def through_the_codec(samples, codec="dct-chop", **parameters):
    parameters = parameters or {"cf": 4}
    chunk = (1, *samples.shape[1:])
    stream = tensorpress.compress(samples, codec, chunk_shape=chunk, **parameters)
    return torch.from_numpy(tensorpress.decompress(stream))


def in_order(loader, count, shape):
    """All samples of an epoch at their places, by the labels that came with them."""
    result = torch.full((count, *shape), torch.nan)
    for inputs, labels in loader:
        result[labels] = inputs
    return result


@pytest.mark.parametrize("where", ["worker", "device"])
@pytest.mark.parametrize("layout", ["square", "triangle"])
@pytest.mark.parametrize("shape", [(3, 32, 32), (1, 30, 21), (17, 40)])
def test_shuffled_batches_hold_what_the_codec_makes_of_each_sample(where, layout, shape):
    samples = pictures(23, shape)
    data = CompressedDataset(TensorDataset(samples, torch.arange(23)), cf=5, layout=layout)
    loader = CompressedLoader(data, batch_size=10, shuffle=True, where=where)
    expected = through_the_codec(samples, cf=5, layout=layout)
    tolerance = 0 if where == "worker" else 1e-4
    got = in_order(loader, 23, shape)
    torch.testing.assert_close(got, expected, rtol=0, atol=tolerance)
    assert loader.report().samples == 23
    assert [len(labels) for _, labels in loader] == [10, 10, 3]


@pytest.mark.parametrize("context", ["fork", "spawn"])
@pytest.mark.parametrize("kept", ["memory", "folder"])
def test_two_worker_processes_give_what_none_gives(context, kept, tmp_path):
    samples = pictures()
    folder = tmp_path / "data" if kept == "folder" else None
    source = TensorDataset(samples, torch.arange(23))
    data = CompressedDataset(source, cf=3, folder=folder, shard_bytes=1 << 17)
    data[0]  # what is open here must not disturb the workers
    loader = CompressedLoader(
        data, batch_size=4, shuffle=True, num_workers=2, multiprocessing_context=context
    )
    assert torch.equal(in_order(loader, 23, (3, 32, 32)), through_the_codec(samples, cf=3))


def test_pytorchs_own_loader_and_samplers_work_too():
    samples = pictures()
    data = CompressedDataset(TensorDataset(samples, torch.arange(23)), cf=4)
    expected = through_the_codec(samples)
    assert torch.equal(in_order(DataLoader(data, 5), 23, (3, 32, 32)), expected)
    chosen = SubsetRandomSampler([2, 3, 4, 11])
    seen = torch.cat([labels for _, labels in CompressedLoader(data, 3, sampler=chosen)])
    assert sorted(seen.tolist()) == [2, 3, 4, 11]
    batches = CompressedLoader(data, batch_sampler=[[22, 0], [5]])
    assert [labels.tolist() for _, labels in batches] == [[22, 0], [5]]


@pytest.mark.parametrize(
    "codec, parameters",
    [
        ("dense", {"absolute": 1e-3}),
        ("ceresz", {"relative": 1e-3}),
        ("quantize", {"bits": 8}),
        ("cast", {"to": "bf16"}),
        ("dct-chop", {"cf": 4, "coefficients": "bf16"}),
        ("dct-chop", {"cf": 2, "transform": "zfp"}),
    ],
)
def test_any_codec_can_keep_the_samples(codec, parameters):
    samples = pictures(9)
    data = CompressedDataset(list(samples), codec, **parameters)
    assert torch.equal(torch.stack(list(data)), through_the_codec(samples, codec, **parameters))
    if codec == "dct-chop":
        (batch,) = CompressedLoader(data, 9, where="device")
        torch.testing.assert_close(batch, torch.stack(list(data)), rtol=0, atol=1e-4)


def test_pictures_of_bytes_become_floats_by_the_stated_normalization():
    bytes_ = (pictures(6) % 1 * 255).to(torch.uint8)
    plain = CompressedDataset(list(bytes_), cf=8)
    torch.testing.assert_close(plain[3], bytes_[3] / 255, rtol=0, atol=1e-5)
    assert plain.normalization == "x / 255"
    mean, std = [0.5, 0.4, 0.3], [0.2, 0.25, 0.5]
    data = CompressedDataset(list(bytes_), cf=8, normalize=(mean, std))
    means, deviations = (torch.tensor(each)[:, None, None] for each in (mean, std))
    expected = (bytes_[3] / 255 - means) / deviations
    torch.testing.assert_close(data[3], expected, rtol=0, atol=1e-4)
    assert data.normalization == f"x / 255, then (x - {mean}) / {std}"
    assert data.original_bytes == bytes_.numel() and data.decompressed_bytes == 4 * bytes_.numel()


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64])
def test_samples_come_back_in_their_own_type(dtype):
    samples = pictures(4).to(dtype)
    expected = through_the_codec(samples.float()).to(dtype)
    data = CompressedDataset(list(samples), cf=4)
    for where in ("worker", "device"):
        (batch,) = CompressedLoader(data, 4, where=where)
        assert batch.dtype == dtype
        torch.testing.assert_close(batch, expected, rtol=1e-2, atol=1e-2)


def test_labels_of_every_kind_stay_as_they_are(tmp_path):
    samples = pictures(5)
    targets = torch.rand(5, 2, 2)
    rows = [(samples[i], i, targets[i], f"name {i}") for i in range(5)]
    data = CompressedDataset(rows, cf=4, folder=tmp_path / "data")
    for each in (data, CompressedDataset.open(tmp_path / "data")):
        _, number, target, name = each[-2]
        assert (number, name) == (3, "name 3") and torch.equal(target, targets[3])
        ((_, numbers, batch, names),) = CompressedLoader(each, 5)
        assert numbers.tolist() == [0, 1, 2, 3, 4] and torch.equal(batch, targets)
        assert list(names) == [f"name {i}" for i in range(5)]


def test_labels_of_numpy_come_back_from_a_folder(tmp_path):
    kinds = (np.int64, np.float32, np.bool_, str, lambda i: np.arange(i, i + 3), lambda i: {"n": i})
    rows = [(sample, *(kind(i) for kind in kinds)) for i, sample in enumerate(pictures(5))]
    CompressedDataset(rows, cf=4, folder=tmp_path / "data").close()
    _, *labels = CompressedDataset.open(tmp_path / "data")[3]
    assert labels[:4] == [3, 3.0, True, "3"] and labels[5] == {"n": 3}
    assert [type(label) for label in labels] == [type(label) for label in rows[3][1:]]
    assert labels[4].tolist() == [3, 4, 5]


def test_labels_that_a_folder_could_not_give_back_are_refused_at_once(tmp_path):
    rows = [(sample, datetime.date(2000, 1, 1)) for sample in pictures(3)]
    with pytest.raises(TypeError, match="a label is or holds a date"):
        CompressedDataset(rows, cf=4, folder=tmp_path / "data")
    assert not list((tmp_path / "data").iterdir())
    assert CompressedDataset(rows, cf=4)[1][1] == rows[1][1]  # memory holds anything


def test_a_dataset_in_memory_outlives_being_sent_to_workers():
    """PyTorch moves tensors into shared memory then, and frees what they were in."""
    data = CompressedDataset(list(pictures(200)), cf=4)
    sample, stored = data[7].clone(), data.coefficients([7]).clone()
    ForkingPickler.dumps(data)
    others = [torch.full((data.stored_bytes,), 255, dtype=torch.uint8) for _ in range(8)]
    assert torch.equal(data.coefficients([7]), stored)
    assert torch.equal(data[7], sample) and len(others) == 8


def test_a_folder_that_was_damaged_says_which_file_it_is(tmp_path):
    CompressedDataset(TensorDataset(pictures(3), torch.arange(3)), cf=4, folder=tmp_path / "good")
    for name, content in (
        ("dataset.json", b"{"),
        ("dataset.json", b"[]"),
        ("dataset.json", b'{"codec": {"codec": "dct-chop"}}'),
        ("labels.pt", b"no labels"),
        ("labels.pt", pickle.dumps([os.getcwd], protocol=2)),
    ):
        folder = tmp_path / "damaged"
        shutil.copytree(tmp_path / "good", folder)
        (folder / name).write_bytes(content)
        with pytest.raises(tensorpress.CorruptError, match=name):
            CompressedDataset.open(folder)
        shutil.rmtree(folder)
    torch.save([torch.arange(2)], tmp_path / "good" / "labels.pt")
    with pytest.raises(tensorpress.CorruptError, match="one label for each"):
        CompressedDataset.open(tmp_path / "good")


def test_samples_of_the_other_byte_order_are_swapped_and_masked_ones_refused():
    samples = pictures(2).numpy()
    swapped = CompressedDataset(list(samples.astype(">f4")), cf=4)
    assert torch.equal(swapped[1], CompressedDataset(list(samples), cf=4)[1])
    with pytest.raises(TypeError, match="sample 0 is a masked array"):
        CompressedDataset(list(np.ma.masked_greater(samples, 1)), cf=4)


def test_a_folder_named_from_here_is_found_from_elsewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    written = CompressedDataset(list(pictures(3)), cf=4, folder="data")
    opened = CompressedDataset.open("data")
    opened.close()
    monkeypatch.chdir("/")
    assert torch.equal(opened[2], written[2])


def test_indices_count_from_either_end_or_are_refused():
    data = CompressedDataset(list(pictures(9)), cf=4, shard_bytes=40_000)
    assert torch.equal(data.inputs([-1, 0, -9]), data.inputs([8, 0, 0]))
    assert torch.equal(data.coefficients([-2]), data.coefficients([7]))
    assert len(data.inputs([])) == len(data.coefficients([])) == 0
    for read in (data.inputs, data.coefficients, lambda indices: data[indices[0]]):
        with pytest.raises(IndexError, match="9 samples"):
            read([9])
        with pytest.raises(TypeError):
            read([1.5])


def test_the_report_counts_the_bytes_that_are_there(tmp_path):
    samples = pictures()
    data = CompressedDataset(list(samples), cf=4, folder=tmp_path / "data", shard_bytes=100_000)
    files = list((tmp_path / "data").glob("*.tpz"))
    assert len(files) == 3
    loader = CompressedLoader(data, 4)
    for _ in loader:
        pass
    report = loader.report().as_dict()
    assert report["stored_bytes"] == sum(file.stat().st_size for file in files)
    assert report["saved_bytes"] == samples.numel() * 4 - report["stored_bytes"]
    # 16 of 64 coefficients, and 48 bytes for a frame and its place in the index.
    assert 3.5 < report["ratio"] < 4
    assert report["samples"] == 23 and report["batches"] == 6 and report["epochs"] == 1
    assert 0 < report["decompression_seconds"] <= report["wait_seconds"] + report["startup_seconds"]
    assert not report["hidden"]  # no worker decompressed while the loop worked
    assert "x / 255" not in str(loader.report()) and "ratio" in str(loader.report())


def test_a_pickled_dataset_reads_the_same_files_and_closing_gives_them_back(tmp_path):
    samples = pictures(8)
    data = CompressedDataset(list(samples), cf=4, folder=tmp_path / "data")

    def open_files():
        links = [f"/proc/self/fd/{number}" for number in os.listdir("/proc/self/fd")]
        return [os.readlink(link) for link in links if os.path.exists(link)]

    copy = pickle.loads(pickle.dumps(data))
    with data:
        assert torch.equal(copy[5], data[5])
        assert any(name.endswith(".tpz") for name in open_files())
    copy.close()
    assert not any(name.endswith(".tpz") for name in open_files())
    assert torch.equal(data[5], through_the_codec(samples)[5])


def test_damaged_files_are_an_error_on_the_worker_and_on_the_device(tmp_path):
    CompressedDataset(list(pictures(8)), cf=4, folder=tmp_path / "data").close()
    (file,) = (tmp_path / "data").glob("*.tpz")
    content = bytearray(file.read_bytes())
    content[2000] ^= 1
    file.write_bytes(content)
    for where in ("worker", "device"):
        data = CompressedDataset.open(tmp_path / "data")
        with pytest.raises(tensorpress.CorruptError, match="checksum"):
            list(CompressedLoader(data, 8, where=where))


def test_nan_is_refused_by_dct_chop_and_kept_by_dense():
    samples = pictures(3)
    samples[2, 0, 0, 1] = torch.nan
    with pytest.raises(ValueError, match=r"samples from number 2 on, .*\[0, 0, 0, 1\] is NaN"):
        CompressedDataset(list(samples), cf=4, shard_bytes=2 * samples[0].nbytes)
    data = CompressedDataset(list(samples), "dense", absolute=1e-3)
    assert torch.equal(data[2].isnan(), samples[2].isnan())


def test_samples_that_dct_chop_cannot_make_smaller_stay_on_the_worker():
    data = CompressedDataset(list(pictures(3).half()), cf=8)
    assert torch.equal(data[1], pictures(3).half()[1])
    with pytest.raises(ValueError, match="worker"):
        list(CompressedLoader(data, 3, where="device"))


@pytest.mark.parametrize(
    "source, options, kind, message",
    [
        ([torch.zeros(3, 8, 8, dtype=torch.int64)], {}, TypeError, r"int64.*\.float\(\)"),
        ([torch.zeros(3, 8, 8, dtype=torch.bool)], {}, TypeError, r"bool.*\.float\(\)"),
        ([np.zeros((8, 8), np.complex64)], {}, TypeError, "complex64"),
        (["picture"], {}, TypeError, "str; make it a tensor"),
        ([torch.zeros(3, 8, 8, device="meta")], {}, TypeError, r"meta.*\.cpu\(\)"),
        ([torch.zeros(8, 8), torch.zeros(8, 9)], {}, ValueError, r"sample 1 .*\(8, 9\).*one shape"),
        ([torch.zeros(9)], {}, ValueError, "no planes.*quantize"),
        ([], {}, ValueError, "empty"),
        (iter([torch.zeros(8, 8)]), {}, TypeError, "map-style"),
        ([torch.zeros(8, 8)], {"cf": 9}, ValueError, "cf"),
        ([torch.zeros(8, 8)], {"codec": "gzip"}, ValueError, "gzip"),
        ([torch.zeros(3, 8, 8)], {"normalize": ([0.5], [0.2])}, ValueError, "1 channels"),
        ([torch.zeros(3, 8, 8)], {"normalize": ([0.5], [0.0])}, ValueError, "above 0"),
        ([(torch.zeros(8, 8), 1), torch.zeros(8, 8)], {}, ValueError, "sample 1 has 0 labels"),
    ],
)
def test_what_cannot_be_a_dataset_is_refused_with_the_way_out(source, options, kind, message):
    with pytest.raises(kind, match=message):
        CompressedDataset(source, **options)


def test_a_loader_refuses_what_it_cannot_do():
    data = CompressedDataset(list(pictures(3)), "quantize", bits=8)
    for options, message in [
        ({"where": "device"}, "quantize has no portable form"),
        ({"where": "host"}, "worker, device"),
        ({"device": "cuda:7"}, "leave device out"),
        ({"batch_size": None}, "batches"),
    ]:
        with pytest.raises(ValueError, match=message):
            CompressedLoader(data, **options)
    with pytest.raises(TypeError, match="CompressedDataset"):
        CompressedLoader(pictures(3))
    with pytest.raises(IndexError, match="3 samples"):
        data[3]


def test_a_folder_that_is_not_finished_or_not_empty_is_refused(tmp_path):
    with pytest.raises(FileNotFoundError, match="interrupted"):
        CompressedDataset.open(tmp_path)
    (tmp_path / "something").touch()
    with pytest.raises(FileExistsError, match="empty folder"):
        CompressedDataset(list(pictures(3)), folder=tmp_path)


@pytest.mark.parametrize("shape, cf", [((1, 8, 8), 1), ((1, 16, 16), 2), ((3, 64, 64), 4)])
def test_payloads_of_every_size_are_found_where_they_lie(shape, cf):
    """Short ones, which may repeat the one before, and long ones, with a mark before them."""
    samples = torch.zeros(6, *shape)
    samples[2], samples[5] = 1, 2
    dataset = CompressedDataset(samples, codec="dct-chop", cf=cf)
    rows = dataset.coefficients([0, 1, 2, 3, 5])
    assert rows.dtype == torch.float32 and rows.shape[0] == 5
    torch.testing.assert_close(rows[:, 0], torch.tensor([0.0, 0, 8, 0, 16]))
