"""The rules of the tree: what ./dev lint finds, and that ./dev, the map and the folders agree."""

import re
import subprocess

import pytest
from house import OURS, ROOT, House, outcomes


@pytest.fixture
def house(tmp_path):
    return House(tmp_path)


def test_lint_looks_at_cpp_python_and_scripts(house):
    found = outcomes(house.run("lint", MISSING=""))
    assert list(found) == [
        "packages",
        "rules of the tree",
        "format",
        "ruff",
        "shell scripts",
        "build (GCC, release)",
        "clang-tidy",
    ]
    assert found["ruff"] == "ok"
    assert [call.split()[1] for call in house.calls("ruff")] == ["check", "format"]
    assert "-p build" in house.calls("run-clang-tidy-16")[0]


@pytest.mark.parametrize("command", ["check", "format"])
def test_lint_fails_with_python_and_goes_on(house, command):
    result = house.run("lint", MISSING="", COMPLAINING=command)
    assert result.returncode == 1
    assert outcomes(result)["ruff"] == "FAILED" and outcomes(result)["clang-tidy"] == "ok"


def test_test_looks_at_rules_and_format_and_counts_what_they_find_as_a_failure(house):
    result = house.run("test", MISSING="shellcheck clang-format-16 clang-tidy-16")
    assert result.returncode == 0, result.stdout + result.stderr
    assert house.calls("apt-get")[-1].endswith("--no-install-recommends clang-format-16 shellcheck")
    result = house.run("test", MISSING="", COMPLAINING="format")
    assert result.returncode == 1 and outcomes(result)["ruff"] == "FAILED"
    assert result.stdout.splitlines()[-1] == "54 passed, 1 failed, 6 skipped"
    assert house.calls("run-clang-tidy-16") == []


def test_what_an_example_leaves_in_the_folder_breaks_no_rule(house):
    (house.folder / "step.py").write_text("# of /" + "home/somebody\n")
    assert house.run("lint", MISSING="").returncode == 0
    assert all(" . " not in f"{call} " for call in house.calls("ruff"))


@pytest.mark.parametrize(
    "folder, wrong, right",
    [
        ("src/base", "files/tensor/npy.h", "base/text.h"),
        ("apps/command_line", "report/drawing/html.h", "files/tensor/npy.h"),
        ("bindings/hdf5", "model/text.h", "kernels/scan.h"),
    ],
)
def test_a_folder_includes_only_what_the_map_allows(house, folder, wrong, right):
    header = house.folder / folder / "new.h"
    header.write_text(f'#include "{right}"\n')
    assert house.run("lint", MISSING="").returncode == 0
    header.write_text(f'#include "{wrong}"\n')
    result = house.run("lint", MISSING="")
    assert result.returncode == 1 and f"{folder} may include" in result.stderr
    assert outcomes(result)["rules of the tree"] == "FAILED"


def test_requirements_agree_on_every_version():
    versions = {}
    for path in (ROOT / "requirements").iterdir():
        for line in path.read_text().splitlines():
            if not line.startswith("#"):
                name, version = line.lower().replace("-", "_").split("==")
                assert versions.setdefault(name, version) == version, f"{path.name}: {line}"


def test_every_folder_that_git_knows_is_looked_after():
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True).stdout
    assert {line.split("/")[0] for line in listed.splitlines() if "/" in line} <= set(OURS)


def test_lint_finds_forbidden_flags_in_our_build_files_alone(house):
    wheel = house.folder / ".venv" / "lib" / "wheel.cmake"
    wheel.parent.mkdir()
    wheel.write_text("add_compile_options(-march=native)\n")
    result = house.run("lint", MISSING="")
    assert "must be the same bytes" not in result.stderr
    (house.folder / "CMakePresets.json").write_text('{"flags": "-ffast-math"}\n')
    result = house.run("lint", MISSING="")
    assert result.returncode == 1 and "must be the same bytes" in result.stderr
    assert outcomes(result)["rules of the tree"] == "FAILED"


def test_a_folder_without_a_row_in_the_map_is_found(house):
    (house.folder / "src" / "attic").mkdir()
    result = house.run("lint", MISSING="")
    assert result.returncode == 1
    assert "the table of HACKING.md does not say what src/attic may include" in result.stderr


def test_every_folder_of_two_levels_is_on_the_map():
    """By its path, or by its own name."""
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True).stdout
    folders = {"/".join(line.split("/")[:2]) for line in listed.splitlines() if line.count("/") > 1}
    told = (ROOT / "HACKING.md").read_text()
    unnamed = [each for each in folders if not re.search(rf"`({each}|{each.split('/')[1]})/", told)]
    assert unnamed == []
