"""The manual page and the completion for bash, which the program makes from the declarations behind --help."""

import re
import shutil
import subprocess

import pytest


def verbs_of(tensorpress):
    listing = tensorpress("--help").out.decode().split("Verbs:\n")[1].split("\n\n")[0]
    return re.findall(r"^  (\S+)", listing, re.MULTILINE)


def test_the_manual_page_has_every_verb_and_every_option(tensorpress):
    page = tensorpress("--man").out.decode().replace("\\-", "-")
    for verb in verbs_of(tensorpress):
        assert f"\n.SS {verb}\n" in page
        for option in re.findall(r"^  (?:-\w,)?(--[a-z-]+)", tensorpress(verb, "--help").out.decode(), re.MULTILINE):
            assert option in page


@pytest.mark.skipif(shutil.which("man") is None, reason="man is not installed")
def test_the_manual_page_is_set_without_a_warning(tensorpress):
    (tensorpress.directory / "tensorpress.1").write_bytes(tensorpress("--man").out)
    argv = ["man", "--warnings", "-l", "tensorpress.1"]
    done = subprocess.run(argv, cwd=tensorpress.directory, capture_output=True, env={"LC_ALL": "C.UTF-8", "PATH": "/usr/bin:/bin"})
    assert done.returncode == 0 and done.stderr == b"", done.stderr
    assert b"SYNOPSIS" in done.stdout


@pytest.fixture
def complete(tensorpress):
    """complete("compress", "--eff"): what bash offers for the last word."""
    script = tensorpress.directory / "completion.bash"
    script.write_bytes(tensorpress("--completion-bash").out)

    def run(*words):
        commands = 'source ./completion.bash; COMP_WORDS=(tensorpress "$@"); COMP_CWORD=$#; _tensorpress; printf "%s\\n" "${COMPREPLY[@]}"'
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
    assert complete("compress", "x.npy", "--effort", "") == ["fast", "best"]
    assert complete("compress", "oce") == ["ocean.npy"]
    assert complete("codebook", "st") == ["study"]
    assert "--html" in complete("codebook", "study", "--h")
