"""Losses in slices inside compiled models, in half precision too, and what Dynamo makes of them."""

import pytest

torch = pytest.importorskip("torch")

import torch.nn.functional as F
from small_networks import relative_error
from torch import nn

import tensorpress.torch

BACKENDS = ("aot_eager", "aot_eager_decomp_partition")
CLASSES, FEATURES = 600, 64
compressed = tensorpress.torch.compile
report_of = tensorpress.torch.compiled_report


@pytest.fixture(autouse=True)
def _fresh_dynamo():
    torch._dynamo.reset()
    torch._dynamo.utils.counters.clear()
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


class LanguageModel(nn.Module):
    def __init__(self, tied=False, breaking=False, **loss):
        super().__init__()
        torch.manual_seed(3)
        self.embedding = nn.Embedding(CLASSES, FEATURES)
        self.body = nn.Sequential(
            *(nn.LayerNorm(FEATURES), nn.Linear(FEATURES, 4 * FEATURES), nn.GELU()),
            nn.Linear(4 * FEATURES, FEATURES),
        )
        self.head = nn.Linear(FEATURES, CLASSES, bias=False)
        if tied:
            self.head.weight = self.embedding.weight
        self.loss, self.breaking = loss, breaking

    def forward(self, tokens, labels):
        embedded = self.embedding(tokens)
        hidden = embedded + self.body(embedded)
        if self.breaking:
            torch._dynamo.graph_break()
        return tensorpress.torch.linear_cross_entropy(
            hidden, self.head.weight, labels, slice_bytes=50000, **self.loss
        )


class HuggingFaceLike(LanguageModel):
    """With a head that fuse_logits replaces."""

    def get_output_embeddings(self):
        return self.head

    def forward(self, tokens, labels):
        embedded = self.embedding(tokens)
        logits = self.head(embedded + self.body(embedded))
        return F.cross_entropy(logits.view(-1, CLASSES), labels.view(-1), **self.loss)


def batch(rows=8):
    tokens = torch.randint(0, CLASSES, (rows, 64))
    return tokens, torch.where(torch.rand(rows, 64) < 0.2, -100, tokens.roll(1, -1))


def gradients_of(model, run, inputs):
    model.zero_grad()
    loss = run(*inputs)
    loss.float().backward()
    return float(loss), {name: weight.grad.clone() for name, weight in model.named_parameters()}


def graphs_compiled():
    return torch._dynamo.utils.counters["stats"]["unique_graphs"]


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(
    "tied, loss",
    [
        (False, {}),
        (False, {"ignore_index": 5}),
        (False, {"label_smoothing": 0.1}),
        (False, {"z_loss": 1e-3}),
        (True, {}),
        (True, {"label_smoothing": 0.1, "z_loss": 1e-3, "reduction": "sum"}),
    ],
)
def test_losses_in_slices_stay_so_and_their_gradients_are_not_packed(tied, loss, backend):
    model, inputs = LanguageModel(tied, **loss), batch()
    if "ignore_index" in loss:
        inputs = inputs[0], torch.where(inputs[1] < 0, 5, inputs[1])
    plain_loss, exact = gradients_of(model, model, inputs)
    run = compressed(model, "balanced", backend=backend, fullgraph=True)
    for _ in range(3):
        found_loss, found = gradients_of(model, run, inputs)
    assert found_loss == pytest.approx(plain_loss, rel=1e-5)
    assert graphs_compiled() == 1
    report = report_of(run)
    logits = 8 * 64 * CLASSES * 4
    assert max(each.bytes_before for each in report.activations) < logits / 2
    assert any(each.lossy for each in report.activations)
    assert relative_error(found, exact) < 0.05
    if not tied:  # it comes from forward as it is
        assert relative_error({"head": found["head.weight"]}, {"head": exact["head.weight"]}) < 1e-5


@pytest.mark.parametrize("loss", [{}, {"label_smoothing": 0.1}])
def test_fused_logits_stay_fused(loss):
    model, inputs = HuggingFaceLike(**loss), batch()
    _, exact = gradients_of(model, model, inputs)
    with tensorpress.torch.fuse_logits(model, slice_bytes=50000):
        run = compressed(model, "balanced", backend="aot_eager", fullgraph=True)
        _, found = gradients_of(model, run, inputs)
    assert graphs_compiled() == 1
    assert max(each.bytes_before for each in report_of(run).activations) < 8 * 64 * CLASSES * 2
    assert relative_error(found, exact) < 0.05


def test_batches_of_other_sizes_and_a_graph_break_compile_as_often_as_plainly():
    counted = []
    for make in (torch.compile, compressed):
        torch._dynamo.reset()
        torch._dynamo.utils.counters.clear()
        model = LanguageModel(breaking=True)
        run = make(model, backend="aot_eager")
        for rows in (8, 6, 5, 7):
            inputs = batch(rows)
            _, exact = gradients_of(model, model, inputs)
            _, found = gradients_of(model, run, inputs)
            assert relative_error(found, exact) < 0.05
        counted.append(graphs_compiled())
    assert counted[0] == counted[1] <= 4


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("kind", ["autocast", "pure"])
def test_bfloat16_under_autocast_and_pure(kind, backend):
    model, inputs = LanguageModel(), batch()
    if kind == "pure":
        model = model.bfloat16()

    def step(run):
        with torch.autocast("cpu", torch.bfloat16, enabled=kind == "autocast"):
            return gradients_of(model, run, inputs)[1]

    exact = step(model)
    plain = step(torch.compile(model, backend=backend))
    torch._dynamo.reset()
    run = compressed(model, "balanced", backend=backend)
    found = step(run)
    assert relative_error(found, exact) < relative_error(plain, exact) + 0.05
    assert all(found[name].dtype == exact[name].dtype for name in exact)
    assert any(
        "bits=" in each.codec and each.dtype == "bfloat16" for each in report_of(run).activations
    )
