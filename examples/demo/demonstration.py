"""What a section of the page is, and what it may use: the program, the data, and a way to say how
far it is."""

from __future__ import annotations

import json
import pathlib
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any


class Missing(Exception):
    """Something that a section cannot do without; the words say what it is and how to get it."""


@dataclass(frozen=True)
class Highlight:
    """A number for the top of the page: "24 times smaller", and what it is about."""

    number: str
    words: str


@dataclass
class Shown:
    """What a section found: markup for the page, and perhaps a number for its top."""

    html: str
    highlight: Highlight | None = None


@dataclass(frozen=True)
class Section:
    """A part of the page: a file in sections/ and an entry in its list."""

    name: str  # for --only, and the anchor
    title: str
    show: Callable[[Demonstration], Shown]


@dataclass
class Demonstration:
    """One run of the demo."""

    program: pathlib.Path
    data: pathlib.Path
    scratch: pathlib.Path
    training_seconds: float
    #: For programs: without what importing tensorpress puts into HDF5_PLUGIN_PATH, which would hide
    #: the filters of other compressors.
    environment: dict[str, str]
    began: float = field(default_factory=time.monotonic)

    def say(self, words: str) -> None:
        """A line of progress, with the seconds since the start."""
        print(f"  {time.monotonic() - self.began:5.0f} s  {words}", flush=True)

    def run(self, *arguments: object, statuses: Sequence[int] = (0,)) -> str:
        """`tensorpress ARGUMENTS`, and what it prints."""
        command = [str(self.program), *map(str, arguments)]
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
            env=self.environment,
        )
        if done.returncode not in statuses:
            words = done.stderr.strip() or f"status {done.returncode}"
            raise Missing(f"`tensorpress {' '.join(command[1:])}` did not work: {words}")
        return done.stdout

    def json(self, *arguments: object, statuses: Sequence[int] = (0,)) -> Any:
        """The same with --json."""
        return json.loads(self.run(*arguments, "--json", statuses=statuses))
