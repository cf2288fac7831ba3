"""The API reference lists every public name with what its author says about it, and nothing that is
gone."""

import importlib
import re
import subprocess
import sys

import pytest
from conftest import ROOT

API = ROOT / "docs" / "api"


def headings(page):
    return re.findall(r"^### (.*)$", (API / page).read_text(encoding="utf-8"), re.MULTILINE)


def test_the_pages_are_what_the_sources_say(tmp_path):
    subprocess.run([sys.executable, API / "make_reference.py", tmp_path], check=True)
    for name in ("c.md", "cpp.md", "python.md"):
        same = (tmp_path / name).read_text(encoding="utf-8") == (API / name).read_text(
            encoding="utf-8"
        )
        assert same, f"docs/api/{name} is stale: python3 docs/api/make_reference.py"


def test_every_function_and_type_of_c_is_listed_once():
    header = (ROOT / "include" / "tensorpress" / "tensorpress.h").read_text(encoding="utf-8")
    functions = re.findall(r"^TENSORPRESS_API\b[^;]*?\b(tensorpress_\w+)\(", header, re.MULTILINE)
    types = re.findall(
        r"^(?:typedef struct \w+ |\} |typedef \w+ )(tensorpress_\w+);", header, re.MULTILINE
    )
    assert len(functions) > 30 and len(types) > 10
    listed = headings("c.md")
    page = (API / "c.md").read_text(encoding="utf-8")
    for name in functions + types:
        assert listed.count(name) == 1 or re.search(rf"\b{name}[(;]", page), name
    assert len(set(listed)) == len(listed) and "" not in listed


def test_every_type_and_function_of_cpp_is_listed():
    listed = set(headings("cpp.md"))
    page = (API / "cpp.md").read_text(encoding="utf-8")
    for header in (ROOT / "include" / "tensorpress").rglob("*.h"):
        if header.name in ("tensorpress.h", "api.h"):
            continue
        text = header.read_text(encoding="utf-8")
        assert (
            f"## tensorpress/{header.relative_to(ROOT / 'include' / 'tensorpress').as_posix()}\n"
            in page
        )
        for name in re.findall(
            r"^(?:class|struct|enum class) (?:\[\[nodiscard\]\] )?(?:TENSORPRESS_API )?"
            r"(\w+) (?::|\{|final)",
            text,
            re.MULTILINE,
        ):
            assert name in listed, name
        for name in re.findall(r"^[A-Za-z][\w:<>, *&]* (\w+)\(", text, re.MULTILINE):
            assert name in listed or f" {name}(" in page, name


@pytest.mark.parametrize(
    "module",
    [
        "tensorpress",
        "tensorpress.torch",
        "tensorpress.hdf5",
        "tensorpress.zarr",
        "tensorpress.numcodecs",
        "tensorpress.xarray",
        "tensorpress.onnx",
    ],
)
def test_every_public_name_of_python_is_listed_and_explained(module):
    page = (API / "python.md").read_text(encoding="utf-8")
    section = re.search(
        rf"^## {re.escape(module)}\n(.*?)(?=^## |\Z)", page, re.MULTILINE | re.DOTALL
    ).group(1)
    names = getattr(importlib.import_module(module), "__all__", None)
    listed = re.findall(r"^### (.*)$", section, re.MULTILINE)
    assert listed
    if names is not None:
        assert set(listed) == {name for name in names if not name.startswith("__")}
    for name in listed:
        told = re.search(
            rf"^### {name}\n(.*?)(?=^### |\Z)", section, re.MULTILINE | re.DOTALL
        ).group(1)
        assert re.sub(r"```.*?```", "", told, flags=re.DOTALL).strip(), (
            f"{module}.{name} says nothing about itself"
        )
