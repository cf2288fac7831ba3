"""The figures of docs/comparison.md are those of bench/results."""

import json
import subprocess
import sys

from conftest import ROOT


def test_the_comparison_s_table_is_the_one_of_its_command():
    result = ROOT / "bench" / "results" / "peers-held-out-avx2.json"
    argv = [sys.executable, ROOT / "bench" / "summary_peers.py", result]
    printed = subprocess.run(argv, check=True, capture_output=True, text=True).stdout
    page = (ROOT / "docs" / "comparison.md").read_text(encoding="utf-8")
    rows = [line for line in printed.splitlines() if line.startswith("| ")]
    assert len(rows) > 5
    for row in rows:
        assert row in page


def test_the_comparison_s_ratios_of_the_demo_s_fields_are_the_measured_ones():
    rows = json.loads((ROOT / "bench" / "results" / "peers-demo-fields.json").read_text())
    page = (ROOT / "docs" / "comparison.md").read_text(encoding="utf-8")
    codecs = ("dense", "dense-fast", "ceresz", "sz3", "sperr", "zfp", "blosc2-zstd")
    for field in ("relief", "zonal_wind", "sea_temperature"):
        found = {
            row["codec"]: row["ratio"]
            for row in rows
            if (row["field"], row["bound"]) == (field, "rel 0.001")
        }
        assert " | ".join(f"{found[codec]:.2f}" for codec in codecs) in page
