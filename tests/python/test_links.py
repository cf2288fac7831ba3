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
