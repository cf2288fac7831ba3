#!/usr/bin/env python3
"""Writes the API reference, c.md, cpp.md and python.md, from the headers and docstrings themselves.

    python3 docs/api/make_reference.py [OUTPUT_DIRECTORY]

Needs nothing but Python. A test compares the committed pages with what this writes, so that none is
stale.
"""

from __future__ import annotations

import pathlib
import sys

import headers
import modules

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
MADE = "Made by `docs/api/make_reference.py` from {source}; edit those.\n"

# In the order of a reader's interest; what is not named follows in the order of the alphabet.
CPP_FIRST = (
    "stream.h",
    "streaming.h",
    "codec.h",
    "bound.h",
    "tensor_view.h",
    "dtype.h",
    "result.h",
    "parallel.h",
    "pack.h",
)
# The C interface has a page of its own; a macro is not worth one.
NOT_CPP = ("tensorpress.h", "api.h")
MODULES = ("", "torch", "hdf5", "zarr", "numcodecs", "xarray", "onnx")


def c_page() -> str:
    told = (
        "# C\n\n`#include <tensorpress/tensorpress.h>`; [examples/c](../../examples/c) is a "
        "whole program, "
        "[a guide](../guide/framework.md) says what to expect. "
    )
    header = ROOT / "include" / "tensorpress" / "tensorpress.h"
    return told + MADE.format(source="the header") + headers.c_reference(header)


def cpp_page() -> str:
    told = (
        "# C++\n\n`find_package(tensorpress)`, then `tensorpress::tensorpress` (and "
        "`tensorpress::wafer`); "
        "[a guide](../guide/framework.md) says what to expect. "
    )
    folder = ROOT / "include" / "tensorpress"
    found = [path for path in folder.rglob("*.h") if path.name not in NOT_CPP]

    def place(path: pathlib.Path) -> tuple[int, str]:
        name = path.relative_to(folder).as_posix()
        return (CPP_FIRST.index(name) if name in CPP_FIRST else len(CPP_FIRST), name)

    ordered = sorted(found, key=place)
    return (
        told
        + MADE.format(source="the headers")
        + "".join(headers.cpp_reference(path, folder) for path in ordered)
    )


def python_page() -> str:
    told = "# Python\n\n[A guide](../guide/python.md) shows how the parts go together. "
    package = ROOT / "python" / "tensorpress"
    return (
        told
        + MADE.format(source="the docstrings")
        + "".join(modules.reference(package, name) for name in MODULES)
    )


def main() -> None:
    target = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else HERE
    target.mkdir(parents=True, exist_ok=True)
    for name, page in (("c", c_page()), ("cpp", cpp_page()), ("python", python_page())):
        (target / f"{name}.md").write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
