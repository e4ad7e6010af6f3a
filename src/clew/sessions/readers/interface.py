"""What every reader does: find transcripts, tell what each is about, and read on where it ended."""

from __future__ import annotations

import os
import sqlite3
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from json import loads
from pathlib import Path
from typing import Any, NamedTuple

from clew.kit.errors import ClewError
from clew.kit.sqlite import open_read_only
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


def text_in(record: Mapping[str, Any], *names: str) -> str:
    """The first of these members with something in it, as text."""
    return next((str(record[name]) for name in names if record.get(name)), "")


def rows_of(path: Path, query: str, *values: str) -> Iterator[sqlite3.Row]:
    """Rows of another program's database; none of one that is of another version, or being made."""
    try:
        with closing(open_read_only(path)) as database:
            yield from database.execute(query, values)
    except (sqlite3.Error, ClewError, OSError):
        return


def json_record(text: object) -> dict[str, Any]:
    """An object that a database has as JSON; an empty one where it is none."""
    try:
        found = loads(str(text))
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def texts_of(content: object) -> str:
    """The text in a message's content: plain, or parts with `text`."""
    if isinstance(content, str):
        return content
    parts: Iterable[object] = content if isinstance(content, list) else ()
    found = [part.get("text") for part in parts if isinstance(part, dict)]
    return "\n".join(text for text in found if isinstance(text, str) and text)
