"""Checkpoints survive full disks and kills, and refuse bytes that lie."""

import io
import json
import os
import random
import signal
import subprocess
import sys
import time
import zipfile

import pytest

torch = pytest.importorskip("torch")

from test_torch_checkpoint import bits, tensors_in
from test_torch_checkpoint_structures import Odd

import tensorpress
from tensorpress.torch import load, save


@pytest.fixture
def path(tmp_path):
    return tmp_path / "run.tpck"


# ---- Nothing lost ----


def run(program, path, *arguments):
    return subprocess.Popen(
        [sys.executable, "-c", program, path, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


FULL_DISK = """
import resource, signal, sys, torch, tensorpress.torch
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
try:
    tensorpress.torch.save({"w": torch.randn(1000, 1000)}, sys.argv[1], relative=1e-3)
except OSError as error:
    print("said", error)
"""

FOREVER = """
import sys, torch, tensorpress.torch
weights = torch.randn(400, 400)
print("ready", flush=True)
while True:
    tensorpress.torch.save({"w": weights, "kind": "new"}, sys.argv[1], relative=1e-3)
"""


def test_a_full_disk_leaves_the_old_file(path):
    save({"kind": "old"}, path, "exact")
    before = path.read_bytes()
    process = run(FULL_DISK, path)
    out, errors = process.communicate(timeout=120)
    assert out.startswith("said") and errors == ""
    assert path.read_bytes() == before
    assert os.listdir(path.parent) == [path.name]


def test_a_process_that_is_killed_leaves_a_whole_file(path):
    save({"kind": "old"}, path, "exact")
    process = run(FOREVER, path)
    process.stdout.readline()
    # Held still, it cannot finish the file before it is killed.
    for _ in range(10000):
        process.send_signal(signal.SIGSTOP)
        _, status = os.waitpid(process.pid, os.WUNTRACED)
        assert os.WIFSTOPPED(status), "it ended by itself"
        if any(name.startswith(".run.tpck.") for name in os.listdir(path.parent)):
            break
        process.send_signal(signal.SIGCONT)
        time.sleep(0.001)
    else:
        process.kill()
        pytest.fail("it was never seen in the middle of a file")
    process.kill()
    process.communicate()
    assert load(path)["kind"] in ("old", "new")


def test_a_failure_before_writing_leaves_the_old_file_and_no_other(path):
    save({"kind": "old"}, path, "exact")
    with pytest.raises(TypeError):
        save({"kind": Odd()}, path, "exact")
    assert load(path) == {"kind": "old"}
    assert os.listdir(path.parent) == [path.name]


def test_permissions_links_and_folders_are_respected(path, tmp_path):
    save({"kind": "old"}, path, "exact")
    path.chmod(0o640)
    link = tmp_path / "latest.tpck"
    link.symlink_to(path.name)
    save({"kind": "new"}, link, "exact")
    assert link.is_symlink() and path.stat().st_mode & 0o777 == 0o640
    assert load(path) == {"kind": "new"}
    with pytest.raises(OSError, match="not a file that can be replaced"):
        save({}, tmp_path, "exact")
    missing = tmp_path / "missing" / "run.tpck"
    with pytest.raises(FileNotFoundError) as error:
        save({}, missing, "exact")
    assert error.value.filename == str(missing)  # and no temporary file
    with pytest.raises(FileNotFoundError):
        load(tmp_path / "missing.tpck")


# ---- Hostile bytes ----


def rewritten(path, change=None, streams=None):
    """The same archive with a changed document or other streams."""
    parts = {}
    with zipfile.ZipFile(path) as archive:
        for name in archive.namelist():
            parts[name] = archive.read(name)
    document = json.loads(parts["checkpoint.json"])
    if change is not None:
        change(document)
    parts["checkpoint.json"] = json.dumps(document).encode()
    parts.update(streams or {})
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in parts.items():
            archive.writestr(name, data)


def outcome(path):
    """What loading gives: the tensors' bits, or that it was refused."""
    try:
        loaded = load(path)
    except (tensorpress.CorruptError, tensorpress.UnsupportedError, tensorpress.TooLargeError):
        return None
    return repr(sorted(loaded)), [bits(tensor) for _, tensor in tensors_in(loaded)]


def test_a_flipped_bit_is_noticed_wherever_it_is(path):
    generator = torch.Generator().manual_seed(1)
    save({"w": torch.randn(40, 30, generator=generator), "n": torch.arange(5)}, path, relative=1e-2)
    data = path.read_bytes()
    wanted = outcome(path)
    rng = random.Random(7)
    noticed = 0
    with zipfile.ZipFile(path) as archive:
        payload_end = archive.start_dir
    everywhere = [*range(0, 60), *range(payload_end, len(data)), *rng.sample(range(len(data)), 300)]
    for at in everywhere:
        changed = bytearray(data)
        changed[at] ^= 1 << rng.randrange(8)
        path.write_bytes(changed)
        found = outcome(path)
        assert found in (None, wanted), at  # dates and attributes of an archive mean nothing
        noticed += found is None
    assert noticed > len(everywhere) / 2


def test_a_file_that_was_cut_off_is_refused(path):
    save({"w": torch.randn(40, 30), "n": torch.arange(5)}, path, relative=1e-2)
    data = path.read_bytes()
    for length in [*range(0, 100, 7), *range(100, len(data), 101), len(data) - 1]:
        path.write_bytes(data[:length])
        with pytest.raises(tensorpress.CorruptError):
            load(path)


def hostile(**fields):
    def change(document):
        document["tensors"][0].update(fields)

    return change


def set_object(value):
    return lambda document: document.update(object=value)


@pytest.mark.parametrize(
    "change",
    [
        hostile(shape=[1 << 61, 1 << 61]),
        hostile(shape=[41, 30]),
        hostile(offset=1),
        hostile(offset=-1),
        hostile(stride=[30]),
        hostile(stride=[-1, 1]),
        hostile(stride=[1 << 62, 1]),
        hostile(shape=[40.0, 30]),
        hostile(storage=5),
        hostile(storage=-1),
        hostile(dtype="float64"),
        hostile(dtype="int32"),
        hostile(dtype="load"),
        hostile(device="nowhere"),
        hostile(device=7),
        hostile(names=[]),
        hostile(names=[7]),
        hostile(requires_grad="yes"),
        lambda document: document["tensors"][1].update(requires_grad=True),
        lambda document: document["storages"][0].update(bytes=1 << 40),
        lambda document: document["storages"][0].update(part="../secret"),
        lambda document: document["storages"][0].update(offset=0, bytes=1 << 20),
        lambda document: document["storages"][1].update(offset=1 << 20),
        lambda document: document["storages"][1].update(part="streams/0.tpz", offset="0"),
        lambda document: document.pop("storages"),
        lambda document: document.update(tensors=7),
        lambda document: document.update(format="other"),
        set_object({"$tensor": 9}),
        set_object({"$tensor": -1}),
        set_object({"$tensor": "0"}),
        set_object({"$pickle": "cos\nsystem"}),
        set_object({"$dict": [[[], 1]]}),
        set_object({"$dict": [[1]]}),
        set_object({"$tuple": "abc"}),
        set_object({"$bytes": "?"}),
        set_object({"$dtype": "nn"}),
        set_object({"$float": "1"}),
        set_object({"$size": ["a"]}),
        set_object({"$set": [[]]}),
        set_object({"$tuple": [], "$set": []}),
        set_object({"$tuple": [], "metadata": {}}),
    ],
)
def test_a_document_that_lies_is_refused(path, change):
    save({"w": torch.randn(40, 30), "n": torch.arange(5)}, path, relative=1e-2)
    rewritten(path, change)
    with pytest.raises((tensorpress.CorruptError, tensorpress.TooLargeError)):
        load(path)


def test_a_document_that_nests_without_end_is_refused(path):
    for depth in (2_000, 100_000):
        save({"n": 1}, path, "exact")
        text = b'{"format":' + b"[" * depth + b"]" * depth + b"}"
        rewritten(path, streams={"checkpoint.json": text})
        with pytest.raises(tensorpress.CorruptError):
            load(path)


def test_streams_that_do_not_fit_the_document_are_refused(path):
    save({"w": torch.randn(40, 30), "n": torch.arange(5)}, path, relative=1e-2)
    other = tensorpress.compress(torch.randn(40, 31), relative=1e-2)
    integers = tensorpress.compress(torch.zeros(80, 30, dtype=torch.int16), "mask")
    for stream in (b"", b"\0" * 300, bytes(other), bytes(integers)):
        rewritten(path, streams={"streams/0.tpz": stream})
        with pytest.raises(tensorpress.CorruptError, match=r"streams/0\.tpz"):
            load(path)


def test_more_than_is_allowed_is_refused_before_memory_is_taken(path):
    save({"w": torch.randn(40, 30)}, path, relative=1e-2)
    with pytest.raises(tensorpress.TooLargeError, match="take 4800 bytes"):
        load(path, max_bytes=4000)


def test_other_files_are_refused_with_a_hint(path):
    torch.save({"w": torch.randn(3)}, path)
    with pytest.raises(tensorpress.CorruptError, match=r"use torch\.load"):
        load(path)
    path.write_bytes(b"hello")
    with pytest.raises(tensorpress.CorruptError, match="is damaged, or no checkpoint"):
        load(path)


def test_what_a_newer_version_wrote_is_said_to_be_so(path):
    save({"w": torch.randn(40, 30)}, path, relative=1e-2)
    with zipfile.ZipFile(path) as archive:
        stream = archive.read("streams/0.tpz")
    rewritten(path, lambda document: document.update(version=3, writer="tensorpress 9.1"))
    with pytest.raises(
        tensorpress.UnsupportedError, match=r"version 3, written by tensorpress 9\.1"
    ):
        load(path)
    save({"w": torch.randn(40, 30)}, path, relative=1e-2)
    # Byte 8 of a stream is its version.
    newer = stream[:8] + b"\x09" + stream[9:]
    rewritten(
        path,
        lambda document: document.update(writer="tensorpress 9.1"),
        streams={"streams/0.tpz": newer},
    )
    with pytest.raises(
        tensorpress.UnsupportedError, match=r"written by tensorpress 9\.1, cannot be"
    ):
        load(path)


def test_nothing_of_a_checkpoint_is_run(path):
    """Pickles in the archive are bytes that loading does not read."""
    save({"n": 1}, path, "exact")
    buffer = io.BytesIO()
    torch.save({"n": 2}, buffer)
    rewritten(path, streams={"run/data.pkl": buffer.getvalue()})
    assert load(path) == {"n": 1}
