"""python -m tensorpress.eval at its smallest scale, as people run it."""

import json
import math
import os
import signal
import subprocess
import sys

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from tensorpress.eval import comparison
from tensorpress.eval.__main__ import main
from tensorpress.eval.benchmarks import BENCHMARKS
from tensorpress.eval.series import BASELINE, all_series
from tensorpress.eval.sources import generated
from tensorpress.eval.training import Run

COMMAND = [sys.executable, "-m", "tensorpress.eval"]


pytestmark = pytest.mark.usefixtures("one_thread")


def written(folder, name):
    return json.loads((folder / name).read_text())


def test_classify_writes_results_figures_and_a_page_that_needs_nothing_else(tmp_path, capsys):
    out = tmp_path / "out"
    assert main(["classify", "--scale", "smoke", "--cf", "4", "6", "--out", str(out)]) == 0
    summary = written(out, "summary.json")
    assert [row["series"] for row in summary["rows"]] == ["baseline", "cf4", "cf6"]
    assert [row["ratio"] for row in summary["rows"]] == [1, 4, 64 / 36]
    assert summary["data"].startswith("generated, seed")
    run = written(out, "cf4-seed0.json")
    assert len(run["curve"]) == run["config"]["epochs"] == 2
    assert run["loader"]["samples"] == 2 * 200 and run["config"]["codec"]["cf"] == 4
    for name in ("training_loss.svg", "difference.svg"):
        assert (out / name).read_text().count("<svg") == 1
    assert (out / "table.md").read_text().count("\n| DCT+Chop") == 2
    page = (out / "report.html").read_text()
    assert page.count("<svg") == 2 and "DCT+Chop CF 6" in page
    for outside in ("src=", "<link", "<script", "@import"):
        assert outside not in page
    assert "left of all runs" in capsys.readouterr().out

    # What is finished can be reported by itself.
    report = ["--report", "--seeds", "0", "1", "--out", str(out)]
    assert main(["classify", "--scale", "smoke", "--cf", "4", "5", *report]) == 0
    assert "2 of 6 runs are finished" in capsys.readouterr().out
    assert [row["series"] for row in written(out, "summary.json")["rows"]] == ["baseline", "cf4"]
    assert main(["classify", "--scale", "smoke", "--report", "--out", str(tmp_path / "new")]) == 2

    # Again: nothing is trained twice.
    assert main(["classify", "--scale", "smoke", "--cf", "4", "6", "--out", str(out)]) == 0
    said = capsys.readouterr().out
    assert said.count("done before") == 3 and ": epoch" not in said


OF_DATA = [
    name
    for name, benchmark in BENCHMARKS.items()
    if name != "classify" and not benchmark.tokens and benchmark.begin is None
]


@pytest.mark.parametrize("name", OF_DATA)
def test_every_benchmark_trains_on_decompressed_data(name, tmp_path):
    arguments = [name, "--scale", "smoke", "--epochs", "1", "--out", str(tmp_path)]
    assert main([*arguments, "--cf", "2", "--layout", "triangle"]) == 0
    base, chopped = (written(tmp_path, f"{s}-seed0.json") for s in ("baseline", "cf2-triangle"))
    assert chopped["config"]["ratio"] == 64 / 3
    assert chopped["curve"][0]["train_loss"] != base["curve"][0]["train_loss"]
    if name == "slstr_cloud_highres":
        assert chopped["config"]["codec"]["serialize"] == 2


def test_other_codecs_and_zfp_run_at_the_ratio_of_a_chop_factor(tmp_path):
    pytest.importorskip("zfpy")
    codecs = ["zfp", "dense", "quantize:bits=8", "zfp:ratio=8"]
    arguments = ["em_denoise", "--scale", "smoke", "--epochs", "1", "--out", str(tmp_path)]
    assert main([*arguments, "--codec", *codecs, "--cf", "4"]) == 0
    rows = written(tmp_path, "summary.json")["rows"]
    names = ["baseline", "zfp-4.00x", "dense-4.00x", "quantize-bits-8", "zfp-8.00x"]
    assert [row["series"] for row in rows] == names
    assert rows[2]["measured_ratio"] == pytest.approx(4, rel=0.1)


def test_zfp_keeps_planes_apart_and_has_the_rate_that_it_is_asked_for():
    zfpy = pytest.importorskip("zfpy")
    (_, series) = all_series(["zfp"], [4], "square", 1)
    samples = torch.rand(6, 3, 30, 32)
    together = series.round_trip(samples)
    alone = torch.cat([series.round_trip(samples[i : i + 1]) for i in range(6)])
    assert torch.equal(together, alone)
    assert 0 < float((together - samples).abs().max()) < 0.1
    packed = zfpy.compress_numpy(np.zeros((3200, 32), np.float32), rate=32 / series.ratio)
    assert 3200 * 32 * 4 / len(packed) == pytest.approx(4, rel=0.01)


def test_a_killed_run_ends_with_the_same_bits_as_one_that_was_not(tmp_path):
    def command(out):
        options = ["--scale", "smoke", "--cf", "4", "--epochs", "4", "--threads", "1"]
        return [*COMMAND, "classify", *options, "--out", tmp_path / out]

    subprocess.run(command("whole"), check=True, capture_output=True)
    process = subprocess.Popen(command("killed"), stdout=subprocess.PIPE, text=True)
    for line in process.stdout:
        if line.startswith("cf4-seed0: epoch 1/"):
            os.kill(process.pid, signal.SIGKILL)
            break
    assert process.wait() == -signal.SIGKILL
    process.stdout.close()
    assert not (tmp_path / "killed" / "cf4-seed0.json").exists()
    again = subprocess.run(command("killed"), check=True, capture_output=True, text=True)
    assert "cf4-seed0: resumed after epoch" in again.stdout
    results = [written(tmp_path / out, "cf4-seed0.json") for out in ("whole", "killed")]
    assert results[0]["weights_sha256"] == results[1]["weights_sha256"]
    assert results[0]["final"] == results[1]["final"]
    assert not list((tmp_path / "killed").glob("*.checkpoint"))


def test_a_run_with_adam_and_batch_norm_goes_on_where_it_was(tmp_path):
    benchmark = BENCHMARKS["em_denoise"]
    scale = benchmark.scales["smoke"]
    data = benchmark.load(None, scale)

    def run(folder):
        folder.mkdir(exist_ok=True)
        return Run(benchmark, "smoke", scale, BASELINE, 0, data, folder)

    def stop_after_the_first_epoch(text):
        if "epoch 1/" in text:
            raise KeyboardInterrupt

    whole = run(tmp_path / "whole").run(print)
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path / "stopped").run(stop_after_the_first_epoch)
    torch.manual_seed(99)
    resumed = run(tmp_path / "stopped").run(print)
    assert resumed["weights_sha256"] == whole["weights_sha256"]
    assert resumed["final"] == whole["final"]


def test_several_seeds_are_paired_and_have_an_interval(tmp_path):
    arguments = ["classify", "--scale", "smoke", "--epochs", "1", "--out", str(tmp_path)]
    assert main([*arguments, "--seeds", "0", "1", "2"]) == 0
    summary = written(tmp_path, "summary.json")
    accuracy = {
        (name, seed): written(tmp_path, f"{name}-seed{seed}.json")["final"]["test_accuracy"]
        for name in ("baseline", "cf4")
        for seed in range(3)
    }
    differences = [accuracy["cf4", seed] - accuracy["baseline", seed] for seed in range(3)]
    row = summary["rows"][1]
    assert row["difference"]["mean"] == pytest.approx(sum(differences) / 3)
    spread = np.std(differences, ddof=1) / math.sqrt(3)
    assert row["difference"]["half_width"] == pytest.approx(4.3027 * spread, rel=1e-4)
    assert (tmp_path / "intervals.svg").exists()


def test_quantiles_of_t_are_those_of_the_tables():
    # Of every textbook's table for 97.5 %.
    for freedom, value in [(1, 12.706), (2, 4.303), (4, 2.776), (9, 2.262), (30, 2.042)]:
        assert comparison.t_quantile(freedom) == pytest.approx(value, abs=6e-4)
    assert comparison.interval([1.0])["half_width"] is None
    assert comparison.percent_difference(58.2, 60) == pytest.approx(-3)


def test_a_seed_without_a_baseline_is_not_compared():
    def run(series, seed, value):
        config = {"series": series, "seed": seed, "ratio": 4}
        return {"config": config, "final": {"test_loss": value, "train_loss": 1}, "loader": None}

    runs = [run("baseline", 0, 2.0), run("cf4", 0, 3.0), run("cf4", 1, 9.0)]
    assert comparison.compare(runs, "test_loss")[1]["percent_difference"] == {
        "mean": 50,
        "half_width": None,
    }


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["clasify"], "no benchmark 'clasify'; it is one of\n  classify"),
        (["classify", "--scale", "tiny"], "no scale 'tiny'; it is one of"),
        (["classify", "--cf", "8"], "--cf 8 is not in 2..7"),
        (["classify", "--cf", "4", "1"], "--cf 1 is not in 2..7"),
        (["classify", "--data", "nowhere"], "--data nowhere is not a directory"),
        (["classify", "--data", "."], "data_batch_*.bin (or train_*.bin) and test_batch.bin"),
        (["em_denoise", "--data", "."], "holds no PNG pictures"),
        (["slstr_cloud", "--data", "."], "eopatch_NDVI.npy is missing"),
        (["classify", "--codec", "gzip"], "gzip"),
        (["classify", "--codec", "quantize:bits=7"], "bits"),
        (["classify", "--codec", "quantize:bits"], "name=value"),
        (["classify", "--codec", "zfp:rate=3"], "zfp takes ratio="),
        (["classify", "--threads", "0"], "--threads 0"),
        (["classify", "--activations", "balancd"], "did you mean balanced"),
        (["classify", "--activations", "quantize:bits=7"], "bits=7"),
        (["classify", "--start", "nowhere"], "--start nowhere is not a file"),
        (["classify", "--start", __file__], "takes no --start"),
        (["language_lora"], "give --start FILE"),
        (["language_lora", "--start", __file__], "holds no weights"),
        (["language_model", "--codec", "quantize:bits=4"], "compare --activations"),
        (["language_model", "--data", "."], "is not a directory: it is where the text"),
        (["classify", "--seeds", "-1"], "--seeds -1"),
    ],
)
def test_bad_input_is_refused_with_the_way_out(arguments, message, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(arguments) == 2
    assert message in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_zfp_without_zfpy_says_what_to_install(monkeypatch, capsys):
    found = __import__("importlib.util").util.find_spec
    monkeypatch.setattr("importlib.util.find_spec", lambda n: None if n == "zfpy" else found(n))
    assert main(["classify", "--codec", "zfp"]) == 2
    assert "pip install zfpy" in capsys.readouterr().err


def test_results_of_another_configuration_are_not_mixed_in(tmp_path, capsys):
    arguments = ["optical_damage", "--scale", "smoke", "--out", str(tmp_path), "--epochs"]
    assert main([*arguments, "1"]) == 0
    assert main([*arguments, "2"]) == 2
    assert "epochs differ" in capsys.readouterr().err


def test_cifar10_micrographs_and_scenes_are_read_from_a_folder(tmp_path):
    image = pytest.importorskip("PIL.Image")
    generator = np.random.default_rng(0)
    for name in ("train_200.bin", "test_batch.bin"):
        records = generator.integers(0, 256, (200, 3073), np.uint8)
        records[:, 0] %= 10
        (tmp_path / "cifar10").mkdir(exist_ok=True)
        records.tofile(tmp_path / "cifar10" / name)
    for name in ("train_image", "test_image"):
        (tmp_path / "em" / name).mkdir(parents=True)
        pixels = generator.integers(0, 256, (128, 130), np.uint8)
        image.fromarray(pixels).save(tmp_path / "em" / name / "0.png")
    (tmp_path / "satellite").mkdir()
    for name in ("NDVI", "CLM"):
        scenes = generator.random((20, 11, 10, 1)).round().astype(np.float32)
        np.save(tmp_path / "satellite" / f"eopatch_{name}.npy", scenes)

    def load(name):
        benchmark = BENCHMARKS[name]
        return benchmark.load(tmp_path, benchmark.scales["smoke"])

    pictures = load("classify")
    assert pictures.train_inputs.shape == (200, 3, 32, 32)
    assert pictures.test_targets.tolist() == records[:100, 0].tolist()
    assert torch.equal(pictures.test_inputs[7].flatten(), torch.from_numpy(records[7, 1:]))
    tiles = load("em_denoise")
    assert torch.equal(tiles.test_targets[3, 0] * 255, torch.from_numpy(pixels[64:, 64:128]))
    noise = tiles.test_inputs - tiles.test_targets
    assert 0.1 < float(noise.std()) < 0.2  # sqrt(0.5 / 30 + 0.05^2) = 0.14
    scenes = load("slstr_cloud")
    assert scenes.train_inputs.shape == (8, 9, 32, 32) and scenes.train_targets.shape[1] == 1


def test_generated_data_is_the_same_every_time():
    for benchmark in BENCHMARKS.values():
        scale = benchmark.scales["smoke"]
        first, second = (benchmark.load(None, scale) for _ in range(2))
        assert torch.equal(first.train_inputs, second.train_inputs)
        assert torch.equal(first.test_targets, second.test_targets)
        if first.train_inputs.dim() == 4:  # pictures, not text
            assert first.train_inputs.shape[2:] == (scale.extent, scale.extent)


def test_generated_data_never_needs_more_memory_than_a_machine_has():
    assert generated.affordable(10_000, 1_000, 1 << 16) == (3723, 372)
    assert generated.affordable(200, 100, 1 << 16) == (200, 100)


def test_the_full_scale_is_table_3_of_the_paper():
    rows = {
        name: (scale.batch, scale.learning_rate, scale.extent, scale.epochs)
        for name, scale in ((n, b.scales["full"]) for n, b in BENCHMARKS.items())
    }
    ours = {"language_model", "language_lora", "classify_tune"}
    assert {name: row for name, row in rows.items() if name not in ours} == {
        "classify": (100, 1e-3, 32, 30),
        "em_denoise": (32, 5e-4, 256, 30),
        "optical_damage": (2, 5e-4, 200, 30),
        "slstr_cloud": (4, 5e-4, 256, 30),
        "slstr_cloud_highres": (4, 5e-4, 512, 30),
    }
