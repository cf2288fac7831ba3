"""The page of ./dev demo, made from generated data as on a machine without Debian's data
packages."""

import html
import importlib.util
import json
import os
import re
import shlex
import subprocess
import sys

import numpy as np
import pytest
from conftest import PROGRAM, ROOT

DEMO = ROOT / "examples" / "demo"
SHOWN = ("climate", "simulation", "chop", "wafer", "accelerators", "reproduction")

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
    # As a user's shell has it: the tests of HDF5 name a folder for filters.
    environment = {k: v for k, v in os.environ.items() if k != "HDF5_PLUGIN_PATH"}
    return subprocess.run(
        [*command, *arguments], capture_output=True, text=True, timeout=300, env=environment
    )


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """What it printed, and the page."""
    folder = tmp_path_factory.mktemp("demo")
    done = run(folder, "--only", *SHOWN)
    assert done.returncode == 0, done.stderr
    return done.stdout, (folder / "out" / "report.html").read_text(encoding="utf-8")


def test_every_section_is_announced_and_shown(made):
    printed, page = made
    assert [line[:5] for line in printed.splitlines() if line.startswith("[")] == [
        f"[{i}/6]" for i in range(1, 7)
    ]
    for name in SHOWN:
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


def test_a_large_field_is_computed_and_shown_before_and_after(made):
    _, page = made
    section = page[page.index('<section id="simulation">') : page.index('<section id="chop">')]
    assert "128 x 160 x 160 values, 13.1 MB" in section
    assert section.count("<img") == 3
    ratio = float(re.search(r"--rel</span> 0.001: ([\d.]+) times smaller", section)[1])
    shown = [float(number) for number in re.findall(r">([\d.]+)</td>", section)]
    assert any(abs(ratio - number) < 0.06 for number in shown) and ratio > 10
    most, allowed = map(
        float, re.search(r"at most ([\d.e-]+) in the whole field, and ([\d.e-]+)", section).groups()
    )
    assert 0 < most <= allowed


def test_the_recorded_plots_have_every_field_and_codec_of_the_result(made):
    _, page = made
    result = json.loads((ROOT / "bench" / "results" / "large-fields.json").read_text())
    recorded = page[page.index("Recorded, not measured here") :]
    fields = {row["field"] for row in result["rows"]}
    for field in fields:
        assert recorded.count(f', {field}">') == 2  # the largest error, and the PSNR
    for name in ("HPEZ", "SPERR", "dense"):
        assert len(re.findall(rf"<title>{name}: [\d.e-]+ bits", recorded)) >= 3 * len(fields)


@pytest.mark.skipif(
    any(importlib.util.find_spec(name) is None for name in ("hdf5plugin", "pysz")),
    reason="there are no other compressors; requirements/peers.txt has them",
)
def test_other_compressors_are_found_though_the_package_has_a_plugin_path_of_its_own(made):
    _, page = made
    assert "No other compressors" not in page
    assert page.count(">SPERR</td>") == 6


@pytest.fixture(scope="module")
def chopped(tmp_path_factory):
    """The data's folder and the page of a relief that is shown at half its size, and of more small
    pictures than are shown."""
    folder = tmp_path_factory.mktemp("chop")
    generator = np.random.default_rng(3)
    rows, columns = np.mgrid[:90, :801]
    relief = np.sin(rows / 9) * np.cos(columns / 13) + 0.1 * generator.standard_normal((90, 801))
    arrays = {"relief": relief, "fashion_mnist": generator.random((40, 1, 28, 28))}
    for name, array in arrays.items():
        np.save(folder / f"{name}.npy", array.astype("f4"))
        (folder / f"{name}.json").write_text(json.dumps({"title": name, "about": "Made up."}))
    done = run(folder, "--data", folder, "--only", "chop")
    assert done.returncode == 0, done.stderr
    return folder, (folder / "out" / "report.html").read_text(encoding="utf-8")


def test_a_picture_s_figures_are_those_of_the_point_in_the_plot(chopped):
    _, page = chopped
    captions = re.findall(r"<figcaption>CF (\d): ([^<]* dB)\.</figcaption>", page)
    points = re.findall(r"<title>DCT, square, CF (\d): ([^<]* dB)</title>", page)
    assert [cf for cf, _ in captions] == ["4", "2", "1"] * 2
    assert len(points) == 2 * 7
    assert captions[:3] == [points[i] for i in (3, 1, 0)]
    assert captions[3:] == [points[7 + i] for i in (3, 1, 0)]


def test_a_picture_s_figures_are_those_of_the_command_below_it(chopped):
    folder, page = chopped
    commands = html.unescape(re.search(r'<pre class="commands">(.*?)</pre>', page, re.DOTALL)[1])
    captions = re.findall(r"CF 2: ([\d.]+) times smaller, ([\d.]+) dB\.", page)
    assert len(commands.splitlines()) == len(captions) == 2
    for command, (ratio, psnr) in zip(commands.splitlines(), captions, strict=True):
        words = shlex.split(command.replace("build/demo-data", str(folder)))
        assert words[0] == "tensorpress"
        stream = folder / words[-1]
        done = subprocess.run(
            [PROGRAM, *words[1:-1], stream, "--json"], capture_output=True, text=True, check=True
        )
        assert f"{json.loads(done.stdout)['ratio']:.1f}" == ratio
        done = subprocess.run(
            [PROGRAM, "verify", words[2], stream, "--json"],
            capture_output=True,
            text=True,
            check=True,
        )
        assert f"{json.loads(done.stdout)['psnr_db']:.1f}" == psnr


def test_the_page_says_what_pictures_leave_out_and_what_padding_adds(chopped):
    _, page = chopped
    assert (
        "40 x 1 x 28 x 28 values are compressed, and the figures are of all of them; in the "
        "pictures the first 18 planes are shown. Planes of 28 x 28 are padded to 32 x 32." in page
    )
    assert "90 x 801 values are compressed" in page
    assert "every second value of every second row is shown" in page
    assert "planes are padded to whole blocks, and a file has a header and an index" in page


def test_processing_elements_without_a_block_are_told_apart(made):
    _, page = made
    blocks = 20 * 180 * 360 // 32
    width, height = map(int, re.search(r">(\d+) x (\d+) processing elements<", page).groups())
    captions = re.findall(r"<figcaption>[^<]*?([\d,]+) to [\d,]+ cycles; ([^<]*)<", page)
    assert len(captions) == 2 and "processing elements (PEs)" in page
    for low, rest in captions:
        assert int(low.replace(",", "")) > 0
        assert f"{width * height - blocks:,} PEs are idle (0 cycles, dark)" in rest


def test_machines_are_told_about_in_words_that_the_page_explains(made):
    _, page = made
    section = page[page.index('<section id="accelerators">') :]
    assert "A PMU (pattern memory unit) is" in section
    assert "sending data back" in section and "from device" not in section


def test_a_section_that_does_not_exist_is_one_sentence_with_those_that_do(tmp_path):
    done = run(tmp_path, "--only", "weather")
    assert done.returncode == 2 and done.stdout == ""
    assert done.stderr == (
        "demo: there is no section 'weather'; they are climate, simulation, chop, "
        "training, wafer, accelerators, reproduction\n"
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
