"""Ranking by words, quickly: rare words find the candidates, all words weigh them.

A text index that ranks every match reads thousands of rows for a common word, which says little.
Here each word is looked up by itself and only so far; what is rare enough brings candidates, and
only those are read and scored.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Sequence
from heapq import nlargest
from typing import Protocol

from clew.history.ranking.question import either, forms
from clew.kit.text import tokens
from clew.specs.index.text_index import Text

COMMON = 700  # a word in more texts than this brings no candidates of its own
_MOST_WORDS = 24
_SCORED = 120
_ENOUGH = 150  # with this many messages that have a word, diffs that have it add little
_NEWEST = 300
_LONG = 500  # a longer body counts for less
_SATURATION = 1.2
_TITLE, _BODY, _ELSEWHERE = 3.0, 1.4, 0.9


class Texts(Protocol):
    """Texts that can be looked up by a word and read by number."""

    @property
    def size(self) -> int:
        """How many there are, about."""

    def having(self, expression: str, most: int, *, in_message: bool) -> list[int]:
        """Numbers of texts that match, the newest first."""

    def newer(self, number: int) -> int:
        """How many texts come with this number or after it, about."""

    def read(self, numbers: Sequence[int]) -> dict[int, Text]:
        """The texts of these numbers."""


def telling_words(text: str) -> list[str]:
    """The words of a question that say what it is about, each once, in its order."""
    return tokens.telling_words(text, _MOST_WORDS, shortest=2)


def ranked(texts: Texts, words: Sequence[str], most: int) -> list[tuple[int, float]]:
    """The texts that answer these words best, with the share of the words' weight they have."""
    ranking = Ranking(texts, words)
    scored = sorted(ranking.scores(ranking.best()).items(), key=lambda one: (-one[1], -one[0]))
    return scored[:most]


class Ranking:
    """Where each word of a question occurs, and how much it weighs."""

    def __init__(self, texts: Texts, words: Sequence[str]) -> None:
        self._texts = texts
        self._words = list(words)
        self._weights: dict[str, float] = {}
        self._rough: dict[int, float] = defaultdict(float)
        self._elsewhere: dict[str, set[int]] = {}
        self._known: dict[str, bool] = {}
        self._forms = {word: forms(word) for word in self._words}
        every = "|".join(sorted({form for forms in self._forms.values() for form in forms}))
        self._pattern = re.compile(rf"(?<![^\W_])(?:{every})(?![^\W_])")
        for word in self._words:
            self._look_up(word)

    def _look_up(self, word: str) -> None:
        expression = either(word)
        messages = self._texts.having(expression, COMMON + 1, in_message=True)
        anywhere: list[int] = []
        if len(messages) <= _ENOUGH:
            anywhere = self._texts.having(expression, COMMON + 1, in_message=False)
        many = self._about(anywhere or messages)
        # Never 0: where every text has a word, its place still tells them apart.
        weight = math.log(1 + (max(self._texts.size - many, 0) + 0.5) / (many + 0.5))
        self._weights[word] = weight
        self._known[word] = bool(messages or anywhere)
        if len(messages) <= COMMON:
            for number in messages:
                self._rough[number] += weight * _TITLE
        self._elsewhere[word] = set()
        if len(anywhere) <= COMMON:
            self._elsewhere[word] = set(anywhere).difference(messages)
            for number in self._elsewhere[word]:
                self._rough[number] += weight * _ELSEWHERE

    def _about(self, newest: list[int]) -> float:
        """How many texts have a word, judged by how far back its newest ones lie."""
        if len(newest) <= COMMON:
            return float(len(newest))
        looked_at = max(1, self._texts.newer(newest[-1]))
        return min(float(self._texts.size), len(newest) * self._texts.size / looked_at)

    def best(self) -> list[int]:
        """The numbers of the texts that are worth reading."""
        rough = self._rough
        return nlargest(_SCORED, self._candidates(), key=lambda number: (rough[number], number))

    def scores(self, numbers: Sequence[int]) -> dict[int, float]:
        """How much of the question's weight each text has, of those that can be read."""
        whole = sum(self._weights.values()) or 1.0
        read = self._texts.read(numbers)
        return {number: self._score(number, text) / whole for number, text in read.items()}

    def _candidates(self) -> list[int]:
        """What rare words bring; where all are common, the newest that have them all."""
        if not self._rough:
            known = [word for word in self._words if self._known[word]]
            every = " AND ".join(f"({either(word)})" for word in known)
            some = " OR ".join(either(word) for word in known)
            newest: list[int] = []
            for expression in (every, some) if known else ():
                newest = newest or self._texts.having(expression, _NEWEST, in_message=True)
            for number in newest:
                self._rough[number] = 0.0
        return list(self._rough)

    def _score(self, number: int, text: Text) -> float:
        """How well one text answers: weight of its words, by where and how often they occur."""
        title = self._pattern.findall(text.title.lower())
        body = self._pattern.findall(text.body.lower())
        share = _BODY / (1 + 0.25 * max(0.0, len(text.body) / _LONG - 1))
        total = 0.0
        for word, weight in self._weights.items():
            place = 0.0
            for form in self._forms[word]:
                if form in title:
                    place += _TITLE
                if form in body:
                    place += share * body.count(form)
            if not place and number in self._elsewhere[word]:
                place = _ELSEWHERE
            if place:
                total += weight * place / (place + _SATURATION)
        return total * (_TITLE + _SATURATION) / _TITLE
