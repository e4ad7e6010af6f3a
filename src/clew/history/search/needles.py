"""What changed lines must hold for a text or a pattern to occur, and how the text index says it.

The index knows words, and what is looked for may begin or end inside of one. So the words that
have such a part are looked up, and commits are asked for these.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from clew.history.store.interface import HistoryStore

_WORD = re.compile(r"[A-Za-z0-9]+")
_MOST_WORDS = 1000
_AT_ONCE = 50  # what is asked for together: the index compares all of them for each commit
_DEEPEST = 20


@dataclass
class Needles:
    """Groups of texts; of each group one must occur, in whatever case or just so."""

    groups: list[list[str]] = field(default_factory=list)
    is_exact: bool = True

    @classmethod
    def of_text(cls, text: str) -> Needles:
        """What a literal is."""
        return cls([[text]])

    @classmethod
    def of_pattern(cls, pattern: str) -> Needles:
        """What a regular expression cannot match without, as far as its parts tell."""
        found = cls(is_exact=not re.compile(pattern).flags & re.IGNORECASE)
        # The library's own reading of it; where a release has that elsewhere, all patches are read.
        parser = getattr(re, "_parser", None)
        if parser is None:
            return cls()
        try:
            found._read(parser.parse(pattern), 0)
        except (AttributeError, TypeError, ValueError, RecursionError):
            return cls()
        return found

    def expressions(self, store: HistoryStore) -> list[str] | None:
        """What the text index is asked for, one after another; None when it cannot tell."""
        phrases = [found for group in self.groups if (found := _phrases(store, group)) is not None]
        if not phrases:
            return None
        few = [one for one in phrases if len(one) <= _AT_ONCE]
        if few:
            together = [" OR ".join(one) for one in few]
            return [" AND ".join(f"({one})" for one in together)] if all(together) else []
        best = min(phrases, key=len)
        return [
            " OR ".join(best[start : start + _AT_ONCE]) for start in range(0, len(best), _AT_ONCE)
        ]

    def _read(self, parsed: Iterable[tuple[Any, Any]], depth: int) -> None:
        """Take what must occur from a parsed pattern."""
        run = ""
        for operation, value in parsed:
            name = str(operation)
            if name == "LITERAL":
                run += chr(value)
                continue
            self._take([run])
            run = ""
            if depth > _DEEPEST:
                continue
            if name == "SUBPATTERN":
                self.is_exact = self.is_exact and not value[1] & re.IGNORECASE
                self._read(value[3], depth + 1)
            elif name.endswith("_REPEAT") and value[0] > 0:
                self._read(value[2], depth + 1)
            elif name == "BRANCH":
                self._take([self._longest(branch, depth) for branch in value[1]])
        self._take([run])

    def _longest(self, branch: Iterable[tuple[Any, Any]], depth: int) -> str:
        one = Needles()
        one._read(branch, depth + 1)
        self.is_exact = self.is_exact and one.is_exact
        return max((group[0] for group in one.groups if len(group) == 1), key=len, default="")

    def _take(self, group: list[str]) -> None:
        if all(_WORD.search(text) for text in group):
            self.groups.append(group)


def _phrases(store: HistoryStore, group: list[str]) -> list[str] | None:
    found: list[str] = []
    for text in group:
        phrases = _phrases_of(store, text)
        if phrases is None:
            return None
        found += phrases
    return found


def _phrases_of(store: HistoryStore, text: str) -> list[str] | None:
    """Phrases one of which the text index has where a text occurs; None when it cannot tell.

    The first word may be the end of a longer one, the last word the beginning of one.
    """
    words = list(_WORD.finditer(text))
    if not text.isascii() or not words:
        return None
    is_open = words[-1].end() == len(text)
    star = " *" if is_open else ""
    rest = [word.group() for word in words[1:]]
    firsts = [words[0].group()]
    if words[0].start() == 0:
        part = firsts[0].lower()
        known = store.words_with(part, _MOST_WORDS)
        if known is None:
            return [f'"{" ".join(rest)}"{star}'] if rest else None
        star = star if rest else ""
        firsts = known if is_open and not rest else [one for one in known if one.endswith(part)]
    return [f'"{" ".join([first, *rest])}"{star}' for first in firsts]
