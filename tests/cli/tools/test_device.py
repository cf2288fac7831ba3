"""tensorpress device: what there is, what fits, how long it takes; device files of one's own."""

import json
import re

import pytest
from conftest import ROOT

DEVICES = ["a100", "cs2", "groqchip", "ipu", "sn30"]


def check(tensorpress, *arguments, status=0):
    return tensorpress("device", "check", *arguments, "--json", status=status).json


def test_the_devices_are_listed_and_shown_with_sources(tensorpress):
    assert [each["name"] for each in tensorpress("device", "list", "--json").json] == DEVICES
    assert "SambaNova SN30" in tensorpress("device", "list").out.decode()
    shown = tensorpress("device", "show", "sn30", "--json").json
    assert shown["numbers"]["on_chip.unit_bytes"]["value"] == 524288
    assert all(number["source"] for number in shown["numbers"].values())
    assert {number["origin"] for number in shown["numbers"].values()} == {
        "fact",
        "derived",
        "inferred",
        "fitted",
    }
    assert "gather" in tensorpress("device", "show", "ipu").out.decode()


def test_512_fails_on_sn30_and_two_parts_fit(tensorpress):
    shape = ["--codec", "dct-chop", "--cf", "4", "--shape", "100x3x512x512"]
    outcome = check(tensorpress, "--device", "sn30", *shape, status=1)
    assert outcome["fits"] is False and len(outcome["reasons"]) == 1
    assert outcome["way_out"] == "--serialize 2 fits: 256 KiB of 512 KiB a PMU"
    assert check(tensorpress, "--device", "sn30", *shape, "--serialize", "2")["fits"] is True
    words = tensorpress("device", "check", "--device", "sn30", *shape, status=1).out.decode()
    assert "does not fit" in words and "--serialize 2 fits: 256 KiB of 512 KiB a PMU" in words


def test_all_devices_at_once(tensorpress):
    outcomes = check(
        tensorpress, "--device", "all", "--layout", "triangle", "--decompress", status=1
    )
    assert {each["device"] for each in outcomes if each["fits"]} == {"a100", "ipu"}
    some = check(tensorpress, "--device", "ipu", "--device", "cs2", "--shape", "100x3x512x512")
    assert [each["fits"] for each in some] == [True, True]


def test_dense_graphs_exhaust_the_cs2(tensorpress):
    gcn = ["--device", "cs2", "--network", "gcn"]
    assert not check(tensorpress, *gcn, "--nodes", "100000", status=1)["fits"]
    assert check(tensorpress, *gcn, "--nodes", "90000")["fits"]
    assert check(tensorpress, *gcn, "--nodes", "1000000", "--adjacency", "csr", "--stack", "csl")[
        "fits"
    ]


def test_times_have_units_a_breakdown_and_the_training_rate(tensorpress):
    task = ["--device", "sn30", "--shape", "100x3x32x32", "--decompress"]
    time = tensorpress("device", "time", *task, "--json").json
    terms = time["seconds_by_term"]
    body = max(
        terms["to_device"] + terms["from_device"],
        max(terms["compute"], terms["memory"]) + terms["gather"],
    )
    assert time["seconds"] == pytest.approx(terms["launch"] + terms["steps"] + body + terms["fill"])
    assert time["samples_per_second"] == pytest.approx(220_000, rel=0.01)
    assert time["training_samples_per_second"] == 570 and time["hides_behind_training"] is True
    assert time["share_of_units"] < 0.03 and time["label"] == "predicted"
    words = tensorpress("device", "time", *task).out.decode()
    assert " ms" in words and "GB/s" in words and "hides" in words and "% of the PCUs" in words
    slow = tensorpress("device", "time", *task, "--training-rate", "1e6", "--json").json
    assert slow["hides_behind_training"] is False


def test_a_pod_is_64_times_as_fast(tensorpress):
    one = tensorpress("device", "time", "--device", "ipu", "--json").json
    pod = tensorpress("device", "time", "--device", "ipu", "--count", "64", "--json").json
    assert pod["gb_per_s"] == pytest.approx(64 * one["gb_per_s"])


def test_figures_of_the_paper_are_tables_json_and_plots(tensorpress):
    figure = tensorpress("device", "time", "--figure", "11", "--html", "f.html", "--json").json
    assert [each["device"] for each in figure] == ["cs2", "sn30", "groqchip", "ipu"]
    last = figure[1]["series"][0]["points"][-1]
    assert last["x"] == 512 and last["fits"] is False and "PMU" in last["reasons"][0]
    page = (tensorpress.directory / "f.html").read_text()
    assert page.count("<svg") == 4 and "CR 16.00" in page
    assert "CR 1.31" in tensorpress("device", "time", "--figure", "13").out.decode()
    swept = tensorpress("device", "time", "--device", "ipu", "--sweep", "cf", "--json").json
    assert len(swept[0]["series"][0]["points"]) == 6


def test_sweeps_heed_how_many_devices_there_are_and_how_many_parts(tensorpress):
    sweep = [
        "device",
        "time",
        "--device",
        "groqchip",
        "--sweep",
        "batch",
        "--shape",
        "100x3x64x64",
        "--json",
    ]
    one, node = (tensorpress(*sweep, "--count", count).json[0] for count in ("1", "8"))
    for alone, together in zip(
        one["series"][0]["points"], node["series"][0]["points"], strict=True
    ):
        assert alone["fits"] == together["fits"]
        if alone["fits"]:
            assert together["gb_per_s"] == pytest.approx(8 * alone["gb_per_s"])
    assert node["title"].startswith("8 x ")
    parts = [
        "device",
        "time",
        "--device",
        "sn30",
        "--sweep",
        "serialize",
        "--shape",
        "100x3x512x512",
        "--json",
    ]
    points = tensorpress(*parts).json[0]["series"][0]["points"]
    assert [point["x"] for point in points] == [1, 2, 4, 8]
    assert [point["fits"] for point in points[:2]] == [False, True]


def test_ceresz2_is_predicted_where_bits_can_be_shifted(tensorpress):
    ipu = tensorpress("device", "time", "--codec", "ceresz2", "--device", "ipu", "--json").json
    assert ipu["gb_per_s"] == pytest.approx(1472 * 1.85 * 128 / 33454)
    assert "bit shifts" in tensorpress.refuses(
        "device", "time", "--codec", "ceresz2", "--device", "groqchip"
    )


@pytest.mark.parametrize(
    "options, words",
    [
        (
            ["--device", "ipu", "--units", "4"],
            "--units has no place here: it is of --codec ceresz2",
        ),
        (["--device", "ipu", "--ratio", "4"], "--ratio"),
        (["--device", "ipu", "--codec", "ceresz2", "--cf", "3"], "takes --units and --ratio only"),
        (
            ["--device", "ipu", "--sweep", "batch", "--cf", "3"],
            "a sweep goes over all chop factors",
        ),
        (["--device", "ipu", "--sweep", "serialize", "--serialize", "2"], "the sweep goes over it"),
        (["--figure", "11", "--cf", "3"], "--figure is as the paper has it"),
        (["--device", "ipu", "--codec", "ceresz2", "--units", "-5"], "--units -5 is below 1"),
        (["--device", "ipu", "--codec", "ceresz2", "--units", "0"], "--units 0 is below 1"),
        (["--device", "ipu", "--codec", "ceresz2", "--units", "nan"], "--units nan is below 1"),
    ],
)
def test_options_that_would_be_ignored_are_refused(tensorpress, options, words):
    assert words in tensorpress.refuses("device", "time", *options)


def test_training_is_predicted_and_searched(tensorpress):
    two = tensorpress(
        "device", "train", "resnet34", "--stages", "2", "--micro-batches", "4", "--json"
    ).json
    assert 17 <= two["speedup"] <= 20 and len(two["by_stage"]) == 2
    best = tensorpress("device", "train", "resnet34", "--search", "--count", "16", "--json").json
    assert best["stages"] * best["replicas"] == 16 and best["speedup"] > two["speedup"]
    assert (
        "samples/s"
        in tensorpress(
            "device", "train", "unet", "--batch", "16", "--micro-batches", "4"
        ).out.decode()
    )
    assert "only" in tensorpress.refuses("device", "train", "encoder", "--stages", "100")


@pytest.mark.parametrize(
    "option", [["--stages", 4], ["--replicas", 2], ["--micro-batches", 4], ["--stash", "beside"]]
)
def test_a_search_refuses_what_it_finds_itself(tensorpress, option):
    said = tensorpress.refuses("device", "train", "resnet34", "--search", "--count", 16, *option)
    assert f"{option[0]} has no place here: --search finds the best" in said


@pytest.mark.parametrize("search", [[], ["--search"], ["--search", "--count", 4]])
def test_training_that_does_not_fit_has_status_1_with_and_without_a_search(tensorpress, search):
    arguments = ["device", "train", "vgg16", "--device", "groqchip", "--batch", 100000, *search]
    told = tensorpress(*arguments, "--json", status=1).json
    assert told["fits"] is False and told["model"] == "vgg16" and told["device"] == "groqchip"
    assert len(told["reasons"]) >= 1
    outcome = tensorpress(*arguments, status=1)
    assert "does not fit" in outcome.out.decode() and outcome.err == ""


def test_a_device_of_ones_own_is_a_copied_file(tensorpress):
    text = tensorpress("device", "show", "sn30", "--toml").out.decode()
    mine = (
        text.replace('name = "sn30"', 'name = "sn60"')
        .replace("524288", "1048576")
        .replace("640e6", "1280e6")
    )
    (tensorpress.directory / "sn60.toml").write_text(mine)
    assert check(tensorpress, "--device", "sn60.toml", "--shape", "100x3x512x512")["fits"]


@pytest.mark.parametrize(
    "change, words",
    [
        (("1280,", "0,"), "it must be greater than 0"),
        (("200e9", "-200e9"), "it must be greater than 0"),
        (("launch_seconds", "lunch_seconds"), "did you mean 'launch_seconds'"),
        (("[compute]", "[compute"), "sn30.toml:"),
    ],
)
def test_impossible_devices_are_refused_with_their_line(tensorpress, change, words):
    text = tensorpress("device", "show", "sn30", "--toml").out.decode()
    assert change[0] in text
    (tensorpress.directory / "sn30.toml").write_text(text.replace(*change, 1))
    sentence = tensorpress.refuses("device", "show", "sn30.toml")
    assert words in sentence
    assert sentence.split(":")[1].isdigit()


@pytest.mark.parametrize(
    "arguments, words",
    [
        (["show", "sn31"], "did you mean 'sn30'"),
        (["show", "missing.toml"], "missing.toml"),
        (["check", "--device", "ipu", "--cf", "9"], "CF 9 is not in 1..8"),
        (["check", "--device", "ipu", "--shape", "7"], "two axes"),
        (["check", "--device", "ipu", "--shape", "0x8x8"], "no elements"),
        (["check", "--device", "ipu", "--layout", "round"], "neither square nor triangle"),
        (["check", "--device", "ipu", "--codec", "dense"], "dct-chop"),
        (["check", "--device", "ipu", "--stack", "cuda"], "it has poplar, pytorch"),
        (["check", "--device", "ipu", "missing.json"], "missing.json"),
        (["time", "--device", "ipu", "--count", "0"], "--count 0"),
        (["time", "--device", "ipu", "--html", "x.html"], "--figure or --sweep"),
        (["time", "--figure", "16"], "shows no times"),
        (
            ["time", "--figure", "15", "--count", "8"],
            "--count has no place here: --figure is as the paper has it",
        ),
        (["time", "--device", "ipu", "--sweep", "layout"], "resolution, batch, cf, serialize"),
        (
            ["check", "--device", "ipu", "--batch", "5"],
            "--batch is of a model's training step: name a MODEL.tpm",
        ),
        (["check", "--device", "ipu", "--size", "E=5"], "--size is of a model's training step"),
        (["check", "--device", "ipu", "--plan", "max"], "--plan is of a model's training step"),
        (["check", "--device", "ipu", "--nodes", "5"], "--nodes is of --network gcn: add it"),
        (["check", "--device", "ipu", "--network", "gcn", "--cf", "4"], "--cf is of a codec"),
        (["check", "--device", "ipu", "some.tpm", "--shape", "8x8"], "--shape is of a codec"),
        (["check", "--device", "ipu", "some.json", "--batch", "8"], "name a MODEL.tpm"),
        (["time"], "--device"),
        (["train", "resnet99"], "did you mean 'resnet34'"),
    ],
)
def test_what_makes_no_sense_is_refused(tensorpress, arguments, words):
    assert words in tensorpress.refuses("device", *arguments)


def test_a_graph_is_read_and_damage_is_told(tensorpress):
    graph = {
        "format": "tensorpress-graph",
        "version": 1,
        "name": "Shift",
        "tensors": [
            {"name": "x", "shape": [8], "type": "int32", "role": "input"},
            {"name": "y", "shape": [8], "type": "int32", "role": "output"},
        ],
        "operators": [{"name": "bitwise_left_shift", "inputs": [0], "outputs": [1]}],
    }
    (tensorpress.directory / "g.json").write_text(json.dumps(graph))
    outcomes = check(tensorpress, "g.json", "--device", "all", status=1)
    assert [each["device"] for each in outcomes if each["fits"]] == ["a100"]
    graph["operators"][0]["inputs"] = [5]
    (tensorpress.directory / "g.json").write_text(json.dumps(graph))
    assert "names tensor 5 of 2" in tensorpress.refuses(
        "device", "check", "g.json", "--device", "ipu"
    )


def test_a_model_s_training_step_is_checked_and_the_largest_batch_told(tensorpress):
    model = ROOT / "models" / "resnet18.tpm"
    assert check(tensorpress, "--device", "ipu", model)["fits"]
    outcome = check(tensorpress, "--device", "ipu", model, "--batch", "1000", status=1)
    assert {each["name"] for each in outcome["operators"]} >= {"conv2d", "convolution_backward"}
    assert "backward pass" in outcome["reasons"][0]
    batch = int(re.match(r"a batch of (\d+) fits", outcome["way_out"])[1])
    assert check(tensorpress, "--device", "ipu", model, "--batch", str(batch))["fits"]
    assert not check(tensorpress, "--device", "ipu", model, "--batch", str(batch + 1), status=1)[
        "fits"
    ]
    assert "--batch is 0" in tensorpress.refuses(
        "device", "check", "--device", "ipu", model, "--batch", "0"
    )
    assert "missing.tpm" in tensorpress.refuses("device", "check", "--device", "ipu", "missing.tpm")


def test_the_batch_of_a_model_has_one_size(tensorpress):
    command = ["--device", "ipu", ROOT / "models" / "resnet18.tpm"]
    said = tensorpress.refuses("device", "check", *command, "--size", "N=8")
    assert "--size N=8 is the batch" in said and "give --batch 8" in said
    named = check(tensorpress, *command, "--size", "N=1000", "--batch", "1000", status=1)
    assert named == check(tensorpress, *command, "--batch", "1000", status=1)
    assert named["way_out"].startswith("a batch of ")


def test_a_model_lacks_an_operator_where_the_stack_does(tensorpress):
    outcome = check(tensorpress, "--device", "cs2", ROOT / "models" / "gcn.tpm", status=1)
    assert outcome["reasons"] == ["operator sparse_mm is not in the pytorch stack of cs2"]
    assert outcome["way_out"] == ""


def test_everything_published_is_one_table(tensorpress):
    tables = tensorpress("reproduce", "--html", "r.html", "--json").json["tables"]
    rows = [row for table in tables for row in table["rows"]]
    chop = [row for table in tables if "DCT+Chop" in table["reproduces"] for row in table["rows"]]
    assert {row["label"] for row in rows} == {"predicted", "inferred", "calibrated", "stated"}
    assert all(row["rests_on"] for row in rows if row["label"] != "predicted")
    assert all(abs(row["relative_error"]) < 0.3 for row in chop)
    assert "<svg" in (tensorpress.directory / "r.html").read_text()
    assert "| published |" in tensorpress("reproduce", "dct-chop", "--markdown").out.decode()


def test_the_committed_tables_are_what_the_program_prints(tensorpress):
    printed = tensorpress("reproduce", "--markdown").out.decode()
    assert printed == (ROOT / "docs" / "reproduction.md").read_text()
    for words in ("Table II", "Section VII-B", "CereSZ-II's gains", "IISWC 2025", "Poster"):
        assert words in printed
