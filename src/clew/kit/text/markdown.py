"""Markdown as its headings, list items and lines of text, without code, comments and quotes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

HEADING, ITEM, TEXT = "heading", "item", "text"

_LINE = re.compile(
    r"^([ \t]*)"
    r"(?:(#{1,6})(?=[ \t\r]|$)"
    r"|(`{3,}(?=[^`\n]*$)|~{3,})"
    r"|([-*+]|\d{1,9}[.)])([ \t]+|(?=\r?$))"
    r"|(?=\S))"
    r"([^\n]*)",
    re.MULTILINE,
)
_UNDERLINE = re.compile(r"(?:=+|-{2,})[ \t\r]*$")
_QUOTE_OR_RULE = re.compile(r">|(?:-{3,}|\*{3,}|_{3,})[ \t\r]*$")
_FENCE = re.compile(r"`{3,}(?=[^`]*$)|~{3,}")
_FENCE_LINE = re.compile(r" {0,3}(`{3,}|~{3,})")


class Block(NamedTuple):
    """One line that is not hidden; `start` and `end` are where it stands in the text.

    `level` is the level of a heading or the indentation of an item, `words` what follows the
    heading's or the item's mark, or the line of text without its indentation.
    """

    kind: str
    start: int
    end: int
    level: int
    words: str


class Blocks:
    """Iterates over the blocks of a text; afterwards `left_open` says how to end what is open."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._closing_mark = ""
        self._container = 0  # where the content of the item that holds hidden text begins
        self._offsets: list[int] = []  # where the content of each open list item begins
        self._paragraph: Block | None = None

    def __iter__(self) -> Iterator[Block]:
        for match in _LINE.finditer(self._text):
            space = match[1]
            column = len(space.expandtabs(4)) if "\t" in space else len(space)
            if self._closing_mark and self._hides(match, column):
                continue
            paragraph = self._paragraph
            if paragraph is not None and match.start() > paragraph.end + 1:
                paragraph = self._paragraph = None
            block = self._block(match, column)
            if block is not None:
                yield block
            if self._paragraph is paragraph or self._closing_mark:
                self._paragraph = None

    @property
    def left_open(self) -> str:
        """The line that ends code or a comment; empty where any line without indentation does."""
        return "" if self._container else self._closing_mark

    def _hides(self, match: re.Match[str], column: int) -> bool:
        """Whether this line belongs to code or to a comment; the end of its item ends both."""
        if column < self._container:
            self._closing_mark = ""
            return False
        if self._closing_mark == "-->":
            ends = "-->" in match[6]
        else:
            fence = match[3] or ""
            ends = fence.startswith(self._closing_mark) and not match[6].strip()
            ends = ends and column < self._container + 4
        if ends:
            self._closing_mark = ""
        return True

    def _block(self, match: re.Match[str], column: int) -> Block | None:
        hashes, fence, marker, rest = match[2], match[3], match[4], match[6]
        plain = not (hashes or fence or marker or _QUOTE_OR_RULE.match(rest))
        if not (plain and self._paragraph):  # otherwise the paragraph before it may go on
            while self._offsets and column < self._offsets[-1]:
                self._offsets.pop()
        base = self._offsets[-1] if self._offsets else 0
        if column - base >= 4:
            return self._text_block(match, base) if self._paragraph else None
        if marker:
            return self._item(match, column)
        if fence:
            self._hide(fence, base)
            return None
        if hashes:
            return None if self._offsets else _heading(match, len(hashes), rest)
        if rest.startswith("<!--") and "-->" not in rest:
            self._hide("-->", base)
            return None
        return self._underlined(rest) or (self._text_block(match, base) if plain else None)

    def _text_block(self, match: re.Match[str], base: int) -> Block:
        block = Block(TEXT, match.start(), match.end(), base, match[0].strip())
        self._paragraph = block
        return block

    def _item(self, match: re.Match[str], column: int) -> Block:
        gap = len((match[5] or "").expandtabs(4))
        offset = column + len(match[4]) + (gap if 1 <= gap <= 4 else 1)
        self._offsets.append(offset)
        block = Block(ITEM, match.start(), match.end(), column, match[6].strip())
        self._paragraph = block
        if fence := _FENCE.match(match[6]):
            self._hide(fence[0], offset)
        return block

    def _underlined(self, rest: str) -> Block | None:
        """The line before as a heading, when this line is the rule below it."""
        above = self._paragraph
        if above is None or self._offsets or not _UNDERLINE.match(rest):
            return None
        words = heading_words(above.words)
        return Block(HEADING, above.start, above.end, 1 if rest[0] == "=" else 2, words)

    def _hide(self, closing_mark: str, container: int) -> None:
        self._closing_mark, self._container = closing_mark, container


def heading_words(text: str) -> str:
    """The words of a heading without closing hashes and without bold marks around them."""
    words = text.strip()
    bare = words.rstrip("#")
    if not bare or bare[-1] in " \t":
        words = bare.rstrip()
    if len(words) > 4 and words[:2] in {"**", "__"} and words[-2:] == words[:2]:
        words = words[2:-2]
    return words


def _heading(match: re.Match[str], level: int, rest: str) -> Block:
    return Block(HEADING, match.start(), match.end(), level, heading_words(rest))


class CodeLines(NamedTuple):
    """Which lines are outside of fenced code, and the mark and line of a fence that stays open."""

    outside: list[bool]
    open_mark: str
    opened: int


def code_lines(text: str) -> CodeLines:
    """The fenced code of a text, line by line, wherever its fences stand.

    Unlike `Blocks` it knows no list items: a part of a text reads the same alone and in its place.
    """
    outside: list[bool] = []
    mark, opened = "", 0
    for number, line in enumerate(text.split("\n")):
        found = _FENCE_LINE.match(line)
        outside.append(not mark and not found)
        if found and not mark:
            mark, opened = found[1], number
        elif found and found[1].startswith(mark) and line.strip() == found[1]:
            mark = ""
    return CodeLines(outside, mark, opened)
