"""The page of ./dev demo, made from generated data as on a machine without Debian's data
packages."""

import importlib.util
import re
import subprocess
import sys

import pytest
from conftest import PROGRAM, ROOT

DEMO = ROOT / "examples" / "demo"

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("tensorpress") is None,
    reason="the Python package is not installed; ./dev build does",
)


def run(folder, *arguments):
    command = [
        sys.executable,
        DEMO,
        "--program",
        PROGRAM,
        "--data",
        folder / "nothing",
        "--output",
        folder / "out",
    ]
    return subprocess.run([*command, *arguments], capture_output=True, text=True, timeout=300)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """What it printed, and the page."""
    folder = tmp_path_factory.mktemp("demo")
    done = run(folder, "--only", "climate", "chop", "wafer", "accelerators", "reproduction")
    assert done.returncode == 0, done.stderr
    return done.stdout, (folder / "out" / "report.html").read_text(encoding="utf-8")


def test_every_section_is_announced_and_shown(made):
    printed, page = made
    assert [line[:5] for line in printed.splitlines() if line.startswith("[")] == [
        f"[{i}/5]" for i in range(1, 6)
    ]
    for name in ("climate", "chop", "wafer", "accelerators", "reproduction"):
        assert f'<section id="{name}">' in page and f'href="#{name}"' in page
    assert "Not shown" not in page


def test_the_page_carries_everything_and_fetches_nothing(made):
    _, page = made
    assert not re.search(r"https?:|<script|<link|@import|url\(", page)
    assert (
        re.findall(r'<img src="([^,]*),', page).count("data:image/png;base64")
        == page.count("<img")
        >= 15
    )


def test_generated_data_is_labelled_with_the_package_that_has_the_real(made):
    _, page = made
    for package in ("ferret-datasets", "dataset-fashion-mnist"):
        assert f"Not real data: the Debian package {package} is not installed here" in page


def test_the_page_has_no_number_that_is_missing(made):
    _, page = made
    assert not re.search(r"\b(nan|inf|None)\b", re.sub(r'src="[^"]*"', "", page))


def test_a_section_that_does_not_exist_is_one_sentence_with_those_that_do(tmp_path):
    done = run(tmp_path, "--only", "weather")
    assert done.returncode == 2 and done.stdout == ""
    assert done.stderr == (
        "demo: there is no section 'weather'; they are climate, chop, training, wafer, "
        "accelerators, "
        "reproduction\n"
    )


def test_a_section_that_cannot_run_says_why_on_the_page_and_the_status_is_1_if_none_can(tmp_path):
    broken = tmp_path / "broken"
    broken.write_text("#!/bin/sh\necho 'tensorpress: the moon is full' >&2\nexit 2\n")
    broken.chmod(0o755)
    done = run(tmp_path, "--only", "accelerators", "--program", broken)
    assert done.returncode == 1
    assert (
        "not shown: Machines you do not have: " in done.stdout and "the moon is full" in done.stdout
    )
    assert "the moon is full" in (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
