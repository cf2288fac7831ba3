"""Linear layer and cross entropy in slices: the loss and gradients of PyTorch's two functions."""

import itertools

import pytest

torch = pytest.importorskip("torch")

import torch.nn.functional as F
from torch import nn

from tensorpress.torch import LinearCrossEntropy, compress_activations, linear_cross_entropy
from tensorpress.torch.peak_memory import measured_peak

pytestmark = pytest.mark.usefixtures("one_thread")

REDUCTIONS = ("mean", "sum", "none")


def two_functions(
    hidden, linear_weight, target, *, linear_bias=None, z_loss=0.0, reduction="mean", **options
):
    """What users write without us, and a z-loss as papers define it."""
    logits = F.linear(hidden, linear_weight, linear_bias)
    logits, rows = logits.reshape(-1, logits.shape[-1]), target.flatten()
    loss = F.cross_entropy(logits, rows, reduction=reduction, **options)
    if z_loss:
        counted = rows != options.get("ignore_index", -100)
        squares = torch.where(counted, torch.logsumexp(logits, 1).square(), 0)
        whole = {"mean": squares.sum() / counted.sum(), "sum": squares.sum(), "none": squares}
        loss = loss + z_loss * whole[reduction]
    return loss.view(target.shape) if reduction == "none" else loss


def loss_and_gradients(function, leaves, *arguments, **options):
    hidden, weight, bias = (each.clone().requires_grad_() for each in leaves)
    loss = function(hidden, weight, *arguments, linear_bias=bias, **options)
    by_rows = torch.linspace(-1, 2, max(1, loss.numel()), dtype=loss.dtype)[: loss.numel()]
    (3 * loss * by_rows.view(loss.shape)).sum().backward()
    return [loss.detach(), hidden.grad, weight.grad, bias.grad]


def leaves_of(dtype=torch.float64, rows=(3, 7), features=6, classes=11):
    hidden = torch.randn(*rows, features, dtype=dtype)
    weight = torch.randn(classes, features, dtype=dtype)
    return hidden, weight, torch.randn(classes, dtype=dtype)


def labels(rows=(3, 7), classes=11, ignored=-100):
    target = torch.randint(0, classes, rows)
    return torch.where(torch.rand(rows) < 0.3, ignored, target)


@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_loss_and_gradients_are_those_of_the_two_functions(reduction):
    weights = torch.rand(11, dtype=torch.float64)
    choices = itertools.product((0.0, 0.2, 1.0), (0.0, 0.1), (None, weights), (-100, 4))
    for smoothing, z_loss, weight, ignored in choices:
        leaves, target = leaves_of(), labels(ignored=ignored)
        options = {
            "label_smoothing": smoothing,
            "z_loss": z_loss,
            "weight": weight,
            "ignore_index": ignored,
            "reduction": reduction,
        }
        expected = loss_and_gradients(two_functions, leaves, target, **options)
        for slice_bytes in (1, 3 * 11 * 8, 1 << 20):  # a row, three rows, everything
            found = loss_and_gradients(
                linear_cross_entropy, leaves, target, slice_bytes=slice_bytes, **options
            )
            for ours, theirs in zip(found, expected, strict=True):
                torch.testing.assert_close(ours, theirs, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_float32_differs_by_rounding(reduction):
    leaves, target = leaves_of(torch.float32, (50,), 40, 300), labels((50,), 300)
    expected = loss_and_gradients(two_functions, leaves, target, reduction=reduction)
    found = loss_and_gradients(
        linear_cross_entropy, leaves, target, reduction=reduction, slice_bytes=9000
    )
    for ours, theirs in zip(found, expected, strict=True):
        torch.testing.assert_close(ours, theirs)


@pytest.mark.parametrize("rows", [(), (5,), (2, 1, 3)])
def test_leading_dimensions_are_whatever_they_are(rows):
    leaves, target = leaves_of(rows=rows), torch.randint(0, 11, rows)
    expected = loss_and_gradients(two_functions, leaves, target, reduction="sum")
    found = loss_and_gradients(linear_cross_entropy, leaves, target, reduction="sum")
    for ours, theirs in zip(found, expected, strict=True):
        torch.testing.assert_close(ours, theirs)


@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("rows", [(4,), (0,)])
def test_nothing_that_counts_is_as_with_pytorch(reduction, rows):
    """NaN for the mean, with gradients of 0; and 0 for the others."""
    leaves, target = leaves_of(rows=rows), torch.full(rows, -100)
    expected = loss_and_gradients(two_functions, leaves, target, reduction=reduction)
    found = loss_and_gradients(linear_cross_entropy, leaves, target, reduction=reduction)
    for ours, theirs in zip(found, expected, strict=True):
        torch.testing.assert_close(ours, theirs, equal_nan=True)


@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_gradcheck(reduction):
    target = labels((5,))

    def loss(hidden, weight, bias):
        return linear_cross_entropy(
            hidden,
            weight,
            target,
            linear_bias=bias,
            reduction=reduction,
            label_smoothing=0.1,
            z_loss=0.01,
            slice_bytes=200,
        )

    leaves = [each.requires_grad_() for each in leaves_of(rows=(5,))]
    assert torch.autograd.gradcheck(loss, leaves)


def test_only_gradients_that_are_wanted_are_computed():
    for wanted in itertools.product((False, True), repeat=3):
        hidden, weight, bias = leaves_of()
        for each, needs in zip((hidden, weight, bias), wanted, strict=True):
            each.requires_grad_(needs)
        loss = linear_cross_entropy(hidden, weight, labels(), linear_bias=bias)
        assert loss.requires_grad == any(wanted)
        if any(wanted):
            loss.backward()
        assert tuple(each.grad is not None for each in (hidden, weight, bias)) == wanted


def test_extreme_logits_stay_finite():
    hidden = torch.tensor([[1e4], [-1e4]], requires_grad=True)
    weight = torch.tensor([[1.0], [-1.0], [0.5]])
    loss = linear_cross_entropy(hidden, weight, torch.tensor([0, 0]))
    loss.backward()
    assert loss.item() == 1e4 and hidden.grad.isfinite().all()


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_narrow_types_are_summed_in_float32(dtype):
    """About as near to the exact result as the two functions in this type."""
    leaves = leaves_of(dtype, (200,), 32, 100)
    target = labels((200,), 100)
    exact = loss_and_gradients(two_functions, [each.double() for each in leaves], target)
    rounded = loss_and_gradients(two_functions, leaves, target)
    found = loss_and_gradients(linear_cross_entropy, leaves, target, slice_bytes=8000)
    assert found[0].dtype == torch.float32
    assert [each.dtype for each in found[1:]] == [dtype] * 3
    for ours, theirs, truth in zip(found, rounded, exact, strict=True):
        error, their_error = (ours.double() - truth).norm(), (theirs.double() - truth).norm()
        assert error <= 1.5 * their_error + 1e-6 * truth.norm()


def test_autocast_computes_as_a_linear_layer_does_and_keeps_gradients_in_float32():
    leaves, target = leaves_of(torch.float32, (60,), 32, 100), labels((60,), 100)
    exact = loss_and_gradients(two_functions, leaves, target)
    with torch.autocast("cpu", torch.bfloat16):
        found = loss_and_gradients(linear_cross_entropy, leaves, target, slice_bytes=8000)
    for ours, truth in zip(found, exact, strict=True):
        assert ours.dtype == torch.float32
        error = (ours - truth).norm() / truth.norm()
        assert 0 < error < 0.02


def test_a_shared_weight_gets_both_gradients():
    embedding, head = nn.Embedding(50, 8), nn.Linear(8, 50, bias=False)
    head.weight = embedding.weight
    tokens = torch.randint(0, 50, (4, 9))
    found = []
    for loss in (
        LinearCrossEntropy(head, slice_bytes=1000),
        lambda hidden, target: two_functions(hidden, head.weight, target),
    ):
        embedding.zero_grad()
        loss(embedding(tokens[:, :-1]).tanh(), tokens[:, 1:]).backward()
        found.append(embedding.weight.grad.clone())
    torch.testing.assert_close(*found)


def test_the_module_has_the_layers_weight_and_its_options():
    head = nn.Linear(8, 20)
    criterion = LinearCrossEntropy(head, torch.rand(20), label_smoothing=0.1)
    assert criterion.linear.weight is head.weight
    hidden, target = torch.randn(5, 8), torch.randint(0, 20, (5,))
    expected = F.cross_entropy(head(hidden), target, criterion.weight, label_smoothing=0.1)
    torch.testing.assert_close(criterion(hidden, target), expected)
    with pytest.raises(TypeError, match="ReLU has no weight"):
        LinearCrossEntropy(nn.ReLU())


# ---- Memory ----------------------------------------------------------------------------------


def peak_of(head, run):
    head.zero_grad()
    with measured_peak(head) as peaks:
        run()
    return peaks[0].activations_and_gradients


@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_logits_are_never_all_there(reduction):
    rows, features, classes, slice_bytes = 2000, 16, 5000, 1 << 20
    head = nn.Linear(features, classes)
    hidden = torch.randn(rows, features, requires_grad=True)
    target = torch.randint(0, classes, (rows,))

    def run():
        linear_cross_entropy(
            hidden,
            head.weight,
            target,
            linear_bias=head.bias,
            reduction=reduction,
            slice_bytes=slice_bytes,
        ).sum().backward()

    run()
    hidden.grad = None
    gradients = 4 * (rows * features + classes * (features + 1))
    peak = peak_of(head, run)
    # The gradients once, not twice; one slice; and some numbers for each row.
    assert peak < gradients + slice_bytes + 64 * rows + (64 << 10)
    assert peak < 4 * rows * classes / 20


@pytest.mark.parametrize("reduction", ["mean", "none"])
def test_hidden_states_are_all_that_is_saved(reduction):
    head, target = nn.Linear(64, 500), torch.randint(0, 500, (8, 40))
    first = nn.Linear(64, 64)
    model = nn.Sequential(first, head)
    hidden = torch.randn(8, 40, 64)
    with compress_activations(model, "balanced") as run:
        loss = linear_cross_entropy(
            first(hidden).tanh(), head.weight, target, linear_bias=head.bias, reduction=reduction
        )
    report = {each.name: each for each in run.report().activations}
    assert report["tanh"].lossy and "sliced_linear_cross_entropy" in report["tanh"].saved_by
    assert run.report().saved_bytes == 2 * hidden.nbytes + target.nbytes
    loss.sum().backward()
    found = [parameter.grad.clone() for parameter in model.parameters()]
    model.zero_grad()
    two_functions(
        first(hidden).tanh(), head.weight, target, linear_bias=head.bias, reduction=reduction
    ).sum().backward()
    for ours, parameter in zip(found, model.parameters(), strict=True):
        assert (ours - parameter.grad).norm() < 0.1 * parameter.grad.norm()


def test_lossless_changes_no_gradient():
    head, first = nn.Linear(64, 500), nn.Linear(64, 64)
    hidden, target = torch.randn(8, 40, 64), torch.randint(0, 500, (8, 40))
    found = []
    for level in ("off", "lossless"):
        first.zero_grad()
        with compress_activations(nn.Sequential(first, head), level):
            losses = linear_cross_entropy(
                first(hidden).relu(), head.weight, target, reduction="none"
            )
            losses.sum().backward()
        found.append(first.weight.grad.clone())
    assert torch.equal(*found)


# ---- Backward again, compiled, wrong -----------------------------------------------------------


@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_a_second_backward_over_a_retained_graph_is_the_first(reduction):
    hidden, weight, bias = (each.requires_grad_() for each in leaves_of())
    loss = linear_cross_entropy(hidden, weight, labels(), linear_bias=bias, reduction=reduction)
    first = torch.autograd.grad(loss.sum(), (hidden, weight, bias), retain_graph=True)
    second = torch.autograd.grad(loss.sum(), (hidden, weight, bias))
    for ours, theirs in zip(first, second, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-12, atol=1e-12)
    with pytest.raises(RuntimeError, match="second time"):
        loss.sum().backward()


@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_a_second_derivative_is_refused(reduction):
    hidden, weight, _ = (each.requires_grad_() for each in leaves_of())
    loss = linear_cross_entropy(hidden, weight, labels(), reduction=reduction)
    with pytest.raises(RuntimeError, match="no second derivative"):
        torch.autograd.grad(loss.sum(), hidden, create_graph=True)


@pytest.mark.filterwarnings("ignore:.*should not be instantiated:DeprecationWarning")
@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("dynamic", [False, True])
def test_a_compiled_step_is_one_graph_with_the_same_gradients(reduction, dynamic):
    torch._dynamo.reset()

    def loss(hidden, linear_weight, target, **options):
        return linear_cross_entropy(
            hidden.tanh(), linear_weight, target, slice_bytes=500, **options
        )

    compiled = torch.compile(loss, backend="aot_eager", fullgraph=True, dynamic=dynamic)
    for rows in (5, 9):
        leaves, target = leaves_of(rows=(3, rows)), labels((3, rows))
        expected = loss_and_gradients(loss, leaves, target, reduction=reduction)
        found = loss_and_gradients(compiled, leaves, target, reduction=reduction)
        for ours, theirs in zip(found, expected, strict=True):
            torch.testing.assert_close(ours, theirs, rtol=1e-12, atol=1e-12)


def test_the_operator_passes_pytorchs_own_checks():
    hidden, weight, bias = leaves_of(rows=(9,))
    target, classes = labels((9,)), torch.rand(11, dtype=torch.float64)
    for wanted, upstream in (
        ([True] * 3, None),
        ([False, True, False], torch.rand(9, dtype=torch.float64)),
    ):
        settings = (-100, 0.1, 0.01, True, 300, torch.float64, wanted)
        torch.library.opcheck(
            torch.ops.tensorpress.linear_cross_entropy.default,
            (hidden, weight, bias, target, classes, upstream, *settings),
        )


def test_wrong_arguments_are_named():
    hidden, weight, bias = leaves_of()
    target = labels()
    target[1, 2] = 11
    with pytest.raises(
        IndexError, match="target 11 of row 9 is out of range.* 11 classes, 0 to 10"
    ):
        linear_cross_entropy(hidden, weight, target)
    target[1, 2] = -1
    with pytest.raises(IndexError, match="target -1 of row 9 .* ignore_index is -100"):
        linear_cross_entropy(hidden, weight, target)
    target[1, 2] = 0
    for match, arguments, options in (
        ("does not fit input", (hidden, weight, target[:2]), {}),
        ("do not fit", (hidden[..., :3], weight, target), {}),
        ("linear_bias is", (hidden, weight, target), {"linear_bias": bias[:3]}),
        ("weight is", (hidden, weight, target), {"weight": bias[:3]}),
        ("requires a gradient", (hidden, weight, target), {"weight": bias.requires_grad_()}),
        ("reduction 'max'", (hidden, weight, target), {"reduction": "max"}),
        ("label_smoothing is 1.5", (hidden, weight, target), {"label_smoothing": 1.5}),
        ("z_loss is -1.0", (hidden, weight, target), {"z_loss": -1}),
        ("slice_bytes is 0", (hidden, weight, target), {"slice_bytes": 0}),
    ):
        with pytest.raises(ValueError, match=match):
            linear_cross_entropy(*arguments, **options)
    with pytest.raises(TypeError, match="class probabilities"):
        linear_cross_entropy(hidden, weight, torch.rand(3, 7))
    with pytest.raises(TypeError, match="float32 and linear_weight float64"):
        linear_cross_entropy(hidden.float(), weight, target)
