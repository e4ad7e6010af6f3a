"""Other words for a word: synonyms, English for Japanese, and the right spelling."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable
from functools import cache
from itertools import takewhile
from pathlib import Path

from clew.commands.search.tokens import stem

Expression = tuple[str, ...]

_HERE = Path(__file__)
_LONGEST_PHRASE = 4


def _lines(name: str) -> list[str]:
    text = _HERE.with_name(name).read_text(encoding="utf-8")
    return [line for line in text.splitlines() if line and not line.startswith("#")]


def _expression(words: str) -> Expression:
    """The stems of an expression whose words are joined by underscores."""
    return tuple(stem(word) for word in words.split("_"))


class Synonyms:
    """Groups of English words; looked up by stems."""

    def __init__(self, lines: list[str]) -> None:
        self._others: dict[Expression, dict[Expression, None]] = {}
        self.words: dict[str, None] = {}
        for line in lines:
            left, arrow, right = line.partition(" > ")
            group = [self._entry(word) for word in left.split()]
            targets = [self._entry(word) for word in right.split()] if arrow else group
            for word in group:
                others = self._others.setdefault(word, {})
                others.update((other, None) for other in targets if other != word)

    def _entry(self, words: str) -> Expression:
        self.words.update((word, None) for word in words.split("_"))
        return _expression(words)

    def of(self, expression: Expression) -> list[Expression]:
        """What else the expression is called, in the order of the file."""
        return list(self._others.get(expression, ()))

    def phrase_at(self, stems: list[str], at: int) -> int:
        """The number of words from here that form a known expression; 1 without one."""
        for length in range(min(_LONGEST_PHRASE, len(stems) - at), 1, -1):
            if tuple(stems[at : at + length]) in self._others:
                return length
        return 1


class Translations:
    """Japanese words with their English names."""

    def __init__(self, lines: list[str]) -> None:
        self._english: dict[str, str] = {}
        for line in lines:
            word, _, english = line.partition("\t")
            self._english[word] = english
            self._english.setdefault(word.rstrip("ー"), english)
        self._longest = max(map(len, self._english), default=0)

    def segments(self, run: str) -> list[tuple[str, list[Expression]]]:
        """The run split at known words, the longest first; unknown parts have no English."""
        found: list[tuple[str, list[Expression]]] = []
        at = unknown = 0
        while at < len(run):
            length = self._word_length(run, at)
            if length:
                if at > unknown:
                    found.append((run[unknown:at], []))
                word = run[at : at + length]
                found.append((word, [_expression(w) for w in self._english[word].split()]))
                unknown = at + length
            at += length or 1
        if unknown < len(run):
            found.append((run[unknown:], []))
        return found

    def _word_length(self, run: str, at: int) -> int:
        for length in range(min(self._longest, len(run) - at), 0, -1):
            if run[at : at + length] in self._english:
                return length
        return 0


class Spelling:
    """Finds the known words that are a few typing errors away, or share a prefix."""

    def __init__(self, words: Iterable[str]) -> None:
        self._words = sorted({word for word in words if len(word) > 2})

    def nearest(self, word: str) -> list[tuple[str, float]]:
        """The known words with the fewest typing errors, each with its similarity (0 to 1)."""
        allowed = _slips_allowed(word)
        if not allowed:
            return []
        from rapidfuzz.distance import OSA
        from rapidfuzz.process import extract

        near = extract(word, self._words, scorer=OSA.distance, score_cutoff=allowed, limit=None)
        found = [(known, slips) for known, slips, _ in near if _believable(word, known, slips)]
        fewest = min((slips for _, slips in found), default=0)
        alike = 1 - fewest / (len(word) + 1)
        return sorted((known, alike) for known, slips in found if slips == fewest)

    def beginning_with(self, start: str) -> list[str]:
        """Known words with this prefix."""
        at = bisect_left(self._words, start)
        return list(takewhile(lambda word: word.startswith(start), self._words[at:]))


def _slips_allowed(word: str) -> int:
    if len(word) < 3 or not word.isalpha():
        return 0
    return 1 if len(word) <= 5 else 2


def _believable(word: str, known: str, slips: int) -> bool:
    """Short words have many neighbours, so only swapped and missing letters count there."""
    if sorted(known) == sorted(word):
        return True
    if len(word) <= 4:
        return known[0] == word[0] and len(known) > len(word)
    return slips == 1 or known[0] == word[0]


@cache
def synonyms() -> Synonyms:
    """The synonyms that come with Clew."""
    return Synonyms(_lines("synonyms.txt"))


@cache
def translations() -> Translations:
    """The Japanese words that come with Clew."""
    return Translations(_lines("japanese.txt"))
