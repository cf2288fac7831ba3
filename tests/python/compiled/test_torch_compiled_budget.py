"""Budgets of compiled models: what is kept, packed and computed again under a limit on the peak."""

import pytest

torch = pytest.importorskip("torch")

from small_networks import gradients_of, loss_of, network_and_batch, relative_error
from torch import nn

import tensorpress.torch
from tensorpress.torch.compiled.budget import Budget
from tensorpress.torch.compiled.report import plan_fields
from tensorpress.torch.peak_memory import measured_peak

BACKEND = "aot_eager_decomp_partition"
compressed = tensorpress.torch.compile
report_of = tensorpress.torch.compiled_report


@pytest.fixture(autouse=True)
def _fresh_dynamo():
    torch._dynamo.reset()
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


def peak_of_step(model, run, x, y):
    gradients_of(model, run, x, y)
    model.zero_grad()
    with measured_peak(model) as measured:
        loss_of(run(x), y).backward()
    return measured[0].activations_and_gradients


def planned(name, budget, **options):
    torch._dynamo.reset()
    model, x, y = network_and_batch(name, batch=16, **options)
    run = compressed(model, budget=budget, backend=BACKEND)
    peak = peak_of_step(model, run, x, y)
    return plan_fields(run)[0], peak, report_of(run)


def test_peaks_stay_within_budgets_and_fall_with_them():
    """Without Inductor everything lives until the next node of the graph has run, so here peaks are
    the model's; bench/compiled_budget.py has those of Inductor's code."""
    predicted, measured = [], []
    for share in (1.0, 0.8, 0.6):
        fields, peak, report = planned("transformer", share, layers=3)
        assert fields["predicted_peak"] <= fields["budget"] == report.budget
        assert peak == pytest.approx(fields["predicted_peak"], rel=0.01)
        predicted.append(fields["predicted_peak"])
        measured.append(peak)
    assert predicted == sorted(predicted, reverse=True)
    assert measured == sorted(measured, reverse=True)
    assert measured[-1] < 0.65 * measured[0]


def test_a_budget_of_everything_is_plain_compile_bit_for_bit():
    model, x, y = network_and_batch("transformer")
    plain = gradients_of(model, torch.compile(model, backend=BACKEND), x, y)
    torch._dynamo.reset()
    run = compressed(model, budget=1.0, backend=BACKEND)
    found = gradients_of(model, run, x, y)
    assert all(torch.equal(found[key], plain[key]) for key in plain)


def test_a_budget_packs_and_computes_again_with_gradients_that_train():
    model, x, y = network_and_batch("transformer", layers=3)
    exact = gradients_of(model, model, x, y)
    run = compressed(model, budget=0.55, backend=BACKEND)
    assert relative_error(gradients_of(model, run, x, y), exact) < 0.2
    text = str(report_of(run))
    assert "within the budget" in text and "predicted" in text


def test_a_budget_that_nothing_keeps_says_the_least_possible_peak_and_that_one_is_possible():
    model, x, y = network_and_batch("conv")
    run = compressed(model, budget="4KiB", backend=BACKEND)
    with pytest.raises(
        Exception, match="cannot be kept: the least possible peak of this step"
    ) as e:
        run(x)
    least = float(str(e.value).split("the least possible peak of this step is ")[1].split()[0])
    torch._dynamo.reset()
    enough = int((least + 0.01) * 1e6)
    run = compressed(model, budget=enough, backend=BACKEND)
    gradients_of(model, run, x, y)
    assert plan_fields(run)[0]["predicted_peak"] <= enough


def test_a_policy_says_the_fewest_bits_of_a_plan():
    model, x, y = network_and_batch("transformer", layers=2)
    plan = {"level": "safe", "by_name": {"blocks.0.up": {"codec": "keep"}}}
    run = compressed(model, plan, 0.8, backend=BACKEND)
    gradients_of(model, run, x, y)
    codecs = {each.name: each.codec for each in report_of(run).activations}
    assert codecs["blocks.0.up:linear"] == "keep"
    assert not any("bits=4" in codec or "bits=2" in codec for codec in codecs.values())


@pytest.mark.parametrize("budget", [0.0, 1.5, "many", True, 0, "0.2 GB of it"])
def test_budgets_that_are_none_are_refused(budget):
    with pytest.raises(ValueError, match="budget"):
        Budget.read(budget)


def test_a_budget_for_a_policy_that_packs_nothing_is_refused():
    with pytest.raises(ValueError, match="packs nothing"):
        compressed(nn.Linear(2, 2), "off", 0.5)


def test_graphs_of_another_budget_are_not_taken_from_the_cache():
    key = "custom_partitioner_fn"
    uuids = {
        tensorpress.torch.compile_options("max", budget=budget)[key].uuid()
        for budget in (None, 0.5, 0.25, 1000000)
    }
    assert len(uuids) == 4
