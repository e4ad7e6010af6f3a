"""How well commits fit a bug report: what their changed lines share with it, and what they are.

A commit that caused a bug seldom says so; what it changed carries the names that a report has.
"""

from __future__ import annotations

import math
import re
from collections import deque
from collections.abc import Callable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from clew.history.lookup import patch_text
from clew.history.model import Repo
from clew.history.ranking.candidates import COMMON, Lookup
from clew.history.ranking.question import WRITTEN_NAME, Question, either, stem, words_of_stem
from clew.history.search.filters import between
from clew.history.search.pathkind import path_kind
from clew.history.store.interface import HistoryStore, MessageRecord
from clew.kit.text.diff import Hunk, file_diffs
from clew.kit.text.tokens import WORD, lower_words

FEATURES = (
    "rank", "added", "paths", "hunk", "line", "names_added", "name_line", "code", "size", "fix",
    "age", "area", "dense", "subject", "name_first",
)  # fmt: skip
_LARGEST_PATCH = 400_000
_MOST_LINES = 3000
_NAME_SHARE = 1.5
_DAY = 86400
_NEAR_LINES = 12
_TEST_SHARE = 0.4
_SIGNS = {"+": 1.0, "-": 0.7}  # how much a changed line says
_SCALE = 8.0  # of the ranking's sums
_FIX = re.compile(r"\b(fix\w*|bug\w*|typos?|revert\w*|warnings?|leak\w*)\b", re.IGNORECASE)
_AREA = re.compile(r"[\w./+-]+(?=[:(\]])|(?<=\[)[\w./+-]+")


@dataclass(frozen=True)
class Place:
    """The changed line that says most of a report: its file and number, and the hunk that has it."""

    path: str
    number: int
    at: int
    hunk: Hunk


@dataclass(frozen=True)
class Fit:
    """What a commit has of a report, in numbers, in words, and at its best place."""

    features: list[float]
    place: Place | None
    lines: int


class Measure:
    """Measures commits by one report."""

    def __init__(
        self, store: HistoryStore, repo: Repo, report: str, now: int | None = None
    ) -> None:
        self._store = store
        self.question = Question.read(report)
        self.weights = _weights(store, repo, self.question)
        self._whole = sum(self.weights.values()) or 1.0
        self._names = frozenset(self.question.names)
        self._forms = {form: one for one in self.weights for form in words_of_stem(one)}
        self._areas = _areas(report)
        self._now = now or store.newest_time() or 0

    def of(self, commit: MessageRecord, rank: float, name_first: float) -> Fit:
        """How well a commit fits."""
        seen = _Seen(self.weights)
        is_code = False
        in_paths: set[str] = set()
        for part in file_diffs(patch_text(self._store, commit.id, _LARGEST_PATCH) or ""):
            kind = path_kind(part.path)
            is_code |= kind == "code"
            if kind in ("code", "test"):
                in_paths |= self.said(part.path)
                for hunk in part.hunks:
                    seen.read(part.path, hunk, 1.0 if kind == "code" else _TEST_SHARE, self.said)
        areas = _areas(commit.subject)
        features = [
            rank / _SCALE,
            self._share(seen.added),
            self._share(in_paths),
            seen.best_hunk / self._whole,
            seen.best_line / self._whole,
            self._named(seen.added),
            float(bool(self._names & seen.said)),
            float(is_code),
            math.log1p(commit.size) / 12,
            float(_FIX.search(commit.subject) is not None),
            math.log1p(max(0, self._now - commit.date) / _DAY) / 8,
            len(areas & self._areas) / len(self._areas) if self._areas else 0.0,
            seen.telling / (1 + seen.lines),
            self._share(self.said(commit.subject)),
            name_first,
        ]
        return Fit(features, seen.place, seen.telling)

    def said(self, line: str) -> set[str]:
        """The words and names of the report that a text has."""
        found = {self._forms[word] for word in self._forms.keys() & lower_words(line)}
        if any(name in line for name in self._names):
            found |= self._names.intersection(WRITTEN_NAME.findall(line))
        return found

    def words_in(self, hunk: Hunk) -> list[str]:
        """What the changed lines of a hunk share with the report, as written there, rarest first."""
        found: dict[str, float] = {}
        for line in (one[1:] for one in hunk.lines if one[:1] in ("+", "-")):
            named = self._names.intersection(WRITTEN_NAME.findall(line))
            found |= {name: self.weights[name] for name in named}
            for word in lower_words(line):
                if word in self._forms and not any(word in name.lower() for name in found):
                    found[word] = self.weights[self._forms[word]]
        return sorted(found, key=lambda word: -found[word])

    def _share(self, words: AbstractSet[str]) -> float:
        return sum(self.weights[word] for word in words) / self._whole

    def _named(self, words: AbstractSet[str]) -> float:
        return len(words & self._names) / len(self._names) if self._names else 0.0


class _Seen:
    """What has been read of a commit's changes."""

    def __init__(self, weights: Mapping[str, float]) -> None:
        self._weights = weights
        self.added: set[str] = set()
        self.said: frozenset[str] = frozenset()
        self.best_hunk = self.best_line = 0.0
        self._best = 0.0
        self.lines = self.telling = 0
        self.place: Place | None = None

    def read(self, path: str, hunk: Hunk, share: float, said_of: Callable[[str], set[str]]) -> None:
        """Read a hunk: what its lines say one by one, and those near one another together."""
        if self.lines > _MOST_LINES:
            return
        context = said_of(hunk.header.rpartition("@@")[2])
        near: deque[tuple[int, set[str]]] = deque()
        top: tuple[float, int, int] = (0.0, 0, 0)  # of the last lines: score, number, index
        number = hunk.new_start
        for at, line in enumerate(hunk.lines):
            sign = line[:1]
            said = said_of(line[1:])
            if sign in ("+", "-"):
                self.lines += 1
                if sign == "+":
                    self.added |= said
                self.telling += len(said) > 1
            if said:
                near.append((at, said))
                while near[0][0] < at - _NEAR_LINES:
                    near.popleft()
                top = top if top[2] >= near[0][0] else (0.0, 0, 0)
                own = self._sum(said) * _SIGNS.get(sign, 0.0)
                self.best_line = max(self.best_line, share * own)
                top = max(top, (own, number, at))
                here = context.union(*(one for _, one in near))
                together = share * self._sum(here)
                if top[0]:
                    self.best_hunk = max(self.best_hunk, together)
                if top[0] and together + share * top[0] > self._best:
                    self._best, self.said = together + share * top[0], frozenset(here)
                    self.place = Place(path, top[1], top[2], hunk)
            number += sign in ("+", " ")

    def _sum(self, words: AbstractSet[str]) -> float:
        return sum(self._weights[word] for word in words)


def _areas(text: str) -> set[str]:
    """What a subject begins with, as far as a colon or in brackets: the part that it is about."""
    head = text.partition("\n")[0].lower()
    head = head[: max(head.rfind(":", 0, 60), head.rfind("]", 0, 60)) + 1]
    return {part for found in _AREA.findall(head) for part in re.split(r"[/.]", found) if part}


def _weights(store: HistoryStore, repo: Repo, question: Question) -> dict[str, float]:
    """What each word of a report says of a commit, the rarer the more; names say most."""
    lookup = Lookup(store, between(store, [repo], None, None))
    rarity = {}
    for word in question.words:
        many = lookup.about(lookup.saying(f"({either(word)})", COMMON + 1))
        rarity[word] = math.log(1 + max(lookup.size - many, 0.0) / (many + 0.5))
    weights = {stem(word): weight for word, weight in rarity.items()}
    for name in question.names:
        parts = [rarity.get(part.lower(), 0.0) for part in WORD.findall(name)]
        weights[name] = _NAME_SHARE * max([0.0, *parts])
    return weights
