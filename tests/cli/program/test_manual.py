"""The manual page and the completion for bash, which the program makes from the declarations behind
--help."""

import re
import shutil
import subprocess

import pytest

OPTION = re.compile(r"^  (?:-\w,)?(--[a-z-]+)", re.MULTILINE)


def verbs_of(tensorpress, *path):
    """Verbs of the program, or of a verb such as `wafer`."""
    _, found, listing = tensorpress(*path, "--help").out.decode().partition("Verbs:\n")
    return re.findall(r"^  (\S+)", listing.split("\n\n")[0], re.MULTILINE) if found else []


def all_verbs(tensorpress):
    """With the verbs of verbs: ("wafer", "run")."""
    for verb in verbs_of(tensorpress):
        yield (verb,)
        for inner in verbs_of(tensorpress, verb):
            yield (verb, inner)


def test_the_manual_page_has_every_verb_and_every_option(tensorpress):
    page = tensorpress("--man").out.decode().replace("\\-", "-")
    verbs = list(all_verbs(tensorpress))
    assert {("wafer", "heatmap"), ("device", "train"), ("model", "plan"), ("reproduce",)} <= set(
        verbs
    )
    for verb in verbs:
        part = re.search(rf"\n\.SS {' '.join(verb)}\n(.*?)(?=\n\.SS |\n\.SH |\Z)", page, re.DOTALL)
        assert part, verb
        for option in OPTION.findall(tensorpress(*verb, "--help").out.decode()):
            assert option in part.group(1), (verb, option)


def test_examples_stand_in_the_manual_once(tensorpress):
    page = tensorpress("--man").out.decode().replace("\\-", "-")
    for example in (
        "wafer offsets --mesh 100x50",
        "device check --device sn30 --codec dct-chop",
        "model check resnet18.tpm",
    ):
        assert page.count(f"tensorpress {example}") == 1


def test_completion_offers_every_option_of_every_verb(tensorpress, complete):
    for verb in all_verbs(tensorpress):
        offered = set(complete(*verb, "--"))
        assert set(OPTION.findall(tensorpress(*verb, "--help").out.decode())) <= offered, verb
        if inner := verbs_of(tensorpress, *verb):
            assert set(inner) <= set(complete(*verb, ""))


@pytest.mark.skipif(shutil.which("man") is None, reason="man is not installed")
def test_the_manual_page_is_set_without_a_warning(tensorpress):
    (tensorpress.directory / "tensorpress.1").write_bytes(tensorpress("--man").out)
    argv = ["man", "--warnings", "-l", "tensorpress.1"]
    done = subprocess.run(
        argv,
        cwd=tensorpress.directory,
        capture_output=True,
        env={"LC_ALL": "C.UTF-8", "PATH": "/usr/bin:/bin"},
    )
    assert done.returncode == 0 and done.stderr == b"", done.stderr
    assert b"SYNOPSIS" in done.stdout


@pytest.fixture
def complete(tensorpress):
    """complete("compress", "--eff"): what bash offers for the last word."""
    script = tensorpress.directory / "completion.bash"
    script.write_bytes(tensorpress("--completion-bash").out)

    def run(*words):
        commands = (
            'source ./completion.bash; COMP_WORDS=(tensorpress "$@"); COMP_CWORD=$#; '
            '_tensorpress; printf "%s\\n" "${COMPREPLY[@]}"'
        )
        argv = ["bash", "-c", commands, "bash", *words]
        done = subprocess.run(argv, cwd=tensorpress.directory, capture_output=True, text=True)
        assert done.returncode == 0 and done.stderr == "", done.stderr
        return [line for line in done.stdout.splitlines() if line]

    return run


def test_completion_knows_verbs_options_choices_and_files(tensorpress, complete):
    (tensorpress.directory / "ocean.npy").write_bytes(b"")
    assert complete("comp") == ["compress"]
    assert set(verbs_of(tensorpress)) <= set(complete(""))
    assert complete("compress", "--eff") == ["--effort"]
    assert complete("compress", "x.npy", "--effort", "") == ["fast", "normal", "best"]
    assert complete("compress", "oce") == ["ocean.npy"]
    assert complete("codebook", "st") == ["study"]
    assert "--html" in complete("codebook", "study", "--h")


def test_completion_keeps_names_with_spaces_whole(tensorpress, complete):
    (tensorpress.directory / "my file.npy").write_bytes(b"")
    assert complete("compress", "my") == ["my file.npy"]


def test_completion_offers_files_where_a_word_or_a_file_may_stand(tensorpress, complete):
    (tensorpress.directory / "book.json").write_bytes(b"")
    assert complete("compress", "x.npy", "--codebook", "bo") == ["book.json"]
    assert {"default", "dynamic", "book.json"} <= set(
        complete("compress", "x.npy", "--codebook", "")
    )


def test_completion_knows_options_of_one_letter(complete):
    assert {"-i", "-z", "-o", "-3"} <= set(complete("zfp", "-"))
    assert {"-M", "-A"} <= set(complete("sz3", "-"))
