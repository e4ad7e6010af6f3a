"""The journal in SQLite, in WAL mode: readers never wait, and a killed writer leaves no trace."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

from clew.kit import jsontext
from clew.kit.errors import Conflict, NotFound
from clew.kit.jsontext import JsonObject
from clew.kit.paths import ProjectPaths
from clew.kit.sqlite import open_database, open_read_only, read_migrations, writing
from clew.kit.system_errors import database_refusal
from clew.work.journal.active import IS_ACTIVE
from clew.work.journal.interface import Journal
from clew.work.model import (
    AT_REST,
    ENDED,
    OPEN,
    OPEN_MERGES,
    Check,
    Merge,
    MergeStatus,
    Move,
    Phase,
    Request,
    Run,
    RunPlan,
    Schedule,
    ScheduleStatus,
    check_move,
    check_spec_id,
    lost_claim,
    new_run_id,
    now_text,
)
from clew.work.processes.identity import ProcessIdentity, own_identity


def _quoted(words: Sequence[str]) -> str:
    return ", ".join(f"'{word}'" for word in words)


MIGRATIONS = Path(__file__).with_name("migrations")
_UPDATABLE = (
    "process_id", "base_commit", "branch", "worktree", "snapshot", "session_id", "cost_usd",
    "input_tokens", "output_tokens",
    "exit_code", "failure_class", "failure", "result", "retry_at", "request", "finishings",
    "started_at", "heartbeat_at", "settled_at",
)  # fmt: skip
_PROCESSES = {"owner": "owner", "agent_process": "agent"}
_LISTS = ("files", "left_out")


class SqliteJournal:
    """A journal in one file, for as many processes of one machine as want it."""

    def __init__(self, path: Path, *, read_only: bool = False) -> None:
        self._path = path
        with self._explained():
            self._database = (
                open_read_only(path, read_migrations(MIGRATIONS))
                if read_only
                else open_database(path, read_migrations(MIGRATIONS))
            )

    def close(self) -> None:
        """Release what the journal holds open."""
        self._database.close()

    def is_active(self) -> bool:
        """Whether anything is under way, or was when its process died: then repair is due."""
        return bool(self._query(IS_ACTIVE)[0][0])

    def progress(self) -> str:
        """A text that is another one after every move of a run and every step of a merge."""
        rows = self._query(
            "SELECT (SELECT max(number) FROM moves), (SELECT count(*) FROM merges),"
            " (SELECT max(updated_at) FROM merges)"
        )
        steps = (f"{merge.number}:{merge.status}" for merge in self.merges())
        return " ".join((*map(str, rows[0]), *steps))  # two steps may share a millisecond

    def claim(
        self,
        spec_id: str,
        plan: RunPlan,
        *,
        mode: str,
        run_id: str | None = None,
        attempt: int | None = None,
    ) -> Run:
        """A new run of the spec, owned by this process; refused while another one is open.

        Whoever names the attempt has looked at the one before it. The claim is refused as well if
        there has been another since, or if the spec does not have that one's status yet.
        """
        run_id, owner = run_id or new_run_id(), own_identity()
        with self._transaction():
            self._refuse_second(check_spec_id(spec_id))
            newest = self.latest(spec_id) if attempt is not None else None
            if newest is not None and (newest.attempt + 1 != attempt or newest.settled_at is None):
                raise lost_claim(newest)
            self._query(
                "INSERT INTO runs (run_id, spec_id, attempt, phase, mode, agent, model, plan,"
                " owner_pid, owner_started, owner_boot, finisher, continues, created_at)"
                " SELECT ?, ?, 1 + coalesce(max(attempt), 0), ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?"
                " FROM runs WHERE spec_id = ?",
                run_id, spec_id, Phase.PREPARED, mode, plan.agent.name, plan.agent.model,
                jsontext.dumps(asdict(plan)), owner.pid, owner.started, owner.boot,
                plan.finisher, plan.continues, now_text(), spec_id,
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
        """Take a run one phase on, with what became known; illegal moves are refused."""
        with self._transaction():
            run = self.get(run_id)
            if expected is not None and run.phase not in expected:
                raise Conflict(f"Run {run_id} is {run.phase} already")
            check_move(run.phase, after)
            if after in OPEN and not run.is_open:
                self._refuse_second(run.spec_id)
            ended_at = now_text() if after in ENDED else None
            columns = {"phase": after, "settled_at": None, "ended_at": ended_at}
            self._set("runs", "run_id", run_id, columns | _columns(fields))
            self._note_move(run_id, run.phase, after, note)
        return self.get(run_id)

    def update(self, run_id: str, **fields: Any) -> Run:
        """Store what became known about a run without a change of phase."""
        with self._transaction():
            self._set("runs", "run_id", run_id, _columns(fields))
        return self.get(run_id)

    def ask(self, run_id: str, request: Request) -> None:
        """Leave a request for the run's supervisor."""
        with self._transaction():
            run = self.get(run_id)
            if run.phase in AT_REST:
                raise Conflict(f"Run {run_id} is not running (it is {run.phase})")
            self._set("runs", "run_id", run_id, {"request": request})

    def get(self, run_id: str) -> Run:
        """One run."""
        for row in self._query("SELECT * FROM runs WHERE run_id = ?", run_id):
            return _run(row)
        raise NotFound(f"No such run: {run_id}", "`clew runs` lists them.")

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
        limit: int = -1,
    ) -> list[Run]:
        """Runs, the newest first."""
        of_spec = "" if spec_id is None else " AND spec_id = ?"
        among = "" if phases is None else f" AND phase IN ({_quoted(phases)})"
        by_time = "" if spec_id is not None else "created_at DESC, "  # a clock may be set back
        rows = self._query(
            f"SELECT * FROM runs WHERE 1{of_spec}{among}"  # noqa: S608 (fixed texts)
            f" ORDER BY {by_time}attempt DESC LIMIT ?",
            *([] if spec_id is None else [spec_id]),
            limit,
        )
        return [_run(row) for row in rows]

    def unreported(self) -> list[Run]:
        """The runs at rest whose specs do not have the status that follows, the oldest first."""
        rows = self._query(
            f"SELECT * FROM runs WHERE phase IN ({_quoted(AT_REST)})"  # noqa: S608 (fixed)
            " AND settled_at IS NULL ORDER BY created_at, attempt"
        )
        return [_run(row) for row in rows]

    def history(self, run_id: str) -> list[Move]:
        """Every move of a run, the oldest first."""
        rows = self._query(
            "SELECT at, run_id, before, after, note FROM moves WHERE run_id = ? ORDER BY number",
            run_id,
        )
        return [Move(*row) for row in rows]

    def count(self) -> int:
        """How many runs there ever were."""
        return int(self._query("SELECT count(*) FROM runs")[0][0])

    def running_by_worker(self) -> dict[str, int]:
        """How many runs each worker has under way; one without a name is the empty text."""
        rows = self._query(
            "SELECT coalesce(json_extract(plan, '$.worker'), ''), count(*) FROM runs"
            " WHERE ended_at IS NULL AND phase <> 'held' GROUP BY 1"
        )
        return {row[0]: row[1] for row in rows}

    def keep_check(self, run_id: str, check: Check) -> None:
        """Store how a check went; an earlier outcome of the same check is replaced."""
        self._query(
            "INSERT OR REPLACE INTO checks"
            " (run_id, number, at, criterion, command, passed, said, seconds)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            run_id, check.number, now_text(), check.criterion, check.command, int(check.passed),
            check.said, check.seconds,
        )  # fmt: skip

    def checks(self, run_id: str) -> list[Check]:
        """The checks of a run, in the order of its criteria."""
        rows = self._query(
            "SELECT number, criterion, command, passed, said, seconds FROM checks"
            " WHERE run_id = ? ORDER BY number",
            run_id,
        )
        return [Check(row[0], row[1], row[2], bool(row[3]), row[4], row[5]) for row in rows]

    def add_schedule(self, spec_id: str, mode: str, plan: JsonObject) -> Schedule:
        """A new schedule, not begun yet."""
        schedule_id, status = new_run_id(), ScheduleStatus.RUNNING
        self._query(
            "INSERT INTO schedules (schedule_id, spec_id, mode, plan, status, created_at)"
            " VALUES (?, ?, ?, ?, ?, ?)",
            schedule_id, spec_id, mode, jsontext.dumps(plan), status, now_text(),
        )  # fmt: skip
        return self.schedule(schedule_id)

    def update_schedule(self, schedule_id: str, **fields: Any) -> Schedule:
        """Store what became known about a schedule."""
        self._set("schedules", "schedule_id", schedule_id, fields)
        return self.schedule(schedule_id)

    def schedule(self, schedule_id: str) -> Schedule:
        """One schedule."""
        for row in self._query("SELECT * FROM schedules WHERE schedule_id = ?", schedule_id):
            return _schedule(row)
        raise NotFound(f"No such schedule: {schedule_id}", "`clew runs` shows what there is.")

    def schedules(self, *, running: bool = False) -> list[Schedule]:
        """All schedules, or those under way; the newest first."""
        wanted = ScheduleStatus.RUNNING if running else None
        rows = self._query(
            "SELECT * FROM schedules WHERE status = coalesce(?, status) ORDER BY created_at DESC",
            wanted,
        )
        return [_schedule(row) for row in rows]

    def queue_merge(
        self, spec_id: str, branch: str, target: str, *, strategy: str, delete_branch: bool
    ) -> Merge:
        """Put a branch into the merge queue; one that is in it already keeps its place."""
        given, now = (branch, target, strategy, int(delete_branch)), now_text()
        with self._transaction():
            entry = self.latest_merge(spec_id)
            if entry is not None and entry.status in OPEN_MERGES:
                self._query(
                    "UPDATE merges SET branch = ?, target = ?, strategy = ?, delete_branch = ?"
                    " WHERE number = ?", *given, entry.number,
                )  # fmt: skip
                return self.merge(entry.number)
            self._query(
                "INSERT INTO merges (branch, target, strategy, delete_branch, spec_id, status,"
                " created_at, updated_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                *given, spec_id, MergeStatus.QUEUED, now, now,
            )  # fmt: skip
            return self.merges((MergeStatus.QUEUED,))[-1]

    def update_merge(self, number: int, status: MergeStatus, **fields: Any) -> Merge:
        """Take an entry of the merge queue one step on, with what became known."""
        columns = {"status": status, "updated_at": now_text()}
        for name, value in fields.items():
            columns[name] = jsontext.dumps(list(value)) if name in _LISTS else value
        self._set("merges", "number", number, columns)
        return self.merge(number)

    def merge(self, number: int) -> Merge:
        """One entry of the merge queue."""
        return _merge(self._query("SELECT * FROM merges WHERE number = ?", number)[0])

    def merges(self, statuses: Sequence[MergeStatus] = OPEN_MERGES) -> list[Merge]:
        """The entries of these statuses, in the order of the queue."""
        among = _quoted(statuses)
        rows = self._query(f"SELECT * FROM merges WHERE status IN ({among}) ORDER BY number")  # noqa: S608
        return [_merge(row) for row in rows]

    def latest_merge(self, spec_id: str) -> Merge | None:
        """The newest entry of a spec."""
        rows = self._query(
            "SELECT * FROM merges WHERE spec_id = ? ORDER BY number DESC LIMIT 1", spec_id
        )
        return _merge(rows[0]) if rows else None

    def _refuse_second(self, spec_id: str) -> None:
        other = self.open_run(spec_id)
        if other is not None:
            raise lost_claim(other)

    def _note_move(self, run_id: str, before: Phase | None, after: Phase, note: str | None) -> None:
        self._query(
            "INSERT INTO moves (run_id, at, before, after, note) VALUES (?, ?, ?, ?, ?)",
            run_id, now_text(), before, after, note,
        )  # fmt: skip

    def _set(self, table: str, key: str, value: object, columns: JsonObject) -> None:
        assigned = ", ".join(f"{name} = ?" for name in columns)
        self._query(
            f"UPDATE {table} SET {assigned} WHERE {key} = ?",  # noqa: S608 (fixed names)
            *columns.values(),
            value,
        )

    def _query(self, statement: str, *values: object) -> list[sqlite3.Row]:
        with self._explained():
            return self._database.execute(statement, values).fetchall()

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        with self._explained(), writing(self._database):
            yield

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.DatabaseError as error:
            raise database_refusal("The journal of runs", self._path, error) from error


@contextmanager
def read_journal(paths: ProjectPaths) -> Iterator[Journal | None]:
    """The project's journal for reading alone; None when there has been no run yet."""
    if not paths.journal.exists():
        yield None
        return
    with closing(SqliteJournal(paths.journal, read_only=True)) as journal:
        yield journal


def _columns(fields: JsonObject) -> JsonObject:
    """The columns of a run for these fields; a process has three of them."""
    columns: JsonObject = {}
    for name, value in fields.items():
        if name in _PROCESSES:
            for part in ("pid", "started", "boot"):
                columns[f"{_PROCESSES[name]}_{part}"] = getattr(value, part, None)
        elif name in _UPDATABLE:
            columns[name] = value
        else:
            raise ValueError(f"runs have no field {name}")
    return columns


def _run(row: sqlite3.Row) -> Run:
    values = dict(row)
    processes = {name: _identity(values, prefix) for name, prefix in _PROCESSES.items()}
    phase, plan = Phase(values["phase"]), RunPlan.of(jsontext.loads(values["plan"]))
    return Run(**{**values, **processes, "phase": phase, "plan": plan})


def _identity(values: JsonObject, prefix: str) -> ProcessIdentity | None:
    pid, started, boot = (values.pop(f"{prefix}_{part}") for part in ("pid", "started", "boot"))
    return None if pid is None else ProcessIdentity(pid, started, boot)


def _schedule(row: sqlite3.Row) -> Schedule:
    plan, stop_asked = jsontext.loads(row["plan"]), bool(row["stop_asked"])
    return Schedule(**{**dict(row), "plan": plan, "stop_asked": stop_asked})


def _merge(row: sqlite3.Row) -> Merge:
    lists = {name: tuple(jsontext.loads(row[name])) for name in _LISTS}
    flags = {name: bool(row[name]) for name in ("is_checked", "delete_branch")}
    return Merge(**{**dict(row), **lists, **flags, "status": MergeStatus(row["status"])})
