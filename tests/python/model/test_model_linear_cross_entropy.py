"""linear_cross_entropy of the model text: the loss and gradients of a linear layer and PyTorch's
cross entropy to rounding, in slices; and when to_text writes it."""

import re

import pytest
import torch
import torch.nn.functional as F
from emitted import beside_autograd, emit, gradients, step_of
from torch import nn

from tensorpress.torch import to_text
from tensorpress.torch.peak_memory import measured_peak

pytestmark = pytest.mark.usefixtures("one_thread")
CLASSES = 50
FORMS = {
    "plain": ("", {}),
    "without bias": ("bias = false", {}),
    "another label that does not count": ("ignore = 7", {"ignore_index": 7}),
    "smoothed": ("smoothing = 0.1", {"label_smoothing": 0.1}),
    "with a z-loss": ("z_loss = 0.01", {}),
}


def text_of(options, element="f32"):
    """250 rows and slices of 64."""
    options = f"{CLASSES}, slice = 1" + (f", {options}" if options else "")
    return f"""
model head
input x: {element}[N, 10, 12]
target y: i64[N, 10]
h = a: linear(x, 12)
loss c: linear_cross_entropy(h, y, {options})
"""


def inputs(dtype=torch.float32):
    labels = torch.randint(CLASSES, (25, 10))
    labels[3, :4] = -100
    return torch.randn(25, 10, 12, dtype=dtype), labels


def by_pytorch(P, x, y, z_loss=0, **options):
    h = F.linear(x, P["a.weight"], P["a.bias"])
    logits = F.linear(h, P["c.weight"], P.get("c.bias")).flatten(0, 1)
    loss = F.cross_entropy(logits, y.flatten(), **options)
    counted = y.flatten() != options.get("ignore_index", -100)
    return loss + z_loss * logits[counted].logsumexp(1).square().mean()


@pytest.mark.parametrize("plan", ["off", "balanced", "max"])
@pytest.mark.parametrize("place", ["--native", "--portable"])
@pytest.mark.parametrize("form", FORMS)
def test_loss_and_gradients_are_pytorchs(tmp_path, form, place, plan):
    given, options = FORMS[form]
    z_loss = 0.01 if "z_loss" in given else 0
    step = emit(tmp_path, text_of(given), place, "--plan", plan).Step()
    x, y = inputs()
    if "ignore" in given:
        y[y == -100] = 7
    pairs = beside_autograd(step, lambda P, x, y: by_pytorch(P, x, y, z_loss, **options), (x, y))
    for name, (mine, other) in pairs.items():
        exact = plan == "off" or name in ("loss", "c.weight", "c.bias")
        if exact:
            torch.testing.assert_close(mine, other, rtol=2e-5, atol=1e-7, msg=name)


def test_gradients_in_double_are_exact(tmp_path):
    step = emit(tmp_path, text_of("smoothing = 0.2", "f64")).Step()
    pairs = beside_autograd(
        step,
        lambda P, x, y: by_pytorch(P, x, y, label_smoothing=0.2),
        inputs(torch.float64),
    )
    for name, (mine, other) in pairs.items():
        torch.testing.assert_close(mine, other, rtol=1e-11, atol=1e-14, msg=name)


def test_the_incoming_gradient_scales(tmp_path):
    step = emit(tmp_path, text_of("")).Step()
    x, y = inputs()
    step(x, y)
    step.backward()
    once = {name: each.grad.clone() for name, each in step.named_parameters()}
    step.zero_grad()
    step(x, y)
    step.backward(torch.tensor(-3.0))
    for name, each in step.named_parameters():
        torch.testing.assert_close(each.grad, -3 * once[name])


def test_labels_outside_of_the_classes_are_refused(tmp_path):
    step = emit(tmp_path, text_of("")).Step()
    x, y = inputs()
    y[0, 0] = CLASSES
    with pytest.raises(IndexError, match="50 classes"):
        step(x, y)


class Words(nn.Module):
    """A language model with a head that is tied to its table."""

    def __init__(self, vocabulary=CLASSES, features=12, smoothing=0.0, tied=True):
        super().__init__()
        self.table = nn.Embedding(vocabulary, features)
        self.inner = nn.Linear(features, features)
        self.head = nn.Linear(features, vocabulary, bias=False)
        self.smoothing = smoothing
        if tied:
            self.head.weight = self.table.weight

    def forward(self, ids, labels):
        logits = self.head(torch.tanh(self.inner(self.table(ids))))
        loss = F.cross_entropy(
            logits.flatten(0, 1), labels.flatten(), label_smoothing=self.smoothing
        )
        return {"loss": loss, "logits": logits}


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
@pytest.mark.parametrize("tied", [True, False])
def test_to_text_writes_it_where_only_the_loss_reads_the_logits(tmp_path, tied, smoothing):
    model = Words(smoothing=smoothing, tied=tied)
    ids, labels = torch.randint(CLASSES, (30, 9)), inputs()[1][:, :9].repeat(2, 1)[:30]
    text = to_text(model, {"ids": ids, "labels": labels}, loss=None, slice_logits=True)
    assert "head: linear_cross_entropy(" in text and " cross_entropy(" not in text
    step = step_of(tmp_path, text, model)
    loss = model(ids, labels)["loss"]
    loss.backward()
    torch.testing.assert_close(step(ids, labels), loss.detach())
    step.backward()
    for name, each in gradients(model).items():
        torch.testing.assert_close(gradients(step)[name], each, msg=name)


def test_the_default_stays_exact_and_smoothing_says_the_way_out():
    batch = {"ids": torch.randint(CLASSES, (3, 9)), "labels": torch.randint(CLASSES, (3, 9))}
    assert "linear_cross_entropy" not in to_text(Words(), batch, loss=None)
    with pytest.raises(ValueError, match="slice_logits=True"):
        to_text(Words(smoothing=0.1), batch, loss=None)


def test_logits_that_something_else_reads_are_not_sliced():
    class Twice(Words):
        def forward(self, ids, labels):
            logits = self.head(self.table(ids))
            loss = F.cross_entropy(logits.flatten(0, 1), labels.flatten())
            return loss + logits.square().mean()

    batch = {"ids": torch.randint(CLASSES, (3, 9)), "labels": torch.randint(CLASSES, (3, 9))}
    text = to_text(Twice(), batch, loss=None, slice_logits=True)
    assert "linear_cross_entropy" not in text and "# Logits are not sliced" in text


def test_a_classifier_with_a_loss_of_to_text_is_sliced_too(tmp_path):
    net = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 10))
    x, y = torch.randn(7, 8), torch.randint(10, (7,))
    text = to_text(net, x, slice_logits=True)
    assert "loss 2: linear_cross_entropy(relu, labels, 10)" in text
    step = step_of(tmp_path, text, net)
    torch.testing.assert_close(step(x, y), F.cross_entropy(net(x), y).detach())


def test_the_peak_has_a_slice_and_is_predicted(tmp_path):
    """2048 rows of 4000 classes: 32 MB of logits, slices of 1 MiB."""
    model, vocabulary = Words(4000, 32, tied=False), 4000
    batch = {name: torch.randint(vocabulary, (16, 128)) for name in ("ids", "labels")}
    logits = 4 * 16 * 128 * vocabulary
    peaks = {}
    for sliced in (False, True):
        text = to_text(model, batch, loss=None, slice_logits=sliced)
        if sliced:
            text = text.replace("4000, bias=false", "4000, bias=false, slice=1048576")
        module = emit(tmp_path, text, "--batch", "16")
        predicted = re.search(r"peak of everything else: (\d+) bytes", module.source).group(1)
        step = module.Step()
        step(*batch.values())  # what PyTorch allocates once
        step.backward()
        step.zero_grad()
        with measured_peak(step) as peak:
            step(*batch.values())
            step.backward()
        inputs = sum(each.nbytes for each in batch.values())
        peaks[sliced] = peak[0].activations_and_gradients + inputs
        assert int(predicted) == pytest.approx(peaks[sliced], rel=0.06)
    assert peaks[False] > 2 * logits
    assert peaks[True] < logits / 8
