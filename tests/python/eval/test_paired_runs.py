"""Runs of the benchmarks that are kept in files and compared in pairs (bench/paired_runs.py)."""

import argparse
import doctest
import sys

import pytest
from conftest import ROOT

pytest.importorskip("torch")
sys.path.append(str(ROOT / "bench"))

import paired_runs


def test_a_finished_run_is_not_run_again(tmp_path):
    path = tmp_path / "runs" / "a.json"
    first = paired_runs.finished(path, lambda: {"loss": 1.5}, {"steps": 3})
    assert first["loss"] == 1.5 and first["steps"] == 3
    assert first["machine"] == paired_runs.machine()
    assert paired_runs.finished(path, lambda: pytest.fail("ran"), {"steps": 3}) == first


def test_a_finished_run_of_other_settings_is_refused(tmp_path):
    path = tmp_path / "a.json"
    paired_runs.finished(path, lambda: {"loss": 1.5}, {"steps": 3, "lr": 0.1})
    with pytest.raises(SystemExit, match=r"a\.json is of \{'lr': 0\.1\}, not of \{'lr': 0\.2\}"):
        paired_runs.finished(path, lambda: pytest.fail("ran"), {"steps": 3, "lr": 0.2})


def test_runs_name_their_machines_and_old_ones_say_that_it_is_not_known():
    assert doctest.testmod(paired_runs).failed == 0
    here = {"machine": paired_runs.machine()}
    assert paired_runs.machines([here, here]) == paired_runs.described(here["machine"])
    several = paired_runs.machines([here, {}, here])
    assert "(2 of 3); machine not recorded (1 of 3)" in several


def test_a_recorded_command_has_every_option_and_no_path_of_this_machine(monkeypatch, tmp_path):
    words = [f"{tmp_path}/data/", "unet", "--runs", str(tmp_path / "runs"), "--seeds", "2"]
    monkeypatch.setattr(sys, "argv", ["/somewhere/bench/model_quality.py", *words])
    options = argparse.Namespace(data=tmp_path / "data", runs=tmp_path / "runs", seeds=2)
    told = paired_runs.command(options)
    assert told == "bench/model_quality.py DATA unet --runs RUNS --seeds 2"
