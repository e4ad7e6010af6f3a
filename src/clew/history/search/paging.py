"""Pages of an answer: where the next one begins, and how much fits into one."""

from __future__ import annotations

import zlib
from dataclasses import astuple, dataclass, replace

from clew.history.search.filters import Filters
from clew.kit.errors import Invalid

_LONGEST = 1000
_NUMBERS = 4
_LARGEST = 1 << 62
_BASE = 36
_ALPHABET = "0123456789abcdefghijklmnopqrstuvwxyz"
_BETWEEN, _WITHIN = ".", "_"


@dataclass(frozen=True)
class Cursor:
    """The place behind which the next page begins; it fits only the request it came from."""

    mark: str
    offset: int = 0
    after: tuple[int, ...] | None = None
    total: int | None = None
    now: int | None = None
    state: int | None = None
    since: int | None = None
    until: int | None = None

    @classmethod
    def read(cls, text: str | None, filters: Filters, *asked: object) -> Cursor:
        """The cursor that somebody handed back; without one the beginning.

        It keeps the times of the first page: those of `2 weeks ago` move on.
        """
        mark = _mark_of(replace(filters, since=None, until=None), *asked)
        if not text:
            return cls(mark, since=_bounded(filters.since), until=_bounded(filters.until))
        try:
            parts = text[:_LONGEST].split(_BETWEEN)
            given, offset, after, *numbers = [*parts, *[""] * (3 - len(parts))]
            place = tuple(int(part, _BASE) for part in after.split(_WITHIN)) if after else None
            optional = [int(part, _BASE) if part else None for part in numbers]
            cursor = cls(given, int(offset, _BASE), place, *optional)
        except (ValueError, TypeError):
            raise _unusable("Not a cursor of an answer") from None
        if not cursor._is_sound():
            raise _unusable("Not a cursor of an answer")
        if cursor.mark != mark:
            raise _unusable("The cursor belongs to another request")
        return cursor

    def _is_sound(self) -> bool:
        numbers = [self.offset, *(self.after or ())]
        optional = (self.total, self.now, self.state, self.since, self.until)
        numbers += [number for number in optional if number is not None]
        return (
            isinstance(self.mark, str)
            and all(type(n) is int and -_LARGEST <= n <= _LARGEST for n in numbers)
            and self.offset >= 0
            and (self.after is None or 1 < len(self.after) < _NUMBERS)
        )

    def text(self) -> str:
        """The cursor as it is handed out: short, since people copy it."""
        mark, offset, after, *numbers = astuple(self)
        place = _WITHIN.join(map(_digits, after or ()))
        parts = [mark, _digits(offset), place, *("" if n is None else _digits(n) for n in numbers)]
        return _BETWEEN.join(parts).rstrip(_BETWEEN)


def _digits(number: int) -> str:
    """A number in base 36, as `int` reads it."""
    digits, rest = "", abs(number)
    while rest or not digits:
        rest, last = divmod(rest, _BASE)
        digits = _ALPHABET[last] + digits
    return f"-{digits}" if number < 0 else digits


def _bounded(moment: int | None) -> int | None:
    return None if moment is None else max(-_LARGEST, min(moment, _LARGEST))


def _mark_of(*asked: object) -> str:
    """A short mark of a request, by which its cursors are known."""
    said = "\x00".join(map(repr, asked)).encode("utf-8", "backslashreplace")
    return f"{zlib.crc32(said):08x}"


def _unusable(message: str) -> Invalid:
    return Invalid(message, "Omit it to start over with the same words and filters.")


def fitting(sizes: list[tuple[int, int]], most: int) -> tuple[int, set[int]]:
    """How many items fit, and which of them only without their extras; one always does.

    Each item has a size without and with its extras. Items come before extras, and the extras
    of the first items before those of the others.
    """
    count = used = 0
    for small, _ in sizes:
        if count and used + small > most:
            break
        count, used = count + 1, used + small
    bare: set[int] = set()
    for number, (small, large) in enumerate(sizes[:count]):
        if used + large - small > most:
            bare.add(number)
        else:
            used += large - small
    return count, bare
