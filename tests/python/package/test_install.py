"""The package as others get it: from a source archive, without network, on an old CPU."""

import os
import pathlib
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import venv
import zipfile

import pytest
from conftest import ROOT
from page_blocks import blocks

SITE = pathlib.Path(sysconfig.get_path("purelib"))
ROUND_TRIP = """
import numpy, tensorpress
array = numpy.sin(numpy.arange(4000, dtype="float32")).reshape(20, 10, 20)
for codec in ("dense", "ceresz", "ceresz2"):
    packed = tensorpress.compress(array, codec, absolute=1e-3)
    assert abs(tensorpress.decompress(packed) - array).max() <= 1e-3
tensorpress.decompress(tensorpress.compress(array, "dct-chop", cf=4))
print(tensorpress.show_config()["isa"], hash(packed) != 0)
"""


def test_importing_tensorpress_imports_none_of_its_friends():
    neighbours = {"zarr", "numcodecs", "xarray", "h5py", "dask", "pandas"}
    friends = neighbours | {"torch", "onnx", "ml_dtypes"}
    program = f"import sys, tensorpress; print({friends} & set(sys.modules))"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "set()"


def test_it_works_on_a_cpu_without_avx():
    emulator = shutil.which("qemu-x86_64")
    if emulator is None or os.uname().machine != "x86_64":
        pytest.skip("qemu-x86_64 is missing; apt-get install qemu-user")
    python = os.path.realpath(sys.executable)
    environment = {
        **os.environ,
        "PYTHONPATH": str(SITE),
        "OPENBLAS_NUM_THREADS": "1",
        "OPENBLAS_CORETYPE": "Nehalem",
    }
    done = subprocess.run(
        [emulator, "-cpu", "Nehalem", python, "-c", ROUND_TRIP],
        env=environment,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split()[0] in ("scalar", "sse4")


@pytest.fixture(scope="module")
def sdist(tmp_path_factory):
    """The source archive, unpacked."""
    folder = tmp_path_factory.mktemp("sdist")
    program = "import sys, scikit_build_core.build as build; build.build_sdist(sys.argv[1])"
    subprocess.run(
        [sys.executable, "-c", program, folder], cwd=ROOT, check=True, capture_output=True
    )
    (archive,) = folder.glob("tensorpress-*.tar.gz")
    with tarfile.open(archive) as tar:
        tar.extractall(folder, filter="data")
    return folder / archive.name.removesuffix(".tar.gz")


def test_the_source_archive_holds_what_a_build_needs_and_little_else(sdist):
    files = {str(path.relative_to(sdist)) for path in sdist.rglob("*") if path.is_file()}
    assert {
        "pyproject.toml",
        "CMakeLists.txt",
        "LICENSE",
        "README.md",
        "python/tensorpress/py.typed",
    } <= files
    assert not [
        name
        for name in files
        if name.startswith(("tests/", "apps/", ".venv", "build/", "bench/", "."))
    ]


def clean_environment(folder):
    """A virtual environment with the build tools and NumPy of this one, and nothing else."""
    venv.create(folder, symlinks=True, with_pip=True)
    (site,) = folder.glob("lib/python*/site-packages")
    for name in ("nanobind", "scikit_build_core", "packaging", "pathspec", "numpy", "numpy.libs"):
        for path in [SITE / name, *SITE.glob(f"{name}-*.dist-info")]:
            if path.exists():
                (site / path.name).symlink_to(path)
    return folder / "bin" / "python"


def test_pip_installs_the_source_archive_into_a_clean_environment_without_network(sdist, tmp_path):
    python = clean_environment(tmp_path / "environment")
    # The compiler's cache knows the objects if names, flags and paths are those of ./dev build.
    cached = {
        "CC": "cc",
        "CXX": "c++",
        "CCACHE_BASEDIR": str(sdist),
        "CMAKE_BUILD_PARALLEL_LEVEL": str(os.cpu_count()),
    }
    environment = {**os.environ, **cached}
    environment = {key: value for key, value in environment.items() if not key.startswith("PIP_")}
    options = [
        "--no-index",
        "--no-build-isolation",
        "--disable-pip-version-check",
        "-C",
        "build-dir=build",
    ]
    options += ["-C", "cmake.define.TENSORPRESS_WERROR=ON"]
    wheels = tmp_path / "wheels"
    done = subprocess.run(
        [python, "-m", "pip", "wheel", *options, "--no-deps", "-w", wheels, sdist],
        env=environment,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    (wheel,) = wheels.glob("tensorpress-*.whl")
    stable = sys.version_info >= (3, 12) and not sysconfig.get_config_var("Py_GIL_DISABLED")
    assert ("cp312-abi3" if stable else f"cp3{sys.version_info.minor}-cp3") in wheel.name
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    sources = ROOT / "python"
    modules = {path.relative_to(sources).as_posix() for path in sources.rglob("*.py")}
    assert modules | {
        "tensorpress/py.typed",
        "tensorpress/_core.pyi",
        "tensorpress/torch/policy/levels.toml",
    } <= set(names)
    assert not [name for name in names if not name.startswith("tensorpress")]

    subprocess.run(
        [python, "-m", "pip", "install", "--no-index", wheel],
        env=environment,
        check=True,
        capture_output=True,
    )
    done = subprocess.run(
        [python, "-I", "-c", ROUND_TRIP], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    # What needs PyTorch runs in test_pages.py.
    examples = [text for language, text in blocks(ROOT / "README.md") if language == "python"]
    examples = [text for text in examples if "import torch" not in text]
    assert examples
    (tmp_path / "readme.py").write_text("\n".join(examples))
    subprocess.run([python, "-I", "readme.py"], cwd=tmp_path, check=True)
    where = subprocess.run(
        [python, "-I", "-c", "import tensorpress; print(tensorpress.__file__)"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert where.stdout.startswith(str(tmp_path))
