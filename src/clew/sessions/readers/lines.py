"""Transcripts of JSON lines: read on from where they ended, one line in memory at a time."""

from __future__ import annotations

import hashlib
from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from json import JSONDecodeError, loads
from typing import Any

from clew.kit.files import open_regular
from clew.kit.times import parse_iso
from clew.sessions.model import Command, Edit, Event, Header, Usage, Words
from clew.sessions.readers.interface import Progress, Reader, Source, text_in
from clew.sessions.readers.shell import command_of, written_by

LONGEST_LINE = 32 * 1024 * 1024
_HEAD_BYTES = 1024 * 1024
_TAIL = 4096
_LONGEST_WAIT = 8 * 1024 * 1024  # for the result of a call
_SHORTEST_WORK = 2

Record = dict[str, Any]


@dataclass(frozen=True)
class Call:
    """A tool that an agent called: where in the file, its name, what it was given, when."""

    start: int
    name: str
    given: Record
    time: float


class LineSource:
    """The complete lines of a file from an offset on; a line that is too long is skipped."""

    def __init__(self, source: Source, offset: int) -> None:
        self._file = open(open_regular(source.path), "rb")  # noqa: SIM115 - closed by close()
        self._file.seek(offset)
        self.offset = offset  # after the last complete line
        self.start = offset  # of the line that was handed out last

    def __iter__(self) -> Iterator[bytes]:
        while line := self._file.readline(LONGEST_LINE):
            self.start = self.offset
            if not line.endswith(b"\n"):
                if len(line) < LONGEST_LINE:
                    return  # still being written
                self._skip(line)
                continue
            self.offset += len(line)
            yield line

    def _skip(self, line: bytes) -> None:
        size = len(line)
        while (more := self._file.readline(LONGEST_LINE)) and not more.endswith(b"\n"):
            size += len(more)
        if more:
            self.offset += size + len(more)

    def tail(self) -> str:
        """A fingerprint of what is before the offset, to know a file that only grew."""
        begin = max(self.offset - _TAIL, 0)
        self._file.seek(begin)
        return hashlib.blake2b(self._file.read(self.offset - begin), digest_size=8).hexdigest()

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def is_grown(source: Source, progress: Progress) -> bool:
    """Whether the file still begins with what was read of it."""
    if source.size < progress.told:
        return False
    lines = LineSource(source, progress.told)
    try:
        return lines.tail() == progress.tail
    finally:
        lines.close()


class LineReader(Reader):
    """A reader of files that grow line by line; what is pending at the end is read again."""

    def header(self, source: Source) -> Header | None:
        """What the first lines say; a later one fills in what an earlier one left out."""
        self.begin(source, {})
        lines = LineSource(source, 0)
        found: Header | None = None
        try:
            for line in lines:
                for event in self._events(line):
                    if isinstance(event, Header):
                        found = event
                if (found and found.cwd) or lines.offset > _HEAD_BYTES:
                    break
        finally:
            lines.close()
        return found

    def read(self, source: Source, progress: Progress) -> Iterator[Event]:
        """The events since; words and usage that were told are not told again."""
        self.begin(source, progress.state)
        lines = LineSource(source, progress.offset)
        told, wait = progress.told, progress.offset
        self.waiting = {}
        try:
            for line in lines:
                self.line_start = lines.start
                for event in self._events(line):
                    if lines.start < told and isinstance(event, Words | Usage):
                        continue
                    yield event
                wait = self._oldest(lines.offset)
            progress.told, progress.tail = lines.offset, lines.tail()
            progress.offset = min(wait, lines.offset)
            progress.state = self.state()
        finally:
            lines.close()

    waiting: dict[str, Call]  # the calls that have no result yet
    line_start = 0

    def called(self, call: str, name: object, given: object, time: float) -> None:
        """Remember a call until its result comes."""
        arguments = given if isinstance(given, dict) else {"input": given}
        self.waiting[call] = Call(self.line_start, str(name), arguments, time)

    def header_of(self, record: Record, *, is_side: bool) -> Header:
        """The session that a line belongs to, as Claude Code and its descendants write it."""
        return Header(
            str(record["sessionId"]),
            text_in(record, "cwd"),
            branch=record.get("gitBranch"),
            version=record.get("version"),
            is_side=is_side or bool(record.get("isSidechain")),
        )

    def _oldest(self, offset: int) -> int:
        """Where to read on: at the oldest call that may still get a result."""
        for name, call in list(self.waiting.items()):
            if offset - call.start <= _LONGEST_WAIT:
                return call.start
            del self.waiting[name]
        return offset

    def begin(self, source: Source, state: dict[str, object]) -> None:
        """Get ready for a transcript, with what `state` kept of it."""
        self.waiting = {}

    def state(self) -> dict[str, object]:
        """What must be known when the transcript is read on."""
        return {}

    def _events(self, line: bytes) -> Iterator[Event]:
        if len(line) <= _SHORTEST_WORK or not self.matters(line):
            return iter(())
        try:
            record = loads(line)
            if not isinstance(record, dict):
                return iter(())
            return iter(list(self.record(record)))
        except (JSONDecodeError, UnicodeDecodeError, RecursionError):
            return iter(())
        except (KeyError, TypeError, ValueError, AttributeError, IndexError, OverflowError):
            return iter(())  # a line of a form that nobody has seen yet tells nothing

    def matters(self, line: bytes) -> bool:
        """Whether a line is worth parsing, from its bytes."""
        return True

    @abstractmethod
    def record(self, record: Record) -> Iterator[Event]:
        """What one record says."""


def seconds(value: object) -> float:
    """A time that a transcript has: ISO text, or milliseconds since 1970; 0 where it has none."""
    if isinstance(value, int | float):
        return value / 1000 if value > 1e11 else float(value)
    if not isinstance(value, str) or not value:
        return 0.0
    try:
        return parse_iso(value).timestamp()
    except ValueError:
        return 0.0


def ran(
    call: str, time: float, text: str, output: str, exit_code: int | None = None
) -> Iterator[Command | Edit]:
    """A command and what it wrote."""
    command = command_of(call, time, text, output, exit_code)
    return chain([command], written_by(command) if not command.exit_code else ())
