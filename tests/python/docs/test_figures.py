"""The figures of README.md and docs/ are those of bench/results, and the commands beside them those
that made the results."""

import json
import re
import shutil
import subprocess
import sys

import pytest
from conftest import ROOT

RESULTS = ROOT / "bench" / "results"


def page(path):
    return (ROOT / path).read_text(encoding="utf-8")


def result(name):
    return json.loads((RESULTS / name).read_text(encoding="utf-8"))


def printed_by(script, name):
    """The rows of the table that bench/`script` prints for a result."""
    argv = [sys.executable, ROOT / "bench" / script, RESULTS / name]
    printed = subprocess.run(argv, check=True, capture_output=True, text=True).stdout
    return [line for line in printed.splitlines() if line.startswith("| ")]


def test_the_comparison_s_table_is_the_one_of_its_command():
    rows = printed_by("summary_peers.py", "peers-held-out.json")
    assert len(rows) > 5
    for row in rows:
        assert row in page("docs/comparison.md")


def test_the_comparison_s_ratios_of_the_demo_s_fields_are_the_measured_ones():
    rows = result("peers-demo-fields.json")
    codecs = ("dense", "dense-fast", "ceresz", "sz3", "sperr", "zfp", "blosc2-zstd")
    for field in ("relief", "zonal_wind", "sea_temperature"):
        found = {
            row["codec"]: row["ratio"]
            for row in rows
            if (row["field"], row["bound"]) == (field, "rel 0.001")
        }
        told = " | ".join(f"{found[codec]:.2f}" for codec in codecs)
        assert told in page("docs/comparison.md")


def test_the_comparison_s_shares_of_memcpy_are_those_of_its_command():
    rows = [row.split(" | ") for row in printed_by("summary.py", "dct-chop-square-avx2.json")]
    of_one_thread = [row for row in rows if row[1] == "1"]
    assert len(of_one_thread) == 8
    for cf, _, _, *shares in of_one_thread:
        ratio = f"{64 / int(cf[2:]) ** 2:.2f}"
        assert " | ".join([cf, ratio, *shares]) in page("docs/comparison.md")


def test_the_comparison_s_shares_of_the_ledger_are_in_it():
    ledgers = json.loads(page("bench/ledger.json"))
    figures = ledgers["avx2 on AMD EPYC (family 25, model 1)"]  # an EPYC 7003, as the page says
    shares = [figures[f"ceresz, field, {way} / memcpy"] for way in ("compress", "decompress")]
    told = "`ceresz` compresses at {:.2f} and decompresses at {:.2f} of `memcpy`".format(*shares)
    assert told in page("docs/comparison.md")
    most = max(len(each) for each in ledgers.values())
    assert f"| {most} figures;" in page("docs/reliability.md")


@pytest.mark.parametrize(
    "where, name",
    [
        ("docs/comparison.md", "memory_budget.md"),
        ("docs/evaluation.md", "eval-classify-quick/table.md"),
        ("docs/evaluation.md", "eval-classify-small/table.md"),
        ("docs/evaluation.md", "eval-em_denoise-quick/table.md"),
    ],
)
def test_tables_are_those_of_the_results(where, name):
    lines = (RESULTS / name).read_text(encoding="utf-8").splitlines()
    table = "\n".join(line for line in lines if line.startswith("|"))
    assert table and table in page(where)


def test_the_plots_of_large_fields_are_drawn_from_the_result(tmp_path):
    copy = shutil.copy(RESULTS / "large-fields.json", tmp_path)
    subprocess.run([sys.executable, ROOT / "bench" / "rate_distortion.py", copy], check=True)
    drawn = sorted(tmp_path.glob("*.svg"))
    assert [path.name for path in drawn] == ["large-fields-error.svg", "large-fields-psnr.svg"]
    for path in drawn:
        assert path.read_bytes() == (RESULTS / path.name).read_bytes()
        assert f"(../bench/results/{path.name})" in page("docs/comparison.md")
        assert {"HPEZ", "SPERR", "dense"} <= set(re.findall(r">([^<>]+)</text>", path.read_text()))


def test_the_memory_of_dense_is_the_measured_one():
    rows = result("dense-memory.json")["rows"]

    def a_thread(way, *efforts):
        own = [row for row in rows if row["effort"] in efforts]
        return [row[f"{way}_bytes"] / row["threads"] / 2**20 for row in own]

    normal, best = a_thread("compress", "normal"), a_thread("compress", "best")
    missed = [sum(each > 96 for each in found) for found in (normal, best)]
    assert (
        f"to compress at most {max(normal):.1f} MiB a thread, {max(best):.1f} with `--effort "
        f"best`; to decompress at most {max(a_thread('decompress', 'normal', 'best')):.1f}. The "
        f"aim of 96 is missed in {missed[0]} and {missed[1]} of {len(best)} cases"
    ) in page("docs/reliability.md")


def test_the_readme_s_figures_are_the_measured_ones():
    told = page("README.md")
    hooks = result("activation_memory.json")["batches"]["100"]["balanced"]
    emitted = result("model_steps.json")["models"]["resnet18 100"]["ways"]
    plain, step = emitted["plain"], emitted["balanced+upd"]
    assert (
        f"{hooks['ratio']:.1f} times fewer saved bytes, a peak of the step "
        f"{hooks['peak_step_bytes_ratio']:.2f} times lower, {hooks['cpu_seconds_ratio']:.2f} times"
    ) in told
    assert (
        f"{plain['saved_bytes'] / step['saved_bytes']:.1f} times fewer saved bytes (predicted), a "
        f"peak of everything {plain['peak_bytes'] / step['peak_bytes']:.2f} times lower, "
        f"{step['seconds'] / plain['seconds']:.2f} times the time"
    ) in told
    rows = [row.split(" | ") for row in printed_by("summary_peers.py", "peers-held-out.json")]
    dense = [row for row in rows if row[1] == "dense"]

    def span(column, rows, digits):
        values = [float(row[column]) for row in rows]
        return f"{min(values):.{digits}f} to {max(values):.{digits}f}"

    assert (
        f"`dense`: {span(3, dense, 2)} times SZ3's ratio; it compresses {span(4, dense, 1)} times "
        f"and decompresses {span(5, dense, 1)} times as fast"
    ) in told
    fast = [row for row in rows if row[1] == "ceresz"]
    assert (
        f"`ceresz` compresses at {span(6, fast, 2)} GB/s and decompresses at "
        f"{span(7, fast, 1)} GB/s"
    ) in told


def test_the_commands_of_the_results_are_those_that_made_them():
    """Each page of results begins with its command; where it writes, and whether it only collects
    finished runs, changes no figure."""
    told = page("bench/README.md")
    found = 0
    for path in RESULTS.glob("*.md"):
        command = re.search(r"`?(bench/\w+\.py[^`\n]*)`?", path.read_text(encoding="utf-8")).group(
            1
        )
        command = re.sub(r" --(output OUTPUT|collect)\b", "", command)
        row = next(line for line in told.splitlines() if f"results/{path.name}]" in line)
        assert f"`{command}`" in row, path.name
        found += 1
    assert found > 8


def test_every_result_is_in_the_list_of_what_made_it():
    told = re.findall(r"results/([\w.*-]+)", page("bench/README.md"))
    listed = {found for pattern in told for found in RESULTS.glob(pattern)}
    stems = {path.with_suffix("") for path in listed}
    assert [path.name for path in RESULTS.iterdir() if path.with_suffix("") not in stems] == []


def test_the_minutes_of_the_fuzzers_add_up_and_every_target_has_some():
    told = page("docs/reliability.md")
    rows = re.findall(
        r"^\| `(\w+)` \| \d+ \| ([\d.]+) \| \d+ \| \d+ \| \d+ \|$", told, re.MULTILINE
    )
    newer = re.findall(r"`(\w+)` is newer and has only replayed its corpus", told)
    assert sorted([target for target, _ in rows] + newer) == sorted(
        p.stem for p in (ROOT / "fuzz").glob("*.cc")
    )
    minutes = [float(each) for _, each in rows]
    assert min(minutes) > 20
    assert (
        "**Every target of that time has had more than twenty minutes of a core**, "
        f"{sum(minutes):.0f} in" in told
    )
