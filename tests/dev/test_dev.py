"""./dev as a person meets it."""

import json
import re
import shutil

import pytest
from house import ROOT, House, outcomes


@pytest.fixture
def house(tmp_path):
    return House(tmp_path)


def test_without_rights_the_missing_packages_are_one_line_and_the_status_is_2(house):
    result = house.run("build", MISSING="libpng-dev ccache", USER_ID="1000")
    assert result.returncode == 2
    assert (
        result.stderr.splitlines()[-1]
        == "apt-get install --no-install-recommends ccache libpng-dev"
    )
    assert house.calls("apt-get") == [] and house.calls("cmake") == []


def test_root_installs_only_what_is_missing_in_one_call(house):
    result = house.run("build", MISSING="libpng-dev ccache")
    assert result.returncode == 0, result.stderr
    assert house.calls("apt-get") == [
        "apt-get update -qq",
        "apt-get install -y -qq --no-install-recommends ccache libpng-dev",
    ]


def test_a_failed_installation_stops_with_status_2_and_names_the_packages(house):
    house.tool("apt-get", "echo no network >&2; exit 100")
    result = house.run("build", MISSING="ccache")
    assert result.returncode == 2
    assert "no network" in result.stderr
    assert result.stderr.splitlines()[-1] == "apt-get install --no-install-recommends ccache"


def test_the_second_build_neither_installs_nor_configures(house):
    house.run("build", MISSING="")
    assert len(house.calls("cmake")) == 1
    house.run("build", MISSING="")
    assert house.calls("cmake") == [] and house.calls("apt-get") == []


def test_changed_presets_are_configured_again(house):
    house.run("build", MISSING="")
    (house.folder / "CMakePresets.json").write_text("{}")
    house.run("build", MISSING="")
    assert len(house.calls("cmake")) == 1


def test_a_release_has_the_python_module_and_a_new_environment_is_configured_again(house):
    house.run("build", MISSING="")
    assert "-DTENSORPRESS_PYTHON=ON" in house.calls("cmake")[0]
    assert any("install_package.py build" in call for call in house.calls("pytest"))
    (house.folder / ".venv" / "pyvenv.cfg").write_text("version = 3.14\n")
    house.run("build", MISSING="")
    assert len(house.calls("cmake")) == 1


def test_other_presets_need_no_python(house):
    house.run("build", "dev", MISSING="")
    assert "-DTENSORPRESS_PYTHON=ON" not in house.calls("cmake")[0]
    assert house.calls("pytest") == []


def test_bench_installs_zfp_only_for_peers_and_configures_a_build_that_lacked_them(house):
    house.run("bench", "x.npy", MISSING="libzfp-dev")
    assert house.calls("apt-get") == [] and len(house.calls("cmake")) == 1
    (house.folder / "build" / "CMakeCache.txt").write_text(
        "TENSORPRESS_ZFP_INCLUDE_DIR:PATH=TENSORPRESS_ZFP_INCLUDE_DIR-NOTFOUND\n"
    )
    result = house.run("bench", "x.npy", "--peers", MISSING="libzfp-dev")
    assert result.returncode == 0, result.stderr
    assert house.calls("apt-get")[-1].endswith(" libzfp-dev") and len(house.calls("cmake")) == 1


def test_tests_bring_the_other_compressors_before_they_build(house):
    (house.folder / ".venv" / "installed-peers").unlink()
    house.run("build", MISSING="libzfp-dev")
    (house.folder / "build" / "CMakeCache.txt").write_text(
        "TENSORPRESS_ZFP_INCLUDE_DIR:PATH=TENSORPRESS_ZFP_INCLUDE_DIR-NOTFOUND\n"
    )
    result = house.run("test", MISSING="libzfp-dev")
    assert result.returncode == 0, result.stdout + result.stderr
    calls = house.log.read_text().splitlines()
    first = [
        next(i for i, call in enumerate(calls) if re.search(pattern, call))
        for pattern in ("apt-get install .*libzfp-dev", "peers.txt", "cmake --preset release")
    ]
    assert first == sorted(first)


@pytest.mark.parametrize(
    "arguments, explanation",
    [
        ([], "usage: ./dev VERB"),
        (["bild"], "'bild' is not a verb"),
        (["build", "relase"], "'relase' is not a preset; use release, dev, asan, ubsan or tsan"),
        (
            ["test", "--fast"],
            "'--fast' is not an option of test; use --clients, --full, --asan, --ubsan or --tsan",
        ),
        (["demo", "foo"], "'foo' is one argument too many for demo"),
        (["demo", "--json"], "'--json' is one argument too many for demo"),
        (["build", "release", "dev"], "'dev' is one argument too many for build"),
        (["test", "--full", "--asan"], "'--asan' is one argument too many for test"),
        (["fuzz", "all", "60", "5"], "'5' is one argument too many for fuzz"),
        (["lint", "foo"], "'foo' is one argument too many for lint"),
        (["rewrites", "few"], "rewrites takes a number of files and a seed, not 'few'"),
        (["rewrites", "1", "2", "3"], "'3' is one argument too many for rewrites"),
    ],
)
def test_bad_usage_is_explained_on_stderr_with_status_2(house, arguments, explanation):
    result = house.run(*arguments)
    assert result.returncode == 2
    assert result.stdout == "" and explanation in result.stderr
    assert house.calls("cmake") == []


def test_the_last_line_of_test_adds_up_all_runners(house):
    result = house.run("test", MISSING="")
    assert result.returncode == 0, result.stdout + result.stderr
    assert (
        result.stdout.splitlines()[-1] == "54 passed, 0 failed, 6 skipped"
    )  # six runners with 9 + 1 each


def test_failed_tests_are_counted_and_make_the_status_1(house):
    result = house.run("test", MISSING="", FAILING="2")
    assert result.returncode == 1
    assert result.stdout.splitlines()[-1] == "42 passed, 12 failed, 6 skipped"


def test_a_broken_build_counts_as_a_failure_and_hides_no_other_results(house):
    result = house.run("test", MISSING="", BROKEN_FOLDER="build/asan")
    assert result.returncode == 1
    assert result.stdout.splitlines()[-1] == "45 passed, 1 failed, 5 skipped"


def test_help_names_the_presets_that_there_are_and_each_is_built(house):
    told = house.run("help").stdout
    first, others = re.search(r"build \[PRESET\]  build (\w+) .* or ([a-z, ]+) \(", told).groups()
    named = [first, *others.split(", ")]
    presets = json.loads((ROOT / "CMakePresets.json").read_text())["configurePresets"]
    # The fuzzers' is what ./dev fuzz builds.
    assert sorted([*named, "fuzz"]) == sorted(p["name"] for p in presets if not p.get("hidden"))
    for preset in named:
        assert house.run("build", preset, MISSING="").returncode == 0
        assert house.calls("cmake")[0].startswith(f"cmake --preset {preset}")


def test_clients_are_tested_alone_and_installed_without_what_they_say_they_need(house):
    (house.folder / ".venv" / "installed-clients").unlink()
    result = house.run("test", "--clients", MISSING="")
    assert result.returncode == 0, result.stdout + result.stderr
    assert outcomes(result)["tests with clients"] == "ok"
    calls = house.log.read_text().splitlines()
    (installed,) = [call for call in calls if "clients.txt" in call]
    assert "--no-deps" in installed
    assert any("pytest" in call and "tests/python/clients" in call for call in calls)


def test_help_names_what_full_adds(house):
    told = re.search(r"test --full +(.*)", house.run("help").stdout).group(1)
    files = {path.stem for path in (ROOT / "tests" / "full").glob("test_*.py")}
    assert files == {
        "test_device_kernels",
        "test_huge_arrays",
        "test_pages_in_a_browser",
        "test_triton_kernels",
    }
    added = (
        "other CPUs",
        "ThreadSanitizer",
        "huge arrays",
        "every page in a browser",
        "CUDA",
        "Triton",
    )
    for words in added:
        assert words in told


@pytest.fixture
def fuzzing(house):
    """With two targets, one of which has inputs beside its corpus."""
    for folder in ("fuzz/corpus/model_text", "fuzz/corpus/npy", "models"):
        (house.folder / folder).mkdir(parents=True, exist_ok=True)
    shutil.copy(ROOT / "fuzz" / "corpora.txt", house.folder / "fuzz")
    for target in ("model_text", "npy"):
        (house.folder / "fuzz" / f"{target}.cc").write_text("")
        house.tool(f"fuzz_{target}", "exit ${CRASHING:-0}", "build/fuzzing/bin")
    return house


def test_fuzz_gives_every_target_its_corpus_and_what_the_tree_has_of_its_kind(fuzzing):
    result = fuzzing.run("fuzz", "all", "7", MISSING="")
    assert result.returncode == 0, result.stderr
    (text,), (npy,) = fuzzing.calls("fuzz_model_text"), fuzzing.calls("fuzz_npy")
    assert "-max_total_time=7 " in text and "-max_total_time=7 " in npy
    assert text.endswith(" build/fuzzing/found/model_text fuzz/corpus/model_text models")
    assert npy.endswith(" build/fuzzing/found/npy fuzz/corpus/npy")


def test_fuzz_says_where_the_input_is_that_crashes(fuzzing):
    result = fuzzing.run("fuzz", "npy", MISSING="", CRASHING="77")
    assert result.returncode == 1
    assert "npy: found something; the input is in build/fuzzing/crashes" in result.stderr
    assert fuzzing.calls("fuzz_model_text") == []


@pytest.mark.parametrize(
    "arguments, explanation",
    [
        (["np"], "'np' is not a target; use all, or one of model_text npy"),
        (["npy", "soon"], "'soon' is not a number of seconds"),
    ],
)
def test_fuzz_explains_what_is_no_target_and_no_time(fuzzing, arguments, explanation):
    result = fuzzing.run("fuzz", *arguments, MISSING="")
    assert result.returncode == 2 and explanation in result.stderr
    assert fuzzing.calls("cmake") == []


def test_every_folder_of_the_fuzzers_inputs_and_every_target_of_them_is_there():
    lines = (ROOT / "fuzz" / "corpora.txt").read_text().splitlines()
    for target, *folders in (line.split() for line in lines if not line.startswith("#")):
        assert (ROOT / "fuzz" / f"{target}.cc").exists()
        assert folders and all((ROOT / folder).is_dir() for folder in folders)


def test_the_ledger_is_measured_with_the_built_program_where_one_calls_it(house):
    result = house.run("bench", "--ledger", "--update", MISSING="")
    assert result.returncode == 0, result.stderr
    assert house.calls("pytest")[-1].endswith("/bench/ledger.py --update")
    assert len(house.calls("ninja")) == 1


def test_test_full_adds_other_cpus_thread_sanitizer_and_huge_arrays(house):
    house.tool("golden_streams", folder="build/bin")
    for cpu in ("scalar", "aarch64", "s390x"):
        for program in ("golden_streams", "portable_tests"):
            house.tool(program, folder=f"build/portable-{cpu}/bin")
        house.tool(f"qemu-{cpu}")
    result = house.run("test", "--full", MISSING="")
    found = outcomes(result)
    assert result.returncode == 0, result.stdout + result.stderr
    slow = "huge arrays, pages, CUDA kernels"
    for stage in ("tests without SIMD (s390x)", "unit tests (tsan)", slow):
        assert found[stage] == "ok"
    assert "tests/full" in house.calls("pytest")[-1]
    # Six runners of `test`, and two more, with 9 + 1 each.
    assert result.stdout.splitlines()[-1] == "72 passed, 0 failed, 8 skipped"


def test_the_demo_goes_on_without_the_data_that_cannot_be_installed_and_says_so(house):
    house.tool("apt-get", "exit 100")
    result = house.run("demo", MISSING="ferret-datasets")
    assert result.returncode == 0, result.stderr
    assert "apt-get install --no-install-recommends ferret-datasets" in result.stderr
    assert "generated data stands in for it" in result.stdout
    assert any("examples/demo --output demo" in call for call in house.calls("pytest"))


def test_the_demo_names_the_page_to_open(house):
    result = house.run("demo", MISSING="")
    assert result.returncode == 0, result.stderr
    assert result.stdout.splitlines()[-1].endswith("/demo/report.html in a browser")
