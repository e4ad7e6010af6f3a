"""SQLite, opened the one way: WAL, patient, short transactions, numbered migrations."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from clew.kit import jsontext
from clew.kit.errors import Unavailable
from clew.kit.files import private_directory

BUSY_SECONDS = 30.0


def open_database(path: Path, migrations: Sequence[str]) -> sqlite3.Connection:
    """A connection for reading and writing, its schema brought up to date."""
    private_directory(path.parent)
    with _connecting(path) as connection:
        _use_wal(connection)
        connection.execute("PRAGMA synchronous=FULL")
        _migrate(connection, migrations, path)
    return connection


def _use_wal(connection: sqlite3.Connection) -> None:
    """Write ahead. While another process switches a new file, SQLite refuses without waiting."""
    limit = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            connection.execute("PRAGMA journal_mode=WAL")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > limit:
                raise
            time.sleep(0.01)
        else:
            return


def open_read_only(path: Path) -> sqlite3.Connection:
    """A connection that cannot write, whatever is asked of it."""
    if not path.exists():
        raise Unavailable(f"No database at {path}")
    from urllib.parse import quote

    mode = "mode=ro&immutable=1" if is_frozen(path) else "mode=ro"
    with _connecting(f"file:{quote(str(path))}?{mode}") as connection:
        connection.execute("PRAGMA query_only=ON")
    return connection


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
        return
    with writing(connection):
        version = _version(connection)
        if version > len(migrations):
            raise Unavailable(
                f"{path} was written by a newer Clew (schema {version})",
                "Upgrade Clew, or move the file away to start over.",
            )
        for number, script in enumerate(migrations[version:], start=version + 1):
            for statement in _statements(script):
                connection.execute(statement)
            connection.execute(f"PRAGMA user_version={number}")


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
