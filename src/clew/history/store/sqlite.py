"""The index in one SQLite file: where it is, opening it, and its transactions."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, closing, contextmanager
from pathlib import Path
from typing import Any, Self

from clew.history.store.commits import SqliteCommits
from clew.history.store.paths import SqlitePaths
from clew.history.store.repositories import SqliteRepositories
from clew.history.store.text import SqliteText
from clew.history.store.vectors import VectorFile
from clew.history.store.writes import SqliteWrites
from clew.kit.errors import ClewError, Unavailable
from clew.kit.locks import LONG_LOCK_TIMEOUT, locked
from clew.kit.sqlite import open_database, open_read_only, read_migrations, writing


def database_path(settings: Mapping[str, str] | None = None) -> Path:
    """Where the index is: `--db`, `COMMITMUX_DB`, or `~/.commitmux/db.sqlite3`."""
    named = (settings or {}).get("db") or os.environ.get("COMMITMUX_DB")
    return Path(named).expanduser() if named else Path.home() / ".commitmux" / "db.sqlite3"


def migrations() -> tuple[str, ...]:
    """The scripts that make the schema, one for each version."""
    return read_migrations(Path(__file__).parent / "migrations")


# From here on patches are found where the layout of their time put them.
_OLDEST_READ = 2


class SqliteHistory(SqliteRepositories, SqliteCommits, SqlitePaths, SqliteText, SqliteWrites):
    """A `HistoryStore` in an SQLite file."""

    _vectors: VectorFile | None = None

    @classmethod
    def create(cls, path: Path, *, is_scratch: bool = False) -> Self:
        """Open the index for writing, making it if there is none."""
        # The index can be built again, so a commit need not wait for the disk: a crash may
        # lose the last batches, never mix them.
        try:
            connection = open_database(path, migrations(), is_private=True)
            connection.execute(f"PRAGMA synchronous={'OFF' if is_scratch else 'NORMAL'}")
            connection.execute("PRAGMA cache_size=-32768")
            return cls(connection, path)
        except sqlite3.DatabaseError as error:
            raise _unusable("open", path, error) from error

    @classmethod
    def open(cls, path: Path) -> Self:
        """Open an index that exists, for writing."""
        _require(path)
        return cls.create(path)

    @classmethod
    def read(cls, path: Path, *, any_schema: bool = False) -> Self:
        """Open an index that exists, for reading only."""
        _require(path)
        connection = None
        try:
            connection = open_read_only(
                path, () if any_schema else migrations(), oldest=_OLDEST_READ
            )
            connection.execute("SELECT count(*) FROM repos")
        except sqlite3.DatabaseError as error:
            if connection is not None:
                connection.close()
            raise _unusable("read", path, error) from error
        return cls(connection, path)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def address(self) -> str:
        """Where the index is."""
        return str(self.path)

    def locked(self, repo_id: int | None = None) -> AbstractContextManager[None]:
        """One process at a time reads commits in or takes them out, of whichever repository."""
        return locked(self.path.with_name(f"{self.path.name}.lock"), LONG_LOCK_TIMEOUT)

    def close(self) -> None:
        """Close the connections."""
        self.connection.close()
        self._close_vectors()

    def vectors(self) -> VectorFile:
        """The vectors beside the index; open for as long as their file is there."""
        if self._vectors is None or not self._vectors.is_there():
            self._close_vectors()
            self._vectors = VectorFile.read(self.path)
        return self._vectors

    def new_vectors(self) -> VectorFile:
        """The vectors beside the index, for writing, made if there are none."""
        return VectorFile.create(self.path)

    def _close_vectors(self) -> None:
        if self._vectors is not None:
            self._vectors.close()
            self._vectors = None

    @contextmanager
    def snapshot(self) -> Iterator[Self]:
        """One state of the index for all that is read inside, whatever others write meanwhile."""
        if self.connection.in_transaction:
            yield self
            return
        self.connection.execute("BEGIN")
        try:
            yield self
        finally:
            self._stop_reading()

    def _stop_reading(self) -> None:
        if self.connection.in_transaction:  # a damaged file may have ended it
            self.connection.execute("ROLLBACK")

    @contextmanager
    def writing(self, *, discard: bool = False) -> Iterator[None]:
        """One transaction: all of it or nothing; with `discard` nothing in any case."""
        try:
            with writing(self.connection, discard=discard):
                self._notice_changes()
                yield
        except BaseException:
            self._forget_numbers()
            raise
        if discard:
            self._forget_numbers()

    def schema_version(self) -> int:
        """The number of the last migration that the file has seen."""
        return int(self.connection.execute("PRAGMA user_version").fetchone()[0])

    def seal(self) -> None:
        """Make the file complete in itself, without a log beside it."""
        self.connection.execute("PRAGMA journal_mode=DELETE")


def _unusable(what: str, path: Path, error: sqlite3.DatabaseError) -> Unavailable:
    from clew.kit.system_errors import is_damage, next_step

    step = next_step(error)
    if is_damage(error):
        step = f"Move it away and build it again:\n  {rebuild_command(path)}"
    return Unavailable(f"Cannot {what} the database at {path}: {error}", step)


def rebuild_command(path: Path) -> str:
    """The commands that put a new index in the place of a damaged one."""
    from shlex import quote

    from clew.kit.system_errors import moved_away

    place = f"--db {quote(str(path))}"
    added = [f"add-repo {repo} {place}" for repo in _registered(path) or ("PATH",)]
    steps = (f"init {place}", *added, f"sync {place}")
    return " && ".join([moved_away(path), *(f"commitmux {step}" for step in steps)])


def _registered(path: Path) -> tuple[str, ...]:
    """The repositories that a damaged index or another program's names, as `add-repo` takes them."""
    from shlex import quote

    try:
        with closing(open_read_only(path)) as connection:
            rows = [dict(row) for row in connection.execute("SELECT * FROM repos")]
        return tuple(
            (f"--url {quote(row['remote_url'])}" if _is_clone(row) else quote(row["local_path"]))
            + f" --name {quote(row['name'])}"
            for row in rows
        )
    except (sqlite3.Error, ClewError, OSError, TypeError, KeyError):
        return ()


def _is_clone(row: dict[str, Any]) -> bool:
    """Whether Clew cloned it, so that it is to be cloned again."""
    return bool(row.get("managed_clone") and row["remote_url"])


def _require(path: Path) -> None:
    if not path.exists():
        raise Unavailable(f"Database not found at {path}. Run 'commitmux init' first.")
