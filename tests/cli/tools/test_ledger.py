"""The performance ledger notices a loss. Speeds come from a program that prints them, so that
nothing here depends on the clock."""

import json
import os
import stat
import subprocess
import sys

import pytest
from conftest import ROOT

ROW = {"ratio": 8.0, "memcpy_gb_per_s": 10.0, "decompress_gb_per_s": 15.0}
PEER = {"codec": "sz3", "ratio": 4.0, "compress_gb_per_s": 1.0, "decompress_gb_per_s": 3.0}


@pytest.fixture
def ledger(tmp_path):
    """ledger(speeds, *arguments): the script with a `tensorpress bench` whose calls compress at
    these speeds, the last one again and again."""

    def run(speeds, *arguments, isa="avx2"):
        program, turn = tmp_path / "tensorpress", tmp_path / "turn"
        for number, speed in enumerate(speeds, 1):
            (tmp_path / f"answer-{number}").write_text(
                json.dumps([ROW | {"compress_gb_per_s": speed}])
            )
        ours = ROW | {"codec": "dense", "compress_gb_per_s": speeds[-1]}
        (tmp_path / "beside-peers").write_text(json.dumps([ours, PEER]))
        turn.write_text("0")
        program.write_text(
            f"""#!/bin/sh
case $1 in info) echo '{{"isa": "{isa}"}}'; exit ;; esac
case $* in *--peers*) cat {tmp_path}/beside-peers; exit ;; esac
turn=$(($(cat {turn}) + 1)); echo $turn >{turn}
cat {tmp_path}/answer-$turn 2>/dev/null || cat {tmp_path}/answer-{len(speeds)}
"""
        )
        program.chmod(program.stat().st_mode | stat.S_IXUSR)
        argv = [
            sys.executable,
            ROOT / "bench" / "ledger.py",
            "--ledger",
            tmp_path / "ledger.json",
            "--planes",
            "1",
            *arguments,
        ]
        return subprocess.run(
            argv, env={**os.environ, "TENSORPRESS": str(program)}, capture_output=True, text=True
        )

    return run


def test_a_loss_of_more_than_a_tenth_is_flagged_and_a_smaller_one_is_not(ledger):
    assert ledger([10.0], "--update").returncode == 0
    assert ledger([9.1]).returncode == 0
    done = ledger([8.9])
    assert done.returncode == 1
    flagged = [line for line in done.stdout.splitlines() if "LOST" in line]
    assert flagged and all("compress / " in line and "decompress" not in line for line in flagged)


def test_a_slow_round_is_no_loss(ledger):
    """Other programs on the machine slow a round or two; what was lost is lost in all of them."""
    assert ledger([10.0], "--update").returncode == 0
    assert ledger([2.0] * 40 + [9.8]).returncode == 0


def test_a_lucky_round_is_not_what_others_are_measured_by(ledger, tmp_path):
    """One round of three is twice as fast: the median is written."""
    cases = ledger([10.0], "--rounds", "1").stdout.count("compress / memcpy") // 2
    assert ledger([10.0] * cases + [20.0] * cases + [10.0], "--update").returncode == 0
    (figures,) = json.loads((tmp_path / "ledger.json").read_text()).values()
    assert figures["dense, field, compress / memcpy"] == 1.0


def test_the_ledger_holds_ratios_to_memcpy(ledger, tmp_path):
    assert ledger([12.0], "--update").returncode == 0
    (figures,) = json.loads((tmp_path / "ledger.json").read_text()).values()
    assert figures["dense, field, compress / memcpy"] == 1.2
    assert figures["dense, field, decompress / memcpy"] == 1.5
    assert figures["dense, field, ratio"] == 8.0


def test_what_peers_do_in_the_same_run_is_a_measure_too(ledger, tmp_path):
    assert ledger([12.0], "--update").returncode == 0
    (figures,) = json.loads((tmp_path / "ledger.json").read_text()).values()
    assert figures["beside peers: dense, compress / sz3"] == 12.0
    assert figures["beside peers: dense, decompress / sz3"] == 5.0
    assert figures["beside peers: dense, ratio / sz3"] == 2.0


def test_each_kind_of_machine_has_a_ledger_of_its_own(ledger, tmp_path):
    assert ledger([10.0], "--update").returncode == 0
    first = ledger([5.0], "--update", isa="avx512")
    assert first.returncode == 0 and "no figures of avx512 on " in first.stdout
    assert ledger([10.0]).returncode == 0 and ledger([5.0], isa="avx512").returncode == 0
    assert ledger([5.0]).returncode == 1
    ledgers = json.loads((tmp_path / "ledger.json").read_text())
    assert {name.partition(" on ")[0] for name in ledgers} == {"avx2", "avx512"}
