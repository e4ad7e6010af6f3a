"""Events of a transcript written into the tables, each once, without secrets."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from hashlib import blake2b

from clew.kit.sqlite import writing
from clew.kit.text.redact import SecretLines
from clew.sessions.index.fingerprints import edit_values
from clew.sessions.model import LOCAL, Command, Edit, Event, Header, Noted, Request, Usage, Words

LONGEST_REQUEST = 20_000
_LONGEST_WORDS = 8_000
_LONGEST_PLAN = 4_000
_LONGEST_COMMAND = 1_000
_LONGEST_NAME = 500
_MOST_TOKENS = 2**53
_TOTAL = (
    "UPDATE sessions SET input_tokens = ?1, output_tokens = ?2, cost = coalesce(?3, cost)"
    " WHERE id = ?4"
)
_MORE = (
    "UPDATE sessions SET input_tokens = input_tokens + ?1, output_tokens = output_tokens + ?2,"
    " cost = CASE WHEN ?3 IS NULL THEN cost ELSE coalesce(cost, 0) + ?3 END WHERE id = ?4"
)


def kept_text(text: str, longest: int) -> str:
    """A text as it may be kept: cut, without secrets, and in plain Unicode."""
    clean = SecretLines().clean(text[: longest * 2])
    return clean.encode("utf-8", "replace").decode("utf-8").replace("\0", "")[:longest]


def within(database: sqlite3.Connection) -> AbstractContextManager[sqlite3.Connection]:
    """The transaction that is under way, or one of its own."""
    return nullcontext(database) if database.in_transaction else writing(database)


def begin_session(
    database: sqlite3.Connection, program: str, header: Header, project: str, origin: str
) -> int | None:
    """The session of a header; None where the user had it forgotten."""
    uid = header.parent or header.uid
    ask = database.execute
    if ask("SELECT 1 FROM forgotten WHERE program = ? AND uid = ?", (program, uid)).fetchone():
        return None
    own = {} if header.is_side else vars(header)
    known = [own.get(name) for name in ("branch", "version")]
    title = kept_text(str(own["title"]), _LONGEST_NAME) if own.get("title") else None
    values = (program, uid, origin)
    with within(database):
        ask(
            "INSERT OR IGNORE INTO sessions (program, uid, origin, project) VALUES (?, ?, ?, ?)",
            (*values, project),
        )
        ask(
            "UPDATE sessions SET cwd = CASE WHEN ? = '' THEN cwd ELSE ? END,"
            " branch = coalesce(branch, ?), version = coalesce(?, version),"
            " title = coalesce(?, title) WHERE program = ? AND uid = ? AND origin = ?",
            (*[str(own.get("cwd") or "")] * 2, *known, title, *values),
        )
    found = ask("SELECT id FROM sessions WHERE program = ? AND uid = ? AND origin = ?", values)
    return int(found.fetchone()["id"])


def add_events(
    database: sqlite3.Connection,
    session: int,
    program: str,
    events: Sequence[Event],
    *,
    is_side: bool,
) -> None:
    """Write events of one session in their order; the transaction is the caller's."""
    batch = _Batch(database, session, program, is_side=is_side)
    for event in events:
        if isinstance(event, Request):
            batch.request(event)
        elif isinstance(event, Words):
            batch.words(event)
        elif isinstance(event, Edit):
            batch.edit(event)
        elif isinstance(event, Command):
            batch.command(event)
        elif isinstance(event, Noted):
            batch.noted((event.sha,), batch.turn)
        elif isinstance(event, Usage):
            batch.usage(event)
    batch.finish()


class _Batch:
    """Events of one session between two transactions."""

    def __init__(
        self, database: sqlite3.Connection, session: int, program: str, *, is_side: bool
    ) -> None:
        self._database, self._session, self._program = database, session, program
        self._is_side = is_side
        row = database.execute(
            "SELECT project, origin, (SELECT max(number) FROM turns WHERE session = s.id) AS last"
            " FROM sessions s WHERE id = ?",
            (session,),
        ).fetchone()
        self.turn = int(row["last"] or 0)
        self._project = row["project"]
        self._is_imported = row["origin"] != LOCAL  # times do not tell its turns
        self._is_copy = False  # the turn was told by the session that this one was forked from
        self._said: dict[tuple[int, str], list[str]] = {}
        self._times: list[float] = []

    def request(self, event: Request) -> None:
        """Begin a turn, unless it is known."""
        if self._is_side:
            return
        self._times.append(event.time)
        known = self._database.execute(
            "SELECT session, number FROM turns WHERE uid = ?", (f"{self._program}:{event.uid}",)
        ).fetchone()
        if known is not None:
            is_own = known["session"] == self._session
            self.turn = int(known["number"]) if is_own else self.turn
            self._is_copy = not is_own or self._is_imported  # a note says it again
            return
        self._is_copy = False
        row = self._database.execute(
            "SELECT max(number) AS last FROM turns WHERE session = ?", (self._session,)
        ).fetchone()
        self.turn = event.number or int(row["last"] or 0) + 1
        self._database.execute(
            "INSERT INTO turns (session, number, uid, time, request) VALUES (?, ?, ?, ?, ?)",
            (
                *(self._session, self.turn, f"{self._program}:{event.uid}", event.time),
                kept_text(event.text.strip(), LONGEST_REQUEST),
            ),
        )

    def words(self, event: Words) -> None:
        """Remember what is said until the batch ends."""
        if event.text.strip() and self.turn and not self._is_copy and not self._is_side:
            column = "plan" if event.is_plan else "words"
            self._said.setdefault((self.turn, column), []).append(event.text.strip())

    def edit(self, event: Edit) -> None:
        """Keep the fingerprints of an edit."""
        self._times.append(event.time)
        values = edit_values(event)
        known = blake2b(event.path.encode("utf-8", "replace"), digest_size=8)
        for value in (values[0], values[4]):
            known.update(value)
        uid = f"{self._program}:{event.call}:{int(event.time)}:{known.hexdigest()}"
        self._database.execute(
            "INSERT OR IGNORE INTO edits (session, turn, uid, time, project, path, is_blind, exact,"
            " normal, flags, words, removed) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                *(
                    self._session,
                    self._turn_at(event.time),
                    uid,
                    event.time,
                    self._project,
                    event.path,
                ),
                *(event.is_blind, *values),
            ),
        )

    def command(self, event: Command) -> None:
        """Keep a command, and the commits that it showed."""
        self._times.append(event.time)
        turn = self._turn_at(event.time)
        self._database.execute(
            "INSERT OR IGNORE INTO commands (session, turn, uid, time, text, exit_code)"
            " VALUES (?, ?, ?, ?, ?, ?)",
            (
                *(self._session, turn, f"{self._program}:{event.call}:{int(event.time)}"),
                *(event.time, kept_text(event.text, _LONGEST_COMMAND), event.exit_code),
            ),
        )
        self.noted(event.commits, turn)

    def noted(self, commits: Sequence[str], turn: int) -> None:
        """Keep which commits a turn is about."""
        self._database.executemany(
            "INSERT OR IGNORE INTO commits VALUES (?, ?, ?)",
            [(self._session, turn, sha) for sha in commits],
        )

    def usage(self, event: Usage) -> None:
        """Add up what was used, or take over the total."""
        if self._is_copy:
            return
        if event.model and not self._is_side:
            self._database.execute(
                "UPDATE sessions SET model = ? WHERE id = ?",
                (kept_text(str(event.model), _LONGEST_NAME), self._session),
            )
        if event.is_total and self._is_side:
            return
        tokens = [min(count, _MOST_TOKENS) for count in (event.input_tokens, event.output_tokens)]
        self._database.execute(
            _TOTAL if event.is_total else _MORE, (*tokens, event.cost, self._session)
        )

    def _turn_at(self, time: float) -> int:
        """The turn that was under way; 0 where it is not known yet."""
        if self._is_imported:
            return self.turn
        row = self._database.execute(
            "SELECT max(number) AS number FROM turns WHERE session = ? AND time <= ?",
            (self._session, time + 0.001),
        ).fetchone()
        found = int(row["number"] or 0)
        return found or (0 if self._is_side else self.turn)

    def finish(self) -> None:
        """Write what was said, and when the session began and ended."""
        for (turn, column), texts in self._said.items():
            longest = _LONGEST_PLAN if column == "plan" else _LONGEST_WORDS
            row = self._database.execute(
                f"SELECT {column} AS said FROM turns WHERE session = ? AND number = ?",  # noqa: S608
                (self._session, turn),
            ).fetchone()
            before = "" if column == "plan" else str(row["said"])
            text = kept_text("\n".join([before, *texts] if before else texts), 10 * longest)
            self._database.execute(
                f"UPDATE turns SET {column} = ? WHERE session = ? AND number = ?",  # noqa: S608
                (_shortened(text, longest), self._session, turn),
            )
        times = [time for time in self._times if time > 0]
        if times:
            self._database.execute(
                "UPDATE sessions SET started = CASE WHEN started = 0 THEN ?1 ELSE min(started, ?1)"
                " END, ended = max(ended, ?2) WHERE id = ?3",
                (min(times), max(times), self._session),
            )


def _shortened(text: str, longest: int) -> str:
    """The beginning and, since it says what came out, the end."""
    half = longest // 2
    return text if len(text) <= longest else f"{text[:half]}\n…\n{text[-half:]}"
