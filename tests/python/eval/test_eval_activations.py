"""Benchmarks with compressed activations, and those of text, which go on from one another."""

import json

import pytest

torch = pytest.importorskip("torch")

from tensorpress.eval.__main__ import main
from tensorpress.eval.activations import activation_series
from tensorpress.eval.benchmark import DataError
from tensorpress.eval.benchmarks import BENCHMARKS
from tensorpress.eval.networks import Gpt2, ResNet20, with_lora
from tensorpress.eval.sources import text
from tensorpress.eval.start import Start
from tensorpress.eval.training import Run

pytestmark = pytest.mark.usefixtures("one_thread")


def written(folder, name):
    return json.loads((folder / name).read_text())


@pytest.fixture(scope="module")
def learned(tmp_path_factory):
    """A finished smoke run of language_model."""
    out = tmp_path_factory.mktemp("learned")
    levels = ["lossless", "balanced", "quantize:bits=2,rounding=stochastic"]
    arguments = ["language_model", "--scale", "smoke", "--out", str(out), "--threads", "1"]
    assert main([*arguments, "--activations", *levels]) == 0
    return out


def test_levels_and_codecs_are_compared_with_plain_training(learned):
    summary = written(learned, "summary.json")
    names = [row["series"] for row in summary["rows"]]
    two_bits = "activations-quantize-bits-2-rounding-stochastic"
    assert names == ["baseline", "level-lossless", "level-balanced", two_bits]
    assert [row.get("same_weights") for row in summary["rows"]] == [None, True, False, False]
    assert "saves for the backward pass" in summary["note"]
    assert "go through the compressor" not in summary["note"]
    runs = {name: written(learned, f"{name}-seed0.json") for name in names}
    digests = [runs[name]["weights_sha256"] for name in names]
    assert digests[0] == digests[1] and len(set(digests)) == 3
    saved = runs["level-balanced"]["saved"]
    assert saved["ratio"] == saved["saved_bytes"] / saved["stored_bytes"] > 2
    assert runs[two_bits]["saved"]["ratio"] > saved["ratio"]
    assert runs[two_bits]["config"]["activations"]["exponential"] == "quantize bits=8"
    row = f"| level balanced | {saved['ratio']:.2f} |"
    assert row in (learned / "table.md").read_text()


def test_adapters_go_on_with_what_was_learned_and_change_nothing_else(learned, tmp_path):
    start = learned / "baseline-seed0.weights"
    arguments = ["language_lora", "--scale", "smoke", "--out", str(tmp_path), "--threads", "1"]
    assert main([*arguments, "--start", str(start), "--activations", "max"]) == 0
    run = written(tmp_path, "level-max-seed0.json")
    assert run["config"]["start_sha256"] == Start.read(start).digest
    assert run["final"]["test_loss"] < 6


def test_lora_begins_as_the_network_was_and_trains_its_adapters_alone():
    torch.manual_seed(1)
    model = Gpt2(50, 8, 2, 48)
    tokens = torch.randint(0, 50, (3, 8))
    before = model(tokens)
    weights = {name: value.clone() for name, value in model.state_dict().items()}
    adapted = with_lora(model, rank=4)
    assert torch.equal(adapted(tokens), before)
    trained = [name for name, each in adapted.named_parameters() if each.requires_grad]
    assert len(trained) == 2 * 4 * 2 and all(".down." in name or ".up." in name for name in trained)
    optimizer = torch.optim.Adam(adapted.parameters(), lr=0.1)
    adapted(tokens).square().mean().backward()
    optimizer.step()
    after = {name.replace(".linear.", "."): value for name, value in adapted.state_dict().items()}
    assert all(torch.equal(after[name], value) for name, value in weights.items())
    assert not torch.equal(adapted(tokens), before)


def test_a_run_in_parts_with_random_rounding_goes_on_where_it_was(tmp_path):
    benchmark = BENCHMARKS["language_model"]
    scale = benchmark.scales["smoke"]
    data = benchmark.load(None, scale)
    (series,) = activation_series(["max"])

    def run(folder):
        folder.mkdir(exist_ok=True)
        return Run(benchmark, "smoke", scale, series, 0, data, folder)

    def stop_after_the_first_epoch(said):
        if "epoch 1/" in said:
            raise KeyboardInterrupt

    whole = run(tmp_path / "whole").run(print)
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path / "stopped").run(stop_after_the_first_epoch)
    resumed = run(tmp_path / "stopped").run(print)
    assert resumed["weights_sha256"] == whole["weights_sha256"]
    assert resumed["final"] == whole["final"] and resumed["saved"] == whole["saved"]


def test_epochs_of_parts_see_every_sample_once(tmp_path):
    benchmark = BENCHMARKS["language_model"]
    scale = benchmark.scales["smoke"]
    data = benchmark.load(None, scale)
    run = Run(benchmark, "smoke", scale, activation_series(["off"])[0], 3, data, tmp_path)
    orders = [run._order(epoch) for epoch in range(2 * scale.parts)]
    once = list(range(scale.train))
    assert sorted(torch.cat(orders[: scale.parts]).tolist()) == once
    assert sorted(torch.cat(orders[scale.parts :]).tolist()) == once
    assert not torch.equal(orders[0], orders[scale.parts])


def test_resnet20_goes_on_with_published_names(tmp_path):
    torch.manual_seed(0)
    network = ResNet20(width=4)
    named = {f"module.{name}": value for name, value in network.state_dict().items()}
    assert "module.layer2.0.conv1.weight" in named
    torch.save({"state_dict": named, "best_prec1": 91.8}, tmp_path / "trained.th")
    arguments = ["classify_tune", "--scale", "smoke", "--epochs", "1", "--out", str(tmp_path)]
    start = ["--start", str(tmp_path / "trained.th")]
    assert main([*arguments, *start, "--activations", "balanced"]) == 0
    run = written(tmp_path, "level-balanced-seed0.json")
    assert run["config"]["activations"]["linear"] == "quantize bits=4"


# ---- Text ----


def test_targets_are_the_next_bytes_and_tests_are_other_blocks(tmp_path):
    folder = tmp_path / "text" / "pretrain"
    folder.mkdir(parents=True)
    counted = b"".join(b"%07d " % number for number in range(30_000))
    (folder / "b.txt").write_bytes(counted[100_000:])
    (folder / "a.txt").write_bytes(counted[:100_000])
    (folder / "picture").write_bytes(b"\x89PNG\xff\xfe" * 1000)
    (folder / "link.txt").symlink_to(folder / "a.txt")
    data = text.load(tmp_path, "pretrain", 64, 500, 100)
    assert data.source == "2 files of pretrain text, 240001 bytes"
    assert data.train_inputs.shape == (500, 64) and data.test_inputs.shape == (100, 64)
    assert torch.equal(data.train_inputs[:, 1:], data.train_targets[:, :-1])
    joined = counted[:100_000] + b"\n" + counted[100_000:]
    places = {
        part: {joined.index(bytes(row.tolist())) // text.BLOCK % 10 for row in rows}
        for part, rows in (("train", data.train_inputs), ("test", data.test_inputs))
    }
    assert places["test"] == {9} and 9 not in places["train"]
    again = text.load(tmp_path, "pretrain", 64, 500, 100)
    assert torch.equal(again.train_inputs, data.train_inputs)


def test_too_little_text_is_refused(tmp_path):
    folder = tmp_path / "text" / "pretrain"
    folder.mkdir(parents=True)
    with pytest.raises(DataError, match="holds no text"):
        text.load(tmp_path, "pretrain", 64, 5, 5)
    (folder / "a.txt").write_text("short")
    with pytest.raises(DataError, match="5 bytes are too few"):
        text.load(tmp_path, "pretrain", 64, 5, 5)
