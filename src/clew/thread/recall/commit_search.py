"""Past commits that have to do with a text: by rare words, by meaning, and by shared files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from heapq import nlargest

from clew.history.lookup import briefs, lower_bound
from clew.history.model import Repo
from clew.history.search.candidates import Candidates
from clew.history.store.interface import HistoryStore
from clew.kit.errors import ClewError
from clew.specs.index.text_index import Text
from clew.thread.recall.meaning import by_meaning
from clew.thread.recall.word_rank import Ranking, telling_words

# How much each counts; measured on real histories by benchmarks/rooms/thread.py.
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
        texts = CommitTexts(self)
        shared = _by_files(texts, files) if files else {}
        shares, likeness = self._by_text(texts, text, words, list(shared)) if words else ({}, {})
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
        self, texts: CommitTexts, text: str, words: list[str], also: list[int]
    ) -> tuple[dict[int, float], dict[int, float]]:
        """What share of the words each candidate has, and how like the text it is."""
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


class CommitTexts(Candidates):
    """The commits of an index as texts: the subject, the body, and elsewhere the diff."""

    def __init__(self, search: Search) -> None:
        super().__init__(search.store, search.repos, search.since, search.until)
        self._shas: dict[int, bytes] = {}

    def read(self, numbers: Sequence[int]) -> dict[int, Text]:
        """The messages of those that count."""
        read = {}
        for one in self.messages(numbers, _LONGEST_BODY):
            read[one.id] = Text(one.subject, one.body or "")
            self._shas[one.id] = one.sha
        return read

    def sure(self, near: Sequence[tuple[int, int, float]]) -> dict[int, float]:
        """The likeness of commits that were read, where the vector is theirs."""
        from clew.history.semantic.vectors import is_marked

        return {
            number: likeness
            for number, mark, likeness in near
            if number in self._shas and is_marked(self._shas[number], mark)
        }


def _by_files(texts: CommitTexts, files: Sequence[str]) -> dict[int, float]:
    """Commits that touched the files: the share of all their files that is the same."""
    wanted = len(set(files))
    alike = {
        number: shared / (wanted + size - shared)
        for number, shared, size in texts.sharing(files[:_MOST_FILES], _MOST_TOUCHES)
    }
    best = nlargest(_NEAREST, alike, key=lambda one: (alike[one], one))
    return {one: alike[one] for one in best}
