"""The documented ways to compare texts, implemented exactly: word cosine, TF-IDF and BM25.

The searched text is `c1 c2 c3 description` in lower case. Word cosine counts words between
blanks. TF-IDF and BM25 also count the parts of words joined by hyphens or underscores. Scores of
BM25 have no upper limit.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from functools import cached_property
from math import log, sqrt

from clew.commands.model import Command

COSINE, TFIDF, BM25 = "cosine", "tfidf", "bm25"
PLAIN_ALGORITHMS = (COSINE, TFIDF, BM25)

_BLANKS = re.compile(r"\s+")
_JOINTS = re.compile(r"[-_]")
_K1 = 1.2
_B = 0.75

Counts = Counter[str]


def cosine_words(text: str) -> list[str]:
    """Words between blanks, in lower case; a blank at either end makes an empty word."""
    return _BLANKS.split(text.lower())


def compound_words(text: str) -> list[str]:
    """Words between blanks, and the parts of those with hyphens or underscores."""
    words: list[str] = []
    for word in text.lower().split():
        parts = [part for part in _JOINTS.split(word) if part]
        words += [word] if parts == [word] else [word, *parts]
    return words


class PlainIndex:
    """The texts of commands, counted once for many queries."""

    def __init__(self, commands: Sequence[Command]) -> None:
        self._texts = [f"{command.label} {command.description}" for command in commands]

    def scores(self, query: str, algorithm: str) -> dict[int, float]:
        """The score of each command that has a word of the query, by its number."""
        if not query.strip():
            return {}
        if algorithm == COSINE:
            return cosines(Counter(cosine_words(query)), self._word_counts, lambda _: 1.0)
        if algorithm == TFIDF:
            return cosines(Counter(compound_words(query)), self._compound_counts, self._idf)
        return self._bm25(compound_words(query))

    @cached_property
    def _word_counts(self) -> list[Counts]:
        return [Counter(cosine_words(text)) for text in self._texts]

    @cached_property
    def _compound_counts(self) -> list[Counts]:
        return [Counter(compound_words(text)) for text in self._texts]

    @cached_property
    def _holders(self) -> Counts:
        """The number of texts that have each word."""
        return Counter(word for counts in self._compound_counts for word in counts)

    def _idf(self, word: str) -> float:
        return log((1 + len(self._texts)) / (1 + self._holders[word])) + 1

    def _bm25(self, query: list[str]) -> dict[int, float]:
        lengths = [counts.total() for counts in self._compound_counts]
        usual = sum(lengths) / max(1, len(lengths))
        scores: dict[int, float] = {}
        for number, counts in enumerate(self._compound_counts):
            damping = _K1 * (1 - _B + _B * lengths[number] / usual)
            for word in query:
                if times := counts[word]:
                    having = self._holders[word]
                    rarity = log((len(self._texts) - having + 0.5) / (having + 0.5) + 1)
                    gain = rarity * times * (_K1 + 1) / (times + damping)
                    scores[number] = scores.get(number, 0.0) + gain
        return scores


def cosines(query: Counts, texts: list[Counts], weight: Callable[[str], float]) -> dict[int, float]:
    """The cosine between the weighted counts of a query and of each text that shares a word."""
    asked = {word: count * weight(word) for word, count in query.items()}
    length = sqrt(sum(value**2 for value in asked.values()))
    scores: dict[int, float] = {}
    for number, counts in enumerate(texts):
        shared = sum(value * counts[word] * weight(word) for word, value in asked.items())
        if shared:
            theirs = sqrt(sum((count * weight(word)) ** 2 for word, count in counts.items()))
            scores[number] = shared / (length * theirs)
    return scores
