"""What went wrong elsewhere when saved tensors were compressed, one test each."""

import copy
import gc
import warnings

import pytest

torch = pytest.importorskip("torch")

import torch.nn.functional as F  # noqa: E402
from torch import nn  # noqa: E402
from torch.utils.checkpoint import checkpoint  # noqa: E402

from tensorpress.eval.networks import UNet, alexnet_small, resnet18, resnet_small  # noqa: E402
from tensorpress.torch import compress_activations  # noqa: E402

TWO_BITS = {"default": {"codec": "quantize", "bits": 2}}


@pytest.fixture(autouse=True)
def one_thread():
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    torch.manual_seed(3)
    yield
    torch.set_num_threads(threads)


def convolutions():
    return nn.Sequential(
        nn.Conv2d(3, 16, 3, padding=1), nn.ReLU(), nn.Conv2d(16, 16, 3, padding=1), nn.Tanh()
    )


def gradients(model):
    return [parameter.grad.clone() for parameter in model.parameters()]


def plain_gradients(model, *inputs):
    model = copy.deepcopy(model)
    model(*inputs).square().mean().backward()
    return gradients(model)


def near(ones, others, limit):
    difference = sum(float((a - b).square().sum()) for a, b in zip(ones, others, strict=True))
    return difference <= limit**2 * sum(float(a.square().sum()) for a in ones)


def live_bytes():
    """Of all tensors that Python or autograd's hooks hold, storages once."""
    gc.collect()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tensors = [thing for thing in gc.get_objects() if issubclass(type(thing), torch.Tensor)]
    # Other tests' sparse tensors have no storage of their own, and do not come or go here.
    tensors = [tensor for tensor in tensors if tensor.layout is torch.strided]
    storages = {tensor.untyped_storage()._cdata: tensor.untyped_storage() for tensor in tensors}
    return sum(storage.nbytes() for storage in storages.values())


# ---- One copy, and the right one ------------------------------------------------------------


@pytest.mark.parametrize("make", [lambda: resnet18(width=8), lambda: UNet(1, 1, (8, 8, 8, 8))])
def test_a_reused_address_is_never_taken_for_the_value_that_was_there(make):
    """Eight bits are near enough to tell, and free the originals, so that addresses come back."""
    model = make()
    x = torch.randn(4, next(model.parameters()).shape[1], 32, 32)
    plain = plain_gradients(model, x)
    with compress_activations(model, {"default": {"codec": "quantize", "bits": 8}}):
        loss = model(x).square().mean()
    loss.backward()
    assert near(plain, gradients(model), 0.05)


def test_a_value_saved_by_three_functions_is_stored_once():
    first = nn.Conv2d(3, 16, 3)
    left, right = nn.Conv2d(16, 4, 3), nn.Conv2d(16, 4, 3)
    model = nn.ModuleList([first, left, right])
    with compress_activations(model, "balanced") as run:
        shared = F.relu(first(torch.randn(8, 3, 32, 32)))
        (left(shared) + right(shared)).sum().backward()
    (record,) = [r for r in run.report().activations if r.saves == 3]
    values = shared.numel()
    assert record.bytes_before == 4 * values
    # Four bits and four bytes a group of 256, and one bit of sign.
    assert record.bytes_after == values // 2 + 4 * (values // 256) + values // 8
    assert record.codec == "sign + quantize bits=4"


def test_views_of_one_storage_share_the_copy():
    model = nn.Linear(32, 32)
    x = torch.randn(64, 64, 32, requires_grad=True)
    with compress_activations(model, "safe") as run:
        hidden = torch.tanh(x)
        products = hidden @ hidden.transpose(1, 2)
        slices = hidden[:32] * hidden[32:]
        flat = model(hidden.view(-1, 32))
        (products.sum() + slices.sum() + flat.sum()).backward()
    (record,) = run.report().activations
    values = hidden.numel()
    assert record.bytes_before == 4 * values
    assert record.bytes_after == values + 4 * (values // 256)


def test_a_changed_version_is_another_value():
    factor = nn.Parameter(torch.ones(64, 64))
    model = nn.ParameterList([factor])
    hidden = torch.randn(64, 64)
    with compress_activations(model, "safe"):
        before = (hidden * factor).sum()
        hidden.mul_(3)
        after = (hidden * factor).sum()
    after.backward()
    assert torch.allclose(factor.grad, hidden, atol=0.1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        before.backward()


def test_a_batch_that_is_a_slice_of_a_dataset_counts_as_itself():
    dataset = torch.randn(1000, 3, 32, 32)
    model = nn.Conv2d(3, 4, 3)
    with compress_activations(model, "off") as run:
        model(dataset[16:32]).sum().backward()
    assert run.report().saved_bytes == 16 * 3 * 32 * 32 * 4


# ---- What is held is what is reported, and no longer than needed ------------------------------


@pytest.mark.parametrize("level", ["lossless", "balanced", "max"])
@pytest.mark.parametrize("make", [lambda: resnet_small(width=8), alexnet_small])
def test_reported_bytes_are_the_bytes_that_are_really_held(make, level):
    model, x = make(), torch.randn(16, 3, 32, 32)
    before = live_bytes()
    with compress_activations(model, level) as run:
        loss = model(x).square().mean()
    held = live_bytes() - before - loss.untyped_storage().nbytes()
    # The batch was there before, and is held as it is.
    batch = x.untyped_storage().nbytes()
    outputs = 16 * 10 * 4 * 4  # the last layer's, seen by gc or not
    assert held == pytest.approx(run.report().stored_bytes - batch, abs=outputs)
    loss.backward()
    del loss
    assert (
        live_bytes() - before
        <= sum(p.grad.untyped_storage().nbytes() for p in model.parameters()) + outputs
    )


def test_payloads_are_freed_with_the_graph_also_without_backward():
    model = convolutions()
    with compress_activations(model, "balanced") as run:
        output = model(torch.randn(4, 3, 32, 32))
        held = run.held_bytes
        del output
        gc.collect()
        assert held > 0 and run.held_bytes == 0


def test_backward_frees_payloads_one_after_the_other():
    """A cache that outlives forward would keep all of them through backward."""
    model = nn.Sequential(
        *[m for _ in range(3) for m in (nn.Conv2d(4, 4, 3, padding=1), nn.ReLU())]
    )
    held = []
    with compress_activations(model, "balanced") as run:
        output = model(torch.randn(4, 4, 32, 32))
    for parameter in model.parameters():
        parameter.register_post_accumulate_grad_hook(lambda _: held.append(run.held_bytes))
    output.sum().backward()
    assert held == sorted(held, reverse=True) and held[-1] < held[0]
    assert run.held_bytes == 0


# ---- In place, twice, again -------------------------------------------------------------------


@pytest.mark.parametrize("level", ["off", "balanced"])
@pytest.mark.parametrize("gone", [False, True])
def test_changing_a_saved_tensor_in_place_raises_as_without_hooks(level, gone):
    model = nn.Conv2d(3, 16, 3)

    def step():
        hidden = torch.sigmoid(model(torch.randn(4, 3, 32, 32)))
        loss = hidden.square().sum()
        hidden.add_(1)
        if gone:
            del hidden
        return loss

    with pytest.raises(RuntimeError, match="modified by an inplace operation") as plain:
        step().backward()
    with compress_activations(model, level), pytest.raises(RuntimeError) as ours:
        step().backward()
    assert "modified by an inplace operation" in str(ours.value)
    assert "is at version 1; expected version 0 instead" in str(plain.value)
    assert "is at version 1; expected version 0 instead" in str(ours.value)


def test_in_place_relu_gives_the_same_as_the_other():
    made = {}
    for inplace in (False, True):
        torch.manual_seed(1)
        model = nn.Sequential(
            nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(inplace), nn.Conv2d(8, 8, 3)
        )
        with compress_activations(model, "balanced"):
            model(torch.randn(4, 3, 32, 32)).square().sum().backward()
        made[inplace] = gradients(model)
    assert all(torch.equal(a, b) for a, b in zip(made[False], made[True], strict=True))


def test_backward_twice_gives_the_same_gradient_twice():
    model = convolutions()
    with compress_activations(model, TWO_BITS):
        loss = model(torch.randn(4, 3, 32, 32)).square().mean()
        loss.backward(retain_graph=True)
        once = gradients(model)
        model.zero_grad()
        loss.backward()
    assert all(torch.equal(a, b) for a, b in zip(once, gradients(model), strict=True))


def test_gradients_of_gradients_work():
    model, x = convolutions(), torch.randn(4, 3, 32, 32)
    losses = []
    for run in (None, compress_activations(model, "lossless")):
        model.zero_grad()
        with run if run is not None else torch.enable_grad():
            loss = model(x).square().mean()
            slopes = torch.autograd.grad(loss, list(model.parameters()), create_graph=True)
            sum(slope.square().sum() for slope in slopes).backward()
        losses.append(gradients(model))
    assert near(losses[0], losses[1], 1e-6)


def test_several_forward_passes_before_one_backward():
    model = convolutions()
    xs = [torch.randn(4, 3, 32, 32) for _ in range(3)]
    reference = copy.deepcopy(model)
    sum(reference(x).square().mean() for x in xs).backward()
    with compress_activations(model, "safe") as run:
        sum(model(x).square().mean() for x in xs).backward()
    assert near(gradients(reference), gradients(model), 0.02)
    assert run.report().saved_bytes > 3 * 2 * 4 * 16 * 32 * 32 * 4


# ---- Signs and zeros ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "activation",
    [nn.ReLU(), nn.LeakyReLU(0.2), nn.ReLU6(), nn.Hardtanh(-0.5, 0.7), nn.LeakyReLU(0.1, True)],
)
def test_the_gradient_passes_where_it_passes_without_compression(activation):
    """At two bits a lossy mask flips one sign in seven; an exact one none."""
    model = nn.Sequential(nn.Conv2d(3, 16, 3), activation)
    x = 3 * torch.randn(8, 3, 16, 16)
    plain_gradients(model, x.requires_grad_())
    through = x.grad.clone()
    x.grad = None
    with compress_activations(model, TWO_BITS):
        output = model(x)
        output.backward(2 * output.detach() / output.numel())
    assert near([through], [x.grad], 1e-6)


def test_a_value_for_relu_and_convolution_keeps_signs_and_zeros():
    first, second = nn.Conv2d(3, 16, 3), nn.Conv2d(16, 16, 3)
    model = nn.Sequential(first, nn.ReLU(), second)
    with compress_activations(model, TWO_BITS):
        hidden = F.relu(first(torch.randn(8, 3, 16, 16)))
        output = second(hidden)
    # What the convolution's backward will get.
    seen = output.grad_fn._saved_input
    assert torch.equal(seen > 0, hidden > 0)
    assert torch.equal(seen == 0, hidden == 0)
    assert not torch.equal(seen, hidden)


@pytest.mark.parametrize("portable", [False, True])
@pytest.mark.parametrize("make", [nn.ReLU, nn.Tanh])
def test_zeros_that_dropout_makes_stay_zero(make, portable):
    model = nn.Sequential(nn.Conv2d(3, 16, 3), make(), nn.Dropout(0.3), nn.Conv2d(16, 16, 3))
    with compress_activations(model, TWO_BITS, portable=portable):
        hidden = model[:3](torch.randn(8, 3, 16, 16))
        output = model[3](hidden)
    seen = output.grad_fn._saved_input
    assert bool((seen[hidden == 0] == 0).all())
    assert not torch.equal(seen, hidden)


@pytest.mark.parametrize(
    "pool",
    [
        nn.MaxPool2d(2),
        nn.MaxPool2d(3, 2, 1),
        nn.MaxPool2d((2, 3), (1, 2), 1, dilation=(2, 1)),
        nn.MaxPool2d(3, 2, ceil_mode=True),
        nn.MaxPool2d(7, 1),
        nn.AvgPool2d(2),
        nn.AdaptiveAvgPool2d(5),
        nn.AdaptiveMaxPool2d(4),
        nn.Dropout(0.3),
        nn.Dropout2d(0.3),
    ],
)
def test_pooling_and_dropout_are_exact(pool):
    model = nn.Sequential(nn.Conv2d(3, 16, 3, padding=1), nn.ReLU(), pool, nn.Conv2d(16, 4, 3))
    x = torch.randn(8, 3, 17, 19)
    torch.manual_seed(9)
    plain = plain_gradients(model, x)
    torch.manual_seed(9)
    with compress_activations(model, "lossless") as run:
        loss = model(x).square().mean()
    loss.backward()
    assert all(torch.equal(a, b) for a, b in zip(plain, gradients(model), strict=True))
    report = run.report()
    indices = [r for r in report.activations if r.dtype == "int64" and r.bytes_before > 4096]
    if type(pool) is nn.MaxPool2d:
        assert indices and all(r.bytes_before >= 8 * r.bytes_after for r in indices)


def test_pooling_along_one_axis_is_exact():
    model = nn.Sequential(
        nn.Conv1d(3, 16, 3), nn.ReLU(), nn.MaxPool1d(3, 2, 1), nn.Conv1d(16, 4, 3)
    )
    x = torch.randn(16, 3, 101)
    plain = plain_gradients(model, x)
    with compress_activations(model, "lossless"):
        model(x).square().mean().backward()
    assert all(torch.equal(a, b) for a, b in zip(plain, gradients(model), strict=True))


@pytest.mark.parametrize("function", ["amax", "maximum", "sort", "own"])
def test_functions_that_compare_values_get_them_exactly(function):
    class Own(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, gradient):
            return 2 * ctx.saved_tensors[0] * gradient

    calls = {
        "amax": lambda x: x.amax((2, 3)),
        "maximum": lambda x: torch.maximum(x, x.roll(1, 0)),
        "sort": lambda x: x.sort(-1).values[..., :3],
        "own": Own.apply,
    }
    first = nn.Conv2d(3, 16, 3)
    x = torch.randn(8, 3, 32, 32, requires_grad=True)
    calls[function](first(x)).sum().backward()
    plain = [x.grad.clone()]
    x.grad = None
    with compress_activations(first, "max"):
        calls[function](first(x)).sum().backward()
    assert torch.equal(plain[0], x.grad)


# ---- Shapes, types, surroundings ----------------------------------------------------------------


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


@pytest.mark.parametrize("reentrant", [False, True])
def test_checkpointing_inside_works(reentrant):
    blocks = nn.ModuleList(
        nn.Sequential(nn.Conv2d(8, 8, 3, padding=1), nn.ReLU()) for _ in range(3)
    )

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.stem, self.blocks = nn.Conv2d(3, 8, 3), blocks

        def forward(self, x):
            x = self.stem(x)
            for block in self.blocks:
                x = checkpoint(block, x, use_reentrant=reentrant)
            return x

    model, x = Net(), torch.randn(4, 3, 32, 32)
    plain = plain_gradients(model, x)
    with compress_activations(model, "safe"):
        model(x).square().mean().backward()
    assert near(plain, gradients(model), 0.05)


def test_a_model_in_distributed_data_parallel_is_found_inside_it(tmp_path):
    torch.distributed.init_process_group(
        "gloo", init_method=f"file://{tmp_path}/store", rank=0, world_size=1
    )
    try:
        model, x = convolutions(), torch.randn(4, 3, 32, 32)
        plain = plain_gradients(model, x)
        parallel = nn.parallel.DistributedDataParallel(model)
        plan = {"level": "safe", "by_name": {"2": {"codec": "cast", "to": "bf16"}}}
        with compress_activations(parallel, plan) as run:
            parallel(x).square().mean().backward()
        assert near(plain, gradients(model), 0.05)
        codecs = {record.name: record.codec for record in run.report().activations}
        assert codecs["1:relu"] == "sign + cast to=bf16"
    finally:
        torch.distributed.destroy_process_group()


def test_a_compiled_model_gives_its_own_gradients():
    """Inside a compiled region nobody can tell who saves, so everything is kept as it is."""
    model, x = nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 8)), torch.randn(64, 32)
    plain = plain_gradients(model, x)
    compiled = torch.compile(model, backend="aot_eager")
    with compress_activations(compiled, "max"):
        compiled(x).square().mean().backward()
    assert near(plain, gradients(model), 1e-6)


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
