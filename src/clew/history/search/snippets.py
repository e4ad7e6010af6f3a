"""The lines of a patch that a query found, with file and line number."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from typing import Any

from clew.history.search.query import Query, Term, folded
from clew.kit.text.diff import LineKinds, line_place

LINE_CHARACTERS = 200
_BEFORE_MATCH = 60
# Maximum number of places examined for each term, and of matching lines that are compared.
_MOST_PLACES = 2000
_MOST_LINES = 20
_PIECE = 1 << 13  # characters that are compared at a time; most pieces are plain ASCII
_ORDER = ("added", "removed", "context")
# How letters begin in UTF-8 that are compared as plain ones: accents, and a few signs of units.
_ACCENTED = (*(bytes([first]) for first in range(0xC3, 0xCE)), b"\xe1", b"\xe2\x84")
# Signs between words, all on one line.
_BETWEEN = r"(?:(?!\n)[\W_])+"


@dataclass(frozen=True)
class _Line:
    """A line of a patch that shows a term: where it begins, its kind, and the match in it."""

    start: int
    kind: str
    text: str
    match: int


def snippets(
    patch: str,
    query: Query,
    *,
    most: int,
    shows_path: Callable[[str], bool] = lambda _: True,
) -> list[dict[str, Any]]:
    """The best lines: those with the most terms and the changed ones first."""
    if most <= 0:
        return []
    folds = _Folds(patch, query.terms)
    found = _found(folds, query.terms)
    if not found:
        words = [(term, word) for term in query.terms for word in term.words]
        found = _found(folds, [Term((word,), columns=term.columns) for term, word in words])
    best = sorted(found.items(), key=lambda item: (-item[1], _ORDER.index(item[0].kind)))
    shown = []
    for line, _ in best:
        path, number = line_place(patch, line.start)
        if path and shows_path(path):
            shown.append((line.start, _as_data(line, path, number)))
        if len(shown) == most:
            break
    return [data for _, data in sorted(shown, key=lambda item: item[0])]


def marks(text: str, terms: Sequence[Term]) -> list[tuple[int, int]]:
    """Where a line shows the terms: begin and end of each place, in order."""
    plain = folded(text)
    if len(plain) != len(text):
        return []
    places = sorted(match.span() for term in terms for match in _pattern(term).finditer(plain))
    joined: list[tuple[int, int]] = []
    for begin, end in places:
        if not joined or begin >= joined[-1][1]:
            joined.append((begin, end))
    return joined


class _Folds:
    """A patch as the index compares it, some lines at a time and only as far as it is read."""

    def __init__(self, patch: str, terms: Sequence[Term]) -> None:
        self.patch = patch
        self._words = {word.encode() for term in terms for word in term.words}
        self._is_plain = all(word.isascii() for word in self._words)
        self._known: list[tuple[int, str]] = []
        self._begin = 0
        self._size = _PIECE

    def __iter__(self) -> Iterator[tuple[int, str]]:
        """Where each piece begins, and its text."""
        number = 0
        while number < len(self._known) or self._read():
            yield self._known[number]
            number += 1

    def _read(self) -> bool:
        begin = self._begin
        if begin >= len(self.patch):
            return False
        end = self.patch.find("\n", begin + self._size) + 1 or len(self.patch)
        self._size *= 2 if self.patch.isascii() else 1
        piece = self.patch[begin:end]
        self._known.append((begin, self._folded(piece) if self._may_show(piece) else ""))
        self._begin = end
        return True

    def _may_show(self, piece: str) -> bool:
        """Whether any of the words can be in a piece: to fold what is not plain takes long."""
        if piece.isascii() or not self._is_plain:
            return True
        raw = piece.encode("utf-8", "replace").lower()
        return any(word in raw for word in (*self._words, *_ACCENTED))

    @staticmethod
    def _folded(piece: str) -> str:
        plain = folded(piece)
        if len(plain) == len(piece):
            return plain
        lower = piece.lower()  # places in one must be places in the other
        return lower if len(lower) == len(piece) else piece


def _found(folds: _Folds, terms: Sequence[Term]) -> dict[_Line, int]:
    """The lines that show a term, with how many terms each shows."""
    found: dict[_Line, int] = {}
    seen: dict[int, _Line | None] = {}
    kinds = LineKinds(folds.patch)
    for term in terms:
        for start, at in islice(_matches(folds, term), _MOST_LINES):
            if start not in seen:
                kind = kinds.of(start)
                seen[start] = None if kind is None else _line(folds.patch, start, at, kind)
            line = seen[start]
            if line is not None and _counts(line.kind, term.columns):
                found[line] = found.get(line, 0) + 1
    return found


def _counts(kind: str, columns: str) -> bool:
    """Whether a line of this kind is where the term was looked for."""
    return not columns or kind in columns.split()


def _matches(folds: _Folds, term: Term) -> Iterator[tuple[int, int]]:
    """Lines that show a term, each once: where the line begins, and where the term does."""
    pattern, first, left = _pattern(term), term.words[0], _MOST_PLACES
    for begin, plain in folds:
        at, last = plain.find(first), -1
        while at >= 0:
            if not left:
                return
            left -= 1
            start = plain.rfind("\n", 0, at) + 1
            if start != last and pattern.match(plain, at):
                yield begin + start, begin + at
                last = start
            at = plain.find(first, at + 1)


@lru_cache(maxsize=256)
def _pattern(term: Term) -> re.Pattern[str]:
    words = _BETWEEN.join(map(re.escape, term.words))
    return re.compile(rf"(?<![^\W_]){words}" + ("" if term.is_beginning else r"(?![^\W_])"))


def _line(patch: str, start: int, at: int, kind: str) -> _Line:
    """The line that begins there, with a match at a place."""
    end = patch.find("\n", start)
    text = patch[start + 1 : len(patch) if end < 0 else end]
    return _Line(start, kind, text, at - start - 1)


def _as_data(line: _Line, path: str, number: int) -> dict[str, Any]:
    begin = 0
    if len(line.text) > LINE_CHARACTERS:
        begin = max(min(line.match - _BEFORE_MATCH, len(line.text) - LINE_CHARACTERS), 0)
    text = line.text[begin : begin + LINE_CHARACTERS]
    return {"path": path, "line": number, "kind": line.kind, "text": text}
