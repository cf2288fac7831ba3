"""model profile and model plan, as a person runs them."""

import json
import re

import pytest

TEXT = """
model small
input x: f32[N, 3, 32, 32]
target y: i64[N]
h = conv1: conv2d(x, 32, 3, padding = 1)
h = relu(h)
h = conv2: conv2d(h, 32, 3, padding = 1)
h = relu(h)
h = conv3: conv2d(h, 64, 3, stride = 2, bias = false)
h = relu(h)
h = fc1: linear(flatten(h), 16)
h = relu(h)
h = fc2: linear(h, 10)
loss cross_entropy(h, y)
"""


@pytest.fixture
def model(tmp_path):
    path = tmp_path / "small.tpm"
    path.write_text(TEXT)
    return path


@pytest.fixture
def profile(tensorpress, model):
    return lambda *options: tensorpress("model", "profile", model, "--json", *options).json


def test_profile_lists_what_waits(tensorpress, profile, model, tmp_path):
    shown = tensorpress("model", "profile", model, "--batch", "10").out.decode()
    assert re.search(r"relu_2 +relu +f32\[N, 32, 32, 32\] +1.25 MiB +1.25 MiB +keep", shown)
    assert "N = 10." in shown
    page = tmp_path / "page.html"
    found = profile("--batch", "10", "--plan", "balanced", "--html", page)
    assert found["peak_bytes"] == max(each["total"] for each in found["timeline"])
    assert found["saved_bytes"] < found["plain_saved_bytes"]
    html = page.read_text()
    assert "backward of conv2" in html and "Plan off" in html
    assert "<script" not in html and "http" not in html


def test_profile_grows_with_the_batch(profile):
    one, four = (profile("--batch", each)["saved_bytes"] for each in ("10", "40"))
    assert four == pytest.approx(4 * one, rel=1e-3)


def test_a_plan_is_kept_by_what_is_emitted_from_it(tensorpress, profile, model, tmp_path):
    plain = profile()
    plan = tmp_path / "plan.json"
    budget = int(0.85 * plain["peak_bytes"])
    done = tensorpress("model", "plan", model, "--peak", budget, "-o", plan)
    assert b"predicted peak" in done.out
    written = json.loads(plan.read_text())
    assert written["model"] == "small"
    assert written["prediction"]["peak_bytes"] <= budget
    # The same bytes, from the lines of the plan read back.
    assert profile("--plan", plan)["peak_bytes"] == written["prediction"]["peak_bytes"]
    step = tmp_path / "step.py"
    tensorpress("model", "emit", model, "--plan", plan, "-o", step)
    lines = {"quantize": "pack_bits(", "cast": "pack_cast("}
    lossy = [rule["codec"] for rule in written["by_name"].values() if rule["codec"] in lines]
    assert lossy
    for codec in lossy:
        assert lines[codec] in step.read_text()


def test_a_ratio_and_a_score_are_kept(tensorpress, model):
    plan = tensorpress("model", "plan", model, "--ratio", "7").json
    assert plan["prediction"]["saved_ratio"] >= 7
    plan = tensorpress("model", "plan", model, "--ratio", "5", "--min-score", "0.99").json
    assert plan["prediction"]["lowest_score"] >= 0.99
    assert all(rule.get("bits", 8) >= 4 for rule in plan["by_name"].values())


def test_a_ratio_near_0_asks_for_nothing(tensorpress, model):
    plan = tensorpress("model", "plan", model, "--ratio", "1e-300").json
    assert plan["level"] == "lossless" and plan["by_name"] == {}


def test_activations_may_wait_in_the_hosts_memory(tensorpress, model, profile, tmp_path):
    plan = tmp_path / "plan.json"
    # Beyond what codecs reach with this score.
    budget = ["--ratio", "30", "--min-score", "0.99"]
    said = tensorpress.refuses("model", "plan", model, *budget, "-o", plan)
    assert "The largest ratio" in said and "--offload GB/s lets values wait" in said
    for link in ("16", "a100"):
        arguments = ["--offload", link, "-o", plan, "--force"]
        said = tensorpress("model", "plan", model, *budget, *arguments).out
        assert b"wait in the host's memory" in said
        written = json.loads(plan.read_text())
        away = [name for name, rule in written["by_name"].items() if rule == {"codec": "offload"}]
        assert away and written["prediction"]["offloaded_bytes"] > 0
        assert profile("--plan", plan)["saved_bytes"] == written["prediction"]["saved_bytes"]
        step = tmp_path / "step.py"
        tensorpress("model", "emit", model, "--plan", plan, "-o", step, "--force")
        assert f'S["{away[0]}"] = to_host({away[0]})' in step.read_text()


def test_one_bit_needs_to_be_allowed(tensorpress, model):
    said = tensorpress.refuses("model", "plan", model, "--ratio", "13")
    assert "The largest ratio" in said and "--fewest-bits 1 allows one bit" in said
    plan = tensorpress("model", "plan", model, "--ratio", "13", "--fewest-bits", "1").json
    assert plan["prediction"]["saved_ratio"] >= 13
    one = {"codec": "quantize", "bits": 1, "rounding": "stochastic"}
    assert one in plan["by_name"].values()


def test_impossible_budgets_say_what_is_possible(tensorpress, model, tmp_path):
    plan = tmp_path / "plan.json"
    said = tensorpress.refuses("model", "plan", model, "--peak", "1MB", "-o", plan)
    assert "The smallest peak found is" in said
    assert re.search(r"reached at '\w+ of \w+': weights", said)
    said = tensorpress.refuses("model", "plan", model, "--ratio", "1000", "-o", plan)
    assert "The largest ratio of saved bytes found is" in said
    assert not plan.exists()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ([], "a plan needs a budget"),
        (["--peak", "much"], "--peak is 'much'"),
        (["--peak", "-2GiB"], "--peak is '-2GiB'"),
        (["--peak", "1e30GB"], "--peak is"),
        (["--ratio", "-1"], "a ratio of -1"),
        (["--ratio", "nan"], "a ratio of"),
        (["--peak", "1GB", "--ratio", "0"], "a ratio of 0"),
        (["--min-score", "2"], "scores are 0...1"),
        (["--min-score", "-1"], "a score of -1"),
        (["--peak", "100GB", "--mean-score", "-1"], "a score of -1"),
        (["--peak", "1GB", "--json", "-o", "-"], "--json and -o - both print the plan"),
        (["--peak", "1GB", "--statistics", "nowhere.json"], "nowhere.json"),
        (["--peak", "1GB", "--batch", "0"], "--batch is 0"),
        (["--peak", "1GB", "--offload", "0"], "--offload is '0'"),
        (["--peak", "1GB", "--offload", "nan"], "--offload is 'nan'"),
        (["--peak", "1GB", "--offload", "abacus"], "abacus"),
        (["--peak", "1GB", "--fewest-bits", "7"], "--fewest-bits"),
    ],
)
def test_senseless_budgets_are_refused(tensorpress, model, options, words):
    assert words in tensorpress.refuses("model", "plan", model, *options)


def test_a_plan_for_another_model_is_refused(tensorpress, model, tmp_path):
    plan = tmp_path / "plan.json"
    plan.write_text('{"model": "resnet18", "by_name": {}}')
    said = tensorpress.refuses("model", "emit", model, "--plan", plan, "-o", tmp_path / "s.py")
    assert "made for model 'resnet18'" in said
    plan.write_text('{"by_name": {"conv9": {"codec": "keep"}}}')
    said = tensorpress.refuses("model", "emit", model, "--plan", plan, "-o", tmp_path / "s.py")
    assert "conv9" in said
    assert not (tmp_path / "s.py").exists()
