"""Past commits that have to do with a text: by rare words, by meaning, and by shared files."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from heapq import nlargest
from typing import TYPE_CHECKING

from clew.history.model import LAST_PLACE, PLACE_BITS, first_id, last_id
from clew.history.scope import COUNTED, briefs, lower_bound
from clew.kit.errors import ClewError
from clew.thread.meaning import by_meaning
from clew.thread.wordrank import Ranking, Text, telling_words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clew.history.model import Repo
    from clew.history.store import HistoryStore

# How much each counts; measured on real histories by benchmarks/thread.py.
_WORDS, _MEANING, _FILES = 0.75, 0.25, 0.35
_NEAREST = 100
_LONGEST_BODY = 4000
_MOST_FILES = 20
_MOST_TOUCHES = 300


@dataclass(frozen=True)
class Related:
    """A commit that was found: what it is, how well it fits, and by what it was found."""

    commit_id: int
    repo: str
    sha: str
    subject: str
    author: str
    date: int
    score: float
    share: float
    found_by: tuple[str, ...]

    @property
    def source(self) -> str:
        """The commit as statements name it."""
        return f"commit:{self.repo}@{self.sha[:12]}"


@dataclass
class Search:
    """Where to look, and what could not be used."""

    store: HistoryStore
    repos: Sequence[Repo]
    since: int | None = None
    until: int | None = None
    skipped: list[str] = field(default_factory=list)

    def related(self, text: str, limit: int, *, files: Sequence[str] = ()) -> list[Related]:
        """Commits that have to do with a text or touched the same files, best first."""
        words = telling_words(text)
        shared = self._by_files(files) if files else {}
        shares, likeness = self._by_text(text, words, list(shared)) if words else ({}, {})
        numbers = [one for one in shares if shares[one] or one in likeness or one in shared]
        scores = {
            one: _WORDS * shares[one]
            + _MEANING * max(0.0, likeness.get(one, 0.0))
            + _FILES * shared.get(one, 0.0)
            for one in numbers
        }
        shown = nlargest(limit, numbers, key=lambda one: (scores[one], one))
        whole = _WORDS + _MEANING + (_FILES if files else 0.0)
        found_in = {"words": shares, "meaning": likeness, "files": shared}
        return [
            Related(
                number, head["repo"], head["sha"], head["subject"], head["author"], head["date"],
                min(1.0, scores[number] / whole), shares[number],
                tuple(name for name, found in found_in.items() if found.get(number)),
            )
            for head, number in zip(briefs(self.store, shown), shown, strict=True)
        ]  # fmt: skip

    def _by_text(
        self, text: str, words: list[str], also: list[int]
    ) -> tuple[dict[int, float], dict[int, float]]:
        """What share of the words each candidate has, and how like the text it is."""
        texts = CommitTexts(self)
        ranking = Ranking(texts, words)
        best = list(dict.fromkeys([*ranking.best(), *also]))
        near = self._by_meaning(text, best)
        shares = ranking.scores(list(dict.fromkeys([*best, *(one[0] for one in near)])))
        return shares, texts.sure(near)

    def _by_meaning(self, text: str, also: list[int]) -> list[tuple[int, int, float]]:
        since = lower_bound(self.since)
        try:
            return by_meaning(self.store, text, self.repos, since=since, count=_NEAREST, also=also)
        except ClewError as error:
            self.skipped.append(f"meaning: {error.message}. {error.hint or ''}".strip())
            return []

    def _by_files(self, files: Sequence[str]) -> dict[int, float]:
        """Commits that touched the files: the share of all their files that is the same."""
        rows = self.store.connection.execute(
            "SELECT c.id, count(DISTINCT f.path_id) AS shared,"  # noqa: S608
            " (SELECT count(*) FROM file_rows o WHERE o.commit_id = c.id) AS size"
            " FROM json_each(?) w JOIN paths p ON p.path = w.value"
            " CROSS JOIN file_rows f ON f.path_id = p.path_id"
            " CROSS JOIN commit_rows c ON c.id = f.commit_id"
            f" WHERE {COUNTED} AND {self.condition()} GROUP BY c.id ORDER BY c.id DESC LIMIT ?",
            (json.dumps(list(files)[:_MOST_FILES]), *self.values(), _MOST_TOUCHES),
        ).fetchall()
        wanted = len(set(files))
        alike = {row[0]: row[1] / (wanted + row[2] - row[1]) for row in rows}
        best = nlargest(_NEAREST, alike, key=lambda one: (alike[one], one))
        return {one: alike[one] for one in best}

    def condition(self) -> str:
        """What a commit's row must fulfil."""
        return "c.id >> 32 IN (SELECT value FROM json_each(?)) AND c.author_time BETWEEN ? AND ?"

    def values(self) -> tuple[object, ...]:
        """The values of that condition."""
        numbers = json.dumps([repo.repo_id for repo in self.repos])
        upper = lower_bound(1 << 62 if self.until is None else self.until)
        return numbers, lower_bound(self.since), upper


class CommitTexts:
    """The commits of an index as texts: the subject, the body, and elsewhere the diff."""

    def __init__(self, search: Search) -> None:
        self._search = search
        self._shas: dict[int, bytes] = {}
        self._connection = search.store.connection.cursor()
        self._connection.row_factory = None
        alone = search.repos[0] if len(search.repos) == 1 else None
        rows = self._connection.execute("SELECT repo_id, next_place FROM repos")
        places: dict[int, int] = dict(rows.fetchall())
        self._places = {alone.repo_id: places[alone.repo_id]} if alone else places
        self.size = sum(self._places.values())
        self._span = (first_id(alone.repo_id), last_id(alone.repo_id)) if alone else None

    def having(self, expression: str, most: int, *, in_message: bool) -> list[int]:
        """Commits that match, the newest first."""
        where = f"{{subject body}} : ({expression})" if in_message else expression
        span = " AND rowid BETWEEN ? AND ?" if self._span else ""
        rows = self._connection.execute(
            f"SELECT rowid FROM search_fts WHERE search_fts MATCH ?{span}"  # noqa: S608
            " ORDER BY rowid DESC LIMIT ?",
            (where, *(self._span or ()), most),
        )
        return [row[0] for row in rows]

    def newer(self, number: int) -> int:
        """How many commits have this id or a larger one, about."""
        own = number >> PLACE_BITS
        after = sum(count for repo_id, count in self._places.items() if repo_id > own)
        return after + self._places.get(own, 0) - (number & LAST_PLACE)

    def read(self, numbers: Sequence[int]) -> dict[int, Text]:
        """The messages of those that count."""
        search = self._search
        rows = self._connection.execute(
            "SELECT c.id, c.subject, substr(c.body, 1, ?), c.sha FROM json_each(?) w"  # noqa: S608
            f" CROSS JOIN commit_rows c ON c.id = w.value WHERE {COUNTED}"
            f" AND {search.condition()}",
            (_LONGEST_BODY, json.dumps(list(numbers)), *search.values()),
        )
        read = {}
        for number, subject, body, sha in rows:
            read[number] = Text(subject, body or "")
            self._shas[number] = sha
        return read

    def sure(self, near: Sequence[tuple[int, int, float]]) -> dict[int, float]:
        """The likeness of commits that were read, where the vector is theirs."""
        from clew.history.vectors import is_marked

        return {
            number: likeness
            for number, mark, likeness in near
            if number in self._shas and is_marked(self._shas[number], mark)
        }
