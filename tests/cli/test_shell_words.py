"""What the program hands to a shell: lines to paste, and completions of names with spaces."""

import subprocess

import pytest


def as_a_shell_reads(line):
    return subprocess.check_output(["bash", "-c", f"printf '%s\\n' {line}"], text=True).splitlines()


@pytest.mark.parametrize("name", ["TEMP", "group/TEMP", "it's", "two words", "$HOME"])
def test_lines_of_hdf5_args_may_be_pasted(tensorpress, name):
    lines = tensorpress("hdf5", "args", "--abs", "0.01", "--var", name).out.decode().splitlines()
    h5repack, nccopy = map(as_a_shell_reads, lines)
    assert h5repack[:2] == ["h5repack", "-f"] and h5repack[2].startswith(f"{name}:UD=")
    assert nccopy[:3] == ["nccopy", "-4", "-F"] and nccopy[3].startswith(f"{name},")
    assert h5repack[3:] == ["IN.h5", "OUT.h5"] and nccopy[4:] == ["IN.nc", "OUT.nc"]


@pytest.fixture
def complete(tensorpress):
    (tensorpress.directory / "completion.bash").write_bytes(tensorpress("--completion-bash").out)

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
