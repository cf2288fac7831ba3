"""Compressed activations of every shape and type, inside everything that PyTorch puts around."""

import copy
import pickle

import pytest

torch = pytest.importorskip("torch")

from test_torch_activations_pitfalls import convolutions, gradients, near, plain_gradients
from torch import nn
from torch.testing._internal.two_tensor import TwoTensor

from tensorpress.eval.networks import alexnet_small, resnet18
from tensorpress.torch import compress_activations

TWO_BITS = {"default": {"codec": "quantize", "bits": 2}}


pytestmark = pytest.mark.usefixtures("one_thread")


def test_a_short_last_batch_is_compressed_like_the_others():
    model = convolutions()
    with compress_activations(model, "balanced") as run:
        ratios = []
        for size in (16, 16, 5):
            model(torch.randn(size, 3, 32, 32)).sum().backward()
            ratios.append(run.report().ratio)
    assert ratios[2] == pytest.approx(ratios[0], rel=0.02)


def test_channels_last_and_transposed_values_come_back_in_their_places():
    model = nn.Sequential(
        nn.Conv2d(4, 16, 3), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(16, 8, 3)
    )
    model = model.to(memory_format=torch.channels_last)
    x = torch.randn(8, 4, 24, 20).to(memory_format=torch.channels_last)
    plain = plain_gradients(model, x)
    with compress_activations(model, "lossless"):
        model(x).square().mean().backward()
    assert near(plain, gradients(model), 1e-6)
    model.zero_grad()
    with compress_activations(model, "safe"):
        model(x).square().mean().backward()
    assert near(plain, gradients(model), 0.05)


def test_slices_with_gaps_are_values_of_their_own():
    project = nn.Linear(32, 96)
    x = torch.randn(16, 64, 32)

    def attention(project):
        query, key, value = project(x).chunk(3, -1)
        return ((query @ key.transpose(1, 2)).softmax(-1) @ value).square().mean()

    reference = copy.deepcopy(project)
    attention(reference).backward()
    with compress_activations(project, "safe") as run:
        loss = attention(project)
    loss.backward()
    assert near(gradients(reference), gradients(project), 0.05)
    report = run.report()
    assert report.ratio > 2.5  # the input is kept
    # Query, key and value fill their storage, and softmax saves its result.
    assert report.saved_bytes >= 4 * (x.numel() + 16 * 64 * 96 + 16 * 64 * 64)


@pytest.mark.parametrize("level, limit", [("lossless", 0), ("safe", 0.05)])
def test_autocast_to_bfloat16_works_and_weights_stay_exact(level, limit):
    model = nn.Sequential(
        nn.Conv2d(3, 16, 3),
        nn.ReLU(),
        nn.Conv2d(16, 16, 3),
        nn.Flatten(),
        nn.Linear(16 * 28 * 28, 64),
    )
    x = torch.randn(8, 3, 32, 32)
    with torch.autocast("cpu", torch.bfloat16):
        plain = plain_gradients(model, x)
        with compress_activations(model, level) as run:
            loss = model(x).square().mean()
    loss.backward()
    assert near(plain, gradients(model), limit)
    # The linear layer's weight in bfloat16 would be the largest of all.
    assert all(record.shape != (64, 16 * 28 * 28) for record in run.report().activations)
    if level == "safe":
        assert any(r.dtype == "bfloat16" and "bits=8" in r.codec for r in run.report().activations)


@pytest.fixture
def process_group(tmp_path):
    """One process alone. DistributedDataParallel must be gone before it ends: its destructor waits
    for a thread that may wait for Python."""
    torch.distributed.init_process_group(
        "gloo", init_method=f"file://{tmp_path}/store", rank=0, world_size=1
    )
    yield
    torch.distributed.destroy_process_group()


@pytest.mark.usefixtures("process_group")
def test_a_model_in_distributed_data_parallel_is_found_inside_it():
    model, x = convolutions(), torch.randn(4, 3, 32, 32)
    plain = plain_gradients(model, x)
    parallel = nn.parallel.DistributedDataParallel(model)
    plan = {"level": "safe", "by_name": {"2": {"codec": "cast", "to": "bf16"}}}
    with compress_activations(parallel, plan) as run:
        parallel(x).square().mean().backward()
    assert near(plain, gradients(model), 0.05)
    codecs = {record.name: record.codec for record in run.report().activations}
    assert codecs["1:relu"] == "sign + cast to=bf16"


@pytest.mark.parametrize("level", ["off", "balanced"])
def test_subclasses_that_compute_in_their_own_way_pass_as_they_are(level):
    x = TwoTensor(torch.randn(8, 1024), torch.randn(8, 1024)).requires_grad_()
    (x * 2).tanh().sum().backward()
    expected = x.grad
    x.grad = None
    with compress_activations(nn.Identity(), level):
        (x * 2).tanh().sum().backward()
    assert torch.equal(x.grad.a, expected.a) and torch.equal(x.grad.b, expected.b)


class Tagged(torch.Tensor):
    """A subclass that PyTorch has never heard of: values are in another tensor."""

    @staticmethod
    def __new__(cls, values):
        return torch.Tensor._make_wrapper_subclass(
            cls, values.shape, dtype=values.dtype, requires_grad=values.requires_grad
        )

    def __init__(self, values):
        self.values_inside = values.detach()

    @classmethod
    def __torch_dispatch__(cls, function, types, args=(), kwargs=None):
        inside = torch.utils._pytree.tree_map_only(cls, lambda each: each.values_inside, args)
        found = function(*inside, **(kwargs or {}))
        return torch.utils._pytree.tree_map_only(torch.Tensor, cls, found)


@pytest.mark.parametrize("level", ["off", "lossless", "balanced", "max"])
@pytest.mark.parametrize("budget", [None, 1 << 16])
def test_unknown_subclasses_are_kept_and_named_in_the_report(level, budget):
    torch.manual_seed(1)
    layer = nn.Linear(64, 64)
    values = torch.randn(8, 32, 64)

    def step():
        x = Tagged(values).requires_grad_()
        nn.functional.max_pool1d(layer(x).relu().tanh(), 2).sum().backward()
        return x.grad

    expected = step().values_inside
    with compress_activations(layer, level, budget=budget) as run:
        found = step().values_inside
    assert torch.equal(found, expected)
    assert "tensors of type Tagged are kept and not counted" in str(run.report())


def test_subclasses_with_plain_memory_are_compressed():
    class Picture(torch.Tensor):
        pass

    model, x = convolutions(), torch.randn(8, 3, 32, 32)
    with compress_activations(model, "balanced") as plain:
        model(x).square().mean().backward()
    with compress_activations(model, "balanced") as run:
        model(x.as_subclass(Picture)).square().mean().backward()
    assert run.report().stored_bytes == plain.report().stored_bytes


def test_a_compiled_model_gives_its_own_gradients():
    """Inside a compiled region the hooks do not see which function saves, so everything is kept."""
    model, x = nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 8)), torch.randn(64, 32)
    plain = plain_gradients(model, x)
    compiled = torch.compile(model, backend="aot_eager")
    with compress_activations(compiled, "max"):
        compiled(x).square().mean().backward()
    assert near(plain, gradients(model), 1e-6)


@pytest.mark.parametrize("when", ["before", "inside"])
def test_a_compiled_model_stays_one_graph(when):
    graphs = []

    def backend(graph, inputs):
        graphs.append(graph)
        return graph.forward

    model, x = convolutions(), torch.randn(4, 3, 32, 32)
    plain = plain_gradients(model, x)
    torch._dynamo.reset()
    if when == "before":
        compiled = torch.compile(model, backend=backend, fullgraph=True)
    with compress_activations(model if when == "inside" else compiled, "balanced"):
        if when == "inside":
            compiled = torch.compile(model, backend=backend, fullgraph=True)
        for _ in range(2):
            model.zero_grad()
            compiled(x).square().mean().backward()
    assert len(graphs) == 1
    assert near(plain, gradients(model), 0.5)


def test_expanded_tensors_count_what_they_hold():
    model, x = nn.Conv2d(3, 4, 3), torch.randn(8, 3, 32, 32)
    with compress_activations(model, "balanced") as run:
        output = model(x)
        (output * torch.full((1,), 2.0).expand_as(output)).sum().backward()
    report = run.report()
    assert report.saved_bytes == report.stored_bytes == 4 * x.numel() + 4


def test_nested_runs_leave_to_the_inner_one_what_is_inside():
    model, x = convolutions(), torch.randn(4, 3, 32, 32)
    with compress_activations(model, "off") as outer:
        with compress_activations(model, "balanced") as inner:
            model(x).square().mean().backward()
        model(x).square().mean().backward()
    assert inner.report().ratio > 3 and outer.report().ratio == 1


def test_nothing_is_held_without_gradients():
    model, x = convolutions(), torch.randn(4, 3, 32, 32)
    with compress_activations(model, "balanced") as run, torch.no_grad():
        model.eval()(x)
        assert run.held_bytes == 0
    assert run.report().saved_bytes == 0


def test_a_validation_leaves_the_report_of_the_last_step():
    model, x = convolutions(), torch.randn(4, 3, 32, 32)
    with compress_activations(model, "balanced") as run:
        model(x).square().mean().backward()
        trained = run.report()
        with torch.no_grad():
            model(x)
        model.eval()
        with torch.inference_mode():
            model(x)
        assert run.report().as_dict() == trained.as_dict()
        assert trained.saved_bytes > 0 and trained.steps == 1
        model(x).square().mean().backward()
    again = run.report()
    assert (again.steps, again.saved_bytes) == (2, trained.saved_bytes)


class Trained(nn.Module):
    """As Lightning calls modules: by another name than forward, and part by part."""

    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Conv2d(3, 16, 3), nn.Conv2d(16, 16, 3)
        self.scale = nn.Parameter(torch.ones(4, 16, 28, 28))

    def training_step(self, x):
        return (self.second(self.first(x).tanh()) * self.scale).square().mean()

    def own_step(self, x):
        return (x * self.scale).tanh().square().mean()


@pytest.mark.parametrize(
    "step, shape", [("training_step", (4, 3, 32, 32)), ("own_step", (4, 16, 28, 28))]
)
def test_steps_are_counted_however_the_model_is_called(step, shape):
    model, x = Trained(), torch.randn(shape)
    reports = []
    with compress_activations(model, "balanced") as run:
        for _ in range(3):
            getattr(model, step)(x).backward()
            reports.append(run.report())
    assert [each.steps for each in reports] == [1, 2, 3]
    assert len({(each.saved_bytes, each.stored_bytes) for each in reports}) == 1


def test_a_budget_is_used_however_the_model_is_called():
    model, x = Trained(), torch.randn(4, 3, 32, 32)
    with compress_activations(model, budget="2GiB") as run:
        for _ in range(2):
            model.training_step(x).backward()
    assert run.report().ratio == 1  # all fits as it is


def test_a_batch_for_a_part_of_the_model_is_kept():
    model, x = Trained(), torch.randn(4, 3, 32, 32)
    with compress_activations(model, "balanced") as run:
        model.training_step(x).backward()
    assert {r.name: r.codec for r in run.report().activations}["first:conv2d"] == "keep"


def test_an_exception_in_forward_leaves_no_hook_behind():
    class Broken(nn.Module):
        def forward(self, x):
            raise KeyError("broken")

    model = nn.Sequential(nn.Conv2d(3, 8, 3), Broken())
    run = compress_activations(model, "balanced")
    with pytest.raises(KeyError), run:
        model(torch.randn(4, 3, 32, 32))
    for module in model.modules():
        assert not module._forward_hooks and not module._forward_pre_hooks
    saved = model[0](torch.randn(4, 3, 32, 32)).square()
    assert isinstance(saved.grad_fn._saved_self, torch.Tensor)
    with run:  # and may be entered again
        model[0](torch.randn(4, 3, 32, 32)).square().sum().backward()
    assert run.report().saved_bytes > 0


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda it: pickle.loads(pickle.dumps(it))])
def test_a_copy_that_is_made_inside_is_not_watched(copied):
    """Such as an average of the weights: leaving the run does not take the hooks off it."""
    model = nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU(), nn.Conv2d(8, 8, 3))
    x = torch.randn(4, 3, 32, 32)
    with compress_activations(model, "balanced") as run:
        average = copied(model)
        average(x).square().sum().backward()
        assert not any(":" in each.name for each in run.report().activations)  # of no module
        model(x).square().sum().backward()
        assert any(":" in each.name for each in run.report().activations)
    assert torch.equal(average(x), model(x))


@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors")
def test_nested_tensors_pass_as_they_are():
    linear = nn.Linear(64, 64)
    rows = [torch.randn(30, 64), torch.randn(50, 64)]

    def loss():
        nested = torch.nested.nested_tensor(rows)
        return torch.nested.to_padded_tensor(linear(nested).relu(), 0.0).square().sum()

    loss().backward()
    expected = gradients(linear)
    linear.zero_grad()
    with compress_activations(linear, "lossless"):
        loss().backward()
    assert near(gradients(linear), expected, 1e-7)


@pytest.mark.parametrize("autocast", [False, True])
@pytest.mark.parametrize(
    "layer", [lambda: nn.Conv2d(16, 64, 3), lambda: nn.ConvTranspose2d(16, 64, 3)]
)
def test_weights_that_are_computed_stay_exact(layer, autocast):
    """The gradient of a layer's input depends on nothing else that is saved."""
    model = nn.utils.parametrizations.weight_norm(layer())
    x = torch.randn(4, 16, 32, 32, requires_grad=True)

    def gradient():
        with torch.autocast("cpu", torch.bfloat16, enabled=autocast):
            result = model(x * 1).float().sum()
        return torch.autograd.grad(result, x)[0]

    expected = gradient()
    with compress_activations(model, "max") as run:
        assert torch.equal(gradient(), expected)
    assert any("quantize" in each.codec for each in run.report().activations)


@pytest.mark.filterwarnings("ignore:Sparse CSR tensor support is in beta")
def test_sparse_tensors_pass_as_they_are():
    class Neighbours(nn.Module):
        def __init__(self, layout):
            super().__init__()
            self.matrix = torch.eye(64).roll(1, 0).to_sparse(layout=layout)
            self.linear = nn.Linear(64, 64)

        def forward(self, x):
            return (self.matrix @ self.linear(x)).relu().square().sum()

    x = torch.randn(64, 64)
    for layout in (torch.sparse_coo, torch.sparse_csr):
        model = Neighbours(layout)
        model(x).backward()
        expected = model.linear.weight.grad.clone()
        model.zero_grad()
        with compress_activations(model, "lossless"):
            model(x).backward()
        assert torch.equal(model.linear.weight.grad, expected)


def test_names_do_not_depend_on_what_runs_elsewhere():
    class Choice(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.maybe, self.last = (nn.Conv2d(4, 4, 3, padding=1) for _ in range(3))

        def forward(self, x, more):
            x = torch.tanh(self.first(x))
            return self.last(torch.tanh(self.maybe(x)) if more else x)

    model = Choice()
    names = []
    with compress_activations(model, "safe") as run:
        for more in (True, False):
            model(torch.randn(4, 4, 32, 32), more).sum().backward()
            names.append({record.name for record in run.report().activations})
    assert names[1] < names[0] and "first:conv2d" in names[1] and "maybe:conv2d" not in names[1]


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_values_that_are_not_finite_pass_as_they_are_and_are_counted(bad):
    model = convolutions()
    x = torch.randn(4, 3, 32, 32)
    x[0, 0, 5, 5] = bad
    plain = plain_gradients(model, x)
    with compress_activations(model, "balanced") as run:
        model(x).square().mean().backward()
    for one, other in zip(plain, gradients(model), strict=True):
        assert torch.equal(torch.isnan(one), torch.isnan(other))
    report = run.report()
    assert report.nonfinite >= 1 and "NaN, infinity" in str(report)
    assert report.as_dict()["nonfinite"] == report.nonfinite


def test_stochastic_rounding_repeats_with_its_seed_and_differs_with_another():
    x = torch.randn(4, 3, 32, 32)
    model = convolutions()
    found = []
    for seed in (1, 1, 2):
        model.zero_grad()
        with compress_activations(model, "max", seed=seed):
            model(x).square().mean().backward()
        found.append(gradients(model))
    assert all(torch.equal(a, b) for a, b in zip(found[0], found[1], strict=True))
    assert not all(torch.equal(a, b) for a, b in zip(found[0], found[2], strict=True))


def test_the_portable_packing_gives_the_gradients_of_the_library():
    model, x = alexnet_small(), torch.randn(8, 3, 32, 32)
    found = []
    for portable in (False, True):
        model.zero_grad()
        torch.manual_seed(5)
        with compress_activations(model, "balanced", portable=portable) as run:
            model(x).square().mean().backward()
        found.append((gradients(model), run.report().stored_bytes))
    assert near(found[0][0], found[1][0], 1e-6)
    assert found[0][1] == found[1][1]


def test_the_measured_peak_is_lower_and_weights_and_optimizer_are_in_it():
    model, x = resnet18(width=8), torch.randn(32, 3, 32, 32)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)

    def step():
        optimizer.zero_grad()
        model(x).square().mean().backward()
        optimizer.step()

    step()
    peaks = {}
    for level in ("off", "balanced"):
        optimizer.zero_grad()
        with compress_activations(model, level) as run:
            assert run.report().as_dict()["peak_bytes"] is None
            with run.measure():
                step()
        peaks[level] = run.report().peak
    weights = sum(p.untyped_storage().nbytes() for p in model.parameters())
    for peak in peaks.values():
        assert peak.allocated >= peak.activations_and_gradients + 2 * weights
        assert peak.resident > 0
    ratio = peaks["off"].activations_and_gradients / peaks["balanced"].activations_and_gradients
    assert ratio > 1.7
