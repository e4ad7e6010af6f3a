"""SQLite, opened the one way: WAL, patient, short transactions, numbered migrations."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from functools import cache
from pathlib import Path

from clew.kit import jsontext
from clew.kit.errors import ClewError, Unavailable
from clew.kit.files import private_directory, private_file
from clew.kit.project import followed

BUSY_SECONDS = 30.0
_MAKING_SECONDS = 1.0
_LOOK_SECONDS = 3.0
_LOOK_STEPS = 10_000
_KEPT = """
CREATE TABLE kept (
    place TEXT NOT NULL,
    key TEXT NOT NULL,
    value BLOB NOT NULL,
    PRIMARY KEY (place, key)
);
"""
_opened: dict[Path, tuple[str, ...]] = {}  # what to look at when a row makes no sense


class UnsuitableDatabase(sqlite3.DatabaseError):
    """A file that is not the database it should be: another program's, or with parts missing."""


def open_database(
    path: Path, migrations: Sequence[str], *, is_private: bool = False
) -> sqlite3.Connection:
    """A connection for reading and writing, its schema brought up to date.

    A private one is made for its owner only, wherever it is.
    """
    followed(path)
    private_directory(path.parent)
    if is_private:
        private_file(path)
    with _connecting(path) as connection:
        _use_wal(connection)
        connection.execute("PRAGMA synchronous=FULL")
        _migrate(connection, migrations, path)
    _opened[path] = tuple(migrations)
    return connection


def _use_wal(connection: sqlite3.Connection) -> None:
    """Write ahead. While another process switches a new file, SQLite refuses without waiting."""
    limit = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            with _one_state(connection):
                if _version(connection) == 0:  # nothing of another program's file is changed
                    _refuse_missing(connection, ())
            connection.execute("PRAGMA journal_mode=WAL")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > limit:
                raise
            time.sleep(0.01)
        else:
            return


@contextmanager
def _one_state(connection: sqlite3.Connection) -> Iterator[None]:
    """Read several things as they were at one moment, whoever migrates the file meanwhile."""
    connection.execute("BEGIN")
    try:
        yield
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")


def open_read_only(
    path: Path, migrations: Sequence[str] = (), *, oldest: int | None = None
) -> sqlite3.Connection:
    """A connection that cannot write, whatever is asked of it.

    With `migrations`, the file must have just the schema that they make, or one that is no older
    than `oldest`.
    """
    followed(path)
    if not path.exists():
        raise Unavailable(f"No database at {path}")
    from urllib.parse import quote

    mode = "mode=ro&immutable=1" if is_frozen(path) else "mode=ro"
    with _connecting(f"file:{quote(str(path))}?{mode}") as connection:
        connection.execute("PRAGMA query_only=ON")
        if migrations:
            _await_maker(connection)
            with _one_state(connection):
                _refuse_other_schema(connection, tuple(migrations), path, oldest)
            _opened[path] = tuple(migrations)
    return connection


def _await_maker(connection: sqlite3.Connection) -> None:
    """Wait a little for who is making the database just now: its file is there before its tables."""
    end = time.monotonic() + _MAKING_SECONDS
    while not _version(connection) and not _names(connection) and time.monotonic() < end:
        time.sleep(0.02)


@contextmanager
def _connecting(database: Path | str) -> Iterator[sqlite3.Connection]:
    """A new connection to a file or a URI, closed again when preparing it fails."""
    connection = sqlite3.connect(
        database,
        uri=isinstance(database, str),
        timeout=BUSY_SECONDS,
        isolation_level=None,
        check_same_thread=False,
    )
    connection.row_factory = sqlite3.Row
    try:
        yield connection
    except BaseException:
        connection.close()
        raise


@cache
def read_migrations(directory: Path) -> tuple[str, ...]:
    """The scripts of a directory, `0001_what.sql` and so on, in their order without a gap."""
    files = sorted(directory.glob("[0-9]*.sql"))
    for number, file in enumerate(files, start=1):
        assert int(file.name.partition("_")[0]) == number, f"{file} is not number {number}"
    return tuple(file.read_text(encoding="utf-8") for file in files)


def is_frozen(path: Path) -> bool:
    """Whether nobody writes, and SQLite could not make the files that WAL needs beside it."""
    real = path.resolve()
    return not os.access(real.parent, os.W_OK) and not real.with_name(f"{real.name}-wal").exists()


@contextmanager
def writing(
    connection: sqlite3.Connection, *, discard: bool = False
) -> Iterator[sqlite3.Connection]:
    """One transaction that has the write lock from its start; with `discard` nothing stays."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield connection
        connection.execute("ROLLBACK" if discard else "COMMIT")
    except BaseException:
        # A full disk may have ended the transaction already, or have left it open in its COMMIT.
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def json_list(values: Iterable[object]) -> str:
    """Values as one text, for `json_each(?)`: SQL with as many values as there are."""
    text = jsontext.dumps(list(values))
    # What is no Unicode can be found nowhere; as an escape it is refused nowhere, either.
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode("utf-8")


def _migrate(connection: sqlite3.Connection, migrations: Sequence[str], path: Path) -> None:
    if _version(connection) == len(migrations):
        _refuse_missing(connection, tuple(migrations))
        return
    with writing(connection):
        version = _version(connection)
        _refuse_newer(version, len(migrations), path)
        _refuse_missing(connection, tuple(migrations[:version]))
        for number, script in enumerate(migrations[version:], start=version + 1):
            for statement in _statements(script):
                connection.execute(statement)
            connection.execute(f"PRAGMA user_version={number}")


def _refuse_newer(version: int, known: int, path: Path) -> None:
    if version > known:
        raise Unavailable(
            f"{path} was written by a newer Clew (schema {version}; this one knows {known})",
            "Upgrade Clew, or move the file away to start over.",
        )


def _refuse_other_schema(
    connection: sqlite3.Connection, migrations: tuple[str, ...], path: Path, oldest: int | None
) -> None:
    version = _version(connection)
    _refuse_newer(version, len(migrations), path)
    _refuse_missing(connection, migrations[:version])
    if version < (len(migrations) if oldest is None else oldest):
        raise UnsuitableDatabase(
            f"its schema is older (schema {version}); writing to it once upgrades it"
        )


def _refuse_missing(connection: sqlite3.Connection, migrations: tuple[str, ...]) -> None:
    """Refuse a file that lacks what its version should have, or has what nobody here made."""
    found = _names(connection)
    if not migrations and found:
        raise UnsuitableDatabase("it is the database of another program")
    missing = sorted(_names_made_by(migrations) - found)
    if missing:
        raise UnsuitableDatabase(f"it lacks {', '.join(missing[:3])}")


def problem_of(path: Path, migrations: Sequence[str]) -> str | None:
    """What is wrong with a database; of a large one, what shows in a few seconds."""
    end = time.monotonic() + _LOOK_SECONDS
    try:
        with closing(open_read_only(path, migrations)) as connection:
            connection.set_progress_handler(lambda: time.monotonic() > end, _LOOK_STEPS)
            strange = _columns(connection, migrations) ^ _columns_made_by(tuple(migrations))
            if strange:
                return f"its columns are others: {', '.join(sorted(strange)[:3])}"
            said = str(connection.execute("PRAGMA integrity_check(1)").fetchone()[0])
    except sqlite3.OperationalError as error:
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF  # text that is no UTF-8 has none
        return None if code in (sqlite3.SQLITE_INTERRUPT, sqlite3.SQLITE_BUSY) else str(error)
    except (sqlite3.DatabaseError, ClewError, UnicodeDecodeError) as error:
        return str(error)
    return None if said == "ok" else said.splitlines()[-1]


def damage_of_opened() -> tuple[Path, str] | None:
    """The first database opened by this process that is damaged, and how."""
    for path, migrations in list(_opened.items()):
        problem = problem_of(path, migrations) if path.is_file() else None
        if problem:
            return path, problem
    return None


def _columns(connection: sqlite3.Connection, migrations: Sequence[str]) -> frozenset[str]:
    """Every column of every table and view that the scripts make."""
    rows = connection.execute(
        "SELECT s.name || '.' || c.name FROM sqlite_schema s JOIN pragma_table_info(s.name) c"
        " WHERE s.type IN ('table', 'view') AND s.name IN (SELECT value FROM json_each(?))",
        (json_list(_names_made_by(tuple(migrations))),),
    )
    return frozenset(row[0] for row in rows)


@cache
def _columns_made_by(migrations: tuple[str, ...]) -> frozenset[str]:
    with _made_in_memory(migrations) as connection:
        return _columns(connection, migrations)


def _names(connection: sqlite3.Connection) -> frozenset[str]:
    rows = connection.execute(
        "SELECT name FROM sqlite_schema WHERE name NOT LIKE 'sqlite\\_%' ESCAPE '\\'"
    )
    return frozenset(row[0] for row in rows)


@cache
def _names_made_by(migrations: tuple[str, ...]) -> frozenset[str]:
    """The tables, views, indexes and triggers that these scripts make, tried in memory."""
    with _made_in_memory(migrations) as connection:
        return _names(connection)


@contextmanager
def _made_in_memory(migrations: tuple[str, ...]) -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        for script in migrations:
            for statement in _statements(script):
                connection.execute(statement)
        yield connection


def _statements(script: str) -> Iterator[str]:
    """The statements of a script, one by one; a trigger and a text keep the `;` inside them."""
    pending = ""
    for part in script.split(";"):
        pending += part
        if sqlite3.complete_statement(f"{pending};"):
            yield pending
            pending = ""
        else:
            pending += ";"
    assert not pending.strip(";\n "), f"An unfinished statement: {pending}"


def _version(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


@contextmanager
def opened_keeping(file: Path, most: int) -> Iterator[Keeping]:
    """What can be made again, kept in a file: at most so many values; nothing where it cannot be used."""
    try:
        connection = open_database(file, (_KEPT,))
    except (sqlite3.Error, ClewError, OSError):
        yield Keeping(None, most)
        return
    with closing(connection):
        connection.execute("PRAGMA synchronous=OFF")
        yield Keeping(connection, most)


class Keeping:
    """Values by place and key."""

    def __init__(self, connection: sqlite3.Connection | None, most: int) -> None:
        self._connection = connection
        self._most = most

    def known(self, place: str, keys: Iterable[str]) -> dict[str, bytes]:
        """The values that are kept under these keys."""
        if self._connection is None:
            return {}
        asked = (
            "SELECT key, value FROM kept WHERE place = ?"
            " AND key IN (SELECT value FROM json_each(?))"
        )
        try:
            rows = self._connection.execute(asked, (place, json_list(keys))).fetchall()
        except sqlite3.Error:
            return {}
        return {row["key"]: row["value"] for row in rows}

    def keep(self, place: str, values: Mapping[str, bytes], *, only: str = "") -> None:
        """Keep values, and of the place no others but those that begin with `only`.

        When there are too many, it begins anew.
        """
        if self._connection is None or not values:
            return
        with suppress(sqlite3.Error), writing(self._connection) as connection:
            (count,) = connection.execute("SELECT max(rowid) FROM kept").fetchone()
            if (count or 0) > self._most:
                connection.execute("DELETE FROM kept")
            if only:
                asked = "DELETE FROM kept WHERE place = ? AND substr(key, 1, ?) != ?"
                connection.execute(asked, (place, len(only), only))
            rows = [(place, key, value) for key, value in values.items()]
            connection.executemany("INSERT OR REPLACE INTO kept VALUES (?, ?, ?)", rows)
