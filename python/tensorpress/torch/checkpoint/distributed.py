"""Storage for torch.distributed.checkpoint (DCP): every rank writes what its plan says into
checkpoint files, and the coordinator writes one JSON file that says where everything is.

    dcp.save(state, storage_writer=tensorpress.torch.DistributedWriter(folder, relative=1e-3))
    dcp.load(state, storage_reader=tensorpress.torch.DistributedReader(folder))

The JSON file comes last and at once, so a folder is the old checkpoint or the new one; files that
it does not name are of a save that was interrupted, or of the one before it.
"""

from __future__ import annotations

import contextlib
import io
import os
import pathlib
import secrets
from collections.abc import Mapping
from typing import Any

import torch
from torch.distributed.checkpoint import (
    LoadPlan,
    LoadPlanner,
    Metadata,
    ReadItem,
    SavePlan,
    SavePlanner,
    StorageReader,
    StorageWriter,
)
from torch.distributed.checkpoint.metadata import (
    BytesStorageMetadata,
    ChunkStorageMetadata,
    MetadataIndex,
    StorageMeta,
    TensorProperties,
    TensorStorageMetadata,
)
from torch.distributed.checkpoint.planner import LoadItemType, WriteItemType
from torch.distributed.checkpoint.storage import WriteResult
from torch.futures import Future

from ... import _core
from ..._reader import MAX_BYTES
from .loading import Checkpoint
from .parts import SYMPTOMS
from .replacing import replacing
from .report import CheckpointReport
from .saving import rules_of, write
from .tree import DTYPES, decode, encode, from_text, to_text

DESCRIPTION = "metadata.json"
FORMAT = "tensorpress-distributed-checkpoint"
VERSION = 1
Folder = str | os.PathLike[str]


class DistributedWriter(StorageWriter):
    """For dcp.save: the folder, and codec, bounds and all else as for tensorpress.torch.save.

    Names in `bounds` are DCP's names of tensors. A relative bound is one of the range of each
    rank's part, which is at most that of the whole. `reports` has one CheckpointReport for each
    file that this rank has written.
    """

    def __init__(
        self,
        path: Folder,
        codec: Any = "dense",
        *,
        check: bool = True,
        threads: int = 1,
        **settings: Any,
    ) -> None:
        self.path = pathlib.Path(path)
        self.check, self.threads = check, threads
        self._rules = rules_of(codec, **settings)
        self.reports: list[CheckpointReport] = []
        self._rank = 0

    def reset(self, checkpoint_id: Folder | None = None) -> None:
        if checkpoint_id:
            self.path = pathlib.Path(checkpoint_id)
        self.reports = []
        self._rules.matched.clear()

    def set_up_storage_writer(self, is_coordinator: bool, *args: Any, **kwargs: Any) -> None:
        rank = kwargs.get("rank")
        if rank is None and torch.distributed.is_initialized():
            rank = torch.distributed.get_rank()
        self._rank = rank or 0
        self.path.mkdir(parents=True, exist_ok=True)

    def prepare_local_plan(self, plan: SavePlan) -> SavePlan:
        return plan

    def prepare_global_plan(self, plans: list[SavePlan]) -> list[SavePlan]:
        return plans

    def write_data(self, plan: SavePlan, planner: SavePlanner) -> Future[list[WriteResult]]:
        """The first part of each tensor goes to one file, the second ones to another."""
        files: list[dict[str, torch.Tensor]] = []
        places: list[tuple[MetadataIndex, int]] = []
        for item in plan.items:
            name = item.index.fqn
            number = sum(name in file for file in files)
            if number == len(files):
                files.append({})
            data = planner.resolve_data(item)
            if item.type == WriteItemType.BYTE_IO:
                assert isinstance(data, io.BytesIO)
                files[number][name] = torch.frombuffer(
                    bytearray(data.getvalue()), dtype=torch.uint8
                )
            else:
                assert isinstance(data, torch.Tensor)
                files[number][name] = _by_itself(data)
            places.append((item.index, number))
        written = [self._write(number, file) for number, file in enumerate(files)]
        sizes = [
            {name: each.bytes_out for each in report.tensors for name in each.names}
            for report in self.reports
        ]
        matched = sorted(self._rules.matched)
        done: Future[list[WriteResult]] = Future()
        done.set_result(
            [
                WriteResult(index, sizes[number][index.fqn], (written[number], matched))
                for index, number in places
            ]
        )
        return done

    def _write(self, number: int, tensors: dict[str, torch.Tensor]) -> str:
        name = f"rank{self._rank}-{number}-{secrets.token_hex(4)}.tpck"
        report = write(
            *(tensors, self.path / name, self._rules),
            check=self.check,
            threads=self.threads,
            every_pattern=False,  # another rank may have what a pattern is for
        )
        self.reports.append(report)
        return name

    def finish(self, metadata: Metadata, results: list[list[WriteResult]]) -> None:
        written = [each for of_rank in results for each in of_rank]
        self._rules.check_patterns({name for each in written for name in each.storage_data[1]})
        before = _files_of(self.path / DESCRIPTION)
        storage = [
            [each.index.fqn, None if (at := each.index.offset) is None else list(at), file]
            for each in written
            for file, _ in [each.storage_data]
        ]
        document = {
            "format": FORMAT,
            "version": VERSION,
            "writer": f"tensorpress {_core.__version__}",
            "state": {name: _fields(each) for name, each in metadata.state_dict_metadata.items()},
            "planner": encode(metadata.planner_data, _no_tensor),
            "storage": storage,
        }
        with replacing(self.path / DESCRIPTION) as file:
            file.write(to_text(document))
        for name in before - {each[2] for each in storage}:
            with contextlib.suppress(OSError):
                (self.path / name).unlink()

    @classmethod
    def validate_checkpoint_id(cls, checkpoint_id: Folder) -> bool:
        return "://" not in os.fspath(checkpoint_id)

    def storage_meta(self) -> StorageMeta:
        return StorageMeta(checkpoint_id=os.fspath(self.path))


class DistributedReader(StorageReader):
    """For dcp.load, with any number of ranks: reads what DistributedWriter wrote. Nothing that the
    files say is run, unlike DCP's own metadata, which is a pickle."""

    def __init__(self, path: Folder, *, threads: int = 1, max_bytes: int = MAX_BYTES) -> None:
        self.path = pathlib.Path(path)
        self.threads, self.max_bytes = threads, max_bytes
        self._storage: Mapping[MetadataIndex, str] = {}

    def reset(self, checkpoint_id: Folder | None = None) -> None:
        if checkpoint_id:
            self.path = pathlib.Path(checkpoint_id)
        self._storage = {}

    def read_metadata(self, *args: Any, **kwargs: Any) -> Metadata:
        path = self.path / DESCRIPTION
        try:
            document = from_text(path.read_bytes())
            if document["format"] != FORMAT:
                raise ValueError(f"the format is {document['format']!r}")
            if document["version"] != VERSION:
                raise _core.UnsupportedError(
                    f"{path} is of version {document['version']}, and this reads {VERSION}"
                )
            return Metadata(
                {name: _metadata_of(each) for name, each in document["state"].items()},
                decode(document["planner"], _no_number),
                {
                    MetadataIndex(name, None if offset is None else torch.Size(offset)): _file(file)
                    for name, offset, file in document["storage"]
                },
                StorageMeta(checkpoint_id=os.fspath(self.path)),
            )
        except _core.UnsupportedError:
            raise
        except SYMPTOMS as error:
            raise _core.CorruptError(f"{path} is damaged: {error!r}") from error

    def set_up_storage_reader(
        self, metadata: Metadata, is_coordinator: bool, *args: Any, **kwargs: Any
    ) -> None:
        self._storage = metadata.storage_data

    def prepare_local_plan(self, plan: LoadPlan) -> LoadPlan:
        return plan

    def prepare_global_plan(self, plans: list[LoadPlan]) -> list[LoadPlan]:
        return plans

    def read_data(self, plan: LoadPlan, planner: LoadPlanner) -> Future[None]:
        of_file: dict[str, list[ReadItem]] = {}
        for item in plan.items:
            of_file.setdefault(self._storage[item.storage_index], []).append(item)
        for name, items in of_file.items():
            path = self.path / name
            with Checkpoint(path, threads=self.threads, max_bytes=self.max_bytes) as checkpoint:
                for item in items:
                    self._read(checkpoint.tensor(item.storage_index.fqn, "cpu"), item, planner)
        done: Future[None] = Future()
        done.set_result(None)
        return done

    def _read(self, stored: torch.Tensor, item: ReadItem, planner: LoadPlanner) -> None:
        if item.type == LoadItemType.BYTE_IO:
            planner.load_bytes(item, io.BytesIO(stored.numpy().tobytes()))
            return
        for axis, (begin, length) in enumerate(
            zip(item.storage_offsets, item.lengths, strict=True)
        ):
            stored = stored.narrow(axis, begin, length)
        target = planner.resolve_tensor(item).detach()
        if target.shape != stored.shape:
            raise _core.CorruptError(
                f"{item.storage_index.fqn} is {tuple(stored.shape)} in {self.path}, "
                f"not {tuple(target.shape)}"
            )
        target.copy_(stored)
        planner.commit_tensor(item, target)

    @classmethod
    def validate_checkpoint_id(cls, checkpoint_id: Folder) -> bool:
        return (pathlib.Path(checkpoint_id) / DESCRIPTION).is_file()


def _by_itself(tensor: torch.Tensor) -> torch.Tensor:
    """In memory of its own: parts of a flat parameter must not be compressed as one."""
    tensor = tensor.detach().cpu()
    if tensor.is_contiguous() and tensor.untyped_storage().nbytes() == tensor.nbytes:
        return tensor
    return tensor.contiguous().clone()


def _fields(metadata: TensorStorageMetadata | BytesStorageMetadata) -> dict[str, Any]:
    if isinstance(metadata, BytesStorageMetadata):
        return {"bytes": True}
    return {
        "dtype": str(metadata.properties.dtype).removeprefix("torch."),
        "requires_grad": metadata.properties.requires_grad,
        "size": list(metadata.size),
        "chunks": [[list(chunk.offsets), list(chunk.sizes)] for chunk in metadata.chunks],
    }


def _metadata_of(fields: Mapping[str, Any]) -> TensorStorageMetadata | BytesStorageMetadata:
    if "bytes" in fields:
        return BytesStorageMetadata()
    chunks = [ChunkStorageMetadata(torch.Size(o), torch.Size(s)) for o, s in fields["chunks"]]
    properties = TensorProperties(DTYPES[fields["dtype"]], requires_grad=fields["requires_grad"])
    return TensorStorageMetadata(properties, torch.Size(fields["size"]), chunks)


def _file(name: Any) -> str:
    """A file of this folder and of no other."""
    if not isinstance(name, str) or not name.endswith(".tpck") or os.path.basename(name) != name:
        raise ValueError(f"{name!r} is not the name of a file in this folder")
    return name


def _files_of(path: pathlib.Path) -> set[str]:
    """What an earlier save wrote here; nothing if that cannot be told."""
    try:
        return {_file(each[2]) for each in from_text(path.read_bytes())["storage"]}
    except (OSError, *SYMPTOMS):
        return set()


def _no_tensor(tensor: torch.Tensor, name: str) -> int:
    raise TypeError(f"the planner's data hold a tensor ({name}), which a description cannot")


def _no_number(number: int) -> torch.Tensor:
    raise ValueError(f"the planner's data name tensor {number}")
