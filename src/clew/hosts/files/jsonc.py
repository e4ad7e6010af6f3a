"""JSON with comments and trailing commas, read with the place of every value.

Only what the hosts themselves read is accepted: no single quotes, no bare keys. The spans let
`jsonc_edit` change a file by cutting and inserting text, so every other byte stays as it was.

The standard library's decoder does the reading: comments and trailing commas are overwritten
with as many blanks first, so its places are the text's. Members are looked for only in the
objects that somebody asks about; `~/.claude.json` can have several megabytes.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, NoReturn

# Every pattern succeeds once it has begun, so none goes back and all take linear time. Python
# 3.11 has possessive repetitions that would say so, but its first releases get them wrong.
_STRING = r'"[^"\\]*(?:\\.?[^"\\]*)*"?'
_BLANKS = re.compile(r"[ \t\r\n]*")
_COMMENT = re.compile(r"//[^\r\n]*|/\*.*?\*/", re.DOTALL)
_COMMENTS = re.compile(rf"{_STRING}|(//[^\r\n]*|/\*.*?\*/)|(/\*)", re.DOTALL)
_COMMAS = re.compile(rf"{_STRING}|(,)(?=[ \t\r\n]*[}}\]])", re.DOTALL)
_CONSTANTS = re.compile(rf"{_STRING}|(NaN|-?Infinity)", re.DOTALL)
_REASONS = {
    "Expecting value": "expected a value",
    "Expecting ','": "expected ',' or the end of the object or list",
    "Expecting ':'": "expected ':'",
    "Expecting property name": 'expected a "key"',
    "Illegal trailing comma": "expected a value",
    "Invalid \\": "invalid escape in a string",
    "Invalid control": "line break or control character in a string",
    "Unterminated string": "string without an end",
}


class JsoncError(ValueError):
    """Text that no host would read; says what is wrong and at which line and column."""

    def __init__(self, reason: str, text: str, position: int) -> None:
        super().__init__(reason)
        self.reason = reason
        self.line = line_of(text, position)
        self.column = position - (text.rfind("\n", 0, position) + 1) + 1


@dataclass(eq=False)
class Member:
    """One `"key": value` of an object, and the comma after it if there is one."""

    key: str
    start: int
    value: Node
    comma: int | None = None


@dataclass(frozen=True)
class _Source:
    """A text without its comments, and without its trailing commas too."""

    plain: str
    strict: str


@dataclass(eq=False)
class Node:
    """A value and its position in the text."""

    start: int
    end: int
    value: Any
    _source: _Source = field(repr=False)
    _members: list[Member] | None = field(default=None, repr=False)

    @property
    def members(self) -> list[Member] | None:
        """The members of an object in the order of the text; None for other values."""
        if self._members is None and isinstance(self.value, dict):
            self._members = _find_members(self._source, self.start)
        return self._members

    def all_members(self, key: str) -> list[Member]:
        """All members of this name."""
        return [member for member in self.members or [] if member.key == key]

    def member(self, key: str) -> Member | None:
        """The member of this name; of doubles the last one, which is what parsers keep."""
        return next(reversed(self.all_members(key)), None)


@lru_cache(maxsize=2)  # one edit looks at the same text several times; nobody changes a node
def parse(text: str) -> Node:
    """The document's value with the places of its parts."""
    try:
        return _document(_Source(text, text))
    except (ValueError, RecursionError):
        plain = _without_comments(text)
        source = _Source(plain, _without_trailing_commas(plain))
    try:
        return _document(source)
    except json.JSONDecodeError as error:
        raise JsoncError(_reason(error), text, error.pos) from error
    except _ConstantError as error:
        raise JsoncError("expected a value", text, _constant(source.strict)) from error
    except RecursionError as error:
        raise JsoncError("nested too deeply", text, 0) from error


class _ConstantError(ValueError):
    """NaN or Infinity, which Python reads and hosts do not."""


def _refuse_constant(name: str) -> NoReturn:
    raise _ConstantError(name)


_decode = json.JSONDecoder(parse_constant=_refuse_constant).raw_decode


def _document(source: _Source) -> Node:
    start = _skip(source.strict, 0)
    value, end = _decode(source.strict, start)
    following = _skip(source.strict, end)
    if following < len(source.strict):
        raise json.JSONDecodeError("text after the end of the value", source.strict, following)
    return Node(start, end, value, source)


def _find_members(source: _Source, start: int) -> list[Member]:
    """The members of the object that starts here, in a text that is known to be right."""
    plain, strict = source.plain, source.strict
    members: list[Member] = []
    at = _skip(plain, start + 1)
    while plain[at] != "}":
        key, end = _decode(strict, at)
        value_at = _skip(plain, _skip(plain, end) + 1)
        value, end = _decode(strict, value_at)
        member = Member(key, at, Node(value_at, end, value, source))
        members.append(member)
        at = _skip(plain, end)
        if plain[at] == ",":
            member.comma = at
            at = _skip(plain, at + 1)
    return members


def _skip(text: str, position: int) -> int:
    found = _BLANKS.match(text, position)
    return found.end() if found else position


def _reason(error: json.JSONDecodeError) -> str:
    if error.pos >= len(error.doc):
        return "unexpected end"
    known = (ours for theirs, ours in _REASONS.items() if error.msg.startswith(theirs))
    return next(known, error.msg)


def _constant(text: str) -> int:
    places = (found.start() for found in _CONSTANTS.finditer(text) if found.lastindex)
    return next(places, 0)


def _without_comments(text: str) -> str:
    spans = []
    for found in _COMMENTS.finditer(text):
        if found.lastindex == 1:
            spans.append(found.span())
        elif found.lastindex:
            raise JsoncError("comment without an end", text, found.start())
    return _blanked(text, spans)


def _without_trailing_commas(text: str) -> str:
    spans = [found.span() for found in _COMMAS.finditer(text) if found.lastindex]
    return _blanked(text, [span for span in spans if _follows_value(text, span[0])])


def _follows_value(text: str, comma: int) -> bool:
    """Whether a comma ends something; one after nothing stays, and is refused."""
    before = comma - 1
    while before >= 0 and text[before] in " \t\r\n":
        before -= 1
    return before >= 0 and text[before] not in "[{,"


def _blanked(text: str, spans: list[tuple[int, int]]) -> str:
    """The text with blanks in these places."""
    parts, done = [], 0
    for start, end in spans:
        parts += [text[done:start], " " * (end - start)]
        done = end
    return "".join([*parts, text[done:]])


def line_of(text: str, position: int) -> int:
    """The number of the line in which a place is."""
    return text.count("\n", 0, position) + 1


def has_value(text: str) -> bool:
    """Whether there is anything but blanks and comments."""
    start = _skip(text, 0)
    if text[start : start + 1] != "/":
        return start < len(text)
    return bool(_without_comments(text).strip(" \t\r\n"))


def last_comment(text: str, start: int, stop: int) -> re.Match[str] | None:
    """The last comment between two places that hold no value."""
    comments = list(_COMMENT.finditer(text, start, stop))
    return comments[-1] if comments else None


def after_last_comment(text: str, start: int, stop: int) -> int:
    """The end of the last comment between two places that hold no value, or the start."""
    found = last_comment(text, start, stop)
    return found.end() if found else start


def without_blanks(text: str) -> str:
    """Object text whose only contents are comments, reduced to braces and comments."""
    return "".join(["{", *_COMMENT.findall(text), "}"])
