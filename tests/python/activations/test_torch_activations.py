"""Training with compressed activations: real networks, a few steps."""

import copy
import warnings

import pytest

torch = pytest.importorskip("torch")

import torch.nn.functional as F
from torch import nn

from tensorpress.eval.networks import Autoencoder, UNet, alexnet_small, resnet18
from tensorpress.torch import compress_activations

pytestmark = pytest.mark.usefixtures("one_thread")


class Transformer(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.TransformerEncoderLayer(32, 4, 64, activation="gelu", batch_first=True)
        self.head = nn.Linear(32, 10)

    def forward(self, x):
        return self.head(self.layer(x).mean(1))


# Each with the shape of its input.
NETWORKS = {
    "alexnet": (alexnet_small, (8, 3, 32, 32)),
    "resnet": (lambda: resnet18(width=8), (8, 3, 32, 32)),
    "unet": (lambda: UNet(1, 1, (8, 16, 16, 16)), (2, 1, 64, 64)),
    "transformer": (Transformer, (8, 24, 32)),
    "autoencoder": (lambda: Autoencoder(1, (48, 48), (16, 8, 8), 32), (4, 1, 48, 48)),
}


def gradients(model, x, policy=None, **options):
    """Of a few steps of training, and the run."""
    model = copy.deepcopy(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    torch.manual_seed(5)  # of dropout
    run = None if policy is None else compress_activations(model, policy, **options)
    for _ in range(2):
        optimizer.zero_grad()
        if run is None:
            model(x).square().mean().backward()
        else:
            with run:
                loss = model(x).square().mean()
            loss.backward()
        optimizer.step()
    return [parameter.grad for parameter in model.parameters()], run


def distance(ones, others):
    """Relative, of all gradients together."""
    difference = sum(float((a - b).square().sum()) for a, b in zip(ones, others, strict=True))
    return (difference / sum(float(a.square().sum()) for a in ones)) ** 0.5


@pytest.mark.parametrize("name", NETWORKS)
def test_off_gives_the_gradients_of_plain_training_to_the_bit(name):
    make, shape = NETWORKS[name]
    model, x = make(), torch.randn(shape)
    plain, _ = gradients(model, x)
    off, run = gradients(model, x, "off")
    assert all(torch.equal(a, b) for a, b in zip(plain, off, strict=True))
    report = run.report()
    assert report.stored_bytes == report.saved_bytes > 0


@pytest.mark.parametrize("name", NETWORKS)
def test_exact_forms_alone_change_no_gradient(name):
    """Signs, masks, shapes and indices are all that backward asks for where they are stored."""
    make, shape = NETWORKS[name]
    model, x = make(), torch.randn(shape)
    plain, _ = gradients(model, x)
    exact, run = gradients(model, x, "lossless")
    assert all(torch.equal(a, b) for a, b in zip(plain, exact, strict=True))
    assert run.report().ratio >= 1


@pytest.mark.parametrize("name", NETWORKS)
def test_levels_store_ever_less_with_gradients_that_stay_near(name):
    make, shape = NETWORKS[name]
    model, x = make(), torch.randn(shape)
    plain, _ = gradients(model, x)
    ratios = []
    for level, near in (("safe", 0.05), ("balanced", 0.5), ("max", 3)):
        found, run = gradients(model, x, level)
        assert distance(plain, found) < near, level
        ratios.append(run.report().ratio)
    assert 1 < ratios[0] <= ratios[1] < ratios[2]


# ---- Budgets ------------------------------------------------------------------------------------


def budget_steps(model, x, **options):
    with compress_activations(model, **options) as run:
        for _ in range(3):
            model(x).square().mean().backward()
    return run.report()


@pytest.mark.parametrize("part", [0.9, 0.5, 0.25, 0.12])
def test_a_budget_is_kept_from_the_first_step_and_used(part):
    model, x = resnet18(width=8), torch.randn(16, 3, 32, 32)
    plain = budget_steps(model, x, policy="off")
    budget = int(part * plain.saved_bytes)
    report = budget_steps(model, x, budget=budget)
    assert 0.6 * budget < report.stored_bytes <= budget
    assert report.saved_bytes == plain.saved_bytes
    assert report.as_dict()["budget_bytes"] == budget


class Shared(nn.Module):
    """What a layer gives is saved three times: for a product in few bits, for a smooth function in
    more, and as it is for a quotient. Norms are computed again."""

    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(64, 64) for _ in range(9))
        self.norms = nn.ModuleList(nn.LayerNorm(64) for _ in range(9))

    def forward(self, x):
        for place, (norm, layer) in enumerate(zip(self.norms, self.layers, strict=True)):
            made = layer(norm(x))
            x = made.matmul(made.transpose(1, 2)).matmul(F.gelu(made)) / 64
            x = x / (1 + made.square()) if place % 3 == 2 else x
        return x


@pytest.mark.parametrize("part", [0.8, 0.6, 0.4])
def test_a_budget_is_kept_where_several_functions_save_a_value(part):
    torch.manual_seed(0)
    model, x = Shared(), torch.randn(32, 16, 64)
    budget = int(part * budget_steps(model, x, policy="off").saved_bytes)
    held = []
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with compress_activations(model, budget=budget) as run:
            for _ in range(3):
                model(x).square().mean().backward()
                held.append(run.report().stored_bytes)
    assert max(held) <= budget
    assert held[-1] > 0.5 * budget


def test_a_step_that_holds_more_than_its_budget_says_so():
    model, x = resnet18(width=8), torch.randn(8, 3, 32, 32)
    budget = int(1.5 * budget_steps(model, x, policy="balanced").stored_bytes)
    with compress_activations(model, budget=budget) as run:
        for images in (x, x, torch.cat([x, x])):
            model(images).square().mean().backward()
        said = [note for note in run.report().notes if "larger budget" in note]
        model(torch.cat([x, x])).square().mean().backward()
    assert len(said) == 1 and said[0].startswith("the last step held ")
    report = run.report()
    assert report.stored_bytes <= budget
    assert not any("larger budget" in note for note in report.notes)


def test_a_budget_that_is_never_tight_changes_no_gradient():
    model, x = resnet18(width=8), torch.randn(8, 3, 32, 32)
    plain = copy.deepcopy(model)
    for _ in range(2):
        plain.zero_grad()
        plain(x).square().mean().backward()
    with compress_activations(model, budget="2GiB"):
        for _ in range(2):
            model.zero_grad()
            model(x).square().mean().backward()
    pairs = zip(plain.parameters(), model.parameters(), strict=True)
    assert all(torch.equal(a.grad, b.grad) for a, b in pairs)


def test_a_budget_out_of_reach_is_said_and_the_least_is_used():
    model, x = resnet18(width=8), torch.randn(8, 3, 32, 32)
    with pytest.warns(RuntimeWarning, match="cannot be reached: the least") as warned:
        report = budget_steps(model, x, budget=1000)
    assert len(warned) == 1  # not in every step
    assert any("cannot be reached" in note for note in report.notes)
    # What is left are parts of groups.
    assert report.stored_bytes <= 1.02 * budget_steps(model, x, policy="max").stored_bytes


def test_a_policy_beside_a_budget_is_the_most_that_is_kept():
    model, x = resnet18(width=8), torch.randn(8, 3, 32, 32)
    four_bits = budget_steps(model, x, policy="balanced")
    report = budget_steps(model, x, policy="balanced", budget="2GiB")
    assert report.stored_bytes == four_bits.stored_bytes
