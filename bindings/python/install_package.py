"""Puts the built package into the environment of the Python that runs this, as pip would.

    .venv/bin/python bindings/python/install_package.py build

For ./dev build, which compiles the module together with everything else; `pip install .` compiles
the library again. Does nothing when nothing has changed since the last time.
"""

import base64
import contextlib
import hashlib
import os
import pathlib
import shutil
import subprocess
import sys
import sysconfig

from scikit_build_core.build import prepare_metadata_for_build_wheel

ROOT = pathlib.Path(__file__).resolve().parents[2]
SITE = pathlib.Path(sysconfig.get_path("platlib"))
PACKAGE = SITE / "tensorpress"


def inputs(build: pathlib.Path) -> list[pathlib.Path]:
    """What the installed package is made of. Ninja touches its log whenever it has built something,
    and a folder is younger when a file in it was added or removed."""
    sources = [ROOT / "python", *(ROOT / "python").rglob("*")]
    return [
        build / ".ninja_log",
        ROOT / "pyproject.toml",
        ROOT / "include/tensorpress/version.h",
        ROOT / "src/model/policy/levels.toml",
        *(path for path in sources if "__pycache__" not in path.parts),
    ]


def recorded(path: pathlib.Path) -> str:
    digest = base64.urlsafe_b64encode(hashlib.sha256(path.read_bytes()).digest()).rstrip(b"=")
    return f"{path.relative_to(SITE)},sha256={digest.decode()},{path.stat().st_size}"


def main(build: pathlib.Path) -> None:
    records = list(SITE.glob("tensorpress-*.dist-info/RECORD"))
    newest = max(path.stat().st_mtime_ns for path in inputs(build))
    if len(records) == 1 and records[0].stat().st_mtime_ns > newest:
        return
    for old in [PACKAGE, *SITE.glob("tensorpress-*.dist-info")]:
        shutil.rmtree(old, ignore_errors=True)
    subprocess.run(
        ["cmake", "--install", build, "--component", "python", "--prefix", SITE],
        check=True,
        stdout=subprocess.DEVNULL,
    )
    with contextlib.redirect_stdout(None):
        description = SITE / prepare_metadata_for_build_wheel(str(SITE))
    (description / "INSTALLER").write_text("tensorpress ./dev build\n")
    files = [
        path for folder in (PACKAGE, description) for path in folder.rglob("*") if path.is_file()
    ]
    lines = [recorded(path) for path in sorted(files)] + [f"{description.name}/RECORD,,"]
    (description / "RECORD").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    build_folder = pathlib.Path(sys.argv[1]).resolve()
    os.chdir(ROOT)
    main(build_folder)
