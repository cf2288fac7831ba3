"""Compressed activations under torch.compile: gradients, bytes held, and what is exact.

Backend aot_eager runs the graphs as they are; aot_eager_decomp_partition has the operators of
Inductor's graphs. test_torch_compiled_inductor.py runs Inductor's code.
"""

import copy
import itertools
import math
import subprocess
import sys
import warnings

import pytest

torch = pytest.importorskip("torch")

from small_networks import (
    NETWORKS,
    Transformer,
    gradients_of,
    loss_of,
    network_and_batch,
    relative_error,
)
from torch import nn

import tensorpress.torch
from tensorpress.torch.peak_memory import measured_peak

BACKENDS = ("aot_eager", "aot_eager_decomp_partition")
compressed = tensorpress.torch.compile
report_of = tensorpress.torch.compiled_report


@pytest.fixture(autouse=True)
def _fresh_dynamo():
    torch._dynamo.reset()
    torch._dynamo.utils.counters.clear()
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # several add up in another order each time
    yield
    torch.set_num_threads(threads)


def held_bytes(output, model, *others):
    """What the compiled function of an output holds for backward, besides what lives anyway."""
    node = output.grad_fn
    while "CompiledFunction" not in type(node).__name__:
        node = node.next_functions[0][0]
    outside = [*model.parameters(), *model.buffers(), output, *others]
    alive = {tensor.untyped_storage()._cdata for tensor in outside}
    unchecked = getattr(node, "_tensors_no_vc_check", None) or ()
    saved = (*node.saved_tensors, *unchecked)
    storages = {tensor.untyped_storage()._cdata: tensor.untyped_storage() for tensor in saved}
    return sum(storage.nbytes() for key, storage in storages.items() if key not in alive)


# ---- Gradients and bytes -------------------------------------------------------------------------


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", NETWORKS)
def test_off_is_plain_compile_bit_for_bit(name, backend):
    model, x, y = network_and_batch(name)
    model.eval()  # running statistics would differ between the two
    plain = gradients_of(model, torch.compile(model, backend=backend), x, y)
    torch._dynamo.reset()
    off = compressed(model, "off", backend=backend)
    found = gradients_of(model, off, x, y)
    assert all(torch.equal(found[key], plain[key]) for key in plain)
    report = report_of(off)
    assert report.stored_bytes == report.saved_bytes > 0


@pytest.mark.parametrize("name", NETWORKS)
def test_lossless_changes_no_gradient(name):
    model, x, y = network_and_batch(name)
    model.eval()
    plain = gradients_of(model, torch.compile(model, backend="aot_eager"), x, y)
    torch._dynamo.reset()
    run = compressed(model, "lossless", backend="aot_eager")
    found = gradients_of(model, run, x, y)
    assert all(torch.equal(found[key], plain[key]) for key in plain)
    if name == "conv":
        assert report_of(run).ratio > 1.2


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name, least", [("conv", 4.0), ("transformer", 4.5), ("llama", 4.0)])
def test_balanced_holds_a_fraction_with_gradients_as_good_as_in_eager_mode(name, least, backend):
    model, x, y = network_and_batch(name)
    exact = gradients_of(model, model, x, y)
    with tensorpress.torch.compress_activations(model, "balanced"):
        eager = relative_error(gradients_of(model, model, x, y), exact)
    plain = held_bytes(torch.compile(model, backend=backend)(x), model, x)
    torch._dynamo.reset()
    run = compressed(model, "balanced", backend=backend)
    held = held_bytes(run(x), model, x)
    assert plain / held > least
    assert report_of(run).stored_bytes == pytest.approx(held, rel=0.02)
    assert relative_error(gradients_of(model, run, x, y), exact) < 1.6 * eager


@pytest.mark.parametrize("level", ["safe", "max"])
def test_other_levels_are_as_good_as_in_eager_mode_too(level):
    model, x, y = network_and_batch("transformer")
    exact = gradients_of(model, model, x, y)
    with tensorpress.torch.compress_activations(model, level):
        eager = relative_error(gradients_of(model, model, x, y), exact)
    run = compressed(model, level, backend="aot_eager")
    assert relative_error(gradients_of(model, run, x, y), exact) < 1.2 * eager


def test_stochastic_rounding_differs_from_step_to_step_and_averages_out():
    """Noise follows the values: small changes of the input stand for what training changes."""
    model, x, y = network_and_batch("conv")
    model.eval()
    exact = gradients_of(model, model, x, y)
    run = compressed(model, "max", backend="aot_eager")
    errors, total = [], None
    for step in range(8):
        found = gradients_of(model, run, x * (1 + 1e-6 * step), y)
        errors.append(relative_error(found, exact))
        total = found if total is None else {key: total[key] + found[key] for key in found}
    mean = {key: value / 8 for key, value in total.items()}
    assert relative_error(mean, exact) < 0.6 * sum(errors) / 8


def test_the_same_batch_has_other_noise_in_every_step():
    """A graph has no counter, and a seed that it held would be the same in every step."""
    model, x, y = network_and_batch("conv")
    model.eval()
    exact = gradients_of(model, model, x, y)
    run = compressed(model, "max", backend="aot_eager")
    steps = [gradients_of(model, run, x, y) for _ in range(6)]
    assert all(
        not torch.equal(one["0.weight"], other["0.weight"])
        for one, other in itertools.pairwise(steps)
    )
    mean = {key: sum(step[key] for step in steps) / len(steps) for key in exact}
    alone = sum(relative_error(step, exact) for step in steps) / len(steps)
    assert relative_error(mean, exact) < 0.7 * alone


@pytest.mark.parametrize("backend", BACKENDS)
def test_masks_of_relus_are_exact(backend):
    """The gradient of the first bias is a sum over what the ReLU lets pass, and nothing else."""
    model = nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU(), nn.Conv2d(8, 8, 1), nn.ReLU())
    x = torch.randn(8, 3, 16, 16)
    model(x).sum().backward()
    expected = [model[place].bias.grad.clone() for place in (0, 2)]
    model.zero_grad()
    run = compressed(model, "max", backend=backend)
    run(x).sum().backward()
    for place, gradient in zip((0, 2), expected, strict=True):
        torch.testing.assert_close(model[place].bias.grad, gradient, rtol=1e-5, atol=1e-5)
    assert "mask" in str(report_of(run))


def test_the_peak_of_a_deep_transformer_falls_with_what_is_saved():
    """Unpacking at the head of backward would leave the peak where it was."""
    model, x, y = network_and_batch("transformer", layers=6)
    peaks = []
    for make in (torch.compile, compressed):
        torch._dynamo.reset()
        run = make(model, backend="aot_eager_decomp_partition")
        gradients_of(model, run, x, y)
        model.zero_grad()
        with measured_peak(model) as measured:
            loss_of(run(x), y).backward()
        peaks.append(measured[0].activations_and_gradients)
    assert peaks[1] <= 0.55 * peaks[0]


# ---- Values that cannot be packed ----------------------------------------------------------------


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_values_that_are_not_finite_are_kept_and_gradients_are_as_in_plain_compile(bad, backend):
    model, x, y = network_and_batch("conv")
    model.eval()
    x[0, 0, 3, 3] = bad
    plain = gradients_of(model, torch.compile(model, backend=backend), x, y)
    torch._dynamo.reset()
    run = compressed(model, "balanced", backend=backend)
    found = gradients_of(model, run, x, y)
    for key in plain:
        assert torch.equal(torch.isfinite(found[key]), torch.isfinite(plain[key])), key
    assert any(not torch.isfinite(gradient).all() for gradient in found.values())
    assert report_of(run).nonfinite > 0
    clean = torch.nan_to_num(x, 0.0, 0.0, 0.0)
    assert all(g.isfinite().all() for g in gradients_of(model, run, clean, y).values())
    assert report_of(run).nonfinite == 0


class MaskedAttention(nn.Module):
    """As products and a softmax, with scores of minus infinity and dropout."""

    def __init__(self):
        super().__init__()
        self.qkv, self.drop, self.out = nn.Linear(32, 96), nn.Dropout(0.1), nn.Linear(32, 32)

    def forward(self, x):
        q, k, v = self.qkv(x).chunk(3, -1)
        later = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool).triu(1)
        scores = (q @ k.transpose(1, 2) / 6).masked_fill(later, -math.inf)
        return self.out(self.drop(torch.softmax(scores, -1)) @ v)


@pytest.mark.parametrize("backend", BACKENDS)
def test_scores_of_minus_infinity_do_no_harm(backend):
    model, x = MaskedAttention(), torch.randn(16, 64, 32)

    def gradients(run):
        model.zero_grad()
        torch.manual_seed(2)
        (run(x) * torch.sin(torch.arange(32.0))).sum().backward()
        return {name: weight.grad.clone() for name, weight in model.named_parameters()}

    exact = gradients(torch.compile(model, backend=backend))
    torch._dynamo.reset()
    run = compressed(model, "balanced", backend=backend)
    assert relative_error(gradients(run), exact) < 0.15
    assert report_of(run).ratio > 4
    assert "mask" in {each.codec for each in report_of(run).activations}


# ---- What Dynamo does ----------------------------------------------------------------------------


def graphs_compiled():
    return torch._dynamo.utils.counters["stats"]["unique_graphs"]


class Breaking(nn.Module):
    """A graph break between two layers, and a branch that only a run can take."""

    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(64, 256), nn.Linear(256, 64)

    def forward(self, x):
        hidden = torch.nn.functional.gelu(self.first(x))
        torch._dynamo.graph_break()
        return self.second(torch.tanh(hidden))


@pytest.mark.parametrize("backend", BACKENDS)
def test_graph_breaks_are_those_of_plain_compile(backend):
    model, x = Breaking(), torch.randn(16, 64, 64)
    torch.compile(model, backend=backend)(x).square().mean().backward()
    plain = graphs_compiled()
    expected = model.first.weight.grad.clone()
    model.zero_grad()
    torch._dynamo.reset()
    torch._dynamo.utils.counters.clear()
    run = compressed(model, "balanced", backend=backend)
    for _ in range(3):
        model.zero_grad()
        run(x).square().mean().backward()
    assert graphs_compiled() == plain == 2
    assert not torch._dynamo.utils.counters["recompiles"]
    error = (model.first.weight.grad - expected).norm() / expected.norm()
    assert error < 0.05
    savers = {name for each in report_of(run).activations for name in each.saved_by}
    assert savers == {"first:linear", "gelu", "tanh", "second:linear"}


def test_a_whole_graph_is_one_graph():
    model, x, y = network_and_batch("llama")
    run = compressed(model, "balanced", backend="aot_eager", fullgraph=True)
    for _ in range(3):
        gradients_of(model, run, x, y)
    assert graphs_compiled() == 1
    assert report_of(run).steps == 3


@pytest.mark.parametrize("backend", BACKENDS)
def test_batch_sizes_compile_at_most_twice(backend):
    model, x, y = network_and_batch("transformer")
    run = compressed(model, "balanced", backend=backend)
    for size in (8, 6, 5, 3, 7):
        model.zero_grad()
        found = gradients_of(model, run, x[:size], y[:size])
        assert relative_error(found, gradients_of(model, model, x[:size], y[:size])) < 0.15
        shapes = {each.shape[0] for each in report_of(run).activations}
        assert shapes <= {size, size * 64}
    assert graphs_compiled() <= 2


@pytest.mark.parametrize("make", [torch.compile, compressed])
def test_a_model_compiled_inside_compress_activations_stays_whole(make):
    model, x, y = network_and_batch("conv")
    run = make(model, backend="aot_eager", fullgraph=True)
    with tensorpress.torch.compress_activations(run, "balanced"):
        gradients_of(model, run, x, y)
        gradients_of(model, run, x, y)
    assert graphs_compiled() == 1


@pytest.mark.parametrize("around", ["the model", "what compile returns"])
def test_compress_activations_around_a_compiled_model_leaves_what_compiled_code_saves(around):
    """As the guide says: its graphs stay whole, and their tensors as they are."""
    model, x, y = network_and_batch("transformer", layers=3)
    plain = gradients_of(model, torch.compile(model, backend="aot_eager", fullgraph=True), x, y)
    torch._dynamo.reset()
    torch._dynamo.utils.counters.clear()
    run = torch.compile(model, backend="aot_eager", fullgraph=True)
    with tensorpress.torch.compress_activations(model if around == "the model" else run, "max"):
        for _ in range(3):
            found = gradients_of(model, run, x, y)
    assert graphs_compiled() == 1
    assert not torch._dynamo.utils.counters["recompiles"]
    assert all(torch.equal(found[key], plain[key]) for key in plain)


# ---- Policies ------------------------------------------------------------------------------------


def test_rules_name_modules_as_in_eager_mode():
    model, x, y = network_and_batch("transformer")
    plan = {
        "level": "balanced",
        "by_name": {
            "blocks.0.up": {"codec": "keep"},
            "blocks.0.down": {"codec": "cast", "to": "bf16"},
        },
    }
    run = compressed(model, plan, backend="aot_eager")
    gradients_of(model, run, x, y)
    saved = report_of(run).activations
    codecs = {name: each.codec for each in saved for name in each.saved_by}
    assert codecs["blocks.0.up:linear"] == "keep"
    assert "cast to=bf16" in codecs.values()


def test_dct_chop_works_in_graphs():
    model, x, y = network_and_batch("conv")
    plan = {"level": "lossless", "by_type": {"Conv2d": {"codec": "dct-chop", "cf": 6}}}
    run = compressed(model, plan, backend="aot_eager")
    exact = gradients_of(model, model, x, y)
    assert relative_error(gradients_of(model, run, x, y), exact) < 0.3
    assert "dct-chop cf=6" in str(report_of(run))


def test_wrong_policies_are_refused_before_anything_is_compiled():
    model = nn.Sequential(nn.Linear(4, 4))
    with pytest.raises(ValueError, match="no module 'encoder'"):
        compressed(model, {"by_name": {"encoder": {"codec": "keep"}}})
    with pytest.raises(ValueError, match="depends on the values"):
        compressed(model, {"by_name": {"0": {"codec": "dense", "relative": 1e-3}}})
    with pytest.raises(ValueError, match="needs the model"):
        tensorpress.torch.compile_options({"by_name": {"0": {"codec": "keep"}}})
    with pytest.raises(ValueError, match="works with inductor"):
        compressed(model, "balanced", backend="cudagraphs")
    with pytest.raises(TypeError, match="compile_options"):
        compressed(lambda x: x, "balanced")
    with pytest.raises(ValueError, match="not what tensorpress.torch.compile returned"):
        report_of(model)


def test_uuids_follow_policy_and_model():
    options = tensorpress.torch.compile_options
    key = "custom_partitioner_fn"
    assert options("balanced")[key].uuid() == options("balanced")[key].uuid()
    assert options("balanced")[key].uuid() != options("safe")[key].uuid()
    plan = {"by_type": {"Linear": {"codec": "keep"}}}
    models = [nn.Sequential(nn.Linear(2, 2)), nn.Sequential(nn.ReLU(), nn.Linear(2, 2))]
    assert len({options(plan, model)[key].uuid() for model in models}) == 2


def test_copies_of_a_compiled_model_train():
    model, x, y = network_and_batch("conv")
    run = copy.deepcopy(compressed(model, "balanced", backend="aot_eager"))
    loss_of(run(x), y).backward()
    assert all(weight.grad is not None for weight in run.parameters())


def test_rules_for_what_compile_has_put_into_others_are_named():
    model = nn.Sequential(nn.Linear(64, 64), nn.Identity(), nn.Tanh(), nn.Linear(64, 8))
    x = torch.randn(256, 64)
    keep = {"codec": "keep"}
    run = compressed(model, {"by_name": {"1": keep, "3": keep}}, backend="aot_eager")
    with pytest.warns(RuntimeWarning, match="rules for '1', but the compiled model saves nothing"):
        run(x).sum().backward()
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # once is enough, and rules that fit are no reason
        run(x).sum().backward()


def test_memory_that_runs_out_while_packing_is_an_error_of_the_step():
    """In a process of its own, which may not have the memory that unpacking needs."""
    script = """
import resource, torch, tensorpress.torch
model = torch.nn.Sequential(torch.nn.Linear(512, 512), torch.nn.Tanh(), torch.nn.Linear(512, 8))
run = tensorpress.torch.compile(model, "balanced", backend="aot_eager")
x = torch.randn(1 << 16, 512)
loss = run(x).square().mean()
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + (40 << 20), -1))
try:
    loss.backward()
    print("went on")
except RuntimeError as error:
    print("raised", "memory" in str(error).lower(), model[0].weight.grad is None)
"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )
    assert done.stdout.splitlines()[-1:] == ["raised True True"], done.stderr


# ---- Operators -----------------------------------------------------------------------------------

X = torch.randn(3, 5, 16, 16)
BAD = X.clone()
BAD[1, 2, 3, 4] = -math.inf
ours = torch.ops.tensorpress
QUANTIZED = ours.quantize_stash(X, 4, 256, "nearest", 0, "x")
CALLS = {
    "quantize_stash": [
        (X, 4, 256, "nearest", 0, "x"),
        (X, 2, 256, "stochastic", 7, "x"),
        (BAD, 4, 256, "nearest", 0, "x"),
    ],
    "quantize_unstash": [(QUANTIZED, X.shape, X.dtype, 4, 256)],
    "cast_stash": [(X, "bf16", "x"), (BAD, "e4m3", "x")],
    "cast_unstash": [(ours.cast_stash(X, "f16", "x"), X.shape, X.dtype, "f16")],
    "chop_stash": [(X, 4, "square", "dct", "x"), (BAD, 3, "triangle", "dct", "x")],
    "chop_unstash": [
        (ours.chop_stash(X, 4, "square", "dct", "x"), X.shape, X.dtype, 4, "square", "dct")
    ],
    "above_pack": [(X,), (X * math.nan,)],
    "widen": [(X, 1, 2, 9), (X.transpose(1, 3), 3, 0, 16)],
    "saved_values": [('{"policy": "off", "values": []}', [])],
    # Of ops.py and logits/slices.py.
    "quantize_pack": [(X, 8, 256, "nearest", 0), (X, 2, 256, "stochastic", 3)],
    "quantize_unpack": [(ours.quantize_pack(X, 4, 256, "nearest", 0), X.shape, X.dtype, 4, 256)],
    "cast_pack": [(X, "e5m2")],
    "cast_unpack": [(ours.cast_pack(X, "bf16"), X.shape, X.dtype, "bf16")],
    "sign_pack": [(X,), (X > 0,)],
    "sign_unpack": [(ours.sign_pack(X), X.shape, torch.bool)],
    "restore_signs": [(X.abs(), ours.sign_pack(X))],
    "mask_pack": [((X > 0).float(),)],
    "mask_unpack": [(ours.mask_pack((X > 0).float()), X.shape, X.dtype)],
    "fp8_pack": [(X, "e4m3", 32), (BAD, "e5m2", 128)],
    "fp8_unpack": [(ours.fp8_pack(X, "e4m3", 32), X.shape, X.dtype, "e4m3", 32)],
    "chop_pack": [(X, 4, "square", "dct"), (X, 3, "triangle", "zfp")],
    "chop_unpack": [(ours.chop_pack(X, 4, "square", "dct"), X.shape, X.dtype, 4, "square", "dct")],
    "ceresz_pack": [(X, 1e-3), (BAD, 1e-3)],
    "ceresz_unpack": [(ours.ceresz_pack(X, 1e-3)[0], X.shape, X.dtype, 1e-3)],
    "linear_cross_entropy": [
        (
            *(
                torch.randn(12, 8),
                torch.randn(30, 8),
                None,
                torch.randint(0, 30, (12,)),
                None,
                None,
            ),
            *(-100, 0.1, 1e-3, True, 1000, torch.float32, [True, True, False]),
        )
    ],
}


def test_there_is_a_call_of_every_operator():
    schemas = torch._C._jit_get_all_schemas()
    names = {
        each.name.removeprefix("tensorpress::") for each in schemas if "tensorpress" in each.name
    }
    assert names == set(CALLS)


@pytest.mark.parametrize("name", CALLS)
def test_every_operator_passes_pytorchs_own_checks(name):
    for arguments in CALLS[name]:
        torch.library.opcheck(getattr(ours, name).default, arguments)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_what_cannot_be_packed_comes_back_bit_for_bit(dtype):
    bad = BAD.to(dtype)
    stash = ours.quantize_stash(bad, 4, 256, "nearest", 0, "x")
    assert stash.shape == QUANTIZED.shape
    back = ours.quantize_unstash(stash, bad.shape, dtype, 4, 256)
    assert torch.equal(back, bad)
    assert back.untyped_storage()._cdata != stash.untyped_storage()._cdata
    lost = ours.quantize_unstash(stash.clone(), bad.shape, dtype, 4, 256)
    assert lost.isnan().all()
    for pack, unpack, parameters in (
        (ours.cast_stash, ours.cast_unstash, ("e5m2",)),
        (ours.chop_stash, ours.chop_unstash, (4, "square", "dct")),
    ):
        if dtype != torch.float32:
            continue
        stash = pack(bad, *parameters, "x")
        assert torch.equal(unpack(stash, bad.shape, dtype, *parameters), bad)


def test_what_a_relu_lets_pass_is_exact_beside_nan():
    values = torch.tensor([1.0, 0.0, -0.0, -2.0, math.nan, math.inf, -math.inf, 1e-45])
    for some in (values, values[:4], values[4:5]):
        above = ours.sign_unpack(ours.above_pack(some), some.shape, torch.bool)
        assert torch.equal(above, ~(some <= 0))


def test_transformers_of_bfloat16_are_packed():
    model = Transformer().bfloat16()
    ids = torch.randint(50, (8, 64))
    plain = held_bytes(torch.compile(model, backend="aot_eager")(ids), model, ids)
    torch._dynamo.reset()
    run = compressed(model, "balanced", backend="aot_eager")
    assert plain / held_bytes(run(ids), model, ids) > 2
