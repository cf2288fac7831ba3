"""The documents' examples: every block of README.md and of each page in docs/ runs as it is
written, one after the other, in a folder that holds little of a clone.

```python is run by this Python, ```console by bash, whose output must be what the page shows (`…`
stands for anything), and ```c and ```cpp are compiled. A new page is found by itself.
"""

import ast
import os
import re
import shutil
import subprocess
import sys
from importlib.util import find_spec

import pytest
from conftest import PROGRAM, ROOT
from page_blocks import blocks

# Of a clone: what pages name. The demo's data are in build.
OF_A_CLONE = ("build", "examples", "models")
DEMO_DATA = ROOT / "build" / "demo-data"
CLIENTS = "requirements/clients.txt"  # which pages name that need them
ENVIRONMENT = {
    **os.environ,
    "PATH": os.pathsep.join(
        [str(PROGRAM.absolute().parent), os.path.dirname(sys.executable), os.environ["PATH"]]
    ),
    "OMP_NUM_THREADS": "1",  # threads that wait for each other are slow where others compute too
    "OMPI_MCA_rmaps_base_oversubscribe": "1",  # mpirun -n 2, also on one core
}


def run(argv, folder):
    """(status, what it printed)."""
    done = subprocess.run(
        argv,
        cwd=folder,
        env=ENVIRONMENT,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    return done.returncode, done.stdout


def pattern_of(expected):
    """A line that is nothing but `…` stands for any lines, one elsewhere for any words of its
    line."""
    lines = expected.splitlines(keepends=True)
    return "".join(
        "(?s:.*)" if line == "…\n" else re.escape(line).replace("…", ".*") for line in lines
    )


def run_console(text, page):
    """A command fails only where the page shows all that it prints. A block of commands alone says
    nothing about their output."""
    parts = [part.partition("\n") for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]]
    assert parts, f"no command in\n{text}"
    shown = any(expected for _, _, expected in parts)
    for command, _, expected in parts:
        status, printed = run(["bash", "-c", "\n".join([*page.exports, command])], page.folder)
        told = f"$ {command}\n{printed}status {status}"
        assert not shown or re.fullmatch(pattern_of(expected), printed), told
        assert status == 0 or (expected and "…" not in expected.splitlines()), told
        if command.startswith("export "):
            page.exports.append(command)


def compile_only(text, page, language, compiler):
    if shutil.which(compiler) is None:
        pytest.skip(f"{compiler} is not installed")
    if language == "cpp" and not re.search(r"^\S.*\) \{$", text, re.MULTILINE):
        outside = [line for line in text.splitlines() if line.startswith(("#", "using "))]
        inside = [line for line in text.splitlines() if line not in outside]
        text = "\n".join([*outside, "void example() {", *inside, "}", ""])
    (page.folder / f"example.{language}").write_text(text)
    standard = "-std=c99" if language == "c" else "-std=c++20"
    flags = [standard, "-Wall", "-Werror", "-fsyntax-only", f"-I{ROOT / 'include'}"]
    status, printed = run([compiler, *flags, f"example.{language}"], page.folder)
    assert status == 0, printed


# Reads blocks, each after its length, runs them as one program and says when one is done.
INTERPRETER = """
import sys
names = {"__name__": "__main__"}
while size := sys.stdin.readline():
    exec(compile(sys.stdin.read(int(size)), "page", "exec"), names)
    print(end="\\0", file=sys.__stderr__, flush=True)
"""


class Interpreter:
    """One Python for the blocks of a page: importing PyTorch once is enough."""

    def __init__(self, folder):
        self.process = subprocess.Popen(
            [sys.executable, "-W", "ignore", "-c", INTERPRETER],
            cwd=folder,
            env=ENVIRONMENT,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self, text):
        self.process.stdin.write(f"{len(text)}\n{text}")
        self.process.stdin.flush()
        told = ""
        while (letter := self.process.stderr.read(1)) not in ("", "\0"):
            told += letter
        assert letter == "\0", f"{text}\n{told}"

    def close(self):
        self.process.stdin.close()
        self.process.wait()
        self.process.stderr.close()


class Page:
    """Where the examples of a page run, and what one leaves for the next."""

    def __init__(self, folder):
        self.folder = folder
        self.exports = []
        self.python = None
        for name in OF_A_CLONE:
            (folder / name).symlink_to(ROOT / name)

    def run_python(self, text):
        self.python = self.python or Interpreter(self.folder)
        self.python.run(text)

    def close(self):
        if self.python:
            self.python.close()


RUNNERS = {
    "console": run_console,
    "c": lambda text, page: compile_only(text, page, "c", "gcc"),
    "cpp": lambda text, page: compile_only(text, page, "cpp", "g++"),
}


def pages():
    """Their paths in the tree; docs/api is made of headers and docstrings."""
    found = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    found = [path for path in found if path.parent.name != "api" and blocks(path)]
    return [str(path.relative_to(ROOT)) for path in found]


@pytest.mark.parametrize("name", pages())
def test_the_examples_of_a_page_do_what_it_says(tmp_path, name):
    if "build/demo-data" in (ROOT / name).read_text(encoding="utf-8") and not DEMO_DATA.is_dir():
        pytest.skip("./dev demo has not been run")
    if CLIENTS in (ROOT / name).read_text(encoding="utf-8") and not find_spec("accelerate"):
        pytest.skip(f"the packages of {CLIENTS} are not installed: ./dev test --clients")
    page = Page(tmp_path)
    try:
        for language, text in blocks(ROOT / name):
            if language == "python":
                page.run_python(text)
            else:
                RUNNERS[language](text, page)
    finally:
        page.close()


def test_pages_are_found():
    assert {"README.md", "docs/hdf5.md", "docs/guide/python.md"} <= set(pages())


@pytest.mark.parametrize(
    "text, complaint",
    [
        ("$ echo two\none\n", "echo two"),
        ("$ echo one; false\n…\n", "status 1"),
        ("$ false\n", "status 1"),
        ("tensorpress info\n", "no command"),
    ],
)
def test_the_runner_notices_what_is_not_as_a_page_says(tmp_path, text, complaint):
    with pytest.raises(AssertionError, match=complaint):
        run_console(text, Page(tmp_path))


def test_the_runner_lets_a_page_show_a_failure_and_export_for_the_next_command(tmp_path):
    run_console("$ export WORD=one\n$ echo $WORD two; false\none …\n", Page(tmp_path))


def imported_by(page):
    """The packages that its examples import."""
    for language, text in blocks(page):
        for node in ast.walk(ast.parse(text)) if language == "python" else ():
            if isinstance(node, ast.Import):
                yield from (alias.name.split(".")[0] for alias in node.names)
            elif isinstance(node, ast.ImportFrom) and node.level == 0:
                yield node.module.split(".")[0]


@pytest.mark.parametrize("name", pages())
def test_a_page_says_how_to_get_the_packages_that_its_examples_import(name):
    lines = (ROOT / "requirements" / "guides.txt").read_text().splitlines()
    if CLIENTS in (ROOT / name).read_text():
        lines += (ROOT / CLIENTS).read_text().splitlines()
    brought = {line.partition("==")[0] for line in lines}
    # Emitted by an example before it.
    own = {module for module in imported_by(ROOT / name) if module.endswith("_step")}
    needed = set(imported_by(ROOT / name)) - own - {"tensorpress"} - sys.stdlib_module_names
    assert needed <= brought
    if needed - {"numpy"} and name != "README.md":  # which begins with ./dev demo
        assert "pip install -r requirements/guides.txt" in (ROOT / name).read_text()
