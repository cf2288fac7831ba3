"""Models that compute their own loss, as those of transformers do, without their logits."""

import copy
import io

import pytest

torch = pytest.importorskip("torch")

import torch.nn.functional as F
from torch import nn

from tensorpress.torch import compress_activations, fuse_logits
from tensorpress.torch.logits import LazyLogits
from tensorpress.torch.peak_memory import measured_peak

pytestmark = [
    pytest.mark.usefixtures("one_thread"),
    pytest.mark.filterwarnings("error:all logits are computed"),
    pytest.mark.filterwarnings("ignore:.*should not be instantiated:DeprecationWarning"),
]
CLASSES = 600


def causal_loss(logits, labels, vocab_size, num_items_in_batch=None, ignore_index=-100):
    """The steps of transformers' ForCausalLMLoss."""
    logits = logits.float()
    labels = F.pad(labels, (0, 1), value=ignore_index)[..., 1:].contiguous()
    logits, labels = logits.view(-1, vocab_size), labels.view(-1).to(logits.device)
    reduction = "mean" if num_items_in_batch is None else "sum"
    loss = F.cross_entropy(logits, labels, ignore_index=ignore_index, reduction=reduction)
    return loss if num_items_in_batch is None else loss / num_items_in_batch


class CausalModel(nn.Module):
    """A small language model with the names that those of transformers have."""

    def __init__(self, tied=True, bias=False):
        super().__init__()
        self.embedding = nn.Embedding(CLASSES, 32)
        self.body = nn.Sequential(nn.Linear(32, 64), nn.GELU(), nn.Linear(64, 32))
        self.lm_head = nn.Linear(32, CLASSES, bias=bias)
        self.loss_function = causal_loss
        if tied:
            self.lm_head.weight = self.embedding.weight

    def get_output_embeddings(self):
        return self.lm_head

    def forward(self, tokens, labels=None, **options):
        logits = self.lm_head(self.body(self.embedding(tokens)))
        loss = None
        if labels is not None:
            loss = self.loss_function(logits, labels, vocab_size=CLASSES, **options)
        return {"loss": loss, "logits": logits}


def batch(rows=4, length=50):
    tokens = torch.randint(0, CLASSES, (rows, length))
    return tokens, torch.where(torch.rand(rows, length) < 0.2, -100, tokens)


def step(model, *inputs, **options):
    model.zero_grad()
    result = model(*inputs, **options)
    result["loss"].backward()
    gradients = {name: each.grad.clone() for name, each in model.named_parameters()}
    return {"loss": result["loss"].detach(), **gradients}, result["logits"]


@pytest.mark.parametrize("tied", [True, False])
@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("items", [None, 77])
def test_loss_and_gradients_stay_and_logits_are_not_computed(tied, bias, items):
    model, inputs = CausalModel(tied, bias), batch()
    names = list(model.state_dict())
    expected, _ = step(model, *inputs, num_items_in_batch=items)
    with fuse_logits(model, slice_bytes=20000):
        found, logits = step(model, *inputs, num_items_in_batch=items)
        assert list(model.state_dict()) == names
        assert (model.lm_head.weight is model.embedding.weight) == tied
    assert isinstance(logits, LazyLogits) and logits.shape == (4, 50, CLASSES)
    torch.testing.assert_close(found, expected)
    assert type(model.lm_head) is nn.Linear


def test_the_peak_is_that_of_a_slice():
    model, inputs = CausalModel(), batch(8, 400)
    peaks = []
    for fused in (False, True):
        handle = fuse_logits(model, slice_bytes=1 << 16) if fused else None
        step(model, *inputs)
        model.zero_grad()
        with measured_peak(model) as measured:
            model(*inputs)["loss"].backward()
        peaks.append(measured[0].activations_and_gradients)
        if handle:
            handle.remove()
    logits = 8 * 400 * CLASSES * 4
    assert peaks[0] > 2 * logits and peaks[1] < logits


def test_evaluation_and_generation_get_logits():
    model, inputs = CausalModel(), batch()
    with fuse_logits(model):
        with torch.no_grad():
            assert isinstance(model(*inputs)["logits"], torch.Tensor)
        model.eval()
        assert isinstance(model(*inputs)["logits"], torch.Tensor)


def test_a_loss_outside_the_model_is_computed_in_slices_too():
    model, (tokens, labels) = CausalModel(), batch()
    criterion = nn.CrossEntropyLoss(label_smoothing=0.1)

    def loss():
        logits = model(tokens)["logits"]
        shifted = logits[..., :-1, :].contiguous()
        return criterion(shifted.reshape(-1, shifted.size(-1)), labels[:, 1:].reshape(-1))

    expected = loss()
    with fuse_logits(model):
        torch.testing.assert_close(loss(), expected)


def test_whatever_else_is_done_with_logits_is_right_and_has_a_warning():
    model, (tokens, labels) = CausalModel(), batch()
    logits = model(tokens)["logits"]
    uses = {
        "softmax": lambda x: torch.softmax(x, -1),
        "softcapping": lambda x: 30 * torch.tanh(x / 30),
        "argmax": lambda x: x.argmax(-1),
        "some classes": lambda x: x[..., :10],
        "classes first": lambda x: F.cross_entropy(x.transpose(1, 2), labels),
        "probabilities": lambda x: F.cross_entropy(x[0], torch.full((50, CLASSES), 1 / CLASSES)),
        "comparison": lambda x: x > 0,
        "a tensor first": lambda x: torch.ones(CLASSES) * x,
        "a mask": lambda x: x[tokens > 5],
        "flat": lambda x: x.flatten(),
    }
    with fuse_logits(model):
        for name, use in uses.items():
            lazy = model(tokens)["logits"]
            with pytest.warns(UserWarning, match="all logits are computed, because"):
                found = use(lazy)
            assert torch.equal(found, use(logits)), name


def test_what_takes_rows_or_types_stays_lazy():
    with fuse_logits(CausalModel()) as fused:
        hidden = torch.randn(2, 7, 32)
        lazy = fused.head(hidden)
        logits = F.linear(hidden, fused.head.weight)
        for use in (
            lambda x: x[0],
            lambda x: x[:, 1:],
            lambda x: x[..., :-1, :],
            lambda x: x[1, 2:5, :],
            lambda x: x.view(-1, CLASSES),
            lambda x: x.reshape((7, 2, CLASSES)),
            lambda x: x.flatten(0, 1),
            lambda x: x.to("cpu").to(torch.float64),
        ):
            found = use(lazy)
            assert isinstance(found, LazyLogits) and found.shape == use(logits).shape
            torch.testing.assert_close(found.full(), use(logits))
        assert (lazy.dim(), lazy.ndim, len(lazy), lazy.dtype) == (3, 3, 2, torch.float32)
        assert lazy.size() == logits.shape and lazy.requires_grad


def test_copies_and_pickles_of_the_model_use_their_own_weight():
    model, inputs = CausalModel(), batch()
    with fuse_logits(model):
        file = io.BytesIO()
        torch.save(model, file)
        file.seek(0)
        for other in (copy.deepcopy(model), torch.load(file, weights_only=False)):
            nn.init.zeros_(other.lm_head.weight)
            loss = other(*inputs)["loss"]
            torch.testing.assert_close(loss, torch.log(torch.tensor(float(CLASSES))))


def test_what_the_loss_saves_is_packed_and_named():
    model, inputs = CausalModel(), batch(8, 100)
    expected, _ = step(model, *inputs)
    with fuse_logits(model), compress_activations(model, "balanced") as run:
        found, _ = step(model, *inputs)
    report = {each.name: each for each in run.report().activations}
    assert report["sliced_linear_cross_entropy"].codec == "quantize bits=8"
    assert max(each.bytes_before for each in report.values()) < 8 * 100 * CLASSES
    for name, truth in expected.items():
        assert (found[name] - truth).norm() < 0.1 * truth.norm()


def test_a_compiled_model_is_one_graph():
    torch._dynamo.reset()
    model, inputs = CausalModel(), batch()
    expected, _ = step(model, *inputs)
    with fuse_logits(model, slice_bytes=20000):
        compiled = torch.compile(model, backend="aot_eager", fullgraph=True)
        compiled.zero_grad()
        result = compiled(*inputs)
        result["loss"].backward()
    assert result["logits"].shape == (4, 50, CLASSES)
    found = {name: each.grad for name, each in model.named_parameters()}
    torch.testing.assert_close({"loss": result["loss"].detach(), **found}, expected)


def test_autocast_gives_a_loss_in_float32():
    model, inputs = CausalModel(), batch()
    with torch.autocast("cpu", torch.bfloat16):
        expected, _ = step(model, *inputs)
        with fuse_logits(model):
            found, logits = step(model, *inputs)
    assert logits.dtype == torch.bfloat16 and found["loss"].dtype == torch.float32
    for name, truth in expected.items():
        assert (found[name] - truth).norm() < 0.02 * truth.norm(), name


def test_a_z_loss_is_added():
    model, (tokens, labels) = CausalModel(), batch()
    plain = model(tokens, labels)
    logits = plain["logits"][:, :-1][labels[:, 1:] != -100]
    expected = plain["loss"] + 0.5 * torch.logsumexp(logits, -1).square().mean()
    with fuse_logits(model, z_loss=0.5):
        torch.testing.assert_close(model(tokens, labels)["loss"], expected)


def test_heads_that_are_missing_or_no_linear_layers_are_named():
    with pytest.raises(ValueError, match="Sequential has neither .* name the layer"):
        fuse_logits(nn.Sequential(nn.Linear(2, 3)))
    fused = fuse_logits(nn.Sequential(nn.Linear(2, 3)), "0")
    assert isinstance(fused.head(torch.ones(1, 2)), LazyLogits)
    with pytest.raises(TypeError, match="the head is a Conv1d"):
        fuse_logits(nn.Sequential(nn.Conv1d(2, 3, 1)), "0")
    model = CausalModel()
    with fuse_logits(model), pytest.raises(ValueError, match="fused already"):
        fuse_logits(model)
