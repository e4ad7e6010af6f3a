"""What a command hands back: data for programs and parts for people. Commands never print."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Self

from clew.kit.errors import ClewError
from clew.kit.times import day_text

ENVELOPE_VERSION = 1


@dataclass(frozen=True)
class Table:
    """Rows under headings; drawn on a terminal, aligned or tab-separated elsewhere."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    title: str = ""

    @classmethod
    def of(cls, columns: str, items: Iterable[Mapping[str, object]]) -> Self:
        """The items in columns of their keys, or of `heading:key`; lists are joined."""
        named = [word.partition(":") for word in columns.split()]
        heads = tuple(head.replace("_", " ") for head, _, _ in named)
        keys = [key or head for head, _, key in named]
        return cls(heads, tuple(tuple(_cell(item[key]) for key in keys) for item in items))


def _cell(value: object) -> str:
    if isinstance(value, list | tuple):
        return ", ".join(map(str, value))
    return "" if value is None or value == {} else str(value)


@dataclass(frozen=True)
class Hits(Table):
    """A table whose rows speak for themselves: in a pipe, one short line each without headings."""


class Day(str):
    """A day as a cell or in a text; a terminal may show how long ago it was."""

    __slots__ = ("seconds",)
    seconds: float

    def __new__(cls, seconds: float) -> Self:
        """The day of a moment."""
        made = super().__new__(cls, day_text(seconds))
        made.seconds = seconds
        return made


class Hint(str):
    """A part that says what to do next; its commands are worded for whoever reads it."""

    __slots__ = ()


class Drawn(str):
    """A part with colours that Clew gave it; the text of others in it is `terminal_text`."""

    __slots__ = ()


@dataclass(frozen=True)
class Outcome:
    """The result of one command."""

    data: object
    parts: tuple[str | Table, ...] = field(default=())
    exit_code: int = 0

    def envelope(self, command: str) -> dict[str, object]:
        """The versioned form that `--json` prints."""
        return {
            "clew": ENVELOPE_VERSION,
            "command": command,
            "ok": self.exit_code == 0,
            "exit_code": self.exit_code,
            "data": self.data,
            "error": None,
        }


def listing(name: str, items: Sequence[Mapping[str, object]], columns: str, empty: str) -> Outcome:
    """Items under their name, as a table of these columns; where there are none, that is said."""
    return Outcome({name: items}, (Table.of(columns, items) if items else empty,))


def error_envelope(command: str, error: ClewError) -> dict[str, object]:
    """The envelope of a failure, with the same keys as that of a success."""
    return {
        "clew": ENVELOPE_VERSION,
        "command": command,
        "ok": False,
        "exit_code": error.exit_code,
        "data": None,
        "error": {"code": error.code, "message": error.message, "hint": error.hint},
    }
