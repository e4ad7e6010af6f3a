"""One connection to PostgreSQL: opened when needed, again when lost, and its schema brought up."""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from clew.kit.errors import Conflict, Unavailable
from clew.kit.sqlite import read_migrations

Row = tuple[Any, ...]
_LOCK_SPACE = 0x636C6577  # of advisory locks: nobody else's numbers are taken
_MIGRATING = 1
_PATIENCE = 20.0
_FIRST_NAP = 0.05
_LONGEST_NAP = 1.0
_MOST_PLANS = 1000  # a few for each repository: else those of one question push each other out
_AGAIN = ("SELECT", "WITH", "BEGIN", "LISTEN")
_HINT = "See that PostgreSQL runs and that the address is right: CLEW_DATABASE, or --database."


class _Line:
    """The connection itself, and how many hold something on it."""

    connection: psycopg.Connection[Row] | None = None
    pins = 0


class Database:
    """A connection that comes back after a restart of the server, and never inside a transaction."""

    def __init__(self, address: str, *, writes: bool = True, patience: float = _PATIENCE) -> None:
        self.address = address
        self._writes = writes
        self._patience = patience
        self._line = _Line()
        self._reword: Callable[[str], str] | None = None

    def reworded(self, reword: Callable[[str], str]) -> Database:
        """The same connection, on which every statement is another than it says."""
        other = copy.copy(self)
        vars(other)["_reword"] = reword
        return other

    def close(self) -> None:
        """End the connection."""
        if self._line.connection is not None:
            self._line.connection.close()
            self._line.connection = None

    @property
    def connection(self) -> psycopg.Connection[Row]:
        """The connection, opened if there is none; a lost one stays lost while something is held."""
        line = self._line
        if line.connection is not None and line.connection.closed and not line.pins:
            line.connection = None
        if line.connection is None:
            line.connection = connect(self.address, writes=self._writes, patience=self._patience)
        return line.connection

    @property
    def in_transaction(self) -> bool:
        """Whether a transaction is open."""
        idle = psycopg.pq.TransactionStatus.IDLE
        open_one = self._line.connection
        return (
            open_one is not None
            and not open_one.closed
            and open_one.info.transaction_status != idle
        )

    def rows(
        self,
        statement: str,
        values: Sequence[object] | dict[str, object] = (),
        *,
        kept: bool = False,
    ) -> list[Row]:
        """What a statement finds; the plan of one that is `kept` has to be right for any values."""
        return self._run(statement, values, kept=kept).fetchall()

    def named_rows(
        self, statement: str, values: Sequence[object] = ()
    ) -> tuple[list[str], list[Row]]:
        """What a statement finds, and the names of its columns."""
        cursor = self._run(statement, values)
        return [column.name for column in cursor.description or ()], cursor.fetchall()

    def row(self, statement: str, values: Sequence[object] | dict[str, object] = ()) -> Row | None:
        """The first row that a statement finds."""
        return self._run(statement, values).fetchone()

    def run(self, statement: str, values: Sequence[object] | dict[str, object] = ()) -> int:
        """Execute a statement; how many rows it changed."""
        return self._run(statement, values).rowcount

    def script(self, text: str) -> None:
        """Execute several statements."""
        assert self._reword is None, "only what is one statement can be reworded"
        self.connection.execute(text, prepare=False)

    def _run(
        self,
        statement: str,
        values: Sequence[object] | dict[str, object],
        *,
        kept: bool = False,
    ) -> psycopg.Cursor[Row]:
        with failing_plainly():
            free = not self._line.pins and not self.in_transaction
            try:
                return self._execute(statement, values, kept=kept)
            except psycopg.OperationalError:
                # A restart of the server ends connections; what only reads, or begins, is asked again.
                if not (free and statement.startswith(_AGAIN) and self.connection_is_lost()):
                    raise
            return self._execute(statement, values, kept=kept)

    def _execute(
        self, statement: str, values: Sequence[object] | dict[str, object], *, kept: bool
    ) -> psycopg.Cursor[Row]:
        query = self._reword(statement) if self._reword else statement
        return self.connection.execute(query, values or None, prepare=kept)

    def connection_is_lost(self) -> bool:
        """Whether there was a connection and the server or the network ended it."""
        return self._line.connection is not None and bool(self._line.connection.closed)

    def copy(self, statement: str, rows: Sequence[Sequence[object]]) -> None:
        """Write rows by COPY."""
        if not rows:
            return
        with (
            failing_plainly(),
            self.connection.cursor() as cursor,
            cursor.copy(statement) as target,
        ):
            for row in rows:
                target.write_row(row)

    @contextmanager
    def transaction(self, how: str = "BEGIN", *, discard: bool = False) -> Iterator[None]:
        """All of it or nothing; with `discard` nothing in any case."""
        self._run(how, ())
        try:
            yield
            with failing_plainly():
                self.connection.execute("ROLLBACK" if discard else "COMMIT", prepare=False)
        except BaseException:
            self._roll_back()
            raise

    def _roll_back(self) -> None:
        """End the transaction; on a connection that is lost it has ended, and what failed is told."""
        line = self._line.connection
        if line is not None and self.in_transaction:
            try:
                line.execute("ROLLBACK")
            except psycopg.OperationalError:
                line.close()

    @contextmanager
    def locked(self, *keys: tuple[int, bool], timeout: float) -> Iterator[None]:
        """Hold advisory locks, each a number and whether it is shared, on this very connection.

        It is not opened again meanwhile: with the connection the locks are gone.
        """
        held: list[tuple[int, bool]] = []
        self.connection  # noqa: B018 - opened before it is pinned
        self._line.pins += 1
        try:
            for number, is_shared in keys:
                self._acquire(number, shared=is_shared, timeout=timeout)
                held.append((number, is_shared))
            yield
        finally:
            self._line.pins -= 1
            for number, is_shared in reversed(held):
                self._release(number, shared=is_shared)

    def _acquire(self, number: int, *, shared: bool, timeout: float) -> None:
        kind = "_shared" if shared else ""
        limit, nap = time.monotonic() + timeout, _FIRST_NAP
        while True:
            row = self.row(
                f"SELECT pg_try_advisory_lock{kind}(%s, %s)",
                (_signed(_LOCK_SPACE), _signed(number)),
            )
            if row is not None and row[0]:
                return
            if time.monotonic() > limit:
                raise Conflict(f"Another worker holds lock {number} for more than {timeout:.0f} s")
            time.sleep(nap)
            nap = min(nap * 2, _LONGEST_NAP)

    def _release(self, number: int, *, shared: bool) -> None:
        if self._line.connection is None or self._line.connection.closed:
            return
        kind = "_shared" if shared else ""
        self.row(
            f"SELECT pg_advisory_unlock{kind}(%s, %s)", (_signed(_LOCK_SPACE), _signed(number))
        )


def _signed(number: int) -> int:
    """A number as PostgreSQL's four bytes hold it."""
    return (number & 0xFFFFFFFF) - ((number & 0x80000000) << 1)


@contextmanager
def failing_plainly() -> Iterator[None]:
    """A failure of the database as one that a user understands."""
    try:
        yield
    except psycopg.OperationalError as error:
        raise Unavailable(f"The database does not answer: {first_line(error)}", _HINT) from error
    except psycopg.errors.UndefinedTable as error:
        raise Unavailable(f"Removed meanwhile: {first_line(error)}", "Ask again.") from error


def first_line(error: BaseException) -> str:
    """What an error of the server says, in short and without an address."""
    return str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__


def connect(
    address: str, *, writes: bool = True, patience: float = _PATIENCE
) -> psycopg.Connection[Row]:
    """A connection in autocommit; tried again for a while where the server is just starting."""
    limit, nap = time.monotonic() + patience, _FIRST_NAP
    while True:
        try:
            made = psycopg.connect(_complete(address, writes=writes), autocommit=True)
        except psycopg.OperationalError as error:
            if time.monotonic() > limit:
                raise Unavailable(
                    f"The database does not answer: {first_line(error)}", _HINT
                ) from error
            time.sleep(nap)
            nap = min(nap * 2, _LONGEST_NAP)
        except psycopg.Error as error:
            raise Unavailable(f"Not a usable address: {first_line(error)}", _HINT) from error
        else:
            made.prepared_max = _MOST_PLANS
            return made


@cache
def _complete(address: str, *, writes: bool) -> str:
    """The address with what the reader did not say: a lost peer is noticed, plans fit their values."""
    given = conninfo_to_dict(address)
    usual: dict[str, str | int | None] = {
        "application_name": "clew",
        "connect_timeout": 5,
        "keepalives_idle": 10,
        "keepalives_interval": 5,
        "keepalives_count": 3,
        "tcp_user_timeout": 20_000,
        "target_session_attrs": "read-write" if writes else "any",
    }
    if not writes and given.get("target_session_attrs") == "read-write":
        given["target_session_attrs"] = "primary"  # this session itself is read-only
    # As for flash: else small repositories are read whole, words and all, instead of by the index.
    plans = "-c jit=off -c random_page_cost=1.1"
    # Else the server keeps the locks of a host whose network was cut for two hours.
    peers = "-c tcp_keepalives_idle=10 -c tcp_keepalives_interval=5 -c tcp_keepalives_count=3"
    session = f"-c default_transaction_read_only={'off' if writes else 'on'}"
    options = f"{plans} {peers} -c tcp_user_timeout=20000 {session}"
    given["options"] = f"{options} {given.get('options', '')}".strip()
    return make_conninfo("", **{**usual, **given})


def migrations() -> tuple[str, ...]:
    """The scripts that make the schema, one for each version."""
    return read_migrations(Path(__file__).parent / "migrations")


def migrate(database: Database, *more: Callable[[Database], None]) -> None:
    """Bring the schema up to date, and what else has tables; one process does it, others wait."""
    with database.locked((_MIGRATING, False), timeout=600):
        database.run(
            "CREATE TABLE IF NOT EXISTS clew_schema (version integer NOT NULL, oldest integer)"
        )
        version = schema_version(database)
        _refuse_newer(database, version)
        for number, script in enumerate(migrations()[version:], start=version + 1):
            with database.transaction():
                database.script(script)
                database.run("DELETE FROM clew_schema")
                database.run("INSERT INTO clew_schema VALUES (%s, %s)", (number, _OLDEST))
        if version <= len(migrations()):
            database.run("UPDATE clew_schema SET oldest = %s", (_OLDEST,))
        for make in more:
            make(database)


# The oldest program that works on the schema as it is now: those before it know of no consent, and
# their workers would run what nobody approved.
_OLDEST = 5


def require_schema(database: Database) -> None:
    """Refuse a database that this program cannot read."""
    version = schema_version(database)
    if version < len(migrations()):
        raise Unavailable(
            f"The database has schema {version}, this Clew needs {len(migrations())}",
            "Run 'clew team migrate'.",
        )
    _refuse_newer(database, version)


def _refuse_newer(database: Database, version: int) -> None:
    own = len(migrations())
    if version <= own:
        return
    row = database.row("SELECT oldest FROM clew_schema")
    if row is None or row[0] is None or row[0] > own:
        raise Unavailable(
            f"The database was made by a newer Clew (schema {version}; this one knows {own})",
            "Upgrade Clew.",
        )


def schema_version(database: Database) -> int:
    """The number of the last migration that the database has seen; 0 of one without any."""
    known = database.row("SELECT to_regclass('clew_schema') IS NOT NULL")
    if known is None or not known[0]:
        return 0
    row = database.row("SELECT version FROM clew_schema")
    return 0 if row is None else int(row[0])
