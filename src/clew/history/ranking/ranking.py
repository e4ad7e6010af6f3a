"""The ranking that every door asks: which commits answer a question, the best first."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from heapq import nlargest
from itertools import islice
from typing import Protocol

from clew.history.model import Repo
from clew.history.ranking.candidates import Candidates, Lookup
from clew.history.ranking.features import FEATURES, Measure
from clew.history.ranking.question import Question, either
from clew.history.ranking.weights import weighed
from clew.history.store.interface import ALWAYS, EVER, CommitFilter, HistoryStore, MessageRecord
from clew.kit.errors import ClewError

_LONGEST_BODY = 1200
_NEAREST = 40
_MOST_FILES = 20
_MOST_TOUCHES = 300
_ALLOWED = 4000
_MIDDLE, _STEEP = 6.0, 1.5  # how the sum of weighted features becomes a number from 0 to 1
_MEANING = FEATURES.index("meaning")
_SHARE = FEATURES.index("anywhere")
_SHARED = FEATURES.index("files")
# What counts of a fit: a word of the subject has all three parts of words, one of the diff one.
_FIT = {
    _SHARE: 0.45,
    FEATURES.index("message"): 0.1125,
    FEATURES.index("subject"): 0.1875,
    _MEANING: 0.25,
    _SHARED: 0.35,
}
_FOUND_BY = {
    "words": _SHARE,
    "meaning": FEATURES.index("meaning_rank"),
    "files": _SHARED,
    "name": FEATURES.index("name_added"),
    "mention": FEATURES.index("mention"),
}


class Nearest(Protocol):
    """What finds commits by meaning: id, mark and likeness of the nearest and of some others."""

    def __call__(
        self,
        store: HistoryStore,
        text: str,
        repos: Sequence[Repo],
        *,
        times: tuple[int, int],
        count: int,
        also: Sequence[int] = (),
    ) -> list[tuple[int, int, float]]:
        """The answer; a ClewError says why there is none."""


@dataclass(frozen=True)
class Ranked:
    """A commit that answers: how well beside others, how well at all, and what found it.

    The score orders one answer's commits. How much of the question a commit has compares with
    other questions: the share of the words, and the fit, in which words, meaning and files count.
    """

    id: int
    sha: str
    score: float
    share: float
    fit: float
    found_by: tuple[str, ...]


@dataclass
class Ranker:
    """Where to look, by what, and what could not be used.

    Where all commits with all of the words are known, those can be put in their order alone.
    """

    store: HistoryStore
    wanted: CommitFilter
    nearest: Nearest | None = None
    with_words: bool = True
    matched: Mapping[int, float] | None = None
    skipped: list[str] = field(default_factory=list)

    def rank(self, text: str, most: int, files: Sequence[str] = ()) -> list[Ranked]:
        """The commits that answer a question or touched the same files, the best first."""
        question = Question.read(text)
        rows = self.measured(question, files)
        scored = [(self._score(row, question.kind), commit, row) for commit, row in rows]
        best = nlargest(most, scored, key=lambda one: (one[0], one[1].id))
        return [
            Ranked(
                commit.id, commit.sha.hex(), score, row[_SHARE], _fit(row, with_files=bool(files)),
                tuple(name for name, place in _FOUND_BY.items() if row[place]),
            )
            for score, commit, row in best
        ]  # fmt: skip

    def _score(self, row: Sequence[float], kind: str) -> float:
        """How well a commit answers, from 0 to 1; without words that is how near it is."""
        if not self.with_words:
            return row[_MEANING]
        return 1 / (1 + math.exp((_MIDDLE - weighed(row, kind)) / _STEEP))

    def measured(
        self, question: Question, files: Sequence[str] = ()
    ) -> list[tuple[MessageRecord, list[float]]]:
        """The candidates and their features."""
        lookup = Lookup(self.store, self.wanted)
        words = question if self.with_words else Question("", ())
        candidates = Candidates(lookup, words, self.matched)
        allowed = self._allowed(candidates)
        shared = self._sharing(files) if files else {}
        numbers = dict.fromkeys([*candidates.ids(allowed), *shared])
        otherwise = frozenset(numbers) if self.with_words else frozenset()
        near = self._nearest(question.text, [*numbers, *(allowed or ())])
        numbers |= dict.fromkeys(one for one, _, _ in near[:_NEAREST])
        if allowed is not None:
            by_meaning = nlargest(_NEAREST, (one for one in near if one[0] in allowed), _likeness)
            numbers |= dict.fromkeys(one for one, _, _ in by_meaning)
            numbers = {one: None for one in numbers if one in allowed}
        commits = lookup.messages(numbers, _LONGEST_BODY)
        sure = _sure(near, commits)
        found = [commit for commit in commits if commit.id in sure or commit.id in otherwise]
        return Measure(candidates, sure, shared, self._now()).of(found)

    def _now(self) -> float:
        asked = min(self.wanted.times[1], self.wanted.committed[1])
        return float(min(asked, self.store.newest_time() or ALWAYS))

    def _allowed(self, candidates: Candidates) -> frozenset[int] | None:
        """The commits that pass the filters, as far as they have any of the words; None: all do."""
        if self.matched is not None:
            return frozenset(self.matched)
        if not self.wanted.is_narrow and self.wanted.committed == EVER:
            return None
        others = (self.wanted.people, self.wanted.reached)
        if self.wanted.paths and self.wanted.committed == EVER and others == (None, None):
            touched = self.store.commits_touching(self.wanted.paths, self.wanted.statuses)
            return frozenset(touched) if self.wanted.ids is None else self.wanted.ids
        expression = " OR ".join(map(either, candidates.anywhere))
        if not expression:
            return frozenset()
        found: list[int] = []
        for repo in self.wanted.repos:
            rows = self.store.dated_matches(expression, self.wanted.span(repo), self.wanted)
            found += [number for _, number in islice(rows, _ALLOWED)]
        return frozenset(found)

    def _nearest(self, text: str, also: Sequence[int]) -> list[tuple[int, int, float]]:
        """Id, mark and likeness of the commits nearest in meaning, and of the others."""
        if self.nearest is None:
            return []
        repos, times = self.wanted.repos, self.wanted.times
        try:
            return self.nearest(self.store, text, repos, times=times, count=_NEAREST, also=also)
        except ClewError as error:
            self.skipped.append(f"meaning: {error.message}. {error.hint or ''}".strip())
            return []

    def _sharing(self, files: Sequence[str]) -> dict[int, float]:
        """Commits that touched the files: the share of all their files that is the same."""
        wanted = len(set(files))
        rows = self.store.sharing(
            files[:_MOST_FILES], self.wanted.repos, self.wanted.times, _MOST_TOUCHES
        )
        alike = {number: shared / (wanted + size - shared) for number, shared, size in rows}
        best = nlargest(_NEAREST, alike, key=lambda one: (alike[one], one))
        return {one: alike[one] for one in best}


def _fit(row: Sequence[float], *, with_files: bool) -> float:
    """How much of a question a commit has, from 0 to 1: a subject's words count for most."""
    fit = sum(part * row[place] for place, part in _FIT.items())
    return min(1.0, fit / (sum(_FIT.values()) - (0.0 if with_files else _FIT[_SHARED])))


def _likeness(near: tuple[int, int, float]) -> float:
    return near[2]


def _sure(
    near: Sequence[tuple[int, int, float]], commits: Sequence[MessageRecord]
) -> dict[int, float]:
    """The likeness of commits whose vectors are theirs."""
    marks = {commit.id: int.from_bytes(commit.sha[:8], "little") for commit in commits}
    return {
        number: max(0.0, likeness) for number, mark, likeness in near if marks.get(number) == mark
    }
