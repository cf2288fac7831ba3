"""Parts of a network that torch.utils.checkpoint computes again in backward, from what it saved of
their inputs."""

import pytest

torch = pytest.importorskip("torch")

from gradient_checks import gradients, near, plain_gradients
from torch import nn
from torch.utils.checkpoint import checkpoint

from tensorpress.torch import compress_activations

pytestmark = [
    pytest.mark.usefixtures("one_thread"),
    pytest.mark.parametrize("reentrant", [False, True]),
]


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.LayerNorm(64), nn.Linear(64, 256), nn.GELU())
        self.last = nn.Linear(256, 64)

    def forward(self, x, positions):
        return x + self.last(self.layers(x + positions))


class Checkpointed(nn.Module):
    def __init__(self, reentrant, checkpointed=True, blocks=4):
        super().__init__()
        self.reentrant = reentrant
        self.checkpointed = checkpointed
        self.stem = nn.Linear(64, 64)
        self.blocks = nn.ModuleList(Block() for _ in range(blocks))

    def forward(self, x):
        x = self.stem(x)
        positions = torch.linspace(-1, 1, 64 * 64).view(64, 64).cos()
        for block in self.blocks:
            if self.checkpointed:
                x = checkpoint(block, x, positions, use_reentrant=self.reentrant)
            else:
                x = block(x, positions)
        return x


@pytest.mark.parametrize("level, limit", [("off", 0), ("lossless", 0), ("safe", 0.02)])
def test_gradients_are_those_without_compression_or_near_them(reentrant, level, limit):
    model, x = Checkpointed(reentrant), torch.randn(16, 64, 64)
    plain = plain_gradients(model, x)
    with compress_activations(model, level):
        model(x).square().mean().backward()
    assert near(plain, gradients(model), limit)


@pytest.mark.parametrize("level", ["balanced", "max"])
def test_inputs_of_parts_are_stored_with_8_bits(reentrant, level):
    """All of the part is computed from them, whatever it is."""
    model, x = Checkpointed(reentrant), torch.randn(16, 64, 64)
    plain = plain_gradients(model, x)
    with compress_activations(model, level) as run:
        loss = model(x).square().mean()
        saved = {each.name: each for each in run.report().activations}
        held = run.held_bytes
    inputs = [each for name, each in saved.items() if name.startswith("checkpoint")]
    moving = [each for each in inputs if each.shape == (16, 64, 64)]
    assert [each.codec for each in moving] == 4 * ["quantize bits=8"]
    assert held < 2.4 * x.nbytes  # the batch, and what the loss saves in 8 bits; 6 without
    (positions,) = [each for each in inputs if each.shape == (64, 64)]
    assert positions.codec == "keep"
    loss.backward()
    assert near(plain, gradients(model), 0.1 if level == "balanced" else 0.5)


def test_off_reports_what_is_held_at_a_time(reentrant):
    """Parts that are computed again inside of backward follow each other."""
    model, x = Checkpointed(reentrant), torch.randn(16, 64, 64)
    with compress_activations(model, "off") as run:
        model(x).square().mean().backward()
    report = run.report()
    assert report.ratio == 1
    assert report.steps == 1


def test_inputs_of_parts_that_choose_by_values_are_kept(reentrant):
    """Other experts for one token would be other sizes, at which PyTorch stops."""

    class Experts(nn.Module):
        def __init__(self):
            super().__init__()
            self.gate = nn.Linear(64, 8)
            self.experts = nn.ModuleList(nn.Linear(64, 64) for _ in range(8))

        def forward(self, x, positions):
            rows = x.flatten(0, 1)
            scores, made = self.gate(rows).softmax(-1), torch.zeros_like(rows)
            for number, expert in enumerate(self.experts):
                places = (scores.argmax(-1) == number).nonzero().squeeze(1)
                part = expert(rows[places]) * scores[places, number].unsqueeze(1)
                made = made.index_add(0, places, part)
            return x + made.view(x.shape)

    model, x = Checkpointed(reentrant), torch.randn(16, 64, 64)
    model.blocks = nn.ModuleList(Experts() for _ in range(4))
    plain = plain_gradients(model, x)
    for level, limit in (("balanced", 0.1), ("max", 1)):
        model.zero_grad()
        with compress_activations(model, level) as run:
            model(x).square().mean().backward()
        found = {each.name: each.codec for each in run.report().activations}
        assert found["checkpoint"] == "keep"
        assert near(plain, gradients(model), limit)
        assert "nonzero chooses by values inside" in str(run.report())


def test_functions_of_your_own_inside_a_part_get_their_values_exactly(reentrant):
    class Own(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, gradient):
            return 2 * ctx.saved_tensors[0] * gradient

    x = torch.randn(64, 64, requires_grad=True)
    expected = torch.autograd.grad(checkpoint(Own.apply, x, use_reentrant=False).sum(), x)[0]
    with compress_activations(nn.Identity(), "max"):
        checkpoint(Own.apply, x, use_reentrant=reentrant).sum().backward()
    assert torch.equal(x.grad, expected)


def test_what_parts_save_when_they_run_again_is_packed(reentrant):
    torch.manual_seed(0)
    model, x = Checkpointed(reentrant), torch.randn(16, 64, 64)
    plain = plain_gradients(model, x)
    with compress_activations(model, "balanced") as run:
        model(x).square().mean().backward()
    assert near(plain, gradients(model), 0.1)
    report = run.report()
    # Of a part: its input, the norm's result, GELU's input and result, in features of x's size.
    assert report.stored_bytes < 0.6 * (1 + 1 + 4 + 4) * x.nbytes
    assert any(each.name.startswith("blocks.3.layers.2:gelu") for each in report.activations)


def test_the_peak_is_lower_than_with_checkpoints_or_compression_alone(reentrant):
    torch.manual_seed(0)
    x = torch.randn(64, 64, 64)
    peaks = {}
    for name, checkpointed, level in (
        ("checkpoint", True, "off"),
        ("compression", False, "balanced"),
        ("both", True, "balanced"),
    ):
        model = Checkpointed(reentrant, checkpointed, blocks=10)
        run = compress_activations(model, level)
        with run:
            model(x).square().mean().backward()
            model.zero_grad()
            with run.measure():
                model(x).square().mean().backward()
        peaks[name] = run.report().peak.activations_and_gradients
    assert peaks["both"] < peaks["checkpoint"] and peaks["both"] < peaks["compression"], peaks


def test_backward_of_a_retained_graph_runs_parts_again_every_time(reentrant):
    torch.manual_seed(0)
    model, x = Checkpointed(reentrant), torch.randn(16, 64, 64)
    if reentrant:
        pytest.skip("reentrant checkpoints run once")
    with compress_activations(model, "balanced"):
        loss = model(x).square().mean()
        loss.backward(retain_graph=True)
        once = gradients(model)
        loss.backward()
    twice = gradients(model)
    assert near([2 * each for each in once], twice, 0.02)
