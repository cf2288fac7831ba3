"""Loops of accelerate."""

import contextlib

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("accelerate")
pytest.importorskip("transformers")

from accelerate import Accelerator
from accelerate.state import AcceleratorState
from accelerate.utils import TorchDynamoPlugin, find_executable_batch_size
from tiny_training import (
    Trained,
    check_levels,
    language_batches,
    sentences,
    tiny_llama,
    weights_of,
)
from torch.utils.data import DataLoader

from tensorpress.torch.clients.accelerate import compress_activations

pytestmark = pytest.mark.usefixtures("one_thread")


@pytest.fixture(autouse=True)
def forget_settings():
    yield
    AcceleratorState._reset_state(reset_partial_state=True)


def train(level, layers=2, steps=8, accumulate=1, **settings):
    AcceleratorState._reset_state(reset_partial_state=True)
    accelerator = Accelerator(cpu=True, gradient_accumulation_steps=accumulate, **settings)
    plain = tiny_llama(layers)
    run = compress_activations(accelerator, plain, level) if level else contextlib.nullcontext()
    losses = []
    with run:
        optimizer = torch.optim.AdamW(plain.parameters(), lr=3e-3)
        loader = DataLoader(sentences(8 * steps), batch_size=8)
        model, optimizer, loader = accelerator.prepare(plain, optimizer, loader)
        for words in loader:
            with accelerator.accumulate(model):
                loss = model(input_ids=words, labels=words).loss
                accelerator.backward(loss)
                accelerator.clip_grad_norm_(model.parameters(), 1.0)
                optimizer.step()
                optimizer.zero_grad()
            losses.append(loss.item())
    return Trained(losses, weights_of(plain), run.report() if level else None)


@pytest.mark.parametrize(
    "settings, ratio",
    [({}, 3), ({"accumulate": 2}, 3), ({"mixed_precision": "bf16"}, 2)],
    ids=str,
)
def test_a_loop_trains_as_without_compression(settings, ratio):
    check_levels(lambda level: train(level, **settings), ratio)


@pytest.mark.parametrize("regional", [False, True])
def test_what_prepare_compiles_is_compressed_in_its_graphs(regional):
    def compiled(level):
        torch._dynamo.reset()
        plugin = TorchDynamoPlugin(backend="inductor", use_regional_compilation=regional)
        return train(level, layers=1, steps=4, dynamo_plugin=plugin)

    plain, off, balanced = compiled(None), compiled("off"), compiled("balanced")
    assert off.is_exactly(plain)
    assert off.report.ratio == 1
    assert balanced.falls and balanced.report.ratio > 2.5


def test_a_mode_of_compilation_is_kept_beside_our_options(monkeypatch):
    given = {}
    monkeypatch.setattr(torch, "compile", lambda model, **options: given.update(options) or model)
    plugin = TorchDynamoPlugin(backend="inductor", mode="max-autotune-no-cudagraphs")
    accelerator = Accelerator(cpu=True, dynamo_plugin=plugin)
    model = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.GELU())
    with compress_activations(accelerator, model, "balanced"):
        accelerator.prepare_model(model)
    assert "mode" not in given and given["backend"] == "inductor"
    assert given["options"]["max_autotune"] is True
    assert "custom_partitioner_fn" in given["options"]
    assert plugin.options is None and plugin.mode == "max-autotune-no-cudagraphs"


def test_another_backend_is_refused():
    accelerator = Accelerator(cpu=True, dynamo_backend="aot_eager")
    run = compress_activations(accelerator, tiny_llama(1))
    with pytest.raises(ValueError, match="'aot_eager': compressed graphs need 'inductor'"):
        run.__enter__()


def test_what_is_no_accelerator_is_refused():
    with pytest.raises(TypeError, match="accelerator is a Linear, not an Accelerator"):
        compress_activations(torch.nn.Linear(1, 1), torch.nn.Linear(1, 1))


def test_a_batch_that_fits_is_found_and_what_did_not_fit_leaves_nothing():
    """Memory runs out in the middle of a forward pass, inside of `with`."""
    model = tiny_llama()
    sizes = []

    def full(module, inputs, output):
        if len(inputs[0]) > 4:
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 GiB.")

    model.model.layers[1].mlp.register_forward_hook(full)
    accelerator = Accelerator(cpu=True)
    with compress_activations(accelerator, model, "balanced") as run:

        @find_executable_batch_size(starting_batch_size=16)
        def step(batch_size):
            sizes.append(batch_size)
            (batch,) = language_batches(1, batch_size)
            model(**batch).loss.backward()

        step()
        assert sizes[0] == 16 and sizes[-1] == 4
        assert run.held_bytes == 0
        report = run.report()
    with compress_activations(accelerator, tiny_llama(), "balanced") as alone:
        (batch,) = language_batches(1, 4)
        alone.model(**batch).loss.backward()
    assert report.saved_bytes == alone.report().saved_bytes
