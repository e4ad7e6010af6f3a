"""What all parts of the PostgreSQL store share: the connection, and SQL that several of them use."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from pathlib import Path

from clew.history.model import PLACE_BITS, Repo, first_id, last_id
from clew.history.store.interface import CommitRecord, Span
from clew.team.database import Database, Row
from clew.team.history.visibility import among, only_of

COUNTED = "c.reachable AND length(c.parents) <= 20"
RECORD = (
    "c.id, encode(c.sha, 'hex'), c.subject, c.body, a.name, c.author_time, c.commit_time,"
    " c.preview, c.reachable"
)
AUTHOR = "JOIN people a ON a.person_id = c.author_id"
COLUMNS = (
    "name, local_path, remote_url, default_branch, all_refs, exclude_prefixes, author_filter,"
    " managed_clone"
)
_NUL, _STAND_IN = "\x00", "\uffff"  # PostgreSQL has no texts with NUL; nobody writes U+FFFF


class PostgresBase:
    """One connection to the index; for whoever may see only some repositories, the rest is not there."""

    def __init__(self, database: Database, path: Path, visible: frozenset[int] | None) -> None:
        self.database = database if visible is None else only_of(database, visible)
        self.path = path
        self.visible = visible
        self._is_snapshot = False
        self._listed: tuple[list[Repo], dict[int, int]] | None = None

    def repos(self) -> list[Repo]:
        """All repositories, in the order they were added."""
        return list(self._listing()[0])

    def places(self) -> dict[int, int]:
        """The place that the next commit of each repository gets: about how many it has."""
        return self._listing()[1]

    def _listing(self) -> tuple[list[Repo], dict[int, int]]:
        """The repositories and their next places; asked once in a snapshot."""
        if self._listed is not None:
            return self._listed
        rows = self.database.rows(
            f"SELECT repo_id, {COLUMNS}, next_place FROM repos ORDER BY repo_id", kept=True
        )
        listed = [_repo(row) for row in rows], {row[0]: row[-1] for row in rows}
        if self._is_snapshot:
            self._listed = listed
        return listed

    def _own(self, ids: Collection[int]) -> str:
        """What the names of the tables end with that have all of these commits; empty if none do.

        Of a partition the server can keep a plan. One for all of them is made anew each time, or
        has to look into each.
        """
        numbers = {one >> PLACE_BITS for one in ids}
        return f"_{numbers.pop()}" if len(numbers) == 1 and numbers <= self.places().keys() else ""

    def _records(
        self, statement: str, values: tuple[object, ...], *, kept: bool = False
    ) -> list[CommitRecord]:
        """What a statement that selects `RECORD` finds."""
        return [record(row) for row in self.database.rows(statement, values, kept=kept)]

    def _paged(self, statement: str, span: Span, size: int) -> Iterator[Row]:
        """Rows by id, read a page at a time: the first column is the id, the statement ends in WHERE."""
        low, high = span
        while True:
            rows = self.database.rows(
                f"{statement} BETWEEN %s AND %s ORDER BY 1 LIMIT %s", (low, high, size)
            )
            yield from rows
            if len(rows) < size:
                return
            low = rows[-1][0] + 1


def _repo(row: Row) -> Repo:
    number, name, place, url, branch, all_refs, exclude, author, managed, _ = row
    return Repo(number, name, place, url, branch, all_refs, tuple(exclude), author, managed)


def record(row: Row) -> CommitRecord:
    """A commit of a row that selects `RECORD`."""
    number, sha, subject, body, author, date, committed, preview, reachable = row
    return CommitRecord(
        number, sha, shown(subject), shown_or_none(body), shown(author), date, committed,
        shown(preview), reachable,
    )  # fmt: skip


def stored(text: str) -> str:
    """A text as PostgreSQL can hold it."""
    return text.replace(_NUL, _STAND_IN) if _NUL in text else text


def shown(text: str) -> str:
    """A stored text as it was."""
    return text.replace(_STAND_IN, _NUL) if _STAND_IN in text else text


def stored_or_none(text: str | None) -> str | None:
    """A text that may be missing, as PostgreSQL can hold it."""
    return None if text is None else stored(text)


def shown_or_none(text: str | None) -> str | None:
    """A stored text that may be missing, as it was."""
    return None if text is None else shown(text)


def sayable(texts: Iterable[str]) -> list[str]:
    """The texts that can be in a database at all: Unicode, without NUL."""
    return [text for text in texts if _is_sayable(text)]


def _is_sayable(text: str) -> bool:
    return _NUL not in text and not any("\ud800" <= sign <= "\udfff" for sign in text)


def span_of(repo_id: int) -> Span:
    """The ids that commits of a repository have."""
    return first_id(repo_id), last_id(repo_id)


def of_repos(repos: Collection[Repo], column: str = "c.id") -> str:
    """The condition that a commit is of one of these repositories."""
    return among([repo.repo_id for repo in repos], column)
