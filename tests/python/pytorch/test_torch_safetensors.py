"""State dicts in safetensors files, read and written with the real library."""

import json

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("safetensors")

from checkpoint_samples import bits, span, trained
from safetensors import safe_open
from safetensors.torch import load_file, save_file

import tensorpress
from tensorpress.torch import load_safetensors, save_safetensors


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.safetensors"


@pytest.fixture
def weights():
    generator = torch.Generator().manual_seed(2)
    return {
        "layer.weight": torch.randn(60, 70, generator=generator),
        "layer.half": torch.randn(3000, generator=generator).bfloat16(),
        "layer.bias": torch.randn(60, generator=generator),
        "steps": torch.arange(2000),
        "empty": torch.empty(0, 3),
        "exp_avg_sq": torch.rand(2000, generator=generator) * 1e-8,
    }


def test_every_tensor_comes_back_within_its_bound(path, weights):
    report = save_safetensors(weights, path, relative=1e-2, bounds={"layer.half": "exact"})
    copies = load_safetensors(path)
    assert copies.keys() == weights.keys()
    for name, original in weights.items():
        copy = copies[name]
        assert (copy.dtype, copy.shape) == (original.dtype, original.shape)
        if name == "layer.weight":
            assert 0 < (copy - original).abs().max() <= 1e-2 * span(original)
        elif name == "exp_avg_sq":
            assert 0 < ((copy - original).abs() / original).max() <= 1e-2
        else:
            assert bits(copy) == bits(original)
    assert report.bytes_out == path.stat().st_size < report.bytes_in
    assert [each.names for each in report.tensors] == [[name] for name in weights]


def test_other_readers_of_safetensors_open_the_file_and_miss_what_is_compressed(path, weights):
    save_safetensors(weights, path, relative=1e-2, metadata={"format": "pt", "by": "a test"})
    with safe_open(path, "pt") as file:
        assert "layer.weight" not in list(file.keys())
        assert file.get_tensor("layer.weight.tpz").dtype == torch.uint8
        assert bits(file.get_tensor("layer.bias")) == bits(weights["layer.bias"])
        assert file.metadata()["by"] == "a test"
        stream = file.get_tensor("layer.weight.tpz").numpy().tobytes()
    assert tensorpress.decompress(stream).shape == (60, 70)
    with pytest.raises(RuntimeError, match="Missing key"):
        torch.nn.ModuleDict({"layer": torch.nn.Linear(70, 60)}).load_state_dict(load_file(path))


def test_ordinary_files_of_the_library_are_read_as_they_are(path, weights):
    save_file(weights, path)
    copies = load_safetensors(path)
    assert all(bits(copies[name]) == bits(weights[name]) for name in weights)


def test_a_model_goes_there_and_back(path):
    model, _ = trained()
    save_safetensors(model.state_dict(), path, relative=1e-4, threads=2)
    other, _ = trained(steps=0)
    other.load_state_dict(load_safetensors(path, threads=2))
    images, words = torch.randn(2, 3, 8, 8), torch.randint(0, 50, (2,))
    model.eval(), other.eval()
    assert torch.allclose(model(images, words), other(images, words), atol=0.01)


def test_some_names_are_read_alone(path, weights):
    save_safetensors(weights, path, relative=1e-2)
    assert list(load_safetensors(path, names=["layer.weight"])) == ["layer.weight"]
    with pytest.raises(KeyError, match="'other' is not a tensor"):
        load_safetensors(path, names=["other"])


def test_a_pattern_without_a_tensor_is_refused_and_the_old_file_stays(path, weights):
    save_safetensors(weights, path, relative=1e-2)
    before = path.read_bytes()
    with pytest.raises(ValueError, match="'head'"):
        save_safetensors(weights, path, bounds={"head": "exact"}, relative=1e-2)
    with pytest.raises(TypeError, match="steps is a int"):
        save_safetensors({"steps": 3}, path, relative=1e-2)
    assert path.read_bytes() == before


def changed(path, change):
    """The file with other metadata."""
    with safe_open(path, "pt") as file:
        tensors = {name: file.get_tensor(name) for name in list(file.keys())}
        metadata = file.metadata()
    document = json.loads(metadata["tensorpress"])
    change(document, tensors)
    metadata["tensorpress"] = json.dumps(document)
    save_file(tensors, path, metadata)


LIES = {
    "no type": lambda d, t: d["tensors"]["layer.weight"].update(dtype="float33"),
    "another type": lambda d, t: d["tensors"]["layer.weight"].update(dtype="float64"),
    "another size": lambda d, t: d["tensors"]["layer.weight"].update(shape=[61, 70]),
    "a negative size": lambda d, t: d["tensors"]["layer.weight"].update(shape=[-60, -70]),
    "no shape": lambda d, t: d["tensors"]["layer.weight"].pop("shape"),
    "no table": lambda d, t: d.update(tensors=3),
    "a damaged stream": lambda d, t: t["layer.weight.tpz"][200:210].zero_(),
    "half a stream": lambda d, t: t.update(
        {"layer.weight.tpz": t["layer.weight.tpz"][:99].clone()}
    ),
    "a huge size": lambda d, t: d["tensors"]["layer.weight"].update(shape=[1 << 50]),
}


@pytest.mark.parametrize("lie", LIES)
def test_files_that_lie_are_errors(path, weights, lie):
    save_safetensors(weights, path, relative=1e-2)
    changed(path, LIES[lie])
    with pytest.raises((tensorpress.CorruptError, tensorpress.TooLargeError)):
        load_safetensors(path)


def test_a_newer_version_and_other_files_are_refused(path, weights):
    save_safetensors(weights, path, relative=1e-2)
    changed(path, lambda document, _: document.update(version=2))
    with pytest.raises(tensorpress.UnsupportedError, match="version 2"):
        load_safetensors(path)
    path.write_bytes(b"no such file" * 10)
    with pytest.raises(tensorpress.CorruptError, match="no safetensors file"):
        load_safetensors(path)
    with pytest.raises(FileNotFoundError):
        load_safetensors(path.with_name("missing"))
