"""What the documents point at is there: links between them, and files that they name."""

import re

from conftest import ROOT


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


def test_every_file_of_the_tree_that_a_document_names_is_there():
    """`src/…` and `tests/…` in backticks; a star stands for any letters. Not in CHANGELOG.md, which
    is about what was."""
    missing = []
    for page in markdown_files():
        if page.name != "CHANGELOG.md":
            for path in re.findall(
                r"`((?:src|tests)/[\w./*-]*)`", page.read_text(encoding="utf-8")
            ):
                if not list(ROOT.glob(path)):
                    missing.append(f"{page.relative_to(ROOT)}: {path}")
    assert missing == []


def names_of_tests():
    """Their names: Suite.Name of C++, test_… of Python."""
    names = set()
    for path in (ROOT / "tests").rglob("*.cc"):
        text = path.read_text(encoding="utf-8")
        pairs = re.findall(
            r"^(?:TEST(?:_[FP])?|RC_GTEST\w*_PROP)\(\s*(\w+),\s*(\w+)", text, re.MULTILINE
        )
        names.update(f"{suite}.{name}" for suite, name in pairs)
    for path in (ROOT / "tests").rglob("test_*.py"):
        text = path.read_text(encoding="utf-8")
        names.update(re.findall(r"^def (test_\w+)", text, re.MULTILINE))
    return names


def test_every_test_that_the_page_about_reliability_names_is_there():
    """Three dots stand for the rest of a name; a file that is named alone lies under tests/."""
    text = re.sub(
        r"^```.*?^```", "", (ROOT / "docs" / "reliability.md").read_text(), flags=re.S | re.M
    )
    there = "\n".join(names_of_tests())
    missing, found = [], 0
    for name in re.findall(r"`([^`]+)`", text):
        if re.fullmatch(r"[A-Z]\w+\.(\w+(\.\.\.)?|\*)|test_\w+\.\.\.|\.\.\.\w+\.\.\.", name):
            pattern = re.escape(name).replace(r"\.\.\.", r"\w*").replace(r"\*", r"\w*")
            known = re.search(f"^{pattern}$", there, re.MULTILINE)
        elif re.fullmatch(r"test_\w+\.py|\w+_test\.cc", name):
            known = any((ROOT / "tests").rglob(name))
        else:
            continue
        found += 1
        if not known:
            missing.append(name)
    assert missing == [] and found > 30


def test_the_index_of_decisions_has_every_one_with_its_title():
    folder = ROOT / "docs" / "adr"
    rows = re.findall(
        r"^\| \[(\d+)\]\(([\w-]+\.md)\) \| (.*) \|$", (folder / "README.md").read_text(), re.M
    )
    assert [name for _, name, _ in rows] == sorted(path.name for path in folder.glob("0*.md"))
    for number, name, title in rows:
        assert (folder / name).read_text(encoding="utf-8").startswith(f"# {number}: {title}\n")
