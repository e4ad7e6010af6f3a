"""The index in SQLite: one file of the user's own, readable by nobody else."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import NamedTuple

from clew.kit import jsontext
from clew.kit.errors import NotFound
from clew.kit.files import private_directory, private_file
from clew.kit.project import clew_home
from clew.kit.sqlite import json_list, open_database, read_migrations, writing
from clew.kit.system_errors import database_refusal
from clew.sessions.index.events import add_events, begin_session, within
from clew.sessions.index.fingerprints import unpacked, unpacked_words
from clew.sessions.model import (
    LOCAL,
    CommandRun,
    Event,
    Filter,
    Found,
    Header,
    KeptEdit,
    Session,
    Turn,
)
from clew.sessions.readers.interface import Progress, Source

MIGRATIONS = Path(__file__).with_name("migrations")
_MOST_FOUND = 200
_SESSION = (
    "SELECT s.id, s.program, s.uid, s.project, s.title, s.branch, s.model, s.version, s.started,"
    " s.ended, s.input_tokens, s.output_tokens, s.cost, s.origin,"
    " (SELECT count(*) FROM turns t WHERE t.session = s.id) AS turns,"
    " (SELECT count(*) FROM edits e WHERE e.session = s.id) AS edits FROM sessions s"
)
_WHERE = (
    " (:project IS NULL OR s.project = :project) AND (:program IS NULL OR s.program = :program)"
    " AND (:since IS NULL OR s.ended >= :since) AND (:until IS NULL OR s.started <= :until)"
)


def database_path() -> Path:
    """Where the index is."""
    return clew_home() / "sessions.sqlite3"


@contextmanager
def opened_index() -> Iterator[SessionIndex]:
    """The index, for the length of a call."""
    path = database_path()
    private_directory(path.parent)
    try:
        private_file(path).chmod(0o600)
        with closing(open_database(path, read_migrations(MIGRATIONS))) as database:
            # It can be made again from the transcripts, so a commit need not wait for the disk.
            database.execute("PRAGMA synchronous=NORMAL")
            database.execute("PRAGMA foreign_keys=ON")
            yield SessionIndex(database)
    except sqlite3.DatabaseError as error:
        raise database_refusal("The index of sessions", path, error) from error


class Known(NamedTuple):
    """What the index knows of one transcript: whose it is, and how it was when it was read."""

    project: str | None
    size: int
    stamp: int
    told: int


class SessionIndex:
    """Sessions, turns, edits and commands of one user; the caller closes the connection."""

    def __init__(self, database: sqlite3.Connection) -> None:
        self._database = database

    def known(self) -> dict[str, Known]:
        """Every transcript that was looked at."""
        cursor = self._database.cursor()
        cursor.row_factory = None  # plain tuples: there may be ten thousand
        rows = cursor.execute("SELECT project, size, stamp, told, key FROM sources")
        return {row[4]: Known._make(row[:4]) for row in rows}

    def progress(self, source: Source) -> Progress:
        """How far a transcript was read."""
        row = self._database.execute(
            "SELECT read_from, told, tail, state FROM sources WHERE key = ?", (source.key,)
        ).fetchone()
        if row is None:
            return Progress()
        return Progress(row["read_from"], row["told"], row["tail"], jsontext.loads(row["state"]))

    @contextmanager
    def together(self) -> Iterator[None]:
        """One transaction for what is written until its end."""
        with writing(self._database):
            yield

    def note(self, source: Source, project: str | None, progress: Progress) -> None:
        """Keep how far a transcript was read."""
        with within(self._database) as database:
            database.execute(
                "INSERT OR REPLACE INTO sources VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    *(source.key, source.program, project, source.size, source.stamp),
                    *(progress.offset, progress.told, progress.tail),
                    jsontext.dumps(progress.state),
                ),
            )

    def begin(self, program: str, header: Header, project: str, origin: str = LOCAL) -> int | None:
        """The session of a header, made where it is new; None where it must not be kept."""
        return begin_session(self._database, program, header, project, origin)

    def add(self, session: int, program: str, events: Sequence[Event], *, is_side: bool) -> None:
        """Write events of one session in one transaction; what is known is left out."""
        with within(self._database) as database:
            add_events(database, session, program, events, is_side=is_side)

    def replace_words(self, session: int) -> None:
        """Forget what was said, for a transcript that is read anew."""
        with within(self._database) as database:
            database.execute("UPDATE turns SET words = '', plan = '' WHERE session = ?", (session,))

    def settle(self) -> None:
        """Give edits of sub-agents the turn of their session that was under way."""
        for table in ("edits", "commands"):
            with writing(self._database) as database:
                database.execute(
                    f"UPDATE {table} SET turn = coalesce((SELECT max(number) FROM turns t"  # noqa: S608
                    f" WHERE t.session = {table}.session AND t.time <= {table}.time + 0.001), 0)"
                    " WHERE turn = 0"
                )

    def sessions(self, asked: Filter, limit: int) -> list[Session]:
        """Sessions, the latest first; one without a turn or an edit is nothing."""
        rows = self._database.execute(
            f"{_SESSION} WHERE {_WHERE} AND EXISTS (SELECT 1 FROM turns t WHERE t.session = s.id)"  # noqa: S608
            " ORDER BY s.ended DESC, s.id DESC LIMIT :limit",
            {**vars(asked), "limit": limit},
        )
        return [_session(row) for row in rows]

    def session(self, name: str) -> list[Session]:
        """The sessions that a name means: its id, or a beginning of it."""
        program, _, uid = name.rpartition(":")
        rows = self._database.execute(
            f"{_SESSION} WHERE substr(s.uid, 1, length(:uid)) = :uid"
            " AND (:program = '' OR s.program = :program) ORDER BY s.ended DESC LIMIT 10",
            {"uid": uid, "program": program},
        )
        return [_session(row) for row in rows]

    def session_by_number(self, number: int) -> Session:
        """The session with this number in the index."""
        row = self._database.execute(f"{_SESSION} WHERE s.id = ?", (number,)).fetchone()
        if row is None:
            raise NotFound("This session is not in the index any more")
        return _session(row)

    def turns(self, session: int, numbers: Sequence[int] = ()) -> list[Turn]:
        """The turns of a session in order, or some of them."""
        wanted = json_list(numbers)
        rows = self._database.execute(
            "SELECT * FROM turns WHERE session = ? AND (? = '[]' OR number IN"
            " (SELECT value FROM json_each(?))) ORDER BY number",
            (session, wanted, wanted),
        )
        return [self._turn(row) for row in rows]

    def _turn(self, row: sqlite3.Row) -> Turn:
        place = (row["session"], row["number"])
        ask = self._database.execute
        files = ask("SELECT DISTINCT path FROM edits WHERE session = ? AND turn = ?", place)
        commands = ask(
            "SELECT text, exit_code FROM commands WHERE session = ? AND turn = ? ORDER BY id", place
        )
        commits = ask("SELECT sha FROM commits WHERE session = ? AND turn = ?", place)
        return Turn(
            *place,
            row["time"],
            row["request"],
            row["words"],
            row["plan"],
            tuple(sorted(one["path"] for one in files)),
            tuple(CommandRun(one["text"], one["exit_code"]) for one in commands),
            tuple(one["sha"] for one in commits),
        )

    def search(self, query: str, asked: Filter, limit: int) -> list[Found]:
        """Turns with these words, the best first."""
        words = [word for word in query.replace('"', " ").split() if any(map(str.isalnum, word))]
        if not words:
            return []
        text = " OR ".join(f'"{word}"' for word in words)
        rows = self._database.execute(
            "SELECT t.*, bm25(turn_text, 4.0, 1.0) AS score,"  # noqa: S608
            " snippet(turn_text, -1, '', '', '…', 24) AS snippet"
            " FROM turn_text JOIN turns t ON t.id = turn_text.rowid"
            f" JOIN sessions s ON s.id = t.session WHERE turn_text MATCH :text AND {_WHERE}"
            " ORDER BY score LIMIT :limit",
            {**vars(asked), "text": text, "limit": min(limit, _MOST_FOUND)},
        ).fetchall()
        return [
            Found(
                self.session_by_number(row["session"]),
                self._turn(row),
                row["snippet"],
                -row["score"],
            )
            for row in rows
        ]

    def edits(self, project: str, paths: Sequence[str]) -> list[KeptEdit]:
        """The edits of a file under all of its names, in the order of time."""
        rows = self._database.execute(
            "SELECT e.*, s.origin FROM edits e JOIN sessions s ON s.id = e.session"
            " WHERE e.project = ? AND path IN (SELECT value FROM json_each(?))"
            " ORDER BY time, e.id",
            (project, json_list(paths)),
        )
        return [_edit(row) for row in rows]

    def edited_paths(self, project: str) -> list[str]:
        """Every path of a project that was edited."""
        rows = self._database.execute(
            "SELECT DISTINCT path FROM edits WHERE project = ? ORDER BY path", (project,)
        )
        return [row["path"] for row in rows]

    def requests_about(
        self, project: str, paths: Sequence[str], limit: int
    ) -> list[tuple[Session, Turn]]:
        """The turns that edited these files, the latest first."""
        rows = self._database.execute(
            "SELECT DISTINCT t.* FROM turns t JOIN edits e ON e.session = t.session"
            " AND e.turn = t.number WHERE e.project = ?"
            " AND e.path IN (SELECT value FROM json_each(?)) ORDER BY t.time DESC LIMIT ?",
            (project, json_list(paths), limit),
        ).fetchall()
        return [(self.session_by_number(row["session"]), self._turn(row)) for row in rows]

    def noted(self, sha: str, limit: int) -> list[tuple[Session, Turn]]:
        """The turns of imported sessions that a commit's note names."""
        rows = self._database.execute(
            "SELECT t.* FROM commits c JOIN turns t ON t.session = c.session AND t.number = c.turn"
            " JOIN sessions s ON s.id = c.session WHERE c.sha = ? AND s.origin != ?"
            " ORDER BY t.session, t.number LIMIT ?",
            (sha, LOCAL, limit),
        ).fetchall()
        return [(self.session_by_number(row["session"]), self._turn(row)) for row in rows]

    def explained(self, blob: str, paths: str, edits: str) -> bytes | None:
        """What was found for a blob, if the same edits were known then."""
        row = self._database.execute(
            "SELECT found FROM explained WHERE blob = ? AND paths = ? AND edits = ?",
            (blob, paths, edits),
        ).fetchone()
        return None if row is None else bytes(row["found"])

    def keep_explained(self, blob: str, paths: str, edits: str, found: bytes) -> None:
        """Keep what was found for a blob."""
        with writing(self._database) as database:
            database.execute(
                "INSERT OR REPLACE INTO explained VALUES (?, ?, ?, ?)", (blob, paths, edits, found)
            )

    def open_project(self, root: str) -> bool:
        """Note that the user works in a project; True if that is new."""
        if root in self.projects():
            return False
        with writing(self._database) as database:
            database.execute("INSERT OR IGNORE INTO projects VALUES (?, unixepoch())", (root,))
            # What was looked at and left alone is looked at again.
            database.execute("DELETE FROM sources WHERE project IS NULL")
        return True

    def projects(self) -> list[str]:
        """The projects that were opened."""
        return [row[0] for row in self._database.execute("SELECT root FROM projects ORDER BY root")]

    def setting(self, name: str) -> str | None:
        """A setting of the user."""
        row = self._database.execute(
            "SELECT value FROM settings WHERE name = ?", (name,)
        ).fetchone()
        return None if row is None else str(row["value"])

    def set(self, name: str, value: str | None) -> None:
        """Change a setting, or take it back."""
        with writing(self._database) as database:
            database.execute("DELETE FROM settings WHERE name = ?", (name,))
            if value is not None:
                database.execute("INSERT INTO settings VALUES (?, ?)", (name, value))

    def forget(
        self, *, session: int | None = None, project: str | None = None, before: float | None = None
    ) -> int:
        """Remove sessions for good, so that they are not read again; how many."""
        chosen = (
            "(:session IS NULL OR id = :session) AND (:project IS NULL OR project = :project)"
            " AND (:before IS NULL OR ended < :before)"
        )
        values = {"session": session, "project": project, "before": before}
        with writing(self._database) as database:
            database.execute(
                f"INSERT OR IGNORE INTO forgotten SELECT program, uid FROM sessions WHERE {chosen}",  # noqa: S608
                values,
            )
            gone = database.execute(f"DELETE FROM sessions WHERE {chosen}", values).rowcount  # noqa: S608
            database.execute("DELETE FROM explained")
        self._database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        self._database.execute("VACUUM")
        return gone

    def clear(self) -> None:
        """Remove everything but the settings."""
        with writing(self._database) as database:
            for table in ("sessions", "sources", "explained", "projects"):
                database.execute(f"DELETE FROM {table}")  # noqa: S608
        self._database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        self._database.execute("VACUUM")

    def counts(self, asked: Filter) -> list[dict[str, object]]:
        """Sessions, turns, edits, tokens and cost by program and model."""
        rows = self._database.execute(
            "SELECT s.program, coalesce(s.model, '') AS model, count(*) AS sessions,"  # noqa: S608
            " sum((SELECT count(*) FROM turns t WHERE t.session = s.id)) AS turns,"
            " sum((SELECT count(*) FROM edits e WHERE e.session = s.id)) AS edits,"
            " sum(s.input_tokens) AS input_tokens, sum(s.output_tokens) AS output_tokens,"
            f" sum(s.cost) AS cost FROM sessions s WHERE {_WHERE}"
            " AND EXISTS (SELECT 1 FROM turns t WHERE t.session = s.id)"
            " GROUP BY s.program, s.model ORDER BY sessions DESC, s.program",
            vars(asked),
        )
        return [dict(row) for row in rows]


def _session(row: sqlite3.Row) -> Session:
    return Session(**dict(row))


def _edit(row: sqlite3.Row) -> KeptEdit:
    flags = bytes(row["flags"])
    return KeptEdit(
        *(row["id"], row["session"], row["turn"], row["time"], row["path"]),
        bool(row["is_blind"]),
        row["origin"] != LOCAL,
        unpacked(row["exact"]),
        unpacked(row["normal"]),
        tuple(bool(flag & 1) for flag in flags),
        tuple(bool(flag & 2) for flag in flags),
        unpacked_words(row["words"]),
        frozenset(unpacked(row["removed"])),
    )
