"""Candidates for a question: what rare words, all words, names and mentions bring, each bounded.

Each word is looked up by itself and only so far: a word in many commits says little of any of
them. What is rare enough brings candidates; the index scores those by all words.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from heapq import nlargest
from typing import Any

from clew.history.model import LAST_PLACE, PLACE_BITS, Repo
from clew.history.ranking.question import NAME, Question, either
from clew.history.store.interface import (
    ALWAYS,
    CommitFilter,
    HistoryStore,
    MessageRecord,
    Span,
    any_phrase,
)
from clew.kit.text.tokens import WORD

COMMON = 500  # a word in more commits than this brings no candidates of its own
_MOST_ROWS = 1500  # how many rows the rare words may bring together
_SCORED = 50
_EVERY = 300
_FIRST = 20
_MENTIONS = 20
_MOST_KEPT = 500  # words whose commits a server remembers
_LEAVE_OUT = 6  # up to this many words, what has all but one is looked up


class Lookup:
    """Commits of some repositories and times, looked up by expressions."""

    def __init__(self, store: HistoryStore, wanted: CommitFilter) -> None:
        self.store = store
        self.wanted = wanted
        self.repos: Sequence[Repo] = wanted.repos
        self.times = wanted.times
        places = store.places()
        self._places = {repo.repo_id: places[repo.repo_id] for repo in wanted.repos}
        self.size = sum(self._places.values())
        self._said: dict[str, array[int]] = store.remembered(("said", *self._places), dict)
        self.spans: list[Span] = [(0, ALWAYS)]
        if wanted.spans or len(places) > len(self._places):
            self.spans = [wanted.span(repo) for repo in wanted.repos]

    def saying(self, expression: str, most: int, *, earliest: bool = False) -> list[int]:
        """Commits that match, the newest or the earliest first."""
        found: list[int] = []
        for span in self.spans:
            found += self.store.saying(expression, span, most, earliest=earliest)
        return found

    def of_word(self, word: str, columns: str = "") -> Sequence[int]:
        """The newest commits that have a word, one more than make it common."""
        where = f"{{{columns}}} : " if columns else ""
        expression = f"{where}({either(word)})"
        if self.wanted.spans:
            return self.saying(expression, COMMON + 1)
        if expression not in self._said:
            if len(self._said) >= _MOST_KEPT:
                del self._said[next(iter(self._said))]
            self._said[expression] = array("q", self.saying(expression, COMMON + 1))
        return self._said[expression]

    def scored(self, expression: str) -> list[tuple[int, float]]:
        """Commits that match, and how well."""
        found: list[tuple[int, float]] = []
        for span in self.spans:
            found += self.store.scored_saying(expression, span)
        return found

    def about(self, newest: Sequence[int]) -> float:
        """How many commits have a word, judged by how far back its newest ones lie."""
        if len(newest) <= COMMON:
            return float(len(newest))
        own = newest[-1] >> PLACE_BITS
        after = sum(count for repo_id, count in self._places.items() if repo_id > own)
        looked_at = max(1, after + self._places.get(own, 0) - (newest[-1] & LAST_PLACE))
        return min(float(self.size), len(newest) * self.size / looked_at)

    def messages(self, ids: Iterable[int], longest: int) -> list[MessageRecord]:
        """The messages of those that count and are of the time."""
        return list(self.store.messages(ids, self.repos, self.times, longest))


@dataclass
class Candidates:
    """Where the words of a question occur, and the commits that are worth reading.

    Where it is known which commits have all of them, and how well these match, no others are
    looked for.
    """

    lookup: Lookup
    question: Question
    matched: Mapping[int, float] | None = None
    anywhere: dict[str, frozenset[int]] = field(default_factory=dict)
    weights: dict[str, float] = field(default_factory=dict)
    message_weights: dict[str, float] = field(default_factory=dict)
    scores: dict[int, float] = field(default_factory=dict)
    told: dict[int, float] = field(default_factory=dict)
    every: frozenset[int] = frozenset()
    phrase: frozenset[int] = frozenset()
    in_paths: dict[str, frozenset[int]] = field(default_factory=dict)
    named: dict[str, frozenset[int]] = field(default_factory=dict)
    first: dict[int, int] = field(default_factory=dict)
    mentions: frozenset[int] = frozenset()

    def __post_init__(self) -> None:
        anywhere = {word: self.lookup.of_word(word) for word in self.question.words}
        known = [word for word in anywhere if anywhere[word]]
        self.weights = {word: self._weight(anywhere[word]) for word in anywhere}
        self.message_weights = dict(self.weights)
        self._look_up_phrase(known)
        if self.matched is not None:
            self.scores = dict(self.matched)
            self.every = frozenset(self.matched)
        elif known:
            self._look_up_all(known, anywhere)
            self._look_up_messages(known)
        self.anywhere = {word: self.every.union(anywhere[word]) for word in known}
        self._look_up_paths(known)
        self._look_up_names()
        self._look_up_mentions()

    def ids(self, allowed: frozenset[int] | None = None) -> list[int]:
        """The candidates, each once: those worth reading of every kind, of those allowed."""
        kinds: list[tuple[int, Iterable[int], Callable[[int], Any] | None]] = [
            (_MENTIONS, self.mentions, None),
            (_SCORED, self.scores, self.scores.__getitem__),
            (_SCORED, self.told, lambda one: (self.told[one], one)),
            (_FIRST, self.first, lambda one: -self.first[one]),
            (_FIRST, self.phrase, None),
            (_FIRST, self.every, None),
            (_SCORED, allowed or (), None),
        ]
        found: dict[int, None] = {}
        for most, numbers, key in kinds:
            passing = numbers if allowed is None else allowed.intersection(numbers)
            found |= dict.fromkeys(nlargest(most, passing, key=key))
        return list(found)

    def _weight(self, newest: Sequence[int]) -> float:
        many = self.lookup.about(newest)
        return math.log(1 + max(self.lookup.size - many, 0.0) / (many + 0.5))

    @staticmethod
    def _bringing(postings: Mapping[str, Sequence[int]]) -> set[str]:
        """The rarest words that together bring not too many commits."""
        rows = 0
        chosen: set[str] = set()
        for word in sorted(postings, key=lambda one: len(postings[one])):
            rows += len(postings[word])
            if len(postings[word]) > COMMON or (chosen and rows > _MOST_ROWS):
                break
            if postings[word]:
                chosen.add(word)
        return chosen

    def _look_up_all(self, known: Sequence[str], anywhere: Mapping[str, Sequence[int]]) -> None:
        if len(known) == len(self.question.words):
            self.every = frozenset(self.lookup.saying(_all_of(known), _EVERY))
        rare = self._bringing(anywhere)
        groups = [group for group in self._most_words(known) if rare.isdisjoint(group)]
        which = " OR ".join(
            [*map(either, sorted(rare)), *(f"({_all_of(group)})" for group in groups)]
        )
        # What has all words anyway need not be asked for any: each word would be scored twice.
        is_whole = not rare and (self.every or len(known) == 1)
        any_known = " OR ".join(map(either, known))
        self.scores = dict(
            self.lookup.scored(which if is_whole else f"({which}) AND ({any_known})")
        )

    def _look_up_messages(self, known: Sequence[str]) -> None:
        """What messages say: how much each has of the words, if any word of it is rare in them."""
        said = {word: self.lookup.of_word(word, "subject body") for word in known}
        self.message_weights |= {word: self._weight(ids) for word, ids in said.items()}
        told = dict.fromkeys(
            (one for ids in said.values() if len(ids) <= COMMON for one in ids), 0.0
        )
        for word, ids in said.items():
            weight = self.message_weights[word]
            for number in told.keys() & ids:
                told[number] += weight
        self.told = told

    def _look_up_phrase(self, known: Sequence[str]) -> None:
        if " " in self.question.phrase and 0 < len(known) <= 2 * _LEAVE_OUT:
            self.phrase = frozenset(self.lookup.saying(any_phrase([self.question.phrase]), _EVERY))

    def _most_words(self, known: Sequence[str]) -> list[Sequence[str]]:
        """All of the words where commits have them, or else of the telling ones all but one."""
        if self.every:
            return [known]
        telling = sorted(known, key=lambda word: -self.weights[word])[:_LEAVE_OUT]
        if len(telling) < 3:
            return [telling]
        return [[word for word in telling if word != left_out] for left_out in telling]

    def _look_up_paths(self, known: Sequence[str]) -> None:
        for word in known:
            found = self.lookup.of_word(word, "paths")
            if 0 < len(found) <= COMMON:
                self.in_paths[word] = frozenset(found)

    def _look_up_names(self) -> None:
        names = list(self.question.names)
        if not names and self.question.kind == NAME and self.question.words:
            names = [self.question.text]
        for name in names:
            words = " ".join(WORD.findall(name))
            added = any_phrase([words], "added")
            self.named[name] = frozenset(self.lookup.saying(added, COMMON))
            for place, number in enumerate(self.lookup.saying(added, _FIRST, earliest=True)):
                self.first[number] = min(place, self.first.get(number, place))

    def _look_up_mentions(self) -> None:
        found: set[int] = set()
        for issue in self.question.issues:
            found.update(self.lookup.saying(any_phrase([issue], "subject body"), _MENTIONS))
        for sha in self.question.shas:
            for repo in self.lookup.repos:
                by_sha = self.lookup.store.commits_by_prefix(repo.repo_id, sha, _MENTIONS)
                found.update(one.id for one in by_sha)
            found.update(self.lookup.saying(f'{{subject body}} : ("{sha[:7]}"*)', _MENTIONS))
        self.mentions = frozenset(found)


def _all_of(words: Iterable[str]) -> str:
    return " AND ".join(f"({either(word)})" for word in words)
