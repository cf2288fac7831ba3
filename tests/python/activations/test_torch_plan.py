"""Plans: what they choose, and what they refuse before training begins."""

import json

import pytest

torch = pytest.importorskip("torch")

from torch import nn

from tensorpress.torch import Policy, compress_activations

pytestmark = pytest.mark.usefixtures("one_thread")


def network():
    return nn.Sequential(
        nn.Conv2d(3, 8, 3, padding=1),
        nn.BatchNorm2d(8),
        nn.Sequential(nn.Conv2d(8, 8, 3, padding=1), nn.Tanh(), nn.Conv2d(8, 8, 3, padding=1)),
    )


def codecs_of(policy, model=None, x=None):
    """By name, of the values that are large enough."""
    model = model or network()
    x = torch.randn(4, 3, 32, 32) if x is None else x
    with compress_activations(model, policy) as run:
        model(x).square().mean().backward()
    return {
        record.name: record.codec
        for record in run.report().activations
        if record.bytes_before > 4096
    }


RULES = [
    (
        {"codec": "quantize", "bits": 2, "rounding": "stochastic"},
        "quantize bits=2 rounding=stochastic",
    ),
    ({"codec": "quantize", "bits": 1, "group": 512}, "quantize bits=1 group=512"),
    ({"codec": "cast", "to": "bf16"}, "cast to=bf16"),
    ({"codec": "cast", "to": "e5m2"}, "cast to=e5m2"),
    ({"codec": "dct-chop", "cf": 6}, "dct-chop cf=6"),
    ({"codec": "dct-chop", "cf": 3, "layout": "triangle"}, "dct-chop cf=3 layout=triangle"),
    ({"codec": "dense", "relative": 1e-2}, "dense relative=0.01"),
    ({"codec": "ceresz", "absolute": 1e-2}, "ceresz absolute=0.01"),
    ({"codec": "ceresz2", "relative": 1e-3}, "ceresz2 relative=0.001"),
    ({"codec": "keep"}, "keep"),
    ("keep", "keep"),
]


@pytest.mark.parametrize("rule, described", RULES)
def test_a_rule_may_name_any_codec(rule, described):
    found = codecs_of({"default": rule})
    assert found["1:batch_norm"] == described
    assert found["2.0:conv2d"] == described


def test_a_bound_of_the_library_holds_for_what_backward_gets():
    model, x = network(), torch.randn(4, 3, 32, 32)
    with compress_activations(model, {"default": {"codec": "dense", "absolute": 0.01}}):
        hidden = model[1](model[0](x))
        output = model[2][0](hidden)
    error = (output.grad_fn._saved_input - hidden).abs().max()
    assert 0 < error <= 0.01


@pytest.mark.parametrize("level", ["lossless", "safe"])
def test_a_rule_by_the_name_in_a_report_holds_for_all_that_save_the_value(level):
    model = nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU(), nn.Conv2d(8, 8, 3), nn.Tanh())
    rule = {"codec": "quantize", "bits": 2}
    found = codecs_of({"level": level, "by_name": {"1:relu": rule}}, model)
    assert found["1:relu"] == "sign + quantize bits=2"


def test_a_rule_for_one_of_two_functions_loses_against_keep_for_the_other():
    model = nn.Sequential(nn.Conv2d(3, 8, 3), nn.Tanh(), nn.Conv2d(8, 8, 3))
    rule = {"codec": "quantize", "bits": 2}
    both = {"1:tanh": rule, "2:conv2d": {"codec": "keep"}}
    assert codecs_of({"level": "lossless", "by_name": both}, model)["1:tanh"] == "keep"


def test_the_most_special_rule_wins():
    def bits(number):
        return {"codec": "quantize", "bits": number}

    plan = {
        "default": bits(1),
        "by_type": {"Conv2d": bits(2)},
        "by_name": {"2": bits(4), "2.2": bits(8), "1:batch_norm": {"codec": "cast"}},
    }
    found = codecs_of(plan)
    assert found["0:conv2d"] == "quantize bits=2"
    assert found["1:batch_norm"] == "cast to=bf16"
    assert found["2.0:conv2d"] == "quantize bits=4"
    # The tanh saves its result and the last convolution the same value: the better codec wins.
    assert found["2.1:tanh"] == "quantize bits=8"


def test_maps_too_small_for_chop_are_quantized_instead_of_growing():
    model = nn.Sequential(
        nn.Conv2d(3, 64, 3), nn.Conv2d(64, 64, 1), nn.Flatten(), nn.Linear(1024, 4)
    )
    found = codecs_of({"default": {"codec": "dct-chop", "cf": 5}}, model, torch.randn(32, 3, 6, 6))
    assert found["1:conv2d"] == "quantize bits=8"  # 4 x 4 would become 5 x 5
    assert found["3:linear"] == "quantize bits=8"


def test_a_plan_is_the_same_from_text_file_dict_and_itself(tmp_path):
    fields = {
        "tensorpress_plan": 1,
        "level": "safe",
        "min_bytes": 1024,
        "by_type": {"Conv2d": {"codec": "dense", "relative": 0.01}},
        "by_name": {"2.0": {"codec": "quantize", "bits": 2}},
    }
    path = tmp_path / "plan.json"
    path.write_text(json.dumps(fields))
    plans = [Policy.read(policy) for policy in (fields, json.dumps(fields), path, str(path))]
    assert all(plan == plans[0] for plan in plans)
    assert Policy.read(json.dumps(plans[0].as_dict())) == plans[0]


def test_what_the_planner_writes_beside_the_rules_is_no_rule(tmp_path):
    rules = {"level": "balanced", "by_name": {"conv1": {"codec": "quantize", "bits": 2}}}
    planned = {"model": "resnet18", "prediction": {"peak_bytes": 174063616}, **rules}
    path = tmp_path / "plan.json"
    path.write_text(json.dumps(planned))
    assert Policy.read(path) == Policy.read(rules)
    with pytest.raises(ValueError, match="a plan has no entry 'predictions'"):
        Policy.read({**rules, "predictions": {}})


def test_small_values_stay_as_they_are():
    model = network()
    with compress_activations(model, {"min_bytes": 1 << 30}) as run:
        model(torch.randn(4, 3, 32, 32)).square().mean().backward()
    assert {record.codec for record in run.report().activations} == {"keep"}


# ---- Bad input ----------------------------------------------------------------------------------

BAD = [
    ("balance", ValueError, "neither a level .*did you mean balanced"),
    (17, TypeError, "a policy is a level"),
    ('{"level": ', ValueError, "the plan is not JSON"),
    ({"tensorpress_plan": 2}, ValueError, "tensorpress_plan is 2; this version reads 1"),
    ({"by_names": {}}, ValueError, "no entry 'by_names'; did you mean by_name"),
    ({"level": "saef"}, ValueError, "no level 'saef'; did you mean safe"),
    ({"by_name": {"2.7": "keep"}}, ValueError, "no module '2.7'; did you mean 2"),
    ({"by_name": {"2.7:conv2d": "keep"}}, ValueError, "names '2.7:conv2d', but the model has no"),
    ({"by_type": {"Conv2D": "keep"}}, ValueError, "'Conv2D'; did you mean Conv2d"),
    ({"by_type": ["Conv2d"]}, ValueError, "by_type is .* not an object of rules"),
    (
        {"default": {"codec": "quantise"}},
        ValueError,
        "default: .*'quantise'; did you mean quantize",
    ),
    ({"default": {"bits": 4}}, ValueError, "a rule is an object such as"),
    (
        {"default": {"codec": "quantize", "bit": 4}},
        ValueError,
        "no parameter 'bit'; did you mean bits",
    ),
    ({"default": {"codec": "quantize", "bits": 7}}, ValueError, "bits=7; use one of 1, 2, 3, 4"),
    ({"default": {"codec": "quantize", "bits": "4"}}, ValueError, "bits='4'"),
    ({"default": {"codec": "quantize", "group": 100}}, ValueError, "default: .*100"),
    ({"default": {"codec": "cast", "to": "fp8"}}, ValueError, "use one of bf16, f16, e4m3, e5m2"),
    ({"default": {"codec": "dct-chop", "cf": 9}}, ValueError, "default: .*9"),
    ({"default": {"codec": "dense"}}, ValueError, "codec dense needs one of absolute"),
    ({"default": {"codec": "dense", "relative": -1}}, ValueError, "default: "),
    ({"default": {"codec": "dense", "relative": 0.1, "speed": 1}}, ValueError, "speed"),
    ({"min_bytes": -1}, ValueError, "min_bytes is -1"),
]


@pytest.mark.parametrize("policy, kind, message", BAD)
def test_a_policy_that_makes_no_sense_is_refused_before_training(policy, kind, message):
    with pytest.raises(kind, match=message):
        compress_activations(network(), policy)


def test_a_plan_that_is_not_there_is_an_error_of_the_system(tmp_path):
    with pytest.raises(FileNotFoundError):
        compress_activations(network(), str(tmp_path / "none.json"))


@pytest.mark.parametrize("budget", ["2 gibs", "", -5, 0, True, "1e3", None])
def test_a_budget_that_is_no_size_is_refused(budget):
    if budget is None:
        with pytest.raises(TypeError, match="not a torch.nn.Module"):
            compress_activations("model", budget=budget)
    else:
        with pytest.raises(ValueError, match="budget"):
            compress_activations(network(), budget=budget)


def test_double_precision_is_kept_and_said_and_refused_for_a_rule():
    model, x = network().double(), torch.randn(4, 3, 32, 32).double()
    with compress_activations(model, "balanced") as run:
        model(x).square().mean().backward()
    (note,) = run.report().notes
    assert "values of float64 on cpu are kept as they are: convert the model with .float()" in note
    rule = {"default": {"codec": "quantize", "bits": 4}}
    with compress_activations(model, rule), pytest.raises(TypeError, match="float64 on cpu, which"):
        model(x)
    assert codecs_of({"default": {"codec": "dense", "relative": 1e-3}}, model, x)["1:batch_norm"]


def test_tensors_without_data_count_by_their_sizes():
    """The device meta has shapes and no values."""
    model = nn.Linear(64, 64).to("meta")
    with compress_activations(model, "balanced") as run:
        model(torch.empty(64, 64, device="meta")).sum().backward()
    assert run.report().saved_bytes == 4 * 64 * 64


def test_a_run_is_entered_once_at_a_time():
    run = compress_activations(network(), "balanced")
    with run, pytest.raises(RuntimeError, match="entered already"):
        run.__enter__()


def test_the_report_prints_and_has_the_documented_fields():
    model = network()
    with compress_activations(model, "balanced") as run:
        for _ in range(2):
            model(torch.randn(4, 3, 32, 32)).square().mean().backward()
    fields = run.report().as_dict()
    wanted = "saved_bytes stored_bytes scratch_bytes peak_bytes seconds activations".split()
    assert all(name in fields for name in wanted)
    assert json.loads(json.dumps(fields)) == fields
    assert fields["steps"] == 2
    first = fields["activations"][0]
    for name in (
        "name",
        "shape",
        "bytes_before",
        "bytes_after",
        "codec",
        "error",
        "sparsity",
        "seconds",
    ):
        assert name in first
    assert sum(each["bytes_before"] for each in fields["activations"]) == fields["saved_bytes"]
    assert sum(each["bytes_after"] for each in fields["activations"]) == fields["stored_bytes"]
    assert fields["scratch_bytes"] == 4 * 8 * 32 * 32 * 4
    text = str(run.report())
    assert "1:batch_norm" in text and "quantize bits=4" in text and "peak not measured" in text
    lossy = [each for each in fields["activations"] if "quantize" in each["codec"]]
    assert lossy and all(0 < each["error"] < 0.2 for each in lossy)
