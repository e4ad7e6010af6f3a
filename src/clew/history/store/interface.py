"""What an index of commits must be able to do: every access to its data, by name.

SQLite is one implementation; `tests/history/store/test_contract.py` holds any other to the
same behaviour. Three conventions are part of the contract:

- A commit's id is its repository's number and its place in that repository's history
  (`model.first_id`), so larger ids of one repository are later in its history.
- A commit *counts* if a ref reaches it and it is no merge: a merge repeats what the commits of
  its second parent say.
- Text is looked up by expressions in the documented query language: quoted phrases, `*`, AND,
  OR, NOT, and `{columns} : (...)` over subject, body, added, removed, context and paths.
"""

from __future__ import annotations

from collections.abc import (
    Callable,
    Collection,
    Hashable,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeVar

from clew.history.model import IndexedCommit, Repo, first_id, last_id
from clew.kit.errors import Invalid

if TYPE_CHECKING:
    from clew.history.store.vectors import Vectors

Span = tuple[int, int]

Dated = tuple[int, int]

Match = tuple[int, float, int, str]


_Value = TypeVar("_Value")
ALWAYS = 1 << 62
EVER = (-ALWAYS, ALWAYS)


class QueryNotUnderstood(Invalid):
    """An expression that is not written in the query language."""


class SyncState(NamedTuple):
    """When a repository was synced, up to where, and what went wrong."""

    at: int | None = None
    sha: str | None = None
    error: str | None = None


class CommitRecord(NamedTuple):
    """One commit as lists and answers show it; `date` is when its author wrote it."""

    id: int
    sha: str
    subject: str
    body: str | None
    author: str
    date: int
    commit_time: int
    preview: str
    reachable: bool


class MessageRecord(NamedTuple):
    """A commit's message, when its author wrote it, and how many bytes its patch has."""

    id: int
    subject: str
    body: str | None
    sha: bytes
    date: int
    size: int


class TouchedFile(NamedTuple):
    """One file of one commit."""

    path_id: int
    path: str
    status: str
    old_path: str | None


class Effort(NamedTuple):
    """Who changed how many lines with one commit, and when."""

    id: int
    author_id: int
    author_time: int
    commit_time: int
    lines: int


class Change(NamedTuple):
    """What a commit did to a path."""

    id: int
    author_id: int
    author_time: int
    added: int
    removed: int
    commit_time: int
    path: str
    status: str
    old_path: str | None


class Touch(NamedTuple):
    """One file of one commit, in a list by time."""

    author_time: int
    id: int
    number: int
    sha: str
    subject: str
    path: str
    status: str


class Hotspot(NamedTuple):
    """How much a path changed in a time."""

    repo: str
    path: str
    commits: int
    added: int
    removed: int
    authors: int


class UnreadCommit(NamedTuple):
    """A commit whose diff git could not read."""

    id: int
    sha: str
    problem: str
    reachable: bool


class Redaction(NamedTuple):
    """A secret that was kept out of the index."""

    sha: str
    date: int
    subject: str
    kind: str
    hint: str
    reachable: bool


class SizedMessage(NamedTuple):
    """A commit's message, and how many lines the commit added."""

    sha: str
    subject: str
    body: str
    date: int
    lines: int


class Swept(NamedTuple):
    """How much was dropped because nothing referred to it."""

    patches: int
    paths: int
    people: int


@dataclass(frozen=True)
class CommitFilter:
    """Which commits pass; None asks nothing. Numbers are those of the same index."""

    repos: list[Repo]
    paths: dict[int, str] | None = None
    statuses: str = ""
    people: list[int] | None = None
    times: tuple[int, int] = EVER  # when it was written
    committed: tuple[int, int] = EVER
    ids: frozenset[int] | None = None  # all commits that pass paths and statuses, if few
    reached: frozenset[int] | None = None
    spans: Mapping[int, Span] | None = None

    def span(self, repo: Repo) -> Span:
        """Between which ids the commits of a repository lie that are of the time asked for."""
        known = (self.spans or {}).get(repo.repo_id)
        return known or (first_id(repo.repo_id), last_id(repo.repo_id))

    @property
    def is_narrow(self) -> bool:
        """Whether matches are asked for more than their time."""
        asked = (self.paths, self.people, self.reached)
        return bool(self.statuses) or any(one is not None for one in asked)

    @property
    def is_empty(self) -> bool:
        """Whether no commit can pass."""
        sets = (self.paths, self.people, self.ids, self.reached)
        return not self.repos or any(found is not None and not found for found in sets)


class HistoryStore(Protocol):
    """The index. Ids and numbers are valid until commits are removed."""

    path: Path  # files that belong to the index lie beside it

    @property
    def visible(self) -> frozenset[int] | None:
        """The repositories that whoever asks may see; None: all."""

    def seen_by(self, patterns: Sequence[str]) -> HistoryStore:
        """The same index for whoever may see only repositories of such names: no other is there."""

    @property
    def address(self) -> str:
        """Where the index is: what opens it again."""

    def close(self) -> None:
        """Release what the store holds."""

    def snapshot(self) -> AbstractContextManager[HistoryStore]:
        """One state of the index for all that is read inside, whatever others write meanwhile."""

    def writing(self, *, discard: bool = False) -> AbstractContextManager[None]:
        """One transaction: all of it or nothing; with `discard` nothing in any case."""

    def remembered(self, key: Hashable, make: Callable[[], _Value]) -> _Value:
        """What `make` gave for this key, made again once anything was written to the index."""

    def locked(self, repo_id: int | None = None) -> AbstractContextManager[None]:
        """Held by whoever reads commits in or takes them out: one for each repository, or for all."""

    # Repositories, and how far each is indexed.

    def repos(self) -> list[Repo]:
        """All repositories, in the order they were added."""

    def find_repo(self, name: str) -> Repo:
        """The repository of that name; NotFound if there is none."""

    def add_repo(self, repo: Repo) -> Repo:
        """Register a repository; Conflict if the name is taken."""

    def update_repo(self, repo: Repo) -> None:
        """Store a repository's new settings."""

    def remove_repo(self, repo_id: int) -> int:
        """Delete a repository and everything indexed of it; how many commits. Transaction."""

    def places(self) -> dict[int, int]:
        """The place that the next commit of each repository gets: about how many it has."""

    def commit_count(self, repo_id: int) -> int:
        """How many reachable commits of a repository are indexed."""

    def state(self, repo_id: int) -> SyncState:
        """The outcome of the last sync."""

    def set_state(self, repo_id: int, at: int | None, sha: str | None, error: str | None) -> None:
        """Store the outcome of a sync; None keeps what is there, except for the error."""

    def tips(self, repo_id: int) -> dict[str, str]:
        """The refs up to which everything is indexed."""

    def tips_mark(self, repo_id: int) -> str | None:
        """What was said to stand for these refs: sooner read than all of them."""

    def set_tips(self, repo_id: int, tips: Mapping[str, str], mark: str = "") -> None:
        """Store the refs up to which everything is indexed now, and their mark. Transaction."""

    # Commits written and removed, inside a transaction.

    def write_commits(self, repo_id: int, commits: Sequence[IndexedCommit]) -> None:
        """Append commits to a repository's history."""

    def rewrite_commit(self, commit_id: int, commit: IndexedCommit, *, reachable: bool) -> None:
        """Replace what is known of one commit."""

    def mark_reachable(self, repo_id: int, shas: Iterable[str]) -> int:
        """Record that refs reach exactly these commits; how many indexed ones they do not."""

    def hide_commits(self, repo_id: int, shas: Iterable[str]) -> None:
        """Record that no ref reaches these commits."""

    def delete_commits(self, ids: Iterable[int]) -> int:
        """Delete commits wherever they are mentioned; how many."""

    def delete_repo_commits(self, repo_id: int) -> int:
        """Delete all commits of a repository; how many."""

    def sweep_patches(self) -> int:
        """Delete patches that no commit has; how many."""

    def sweep(self) -> Swept:
        """Delete patches, paths and people that nothing refers to."""

    # Single commits.

    def known(self, repo_id: int, shas: Iterable[str]) -> dict[str, int]:
        """Which of these commits are indexed, with their ids."""

    def commits(self, ids: Iterable[int]) -> dict[int, CommitRecord]:
        """Commits by id; those that are not there are left out."""

    def commits_by_prefix(
        self, repo_id: int, prefix: str, most: int, *, with_unreachable: bool = False
    ) -> list[CommitRecord]:
        """The commits whose SHA begins so."""

    def files(self, ids: Iterable[int]) -> dict[int, list[TouchedFile]]:
        """The files of each of these commits, sorted by path."""

    def matched_paths(self, ids: Iterable[int], wanted: CommitFilter) -> dict[int, list[str]]:
        """Those paths of each of these commits that the filter asks for, sorted."""

    def patch(self, commit_id: int, largest: int | None = None) -> bytes | None:
        """A commit's patch; None if it has none, a larger one, or one of which only the ends are kept."""

    def patches(self, ids: Iterable[int]) -> Iterator[tuple[int, bytes]]:
        """The patches of those of these commits that have one, or its two ends, in this order."""

    def stored_commit(self, repo_id: int, sha: str) -> tuple[IndexedCommit, bytes | None] | None:
        """One commit as it was written, and its patch."""

    # All commits of a repository.

    def stored_commits(self, repo_id: int) -> Iterator[tuple[IndexedCommit, bool]]:
        """Every commit of a repository as it was written, and whether a ref reaches it."""

    def reachable_shas(self, repo_id: int) -> Iterator[str]:
        """The reachable commits of a repository, in its order."""

    def ancestry(self, repo_id: int) -> Iterator[tuple[int, bytes, bytes]]:
        """Id, SHA and the parents' SHAs in a row, of every commit; SHAs are 20 bytes each."""

    def counted_commits(self, repo_id: int, after: int = 0) -> Iterator[tuple[int, bytes]]:
        """Id and SHA of the commits that count, in their order; those after one, or all."""

    def unread_commits(self, repo_id: int) -> list[UnreadCommit]:
        """The commits whose diffs could not be read."""

    def commits_without_text(self, repo_id: int) -> Iterator[tuple[str, str]]:
        """Text index and SHA of each commit that is missing in one."""

    def redactions(self, repo_id: int) -> list[Redaction]:
        """The secrets that were kept out, oldest commit first."""

    def newest_messages(self, repo_id: int, most: int, besides: str) -> list[SizedMessage]:
        """The newest commits first; lines of paths that begin with `besides` are not counted."""

    # People, paths and times.

    def people(self) -> list[tuple[int, str, str]]:
        """Number, name and address of everybody."""

    def paths_with(self, parts: Sequence[str]) -> Iterator[tuple[int, str]]:
        """The paths that have all of these parts in whatever case, with their numbers."""

    def path_changes(self, repo_id: int, path: str, until: int) -> list[Change]:
        """What commits that count did to a path up to an id, and its being renamed away."""

    def directory_changes(self, repo_id: int, directory: str) -> list[Effort]:
        """Commits that count and changed files of a directory; an empty name means all."""

    def commits_touching(
        self, paths: Iterable[int], statuses: str = "", most: int | None = None
    ) -> list[int]:
        """Commits that have one of these paths, with one of these statuses; once per file."""

    def touches(
        self, wanted: CommitFilter, after: tuple[int, int, int], most: int
    ) -> Iterator[Touch]:
        """Files of commits that pass, newest first, behind a time, an id and a file's number."""

    def co_changes(self, ids: Collection[int], most_files: int) -> tuple[dict[str, int], int]:
        """How many of these commits have each path, and how many commits were small enough."""

    def hotspots(
        self,
        repos: Collection[Repo],
        committed: tuple[int, int],
        paths: Collection[int] | None,
        most: int,
    ) -> tuple[int, list[Hotspot]]:
        """How many paths were changed by commits of a time, and those that most changed."""

    def sharing(
        self, files: Iterable[str], repos: Collection[Repo], times: tuple[int, int], most: int
    ) -> list[tuple[int, int, int]]:
        """The newest that touched these paths: id, how many of them, how many files in all."""

    def newest_time(self) -> int | None:
        """When the newest commit of all was written."""

    def counts_by_period(self, seconds: int, periods: range) -> Iterator[tuple[str, int, int]]:
        """Repository, period since 1970 and how many commits were written in it."""

    # Text.

    def ranked_matches(self, expression: str, span: Span, wanted: CommitFilter) -> Iterator[Match]:
        """Id, rank (less is better), time and subject of what passes, the latest first."""

    def dated_matches(self, expression: str, span: Span, wanted: CommitFilter) -> Iterator[Dated]:
        """Time and id of what passes, the latest in history first."""

    def newest(self, wanted: CommitFilter, before: Dated) -> Iterator[Dated]:
        """Time and id of what passes and comes before that time and id, newest first."""

    def newer_than(self, time: int, until: int, span: Span, most: int) -> list[int]:
        """Commits between two ids whose time is after one and not after another."""

    def span_of_times(
        self, repo_id: int, times: tuple[int, int], most: int | None, *, committed: bool = False
    ) -> Span | None:
        """The first and last id of a time, (0, 0) if there is none; None if there are more.

        The time is when commits were written, or when they were committed.
        """

    def commits_saying(
        self,
        expression: str,
        repos: Collection[Repo],
        *,
        with_merges: bool = True,
        most: int | None = None,
    ) -> list[CommitRecord]:
        """Reachable commits that match, the earliest in history first."""

    def saying(
        self, expression: str, span: Span, most: int, *, earliest: bool = False
    ) -> list[int]:
        """The latest or the earliest between two ids that match, whether they count or not."""

    def scored_saying(self, expression: str, span: Span) -> list[tuple[int, float]]:
        """Those between two ids that match, and how well (more is better), in no order."""

    def words_with(self, part: str, most: int) -> list[str] | None:
        """The words in texts that have this part; None where they are more, or not known."""

    def with_patch(
        self,
        repo_id: int,
        committed: tuple[int, int],
        expression: str | None,
        paths: Collection[int] | None,
    ) -> Iterator[Dated]:
        """Commit time and id of those that count and have a patch, the latest first."""

    def unsearched(self, wanted: CommitFilter) -> list[int]:
        """What passes, counts, and has changes in text not all of which are kept; latest first."""

    def latest_with_subject(self, repo_id: int, subject: str, before: int) -> int | None:
        """The latest commit before another that has exactly this subject."""

    def messages(
        self, ids: Iterable[int], repos: Collection[Repo], times: tuple[int, int], longest: int
    ) -> Iterator[MessageRecord]:
        """The messages, and the beginnings of their bodies, of those that count and pass."""

    # What commits mean.

    def vectors(self) -> Vectors:
        """The vectors, which must be there; the store closes them."""

    def new_vectors(self) -> Vectors:
        """The vectors for writing, made if there are none."""

    # Looking after the index.

    def unreachable_before(self, time: int) -> list[int]:
        """Commits that no ref reaches and that were committed before a time."""

    def size(self) -> int:
        """How many bytes the index takes."""

    def compact(self) -> None:
        """Give unused space back."""


def any_phrase(phrases: Iterable[str], columns: str = "") -> str:
    """The expression for any of these phrases, in some columns or anywhere."""
    either = " OR ".join('"' + phrase.replace('"', '""') + '"' for phrase in phrases)
    return f"{{{columns}}} : ({either})" if columns else either
