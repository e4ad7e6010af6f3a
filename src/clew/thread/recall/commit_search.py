"""Past commits that have to do with a text, as the one ranking has them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from clew.history.lookup import briefs
from clew.history.model import Repo
from clew.history.ranking.ranking import Ranker
from clew.history.search.filters import between
from clew.history.semantic.nearest import by_meaning
from clew.history.store.interface import HistoryStore


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
        wanted = between(self.store, self.repos, self.since, self.until)
        ranker = Ranker(self.store, wanted, by_meaning, skipped=self.skipped)
        found = ranker.rank(text, limit, files)
        heads = briefs(self.store, [one.id for one in found])
        return [
            Related(
                one.id, head["repo"], head["sha"], head["subject"], head["author"], head["date"],
                one.fit, one.share, one.found_by,
            )
            for one, head in zip(found, heads, strict=True)
        ]  # fmt: skip
