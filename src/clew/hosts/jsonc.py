"""JSON with comments and trailing commas, read with the place of every value.

Only what the hosts themselves read is accepted: no single quotes, no bare keys. The spans let
`jsonc_edit` change a file by cutting and inserting text, so every other byte stays as it was.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

_TRIVIA = re.compile(r"(?:[ \t\r\n]+|//[^\r\n]*|/\*.*?\*/)+", re.DOTALL)
_COMMENT = re.compile(r"//[^\r\n]*|/\*.*?\*/", re.DOTALL)
_STRING = re.compile(r'"(?:[^"\\\x00-\x1f]|\\.)*"')
_SCALAR = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null")
_DEEPEST = 200


class JsoncError(ValueError):
    """Text that no host would read; says what is wrong and at which line and column."""

    def __init__(self, reason: str, text: str, position: int) -> None:
        super().__init__(reason)
        self.reason = reason
        self.line = text.count("\n", 0, position) + 1
        self.column = position - (text.rfind("\n", 0, position) + 1) + 1


@dataclass
class Member:
    """One `"key": value` of an object, and the comma after it if there is one."""

    key: str
    start: int
    value: Node
    comma: int | None = None


@dataclass
class Node:
    """A value and where it stands in the text."""

    start: int
    end: int = 0
    value: Any = None
    members: list[Member] | None = None

    def member(self, key: str) -> Member | None:
        """The member of this name; of doubles the last one, which is what parsers keep."""
        return next((m for m in reversed(self.members or []) if m.key == key), None)


@dataclass
class _Reader:
    text: str
    at: int = 0
    depth: int = field(default=0)

    def fail(self, reason: str, position: int | None = None) -> JsoncError:
        return JsoncError(reason, self.text, self.at if position is None else position)

    def skip(self) -> None:
        found = _TRIVIA.match(self.text, self.at)
        if found:
            self.at = found.end()
        if self.text.startswith("/*", self.at):
            raise self.fail("comment without an end")

    def peek(self) -> str:
        self.skip()
        return self.text[self.at : self.at + 1]

    def node(self) -> Node:
        kind = self.peek()
        if kind not in "{[" or not kind:
            return self.scalar()
        self.depth += 1
        if self.depth > _DEEPEST:
            raise self.fail("nested too deeply")
        found = self.object() if kind == "{" else self.array()
        self.depth -= 1
        return found

    def scalar(self) -> Node:
        start = self.at
        found = _STRING.match(self.text, start) or _SCALAR.match(self.text, start)
        if not found:
            raise self.fail("expected a value" if start < len(self.text) else "unexpected end")
        self.at = found.end()
        return Node(start, self.at, self.decode(found.group(), start))

    def decode(self, token: str, start: int) -> Any:
        try:
            return json.loads(token)
        except ValueError as error:
            raise self.fail("invalid escape in a string", start) from error

    def array(self) -> Node:
        node = Node(self.at, value=[])
        self.at += 1
        while self.peek() != "]":
            node.value.append(self.node().value)
            self.comma("]")
        self.at += 1
        node.end = self.at
        return node

    def object(self) -> Node:
        node = Node(self.at, value={}, members=[])
        self.at += 1
        while self.peek() != "}":
            member = self.pair()
            assert node.members is not None
            node.members.append(member)
            node.value[member.key] = member.value.value
            member.comma = self.comma("}")
        self.at += 1
        node.end = self.at
        return node

    def pair(self) -> Member:
        start = self.at
        found = _STRING.match(self.text, start)
        if not found:
            raise self.fail('expected a "key"' if start < len(self.text) else "unexpected end")
        self.at = found.end()
        key = self.decode(found.group(), start)
        if self.peek() != ":":
            raise self.fail("expected ':'")
        self.at += 1
        return Member(key, start, self.node())

    def comma(self, closing: str) -> int | None:
        following = self.peek()
        if following == ",":
            self.at += 1
            return self.at - 1
        if following != closing:
            raise self.fail(f"expected ',' or '{closing}'" if following else "unexpected end")
        return None


@lru_cache(maxsize=4)  # one edit looks at the same text several times; nobody changes a node
def parse(text: str) -> Node:
    """The document's value with the places of its parts."""
    reader = _Reader(text)
    node = reader.node()
    if reader.peek():
        raise reader.fail("text after the end of the value")
    return node


def has_value(text: str) -> bool:
    """Whether there is anything but blanks and comments."""
    reader = _Reader(text)
    return bool(reader.peek())


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
