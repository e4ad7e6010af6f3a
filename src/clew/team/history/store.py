"""The index in PostgreSQL: opening it, its transactions, its locks, and what is remembered."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Self, TypeVar

from clew.kit.locks import LONG_LOCK_TIMEOUT
from clew.kit.project import clew_home
from clew.team.database import Database, migrate, require_schema
from clew.team.history.commits import PostgresCommits
from clew.team.history.paths import PostgresPaths
from clew.team.history.text import PostgresText
from clew.team.history.vectors import PostgresVectors
from clew.team.history.writes import PostgresWrites
from clew.team.queue import make_tables

_Value = TypeVar("_Value")
_MOST_REMEMBERED = 16
_MOST_PARTS = 8
# Numbers of advisory locks: of the whole index, and behind that of each repository.
_WHOLE = 1_000
_EACH = 1_000_000


class PostgresHistory(PostgresCommits, PostgresPaths, PostgresText, PostgresWrites):
    """A `HistoryStore` in a PostgreSQL database."""

    def __init__(self, database: Database, path: Path, visible: frozenset[int] | None) -> None:
        super().__init__(database, path, visible)
        self._seen_changes: object = None
        self._values: dict[Hashable, Any] = {}
        self._views: dict[frozenset[int], PostgresHistory] = {}

    @classmethod
    def create(cls, address: str) -> Self:
        """Open the index for writing, making its tables if there are none."""
        database = Database(address)
        try:
            migrate(database, make_tables)
        except BaseException:
            database.close()
            raise
        return cls(database, local_place(address), None)

    @classmethod
    def open(cls, address: str) -> Self:
        """Open an index that exists, for writing."""
        return cls._opened(Database(address), None)

    @classmethod
    def read(cls, address: str, visible: frozenset[int] | None = None) -> Self:
        """Open an index that exists, for reading only; of some repositories, or of all."""
        return cls._opened(Database(address, writes=False), visible)

    @classmethod
    def _opened(cls, database: Database, visible: frozenset[int] | None) -> Self:
        try:
            require_schema(database)
        except BaseException:
            database.close()
            raise
        return cls(database, local_place(database.address), visible)

    def seen_by(self, patterns: Sequence[str]) -> PostgresHistory:
        """The same index on the same connection, with no repositories but those of such names."""
        rows = self.database.rows("SELECT repo_id, name FROM repos")
        visible = frozenset(
            number for number, name in rows if any(fnmatchcase(name, one) for one in patterns)
        )
        if visible not in self._views:
            while len(self._views) >= _MOST_PARTS:
                self._views.pop(next(iter(self._views)))
            self._views[visible] = PostgresHistory(self.database, self.path, visible)
        return self._views[visible]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def vectors(self) -> PostgresVectors:
        """The vectors, which must be there."""
        return self.new_vectors().required()

    def new_vectors(self) -> PostgresVectors:
        """The vectors, for writing."""
        return PostgresVectors(self.database, self.visible)

    @property
    def address(self) -> str:
        """Where the index is."""
        return self.database.address

    def close(self) -> None:
        """Close the connections."""
        self.database.close()
        self._numbering.close()

    @contextmanager
    def snapshot(self) -> Iterator[Self]:
        """One state of the index for all that is read inside, whatever others write meanwhile."""
        if self.database.in_transaction:
            yield self
            return
        # Not rolled back: with that the connection forgets the plans it keeps.
        with self.database.transaction("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"):
            self._is_snapshot = True
            try:
                yield self
            finally:
                self._is_snapshot, self._listed, self._known_ahead = False, None, None

    @contextmanager
    def writing(self, *, discard: bool = False) -> Iterator[None]:
        """One transaction: all of it or nothing; with `discard` nothing in any case."""
        try:
            with self.database.transaction(discard=discard):
                self._notice_changes()
                yield
        finally:
            self._values.clear()
        if discard:
            self._forget_numbers()
        self._sort_in()

    @contextmanager
    def locked(self, repo_id: int | None = None) -> Iterator[None]:
        """One at a time reads commits of a repository in or out; of all, nobody else does."""
        keys = [(_WHOLE, repo_id is not None)]
        if repo_id is not None:
            keys.append((_EACH + repo_id, False))
        with self.database.locked(*keys, timeout=LONG_LOCK_TIMEOUT):
            yield

    def remembered(self, key: Hashable, make: Callable[[], _Value]) -> _Value:
        """What `make` gave for this key, made again once anything was written to the index."""
        self._notice_changes()
        if key not in self._values:
            if len(self._values) >= _MOST_REMEMBERED:
                self._values.pop(next(iter(self._values)))
            self._values[key] = make()
        found: _Value = self._values[key]
        return found

    def _notice_changes(self) -> None:
        """Forget what was true of the index before somebody wrote to it."""
        changes = self.database.row(
            "SELECT count(*), coalesce(sum(number), 0), (SELECT count(*) FROM repos)"
            " FROM repo_changes"
        )
        if changes != self._seen_changes:
            self._forget_numbers()
            self._values.clear()
            self._seen_changes = changes


def local_place(address: str) -> Path:
    """Where this machine keeps what belongs to a database: clones, and files that are not kept."""
    digest = hashlib.sha256(address.encode()).hexdigest()[:16]
    return clew_home() / "team" / digest / "index"
