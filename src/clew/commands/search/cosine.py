"""The documented ways to compare texts, kept to the letter: word cosine, TF-IDF and BM25.

The searched text is `c1 c2 c3 description` in small letters. Word cosine counts words between
blanks. TF-IDF and BM25 also count the parts of words joined by hyphens or underscores. Scores of
BM25 have no upper end.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from math import log, sqrt

from clew.commands.model import Command

COSINE, TFIDF, BM25 = "cosine", "tfidf", "bm25"
PLAIN_ALGORITHMS = (COSINE, TFIDF, BM25)

_BLANKS = re.compile(r"\s+")
_JOINTS = re.compile(r"[-_]")
_K1 = 1.2
_B = 0.75


def cosine_words(text: str) -> list[str]:
    """Words between blanks, in small letters; a blank at an end makes an empty word."""
    return _BLANKS.split(text.lower())


def compound_words(text: str) -> list[str]:
    """Words between blanks, and the parts of those with hyphens or underscores."""
    words: list[str] = []
    for word in text.lower().split():
        words.append(word)
        parts = [part for part in _JOINTS.split(word) if part]
        if parts != [word]:
            words += parts
    return words


def searched_text(command: Command) -> str:
    """What a query is compared with."""
    return f"{command.c1} {command.c2} {command.c3} {command.description}".lower()


def _length(values: Iterable[float]) -> float:
    return sqrt(sum(value * value for value in values))


class PlainIndex:
    """The texts of commands, counted once for many queries."""

    def __init__(self, commands: Sequence[Command]) -> None:
        self._texts = [searched_text(command) for command in commands]

    def scores(self, query: str, algorithm: str) -> dict[int, float]:
        """The score of each command that has a word of the query, by its number."""
        if not query.strip():
            return {}
        if algorithm == COSINE:
            return _cosines(Counter(cosine_words(query)), self._word_counts, lambda _: 1.0)
        if algorithm == TFIDF:
            return _cosines(Counter(compound_words(query)), self._compound_counts, self._idf)
        return self._bm25(compound_words(query))

    @cached_property
    def _word_counts(self) -> list[Counter[str]]:
        return [Counter(cosine_words(text)) for text in self._texts]

    @cached_property
    def _compound_counts(self) -> list[Counter[str]]:
        return [Counter(compound_words(text)) for text in self._texts]

    @cached_property
    def _holders(self) -> Counter[str]:
        """In how many texts each word is."""
        return Counter(word for counts in self._compound_counts for word in counts)

    def _idf(self, word: str) -> float:
        return log((1 + len(self._texts)) / (1 + self._holders[word])) + 1

    def _bm25(self, query: list[str]) -> dict[int, float]:
        lengths = [counts.total() for counts in self._compound_counts]
        usual = sum(lengths) / len(lengths) if lengths else 0.0
        scores: dict[int, float] = {}
        for number, counts in enumerate(self._compound_counts):
            damping = _K1 * (1 - _B + _B * lengths[number] / usual)
            for word in query:
                if times := counts[word]:
                    gain = self._rarity(word) * times * (_K1 + 1) / (times + damping)
                    scores[number] = scores.get(number, 0.0) + gain
        return scores

    def _rarity(self, word: str) -> float:
        having = self._holders[word]
        return log((len(self._texts) - having + 0.5) / (having + 0.5) + 1)


def _cosines(
    query: Counter[str], texts: list[Counter[str]], weight: Callable[[str], float]
) -> dict[int, float]:
    asked = {word: count * weight(word) for word, count in query.items()}
    length = _length(asked.values())
    scores: dict[int, float] = {}
    for number, counts in enumerate(texts):
        shared = sum(value * counts[word] * weight(word) for word, value in asked.items())
        if shared:
            theirs = _length(count * weight(word) for word, count in counts.items())
            scores[number] = shared / (length * theirs)
    return scores
