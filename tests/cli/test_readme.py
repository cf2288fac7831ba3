"""The README's examples print what the README says, speeds aside. They use the data of ./dev
demo."""

import os
import pathlib
import re
import subprocess

import pytest
from conftest import PROGRAM, ROOT

DATA = ROOT / "build" / "demo-data"
SPEED = re.compile(r"\S+ GB/s")


def examples():
    """(command, expected output) of every ```console block, in order."""
    found = []
    for block in re.findall(r"```console\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, output = part.partition("\n")
            found.append((command, output))
    return found


@pytest.mark.skipif(not DATA.is_dir(), reason="./dev demo has not been run")
def test_the_readme_s_examples_print_what_it_says(tmp_path):
    (tmp_path / "build").mkdir()
    (tmp_path / "build" / "demo-data").symlink_to(DATA)
    path = f"{pathlib.Path(PROGRAM).parent}:{os.environ['PATH']}"
    assert len(examples()) >= 5
    for command, expected in examples():
        if "tensorpress bench" in command:
            continue  # nothing but speeds
        done = subprocess.run(
            ["bash", "-c", command],
            cwd=tmp_path,
            env={**os.environ, "PATH": path},
            capture_output=True,
            text=True,
        )
        assert SPEED.sub("", done.stdout + done.stderr) == SPEED.sub("", expected), command
