"""The journal of runs: one row a run, every change of phase kept for good.

SQLite in WAL mode: a claim is one transaction that exactly one of two starters wins, readers never
wait, and a process that is killed in the middle of writing leaves the last whole state.
"""

from __future__ import annotations

import sqlite3
from contextlib import contextmanager
from typing import TYPE_CHECKING

from clew.kit import jsontext
from clew.kit.errors import Conflict, NotFound, Unavailable
from clew.kit.sqlite import open_database, open_read_only, writing
from clew.work.model import (
    AT_REST,
    ENDED,
    OPEN,
    Check,
    Move,
    Phase,
    Run,
    check_move,
    check_spec_id,
    new_run_id,
    now_text,
)
from clew.work.processes.identity import ProcessIdentity, own_identity

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    from clew.kit.jsontext import JsonObject
    from clew.work.model import Request
    from clew.work.paths import Places


def _quoted(phases: Sequence[Phase]) -> str:
    return ", ".join(f"'{phase}'" for phase in phases)


MIGRATIONS = (
    f"""
    CREATE TABLE runs (
        run_id TEXT PRIMARY KEY,
        spec_id TEXT NOT NULL,
        attempt INTEGER NOT NULL,
        phase TEXT NOT NULL,
        mode TEXT NOT NULL,
        agent TEXT NOT NULL,
        model TEXT,
        plan TEXT NOT NULL,
        owner_pid INTEGER,
        owner_started TEXT,
        owner_boot TEXT,
        agent_pid INTEGER,
        agent_started TEXT,
        agent_boot TEXT,
        process_id TEXT,
        base_commit TEXT,
        branch TEXT,
        worktree TEXT,
        snapshot TEXT,
        session_id TEXT,
        cost_usd REAL,
        exit_code INTEGER,
        failure_class TEXT,
        failure TEXT,
        result TEXT,
        retry_at TEXT,
        request TEXT,
        finisher TEXT,
        finishings INTEGER NOT NULL DEFAULT 0,
        continues TEXT,
        created_at TEXT NOT NULL,
        started_at TEXT,
        ended_at TEXT,
        heartbeat_at TEXT
    );
    CREATE UNIQUE INDEX one_open_run_per_spec ON runs (spec_id) WHERE phase IN ({_quoted(OPEN)});
    CREATE INDEX runs_by_spec ON runs (spec_id, attempt);
    CREATE TABLE moves (
        number INTEGER PRIMARY KEY,
        run_id TEXT NOT NULL REFERENCES runs (run_id),
        at TEXT NOT NULL,
        before TEXT,
        after TEXT NOT NULL,
        note TEXT
    );
    CREATE INDEX moves_by_run ON moves (run_id, number)
    """,
    """
    ALTER TABLE runs ADD COLUMN settled_at TEXT;
    CREATE TABLE checks (
        run_id TEXT NOT NULL REFERENCES runs (run_id),
        number INTEGER NOT NULL,
        at TEXT NOT NULL,
        criterion TEXT NOT NULL,
        command TEXT NOT NULL,
        passed INTEGER NOT NULL,
        said TEXT NOT NULL,
        seconds REAL NOT NULL,
        PRIMARY KEY (run_id, number)
    );
    CREATE TABLE schedules (
        schedule_id TEXT PRIMARY KEY,
        process_id TEXT,
        spec_id TEXT NOT NULL,
        mode TEXT NOT NULL,
        plan TEXT NOT NULL,
        pid INTEGER,
        status TEXT NOT NULL,
        note TEXT,
        stop_asked INTEGER NOT NULL DEFAULT 0,
        created_at TEXT NOT NULL,
        ended_at TEXT
    )
    """,
    """
    CREATE TABLE merges (
        number INTEGER PRIMARY KEY,
        spec_id TEXT NOT NULL,
        branch TEXT NOT NULL,
        target TEXT NOT NULL,
        strategy TEXT NOT NULL,
        status TEXT NOT NULL,
        tip TEXT,
        onto TEXT,
        candidate TEXT,
        is_checked INTEGER NOT NULL DEFAULT 0,
        delete_branch INTEGER NOT NULL DEFAULT 0,
        files TEXT NOT NULL DEFAULT '[]',
        left_out TEXT NOT NULL DEFAULT '[]',
        note TEXT,
        conflict_spec TEXT,
        created_at TEXT NOT NULL,
        updated_at TEXT NOT NULL
    );
    CREATE UNIQUE INDEX one_open_merge_per_spec ON merges (spec_id)
        WHERE status IN ('queued', 'merging', 'moving', 'waiting')
    """,
)
_PLAIN = (
    "process_id", "base_commit", "branch", "worktree", "snapshot", "session_id", "cost_usd",
    "exit_code", "failure_class", "failure", "result", "retry_at", "request", "finishings",
    "started_at", "heartbeat_at", "settled_at",
)  # fmt: skip
_PROCESSES = {"owner": "owner", "agent_process": "agent"}


class Journal:
    """A project's runs, open for reading and writing."""

    def __init__(self, database: sqlite3.Connection) -> None:
        self._database = database

    @property
    def database(self) -> sqlite3.Connection:
        """The database itself, for the tables that other modules keep in it."""
        return self._database

    def close(self) -> None:
        """Give the database back."""
        self._database.close()

    def claim(
        self,
        spec_id: str,
        *,
        mode: str,
        agent: str,
        model: str | None,
        plan: JsonObject,
        run_id: str | None = None,
    ) -> Run:
        """A new run of the spec, owned by this process; exactly one of several callers gets it."""
        run_id, now = run_id or new_run_id(), now_text()
        owner = own_identity()
        with writing(self._database) as database:
            self._refuse_second(check_spec_id(spec_id))
            database.execute(
                "INSERT INTO runs (run_id, spec_id, attempt, phase, mode, agent, model, plan,"
                " owner_pid, owner_started, owner_boot, finisher, continues, created_at)"
                " SELECT ?, ?, 1 + coalesce(max(attempt), 0), ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?"
                " FROM runs WHERE spec_id = ?",
                (run_id, spec_id, Phase.PREPARED, mode, agent, model, jsontext.dumps(plan),
                 owner.pid, owner.started, owner.boot, plan.get("finisher"),
                 plan.get("continues"), now, spec_id),
            )  # fmt: skip
            self._note_move(run_id, None, Phase.PREPARED, None)
        return self.get(run_id)

    def move(
        self,
        run_id: str,
        after: Phase,
        *,
        expected: Sequence[Phase] | None = None,
        note: str | None = None,
        **fields: Any,
    ) -> Run:
        """Take a run one step on, with what became known; illegal steps are refused."""
        with writing(self._database):
            run = self.get(run_id)
            if expected is not None and run.phase not in expected:
                raise Conflict(f"Run {run_id} is {run.phase} already")
            check_move(run.phase, after)
            if after in OPEN and not run.is_open:
                self._refuse_second(run.spec_id)
            ended = {"ended_at": now_text()} if after in ENDED else {"ended_at": None}
            self._set(run_id, {"phase": after, "settled_at": None, **ended}, fields)
            self._note_move(run_id, run.phase, after, note)
        return self.get(run_id)

    def update(self, run_id: str, **fields: Any) -> None:
        """Store what became known about a run without a change of phase."""
        with writing(self._database):
            self._set(run_id, {}, fields)

    def ask(self, run_id: str, request: Request) -> None:
        """Leave a request for the run's supervisor."""
        with writing(self._database):
            run = self.get(run_id)
            if run.phase not in OPEN or run.phase is Phase.HELD:
                raise Conflict(f"Run {run_id} is not running (it is {run.phase})")
            self._set(run_id, {}, {"request": request})

    def get(self, run_id: str) -> Run:
        """One run."""
        row = self._database.execute("SELECT * FROM runs WHERE run_id = ?", (run_id,)).fetchone()
        if row is None:
            raise NotFound(f"No such run: {run_id}", "`clew runs` lists them.")
        return _run(row)

    def open_run(self, spec_id: str) -> Run | None:
        """The run that claims the spec now."""
        return next(iter(self.runs(spec_id=spec_id, phases=OPEN)), None)

    def latest(self, spec_id: str) -> Run | None:
        """The spec's newest run."""
        return next(iter(self.runs(spec_id=spec_id, limit=1)), None)

    def runs(
        self,
        *,
        spec_id: str | None = None,
        phases: Sequence[Phase] | None = None,
        process_id: str | None = None,
        limit: int = -1,
    ) -> list[Run]:
        """Runs, newest first; `process_id` may be a part."""
        conditions, values = ["1"], list[object]()
        if spec_id is not None:
            conditions.append("spec_id = ?")
            values.append(spec_id)
        if phases is not None:
            conditions.append(f"phase IN ({_quoted(phases)})")
        if process_id is not None:
            conditions.append("instr(process_id, ?) > 0")
            values.append(process_id)
        query = (
            f"SELECT * FROM runs WHERE {' AND '.join(conditions)}"  # noqa: S608 (fixed texts)
            " ORDER BY created_at DESC, attempt DESC LIMIT ?"
        )
        return [_run(row) for row in self._database.execute(query, (*values, limit))]

    def unsettled(self) -> list[Run]:
        """The runs at rest whose specs have not been told so, the oldest first."""
        query = (
            f"SELECT * FROM runs WHERE phase IN ({_quoted(AT_REST)})"  # noqa: S608 (fixed texts)
            " AND settled_at IS NULL ORDER BY created_at, attempt"
        )
        return [_run(row) for row in self._database.execute(query)]

    def history(self, run_id: str) -> list[Move]:
        """Every step a run took, oldest first."""
        rows = self._database.execute(
            "SELECT at, run_id, before, after, note FROM moves WHERE run_id = ? ORDER BY number",
            (run_id,),
        )
        return [Move(*row) for row in rows]

    def count(self) -> int:
        """How many runs there ever were."""
        return int(self._database.execute("SELECT count(*) FROM runs").fetchone()[0])

    def running_by_worker(self) -> dict[str, int]:
        """How many runs each worker has under way; one that has no name is the empty text."""
        rows = self._database.execute(
            "SELECT coalesce(json_extract(plan, '$.worker'), ''), count(*) FROM runs"
            " WHERE ended_at IS NULL AND phase <> 'held' GROUP BY 1"
        )
        return {row[0]: row[1] for row in rows}

    def keep_check(self, run_id: str, check: Check) -> None:
        """Store how a check went; an earlier outcome of the same check is replaced."""
        with writing(self._database) as database:
            database.execute(
                "INSERT OR REPLACE INTO checks"
                " (run_id, number, at, criterion, command, passed, said, seconds)"
                " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                (run_id, check.number, now_text(), check.criterion, check.command,
                 int(check.passed), check.said, check.seconds),
            )  # fmt: skip

    def checks(self, run_id: str) -> list[Check]:
        """The checks of a run, in the order of its criteria."""
        rows = self._database.execute(
            "SELECT number, criterion, command, passed, said, seconds FROM checks"
            " WHERE run_id = ? ORDER BY number",
            (run_id,),
        )
        return [Check(row[0], row[1], row[2], bool(row[3]), row[4], row[5]) for row in rows]

    def _refuse_second(self, spec_id: str) -> None:
        other = self.open_run(spec_id)
        if other is None:
            return
        if other.phase is Phase.HELD:
            raise Conflict(
                f"Spec '{spec_id}' has been taken over (run {other.run_id})",
                f"Hand it back with `clew release {spec_id}` first.",
            )
        pid = f", PID {other.owner.pid}" if other.owner else ""
        raise Conflict(
            f"Spec '{spec_id}' is already being worked (run {other.run_id}, {other.phase}{pid})",
            f"Wait for it, or stop it with `clew pause {spec_id}`.",
        )

    def _set(self, run_id: str, phase: JsonObject, fields: JsonObject) -> None:
        columns = dict(phase)
        for name, value in fields.items():
            if name in _PROCESSES:
                columns |= _process_columns(_PROCESSES[name], value)
            elif name in _PLAIN:
                columns[name] = value
            else:
                raise ValueError(f"runs have no field {name}")
        assigned = ", ".join(f"{name} = ?" for name in columns)
        self._database.execute(
            f"UPDATE runs SET {assigned} WHERE run_id = ?",  # noqa: S608 (fixed names)
            (*columns.values(), run_id),
        )

    def _note_move(self, run_id: str, before: Phase | None, after: Phase, note: str | None) -> None:
        self._database.execute(
            "INSERT INTO moves (run_id, at, before, after, note) VALUES (?, ?, ?, ?, ?)",
            (run_id, now_text(), before, after, note),
        )


@contextmanager
def open_journal(places: Places) -> Iterator[Journal]:
    """The project's journal, made at its first use."""
    with _explained(places):
        journal = Journal(open_database(places.journal, MIGRATIONS))
        try:
            yield journal
        finally:
            journal.close()


@contextmanager
def read_journal(places: Places) -> Iterator[Journal | None]:
    """The project's journal for reading alone; None when there has been no run yet."""
    if not places.journal.exists():
        yield None
        return
    with _explained(places):
        journal = Journal(open_read_only(places.journal))
        try:
            yield journal
        finally:
            journal.close()


@contextmanager
def _explained(places: Places) -> Iterator[None]:
    try:
        yield
    except sqlite3.DatabaseError as error:
        raise Unavailable(
            f"The journal of runs cannot be used: {error}: {places.journal}",
            "If it is damaged, move it away: branches, worktrees and logs do not depend on it.",
        ) from error


def _process_columns(prefix: str, identity: ProcessIdentity | None) -> JsonObject:
    values = (identity.pid, identity.started, identity.boot) if identity else (None, None, None)
    return dict(zip((f"{prefix}_pid", f"{prefix}_started", f"{prefix}_boot"), values, strict=True))


def _run(row: sqlite3.Row) -> Run:
    values = dict(row)
    processes = {name: _identity(values, prefix) for name, prefix in _PROCESSES.items()}
    return Run(
        **{
            **values,
            **processes,
            "phase": Phase(values["phase"]),
            "plan": jsontext.loads(values["plan"]),
        }
    )


def _identity(values: JsonObject, prefix: str) -> ProcessIdentity | None:
    pid, started, boot = (values.pop(f"{prefix}_{part}") for part in ("pid", "started", "boot"))
    return None if pid is None else ProcessIdentity(pid, started, boot)
