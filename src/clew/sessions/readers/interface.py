"""What every reader does: find transcripts, tell what each is about, and read on where it ended."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from clew.sessions.model import Event, Header


@dataclass(frozen=True)
class Surroundings:
    """Where to look: the user's home, the environment, and the projects that were opened."""

    home: Path
    environment: Mapping[str, str]
    projects: tuple[Path, ...] = ()

    def directory(self, variable: str, *default: str) -> Path:
        """A program's directory: what the variable names, or the usual place below the home."""
        named = self.environment.get(variable)
        return Path(named) if named else self.home.joinpath(*default)


class Source(NamedTuple):
    """One transcript: a file, or a session inside a database; `size` and `stamp` tell of changes."""

    program: str
    place: str  # a tuple and no Path: ten thousand of them are looked at before each question
    part: str
    size: int
    stamp: int

    @property
    def path(self) -> Path:
        """The file."""
        return Path(self.place)

    @property
    def key(self) -> str:
        """The transcript's name in the index."""
        return f"{self.place}#{self.part}" if self.part else self.place


@dataclass
class Progress:
    """How far a transcript was read: where to go on, what was told, and the end that was there."""

    offset: int = 0
    told: int = 0
    tail: str = ""
    state: dict[str, object] = field(default_factory=dict)


class Reader(ABC):
    """One program's transcripts."""

    name: str
    title: str
    is_verified = True  # the program itself wrote what the reader was built from

    @abstractmethod
    def discover(self, around: Surroundings) -> Iterator[Source]:
        """Every transcript that is there now."""

    @abstractmethod
    def header(self, source: Source) -> Header | None:
        """What the transcript is about, from its beginning only."""

    @abstractmethod
    def read(self, source: Source, progress: Progress) -> Iterator[Event]:
        """What came since; `progress` says from where, and is moved on."""


def files_below(program: str, directory: Path, pattern: str, *, depth: int) -> Iterator[Source]:
    """Regular files of a name's ending below a directory, without following links."""
    waiting = [(str(directory), depth)]
    while waiting:
        place, left = waiting.pop()
        try:
            entries = list(os.scandir(place))
        except OSError:
            continue
        for entry in entries:
            try:
                if entry.name.endswith(pattern) and entry.is_file(follow_symlinks=False):
                    found = entry.stat(follow_symlinks=False)
                    yield Source(program, entry.path, "", found.st_size, found.st_mtime_ns)
                elif left > 0 and entry.is_dir(follow_symlinks=False):
                    waiting.append((entry.path, left - 1))
            except OSError:
                continue


def first_text(*values: object) -> str:
    """The first of the values that is a text with something in it."""
    return next((value for value in values if isinstance(value, str) and value), "")


def texts_of(content: object) -> str:
    """The text in a message's content: plain, or parts with `text`."""
    if isinstance(content, str):
        return content
    parts: Iterable[object] = content if isinstance(content, list) else ()
    found = [part.get("text") for part in parts if isinstance(part, dict)]
    return "\n".join(text for text in found if isinstance(text, str) and text)
