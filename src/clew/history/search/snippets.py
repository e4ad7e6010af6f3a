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
_RANKS = {"added": 0.0, "removed": 0.1, "context": 0.2}
_ASCII = bytes(range(128))
# Signs between words, all on one line.
_BETWEEN = r"(?:(?!\n)[\W_])+"


@dataclass(slots=True)
class _Line:
    """A line of a patch that shows a term: its kind, where the match is, and how many terms it shows."""

    kind: str
    at: int
    terms: int = 0


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
    plain = _plain(patch)
    found = _found(patch, plain, query.terms)
    if not found:
        words = [(term, word) for term in query.terms for word in term.words]
        found = _found(patch, plain, [Term((one,), columns=term.columns) for term, one in words])
    best = sorted(found, key=lambda start: _RANKS[found[start].kind] - found[start].terms)
    shown = []
    for start in best:
        path, number = line_place(patch, start)
        if path and shows_path(path):
            shown.append((start, _as_data(patch, start, found[start], path, number)))
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


def _plain(patch: str) -> str:
    """A patch as the index compares it, letter for letter, so that places in both are the same."""
    if patch.isascii():
        return patch.lower()
    encoded = patch.encode("utf-8", "replace")
    plain = encoded.lower().decode("utf-8")
    for letter in set(encoded.translate(None, _ASCII).decode("utf-8")):  # of them there are few
        bare = folded(letter)
        if bare != letter and len(bare) == 1:
            plain = plain.replace(letter, bare)
    return plain


def _found(patch: str, plain: str, terms: Sequence[Term]) -> dict[int, _Line]:
    """The lines that show a term, by where they begin."""
    found: dict[int, _Line] = {}
    seen: dict[int, _Line | None] = {}
    kinds = LineKinds(patch)
    for term in terms:
        columns = term.columns.split()
        for start, at in islice(_matches(plain, term), _MOST_LINES):
            if start not in seen:
                kind = kinds.of(start)
                seen[start] = None if kind is None else _Line(kind, at)
            line = seen[start]
            if line is not None and (not columns or line.kind in columns):
                found[start] = line
                line.terms += 1
    return found


def _matches(plain: str, term: Term) -> Iterator[tuple[int, int]]:
    """Lines that show a term, each once: where the line begins, and where the term does."""
    first = term.words[0]
    at = plain.find(first)
    for _ in range(_MOST_PLACES):
        if at < 0:
            return
        if _shows(plain, at, term):
            yield plain.rfind("\n", 0, at) + 1, at
            at = plain.find("\n", at)
            if at < 0:
                return
        at = plain.find(first, at + 1)


def _shows(plain: str, at: int, term: Term) -> bool:
    """Whether a term stands where its first word was found; most have no other."""
    if len(term.words) > 1:
        return _pattern(term).match(plain, at) is not None
    end = at + len(term.words[0])
    is_end = term.is_beginning or not plain[end : end + 1].isalnum()
    return is_end and not plain[at - 1 : at].isalnum()


@lru_cache(maxsize=256)
def _pattern(term: Term) -> re.Pattern[str]:
    words = _BETWEEN.join(map(re.escape, term.words))
    return re.compile(rf"(?<![^\W_]){words}" + ("" if term.is_beginning else r"(?![^\W_])"))


def _as_data(patch: str, start: int, line: _Line, path: str, number: int) -> dict[str, Any]:
    end = patch.find("\n", start)
    text = patch[start + 1 : len(patch) if end < 0 else end]
    begin = 0
    if len(text) > LINE_CHARACTERS:
        begin = max(min(line.at - start - 1 - _BEFORE_MATCH, len(text) - LINE_CHARACTERS), 0)
    text = text[begin : begin + LINE_CHARACTERS]
    return {"path": path, "line": number, "kind": line.kind, "text": text}
