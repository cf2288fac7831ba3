"""The host's side of a program: the class that the vendor calls SdkRuntime."""

from __future__ import annotations

import enum
import json
from pathlib import Path

import numpy as np

from tensorpress.csl._session import Session


class MemcpyDataType(enum.Enum):
    """How many bits of a value count."""

    MEMCPY_16BIT = 16
    MEMCPY_32BIT = 32


class MemcpyOrder(enum.Enum):
    """How a host's array lies in memory: rows, columns, values of a PE."""

    ROW_MAJOR = 0
    COL_MAJOR = 1


class Task:
    """What a call with ``nonblock=True`` returns; commands end in their order."""

    def __init__(self, finish) -> None:
        self._finish = finish
        self.done = False

    def wait(self) -> None:
        """Waits for the command."""
        if not self.done:
            self._finish()
            self.done = True


class SdkRuntime:
    """Runs what ``cslc`` left in a directory."""

    def __init__(self, bindir: str, cmaddr: str | None = None, **_settings: object) -> None:
        if cmaddr:
            raise ValueError(f"cmaddr={cmaddr}: the simulated wafer has no address; leave it out")
        self._folder = Path(bindir)
        self._arguments = json.loads((self._folder / "out.json").read_text())["tensorpress"][
            "arguments"
        ]
        self._session: Session | None = None
        self._names: dict[int, str] = {}
        self._waiting: list[Task] = []
        self._lines: list[str] = []

    def __enter__(self) -> SdkRuntime:
        self.load()
        self.run()
        return self

    def __exit__(self, *_error: object) -> None:
        self.stop()

    def _machine(self) -> Session:
        if self._session is None:
            self._session = Session(self._arguments)
        return self._session

    def load(self) -> None:
        """Compiles the program and loads it."""
        self._machine()

    def run(self) -> None:
        """Starts the program; the simulated one moves when a command needs it to."""

    def stop(self) -> None:
        """Waits for all commands and ends the program."""
        self._settle()
        session = self._machine()
        session.request("finish")
        lines = session.request("lines").decode()
        self._folder.mkdir(parents=True, exist_ok=True)  # a host may have moved it
        (self._folder / "sim.log").write_text(lines)
        cycles = session.request("cycles").decode()
        (self._folder / "cycles.txt").write_text(cycles + "\n")
        session.close()

    def get_id(self, name: str) -> int:
        """The number of an exported name."""
        return int(self._machine().request("id", name))

    def is_task_done(self, task: Task) -> bool:
        """Whether a command has ended."""
        task.wait()
        return True

    def task_wait(self, task: Task) -> None:
        """Waits for a command."""
        self._settle()
        task.wait()

    def _settle(self) -> None:
        waiting, self._waiting = self._waiting, []
        for task in waiting:
            task.wait()

    def launch(self, name: str, *arguments: object, nonblock: bool = False) -> Task:
        """Calls an exported function on every PE."""
        self._settle()
        values = np.zeros(len(arguments), np.uint32)
        for k, argument in enumerate(arguments):
            array = np.asarray(argument)
            if array.dtype == np.float16:
                values[k] = array.view(np.uint16)
            elif array.dtype.kind == "f":
                values[k] = array.astype(np.float32).view(np.uint32)
            else:
                values[k] = int(array) & 0xFFFFFFFF
        self._machine().request("launch", name, len(values), values=values)
        return Task(lambda: None)

    def call(self, name: str, arguments: list[object], nonblock: bool = False) -> Task:
        """The old form of ``launch``."""
        return self.launch(name, *arguments, nonblock=nonblock)

    @staticmethod
    def _words(source: np.ndarray) -> np.ndarray:
        flat = np.asarray(source).reshape(-1)
        if flat.dtype.itemsize == 4:
            return flat.view(np.uint32)
        if flat.dtype.itemsize == 2:
            return flat.view(np.uint16).astype(np.uint32)
        raise TypeError(f"a host's array has elements of 16 or 32 bits, not {flat.dtype}")

    def memcpy_h2d(
        self,
        dest: int,
        src: np.ndarray,
        px: int,
        py: int,
        w: int,
        h: int,
        elem_per_pe: int,
        *,
        streaming: bool,
        data_type: MemcpyDataType,
        order: MemcpyOrder,
        nonblock: bool,
    ) -> Task:
        """Copies to a variable of every PE of a rectangle, or streams to a color."""
        self._settle()
        words = self._words(src)
        needed = w * h * elem_per_pe
        if words.size != needed:
            raise ValueError(f"the rectangle takes {needed} values, the array has {words.size}")
        if order is MemcpyOrder.COL_MAJOR:
            words = np.ascontiguousarray(words.reshape((h, w, elem_per_pe), order="F"))
        self._machine().request(
            *("h2d", dest, px, py, w, h, elem_per_pe, data_type.value, int(streaming), needed),
            values=words,
        )
        return Task(lambda: None)

    def _spread(
        self, shape: tuple[int, int, int], src: np.ndarray, order: MemcpyOrder
    ) -> np.ndarray:
        letter = "F" if order is MemcpyOrder.COL_MAJOR else "C"
        return self._words(src).reshape(shape, order=letter)

    def memcpy_h2d_rowbcast(
        self, dest: int, src: np.ndarray, px: int, py: int, w: int, h: int, elem_per_pe: int, **how
    ) -> Task:
        """Every PE of a row gets the same values: the array has one column of PEs."""
        column = self._spread((h, 1, elem_per_pe), src, how["order"])
        how["order"] = MemcpyOrder.ROW_MAJOR
        every = np.ascontiguousarray(np.repeat(column, w, axis=1))
        return self.memcpy_h2d(dest, every, px, py, w, h, elem_per_pe, **how)

    def memcpy_h2d_colbcast(
        self, dest: int, src: np.ndarray, px: int, py: int, w: int, h: int, elem_per_pe: int, **how
    ) -> Task:
        """Every PE of a column gets the same values: the array has one row of PEs."""
        row = self._spread((1, w, elem_per_pe), src, how["order"])
        how["order"] = MemcpyOrder.ROW_MAJOR
        every = np.ascontiguousarray(np.repeat(row, h, axis=0))
        return self.memcpy_h2d(dest, every, px, py, w, h, elem_per_pe, **how)

    def memcpy_d2h(
        self,
        dest: np.ndarray,
        src: int,
        px: int,
        py: int,
        w: int,
        h: int,
        elem_per_pe: int,
        *,
        streaming: bool,
        data_type: MemcpyDataType,
        order: MemcpyOrder,
        nonblock: bool,
    ) -> Task:
        """Copies from a variable of every PE of a rectangle, or receives a color."""
        self._settle()
        needed = w * h * elem_per_pe
        if dest.size != needed:
            raise ValueError(f"the rectangle gives {needed} values, the array takes {dest.size}")

        def receive() -> None:
            data = self._machine().request(
                "d2h", src, px, py, w, h, elem_per_pe, data_type.value, int(streaming), needed
            )
            words = np.frombuffer(data, "<u4").reshape((h, w, elem_per_pe))
            flat = words.flatten(order="F" if order is MemcpyOrder.COL_MAJOR else "C")
            if dest.dtype.itemsize == 2:
                flat = flat.astype(np.uint16)
            dest.reshape(-1)[:] = flat.view(dest.dtype)

        task = Task(receive)
        if nonblock:
            self._waiting.append(task)
        else:
            task.wait()
        return task
