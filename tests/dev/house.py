"""A copy of ./dev in a folder of its own where every tool it calls is a stand-in that writes down
its call."""

import hashlib
import os
import re
import shutil
import subprocess
from pathlib import Path

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


# The folders whose rules and format ./dev looks after.
OURS = re.search(r"our_folders=\((.*?)\)", (ROOT / "dev").read_text()).group(1).split()


class House:
    """A copy of the script in an empty folder, with stand-ins first on the PATH."""

    def __init__(self, folder):
        self.folder = folder
        self.log = folder / "calls"
        (folder / "tools").mkdir()
        for name in ("dev", "HACKING.md", "CMakePresets.json", "requirements"):
            source = ROOT / name
            (shutil.copytree if source.is_dir() else shutil.copy)(source, folder / name)
        self.tool("dpkg-query", DPKG_QUERY)
        self.tool("apt-get")
        self.tool("sudo", "exit 1")
        self.tool("id", "echo ${USER_ID:-0}")
        self.tool(
            "cmake",
            "case $2 in release) f=build ;; fuzz) f=build/fuzzing ;; *) f=build/$2 ;; esac; "
            "mkdir -p $f; touch $f/build.ninja",
        )
        self.tool("ninja", NINJA)
        self.tool("ctest", TEST_RUNNER)
        python = folder / ".venv" / "bin" / "python"
        python.parent.mkdir(parents=True)
        shutil.copy(self.tool("pytest", TEST_RUNNER), python)
        (folder / ".venv" / "pyvenv.cfg").write_text("")
        for requirements in (folder / "requirements").iterdir():
            checksum = hashlib.sha256(requirements.read_bytes()).hexdigest()
            (folder / ".venv" / f"installed-{requirements.stem}").write_text(f"{checksum}  -\n")
        for name in [*OURS, "src/base", "apps/command_line", "bindings/hdf5"]:
            (folder / name).mkdir(exist_ok=True)
        for name in ("clang-format-16", "shellcheck", "run-clang-tidy-16"):
            self.tool(name)
        self.tool("ruff", 'case $1 in "${COMPLAINING:-}") exit 1 ;; esac', ".venv/bin")

    def tool(self, name, body="", folder="tools"):
        path = self.folder / folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
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


def outcomes(result):
    """By the names of stages, from the table at the end."""
    rows = re.findall(r"^(\S.*?) +\d+ s  (.*)$", result.stdout, re.MULTILINE)
    return dict(rows)
