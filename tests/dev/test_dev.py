"""./dev as a person meets it, in a folder of its own where every tool it calls is a stand-in that
writes down its call."""

import hashlib
import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

# Debian's answer for packages: all are there but those in $MISSING.
DPKG_QUERY = """
for package in "$@"; do
  case $package in -*|*{*) continue ;; esac
  case " $MISSING " in *" $package "*) ;; *) echo "$package installed" ;; esac
done
"""
# The build makes a program that does nothing.
NINJA = """
case " $* " in *" ${BROKEN_FOLDER:-none} "*) exit 1 ;; esac
mkdir -p build/bin
ln -sf /bin/true build/bin/tensorpress
"""
# A tool that leaves a JUnit report as ctest (--output-junit FILE) and pytest (--junitxml=FILE) do;
# ctest breaks lines inside a tag.
TEST_RUNNER = """
if [ "$1" = -c ]; then exit 0; fi
while [ $# -gt 0 ]; do
  case $1 in --output-junit) file=$2 ;; --junitxml=*) file=${1#*=} ;; esac
  shift
done
if [ -z "$file" ]; then exit 0; fi
head='<testsuite name="x"\\n\\ttests="10"\\n\\tfailures="%s" errors="0" disabled="0" skipped="1">'
printf "$head" "${FAILING:-0}" >"$file"
exit "${FAILING:-0}"
"""


class House:
    """A copy of the script in an empty folder, with stand-ins first on the PATH."""

    def __init__(self, folder):
        self.folder = folder
        self.log = folder / "calls"
        (folder / "tools").mkdir()
        for name in ("dev", "CMakePresets.json", "requirements"):
            source = ROOT / name
            (shutil.copytree if source.is_dir() else shutil.copy)(source, folder / name)
        self.tool("dpkg-query", DPKG_QUERY)
        self.tool("apt-get")
        self.tool("sudo", "exit 1")
        self.tool("id", "echo ${USER_ID:-0}")
        self.tool(
            "cmake",
            "case $2 in release) f=build ;; *) f=build/$2 ;; esac; "
            "mkdir -p $f; touch $f/build.ninja",
        )
        self.tool("ninja", NINJA)
        self.tool("ctest", TEST_RUNNER)
        python = folder / ".venv" / "bin" / "python"
        python.parent.mkdir(parents=True)
        shutil.copy(self.tool("pytest", TEST_RUNNER), python)
        (folder / ".venv" / "pyvenv.cfg").write_text("")
        for name in ("test", "demo", "bench", "peers", "python", "python-test", "hdf5", "training"):
            checksum = hashlib.sha256(
                (folder / "requirements" / f"{name}.txt").read_bytes()
            ).hexdigest()
            (folder / ".venv" / f"installed-{name}").write_text(f"{checksum}  -\n")

    def tool(self, name, body=""):
        path = self.folder / "tools" / name
        path.write_text(f'#!/bin/bash\necho "{name} $*" >>"{self.log}"\n{body}\n')
        path.chmod(0o755)
        return path

    def run(self, *arguments, **environment):
        self.log.write_text("")
        path = f"{self.folder / 'tools'}:{os.environ['PATH']}"
        return subprocess.run(
            [self.folder / "dev", *arguments],
            env=os.environ | {"PATH": path} | environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )

    def calls(self, tool):
        return [line for line in self.log.read_text().splitlines() if line.startswith(tool + " ")]


@pytest.fixture
def house(tmp_path):
    return House(tmp_path)


def test_without_rights_the_missing_packages_are_one_line_and_the_status_is_2(house):
    result = house.run("build", MISSING="libpng-dev ccache", USER_ID="1000")
    assert result.returncode == 2
    assert (
        result.stderr.splitlines()[-1]
        == "apt-get install --no-install-recommends ccache libpng-dev"
    )
    assert house.calls("apt-get") == [] and house.calls("cmake") == []


def test_root_installs_only_what_is_missing_in_one_call(house):
    result = house.run("build", MISSING="libpng-dev ccache")
    assert result.returncode == 0, result.stderr
    assert house.calls("apt-get") == [
        "apt-get update -qq",
        "apt-get install -y -qq --no-install-recommends ccache libpng-dev",
    ]


def test_a_failed_installation_stops_with_status_2_and_names_the_packages(house):
    house.tool("apt-get", "echo no network >&2; exit 100")
    result = house.run("build", MISSING="ccache")
    assert result.returncode == 2
    assert "no network" in result.stderr
    assert result.stderr.splitlines()[-1] == "apt-get install --no-install-recommends ccache"


def test_the_second_build_neither_installs_nor_configures(house):
    house.run("build", MISSING="")
    assert len(house.calls("cmake")) == 1
    house.run("build", MISSING="")
    assert house.calls("cmake") == [] and house.calls("apt-get") == []


def test_changed_presets_are_configured_again(house):
    house.run("build", MISSING="")
    (house.folder / "CMakePresets.json").write_text("{}")
    house.run("build", MISSING="")
    assert len(house.calls("cmake")) == 1


def test_a_release_has_the_python_module_and_a_new_environment_is_configured_again(house):
    house.run("build", MISSING="")
    assert "-DTENSORPRESS_PYTHON=ON" in house.calls("cmake")[0]
    assert any("install_package.py build" in call for call in house.calls("pytest"))
    (house.folder / ".venv" / "pyvenv.cfg").write_text("version = 3.14\n")
    house.run("build", MISSING="")
    assert len(house.calls("cmake")) == 1


def test_other_presets_need_no_python(house):
    house.run("build", "dev", MISSING="")
    assert "-DTENSORPRESS_PYTHON=ON" not in house.calls("cmake")[0]
    assert house.calls("pytest") == []


def test_bench_installs_zfp_only_for_peers_and_configures_a_build_that_lacked_them(house):
    house.run("bench", "x.npy", MISSING="libzfp-dev")
    assert house.calls("apt-get") == [] and len(house.calls("cmake")) == 1
    (house.folder / "build" / "CMakeCache.txt").write_text(
        "TENSORPRESS_ZFP_INCLUDE_DIR:PATH=TENSORPRESS_ZFP_INCLUDE_DIR-NOTFOUND\n"
    )
    result = house.run("bench", "x.npy", "--peers", MISSING="libzfp-dev")
    assert result.returncode == 0, result.stderr
    assert house.calls("apt-get")[-1].endswith(" libzfp-dev") and len(house.calls("cmake")) == 1


@pytest.mark.parametrize(
    "arguments, explanation",
    [
        ([], "usage: ./dev VERB"),
        (["bild"], "'bild' is not a verb"),
        (["build", "relase"], "'relase' is not a preset; use release, dev, asan, ubsan or tsan"),
        (
            ["test", "--fast"],
            "'--fast' is not an option of test; use --full, --asan, --ubsan or --tsan",
        ),
    ],
)
def test_bad_usage_is_explained_on_stderr_with_status_2(house, arguments, explanation):
    result = house.run(*arguments)
    assert result.returncode == 2
    assert result.stdout == "" and explanation in result.stderr
    assert house.calls("cmake") == []


def test_the_last_line_of_test_adds_up_all_runners(house):
    result = house.run("test", MISSING="")
    assert result.returncode == 0, result.stdout + result.stderr
    assert (
        result.stdout.splitlines()[-1] == "54 passed, 0 failed, 6 skipped"
    )  # six runners with 9 + 1 each


def test_failed_tests_are_counted_and_make_the_status_1(house):
    result = house.run("test", MISSING="", FAILING="2")
    assert result.returncode == 1
    assert result.stdout.splitlines()[-1] == "42 passed, 12 failed, 6 skipped"


def test_a_broken_build_counts_as_a_failure_and_hides_no_other_results(house):
    result = house.run("test", MISSING="", BROKEN_FOLDER="build/asan")
    assert result.returncode == 1
    assert result.stdout.splitlines()[-1] == "45 passed, 1 failed, 5 skipped"


def test_every_preset_that_help_names_exists(house):
    for preset in ("release", "dev", "asan", "ubsan", "tsan"):
        assert house.run("build", preset, MISSING="").returncode == 0
        assert f'"name": "{preset}"' in (ROOT / "CMakePresets.json").read_text()


def test_the_demo_goes_on_without_the_data_that_cannot_be_installed_and_says_so(house):
    house.tool("apt-get", "exit 100")
    result = house.run("demo", MISSING="ferret-datasets")
    assert result.returncode == 0, result.stderr
    assert "apt-get install --no-install-recommends ferret-datasets" in result.stderr
    assert "generated data stands in for it" in result.stdout
    assert any("examples/demo --output demo" in call for call in house.calls("pytest"))


def test_the_demo_names_the_page_to_open(house):
    result = house.run("demo", MISSING="")
    assert result.returncode == 0, result.stderr
    assert result.stdout.splitlines()[-1].endswith("/demo/report.html in a browser")
