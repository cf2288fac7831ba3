"""Samples of several parts: whole numbers exactly, floats with a codec, the rest as it is."""

import json

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from torch.utils.data import DataLoader

import tensorpress
from tensorpress.torch import CompressedDataset, CompressedRecords


def texts(count=40, vocabulary=32000):
    generator = torch.Generator().manual_seed(1)

    def text(length):
        return {
            "input_ids": torch.randint(0, vocabulary, (length,), generator=generator),
            "attention_mask": torch.ones(length, dtype=torch.int64),
            "segments": torch.rand(2, length, generator=generator) > 0.5,
            "features": torch.rand(4, 8, generator=generator),
            "name": f"text {length}",
        }

    return [text(int(length)) for length in torch.randint(1, 200, (count,), generator=generator)]


def same(one, other):
    assert one.keys() == other.keys()
    for key, part in one.items():
        if isinstance(part, torch.Tensor):
            assert part.dtype == other[key].dtype and torch.equal(part, other[key]), key
        else:
            assert part == other[key]


@pytest.mark.parametrize("shard_bytes", [1000, 64 << 20])
def test_dicts_of_any_lengths_come_back_exactly(shard_bytes):
    source = texts()
    data = CompressedRecords(source, shard_bytes=shard_bytes)
    assert len(data) == 40
    for index in [*range(40), -1, -40]:
        same(data[index], source[index])
    with pytest.raises(IndexError, match="40 samples"):
        data[40]


def test_tokens_take_the_bits_that_they_need():
    tokens = [torch.randint(0, 32000, (2048,)) for _ in range(20)]
    tokens[3][:2] = torch.tensor([0, 31999])
    data = CompressedRecords(tokens)
    assert 64 / 15 * 0.99 < data.ratio < 64 / 15
    ones = CompressedRecords([torch.ones(2048, dtype=torch.int64) for _ in range(20)])
    assert ones.stored_bytes < 20 * 16 + 20
    assert torch.equal(ones[7], torch.ones(2048, dtype=torch.int64))


@pytest.mark.parametrize("width", [1, 2, 7, 8, 13, 31, 33, 55, 56, 57, 60, 63, 64])
@pytest.mark.parametrize("low", [0, -(2**63), 5])
def test_numbers_of_every_width_are_exact(width, low):
    high = min(low + 2**width - 1, 2**63 - 1)
    generator = np.random.default_rng(width)
    samples = [
        torch.from_numpy(generator.integers(low, high, size, np.int64, endpoint=True))
        for size in ((3, 5), (0, 4), (1, 1), (17, 2))
    ]
    samples[0][0, 0], samples[0][2, 4] = low, high
    data = CompressedRecords(samples)
    assert all(torch.equal(data[i], sample) for i, sample in enumerate(samples))


@pytest.mark.parametrize(
    "dtype", [torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64]
)
def test_every_type_and_rank_comes_back(dtype):
    generator = torch.Generator().manual_seed(2)
    low, high = (0, 2) if dtype == torch.bool else (torch.iinfo(dtype).min, torch.iinfo(dtype).max)
    for shape in ((), (0,), (7,), (3, 4, 5)):
        samples = [
            torch.randint(low, high, shape, generator=generator).to(dtype).transpose(0, -1)
            if len(shape) > 1
            else torch.randint(low, high, shape, generator=generator).to(dtype)
            for _ in range(3)
        ]
        data = CompressedRecords([(sample, 1.5) for sample in samples])
        for index, sample in enumerate(samples):
            found, number = data[index]
            assert found.dtype == dtype and torch.equal(found, sample) and number == 1.5


def test_floats_keep_their_codec_and_others_stay_exact():
    source = texts()
    data = CompressedRecords(source, "dense", relative=1e-2)
    error = (data[4]["features"] - source[4]["features"]).abs().max()
    assert 0 < error <= 1e-2
    exact = CompressedRecords(source, "dense", relative=1e-2, codecs={"features": None})
    same(exact[4], source[4])
    quantized = CompressedRecords(source, codecs={"features": tensorpress.Codec("cast", to="bf16")})
    assert torch.equal(quantized[4]["features"], source[4]["features"].bfloat16().float())
    uneven = [{"x": torch.rand(n)} for n in (3, 4)]
    assert [len(CompressedRecords(uneven)[i]["x"]) for i in range(2)] == [3, 4]
    with pytest.raises(ValueError, match=r"x of sample 1 .*one shape"):
        CompressedRecords(uneven, "quantize", bits=8)


def test_tuples_lists_tensors_and_arrays_keep_their_structure():
    for sample in [
        (torch.arange(5), "name", 3),
        [torch.arange(5), None],
        torch.arange(5),
        np.arange(5, dtype=">i4"),
    ]:
        found = CompressedRecords([sample, sample])[1]
        if isinstance(sample, (tuple, list)):
            assert type(found) is type(sample) and found[1:] == sample[1:]
            assert torch.equal(found[0], sample[0])
        else:
            assert found.tolist() == list(range(5))


@pytest.mark.parametrize("workers", [0, 2])
def test_pytorchs_loader_reads_memory_and_files(tmp_path, workers):
    source = [{"ids": torch.arange(n, n + 30), "x": torch.full((4,), float(n))} for n in range(24)]
    CompressedRecords(source, "dense", absolute=0.1, folder=tmp_path / "data")
    for data in (CompressedRecords(source), CompressedRecords.open(tmp_path / "data")):
        batches = list(DataLoader(data, batch_size=8, num_workers=workers))
        assert torch.equal(
            torch.cat([batch["ids"] for batch in batches]), torch.stack([s["ids"] for s in source])
        )
        assert (batches[2]["x"][7] - 23).abs().max() <= 0.1


def test_a_folder_is_opened_by_anybody_and_refused_unless_empty(tmp_path):
    source = texts()
    codecs = {"features": tensorpress.Codec("quantize", bits=8)}
    written = CompressedRecords(source, codecs=codecs, folder=tmp_path, shard_bytes=2000)
    again = CompressedRecords.open(tmp_path)
    assert len(again) == 40 and again.stored_bytes == written.stored_bytes
    for index in range(40):
        same(again[index], written[index])
    assert torch.equal(again[9]["input_ids"], source[9]["input_ids"])
    with pytest.raises(FileExistsError, match="not empty"):
        CompressedRecords(source, folder=tmp_path)
    with pytest.raises(FileNotFoundError, match="interrupted"):
        CompressedRecords.open(tmp_path / "elsewhere")


def test_damage_in_files_is_an_error(tmp_path):
    CompressedRecords(texts(), folder=tmp_path)
    path = tmp_path / "0-000000.integers"
    whole = bytearray(path.read_bytes())
    fields = torch.load(path, weights_only=True)
    place = whole.index(fields["packed"].numpy().tobytes()[:64])
    path.write_bytes(whole[: place + 20] + b"\xff" + whole[place + 21 :])
    with pytest.raises(tensorpress.CorruptError, match="checksum"):
        [CompressedRecords.open(tmp_path)[index] for index in range(40)]
    lies = {
        "width": 65,
        "low": "0",
        "dtype": "float32",
        "sizes": fields["sizes"] + 1000,
        "sums": fields["sums"][1:],
        "packed": fields["packed"][:50].clone(),
    }
    for name, lie in lies.items():
        torch.save({**fields, name: lie}, path)
        with pytest.raises(tensorpress.CorruptError):
            CompressedRecords.open(tmp_path)
    torch.save({**fields, "sizes": -fields["sizes"]}, path)
    with pytest.raises(tensorpress.CorruptError, match="shape"):
        CompressedRecords.open(tmp_path)
    path.write_bytes(b"no file of PyTorch")
    with pytest.raises(tensorpress.CorruptError):
        CompressedRecords.open(tmp_path)
    torch.save(fields, path)
    description = json.loads((tmp_path / "records.json").read_text())
    (tmp_path / "records.json").write_text(json.dumps({**description, "length": 41}))
    with pytest.raises(tensorpress.CorruptError, match="not 41 values"):
        CompressedRecords.open(tmp_path)


@pytest.mark.parametrize(
    "source, options, kind, message",
    [
        ([], {}, ValueError, "empty"),
        (iter([1]), {}, TypeError, "map-style"),
        (
            [{"a": torch.arange(3)}, {"b": torch.arange(3)}],
            {},
            ValueError,
            "sample 1 is a dict of b",
        ),
        ([{1: torch.arange(3)}], {}, TypeError, "no texts"),
        ([torch.arange(3), torch.zeros(2, 2, dtype=torch.int64)], {}, ValueError, "2 axes"),
        ([torch.arange(3), torch.zeros(3)], {}, ValueError, "float32"),
        ([torch.arange(3), "text"], {}, TypeError, "str, and the first one is a tensor"),
        ([torch.arange(3)], {"bits": 4}, ValueError, "bits belong to a codec"),
        ([{"a": torch.rand(3)}], {"codecs": {"b": None}}, ValueError, "codecs has 'b'"),
        ([np.ma.masked_array([1, 2], [0, 1])], {}, TypeError, "masked"),
    ],
)
def test_what_cannot_be_stored_is_refused_with_the_way_out(source, options, kind, message):
    with pytest.raises(kind, match=message):
        CompressedRecords(source, **options)


def test_a_compressed_dataset_points_here():
    with pytest.raises(TypeError, match="CompressedRecords"):
        CompressedDataset([torch.arange(5)])
    with pytest.raises(TypeError, match="CompressedRecords"):
        CompressedDataset([{"a": torch.arange(5)}])
