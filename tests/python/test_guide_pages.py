"""The guide's pages for each kind of user: every example runs as it is written, one after the other
in one folder.

Blocks of a page are run in their order: ```python by this Python, ```console by bash, whose output
must be what the page shows (`…` stands for anything), ```c and ```cpp by the compiler, which must
not object.
"""

import json
import os
import re
import shutil
import subprocess
import sys

import pytest
from conftest import PROGRAM, ROOT

GUIDE = ROOT / "docs" / "guide"
# With the least number of blocks that each has, so that none gets lost.
PAGES = {"scientist": 5, "ml-engineer": 5, "accelerator-researcher": 6, "framework": 4}
ENVIRONMENT = {
    **os.environ,
    "PATH": os.pathsep.join(
        [str(PROGRAM.absolute().parent), os.path.dirname(sys.executable), os.environ["PATH"]]
    ),
    "OMP_NUM_THREADS": "1",  # threads that wait for each other are slow where others compute too
}


def blocks(page):
    """(language, text) of each, in order."""
    return re.findall(
        r"^```(\w+)\n(.*?)^```", page.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE
    )


def run(argv, folder):
    done = subprocess.run(
        argv, cwd=folder, env=ENVIRONMENT, capture_output=True, text=True, stdin=subprocess.DEVNULL
    )
    assert done.returncode == 0, f"{argv}\n{done.stdout}{done.stderr}"
    return done.stdout + done.stderr


def pattern_of(expected):
    """A line that is nothing but `…` stands for any lines, one elsewhere for any words of its
    line."""
    lines = expected.splitlines(keepends=True)
    return "".join(
        "(?s:.*)" if line == "…\n" else re.escape(line).replace("…", ".*") for line in lines
    )


def run_console(text, folder):
    for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
        command, _, expected = part.partition("\n")
        printed = run(["bash", "-c", command], folder)
        assert re.fullmatch(pattern_of(expected), printed), f"$ {command}\n{printed}"


def compile_only(text, folder, language, compiler):
    if shutil.which(compiler) is None:
        pytest.skip(f"{compiler} is not installed")
    standard = "c99" if language == "c" else "c++20"
    (folder / f"example.{language}").write_text(text)
    run(
        [
            compiler,
            f"-std={standard}",
            "-Wall",
            "-Werror",
            "-fsyntax-only",
            f"-I{ROOT / 'include'}",
            f"example.{language}",
        ],
        folder,
    )


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

    def __call__(self, text, folder):
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


RUNNERS = {
    "console": run_console,
    "c": lambda text, folder: compile_only(text, folder, "c", "gcc"),
    "cpp": lambda text, folder: compile_only(text, folder, "cpp", "g++"),
}


@pytest.mark.parametrize("name", PAGES)
def test_the_examples_of_a_guide_s_page_do_what_it_says(tmp_path, name):
    found = [block for block in blocks(GUIDE / f"{name}.md") if block[0] in ("python", *RUNNERS)]
    assert len(found) >= PAGES[name]
    interpreter = Interpreter(tmp_path)
    try:
        for language, text in found:
            (interpreter if language == "python" else RUNNERS[language])(text, tmp_path)
    finally:
        interpreter.close()


def markdown_files():
    return [
        *ROOT.glob("*.md"),
        *(ROOT / "docs").rglob("*.md"),
        *(ROOT / "bench").rglob("*.md"),
    ]


def anchors_of(page):
    """As GitHub makes them from headings."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_no_link_between_the_documents_is_broken():
    broken = []
    for page in markdown_files():
        text = re.sub(r"```.*?```|`[^`\n]*`", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
        for target in re.findall(r"\]\(([^)\s]+)\)", text):
            if re.match(r"[a-z]+:", target):
                continue
            path, _, anchor = target.partition("#")
            found = (page.parent / path).resolve() if path else page
            if not found.exists() or (
                anchor and found.suffix == ".md" and anchor not in anchors_of(found)
            ):
                broken.append(f"{page.relative_to(ROOT)}: {target}")
    assert broken == []


def test_the_readme_s_cpp_compiles(tmp_path):
    ((_, text),) = [block for block in blocks(ROOT / "README.md") if block[0] == "cpp"]
    outside = [line for line in text.splitlines() if line.startswith(("#", "using "))]
    inside = [line for line in text.splitlines() if line not in outside]
    program = "\n".join(
        [*outside, "int main() {", *inside, "return packed.ok() && back.ok() ? 0 : 1; }", ""]
    )
    compile_only(program, tmp_path, "cpp", "g++")


def test_the_comparison_s_table_is_the_one_of_its_command():
    result = ROOT / "bench" / "results" / "peers-held-out-avx2.json"
    printed = run([sys.executable, ROOT / "bench" / "summary_peers.py", result], ROOT)
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
