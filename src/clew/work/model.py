"""What a run is: its phases, the legal moves between them, and the record of it."""

from __future__ import annotations

import re
import secrets
import time
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from clew.kit.errors import Conflict, Invalid
from clew.kit.jsontext import JsonObject
from clew.kit.times import parse_iso, utc_now
from clew.work.processes.identity import ProcessIdentity

_SPEC_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,199}")
_RUN_ID = re.compile(r"[0-9]{8}T[0-9]{6}-[0-9a-f]{8}")


KEEPER = {  # of commits that keep work or compare it; never of commits on a branch
    "GIT_AUTHOR_NAME": "Clew",
    "GIT_AUTHOR_EMAIL": "clew@localhost",
    "GIT_COMMITTER_NAME": "Clew",
    "GIT_COMMITTER_EMAIL": "clew@localhost",
}


class Phase(StrEnum):
    """Where a run is; each step is recorded before the next one begins."""

    PREPARED = "prepared"
    WORKTREE = "worktree"
    STARTED = "started"
    AGENT_EXITED = "agent_exited"
    CHECKED = "checked"
    MERGED = "merged"
    HELD = "held"
    FINISHED = "finished"
    PAUSED = "paused"
    INTERRUPTED = "interrupted"
    FAILED = "failed"
    CANCELLED = "cancelled"


class Request(StrEnum):
    """What somebody asked of a run's supervisor; it is in the journal before it is signalled."""

    PAUSE = "pause"
    HOLD = "hold"
    CANCEL = "cancel"


class FailureClass(StrEnum):
    """Why a run failed, as far as exit codes and structured events tell."""

    PROGRAM = "program"
    WORKTREE = "worktree"
    SETUP = "setup"
    WALL_TIME = "wall_time"
    IDLE = "idle"
    COST = "cost"
    RATE_LIMIT = "rate_limit"
    OVERLOAD = "overload"
    AUTH = "auth"
    NETWORK = "network"
    CONTEXT = "context"
    REFUSAL = "refusal"
    CRASH = "crash"
    KILLED = "killed"
    AGENT = "agent"
    SUPERVISOR = "supervisor"
    REBOOT = "reboot"
    FINISHING = "finishing"
    NO_WORK = "no_work"
    UNCOMMITTED = "uncommitted"
    CHECKS = "checks"
    CRITERIA = "criteria"
    OUTPUT = "output"
    APPROVAL = "approval"
    STRAYED = "strayed"


TRANSIENT = (FailureClass.RATE_LIMIT, FailureClass.OVERLOAD, FailureClass.NETWORK)
# The agent did work, but it is not what was asked for: somebody has to look at it.
ATTENTION = (
    FailureClass.UNCOMMITTED,
    FailureClass.CHECKS,
    FailureClass.CRITERIA,
    FailureClass.OUTPUT,
    FailureClass.APPROVAL,
    FailureClass.STRAYED,
)
RUNNING = (Phase.PREPARED, Phase.WORKTREE, Phase.STARTED)
FINISHING = (Phase.AGENT_EXITED, Phase.CHECKED, Phase.MERGED)
OPEN = (*RUNNING, *FINISHING, Phase.HELD)  # a spec has at most one run in these
ENDED = (Phase.FINISHED, Phase.PAUSED, Phase.INTERRUPTED, Phase.FAILED, Phase.CANCELLED)
AT_REST = (Phase.HELD, *ENDED)  # nobody is at work
_STOPS = frozenset({Phase.HELD, Phase.PAUSED, Phase.INTERRUPTED, Phase.FAILED, Phase.CANCELLED})
_LATE = _STOPS | {Phase.FINISHED}

LEGAL_MOVES: dict[Phase, frozenset[Phase]] = {
    Phase.PREPARED: _STOPS | {Phase.WORKTREE},
    Phase.WORKTREE: _STOPS | {Phase.STARTED},
    Phase.STARTED: _STOPS | {Phase.AGENT_EXITED},
    Phase.AGENT_EXITED: _LATE | {Phase.CHECKED, Phase.MERGED},
    Phase.CHECKED: _LATE | {Phase.MERGED},
    Phase.MERGED: frozenset({Phase.FINISHED, Phase.FAILED, Phase.INTERRUPTED}),
    Phase.HELD: frozenset({Phase.PAUSED, Phase.CANCELLED, Phase.AGENT_EXITED}),
    Phase.PAUSED: frozenset({Phase.HELD, Phase.CANCELLED}),
    Phase.INTERRUPTED: frozenset({Phase.HELD, Phase.CANCELLED}),
    Phase.FAILED: frozenset({Phase.HELD, Phase.CANCELLED}),
    Phase.FINISHED: frozenset(),
    Phase.CANCELLED: frozenset(),
}
MOST_FINISHINGS = 3  # attempts at finishing a run
REQUESTED_PHASE = {
    Request.PAUSE: Phase.PAUSED,
    Request.HOLD: Phase.HELD,
    Request.CANCEL: Phase.CANCELLED,
}


@dataclass(frozen=True)
class Limits:
    """How long, how silently and how expensively an agent may work; None is no limit."""

    wall_seconds: float | None = 4 * 3600
    idle_seconds: float | None = 30 * 60
    cost_usd: float | None = None
    stop_grace_seconds: float = 10


@dataclass(frozen=True)
class WorktreeSettings:
    """How a spec's worktree is made; commands are argument lists, or a line for the shell."""

    branch_prefix: str = "chant/"
    base_ref: str = "HEAD"
    sparse: tuple[str, ...] = ()
    setup: tuple[str | tuple[str, ...], ...] = ()
    teardown: tuple[str | tuple[str, ...], ...] = ()
    command_seconds: float = 600


@dataclass(frozen=True)
class AgentChoice:
    """Which agent works, and with what."""

    name: str = "claude"
    program: str | None = None
    command: tuple[str, ...] = ()
    model: str | None = None
    permission: str = "edit"
    extra: tuple[str, ...] = ()
    session: str | None = None
    sandbox: str = "off"


@dataclass(frozen=True)
class RunPlan:
    """What a run's supervisor must know, fixed when the run starts and kept in the journal."""

    prompt_name: str = "standard"
    agent: AgentChoice = field(default_factory=AgentChoice)
    program: str = ""
    worker: str = ""
    worktree: WorktreeSettings = field(default_factory=WorktreeSettings)
    limits: Limits = field(default_factory=Limits)
    finisher: str | None = None  # set: the work is judged; None: the agent's own end decides
    continues: str | None = None
    spec_file: str | None = None
    criteria: tuple[tuple[str, str | None], ...] = ()  # text and check command
    check_seconds: float = 600
    prices: tuple[tuple[str, float, float, float | None], ...] = ()  # of models: in, out, cached
    allow_no_commits: bool = False

    @classmethod
    def of(cls, value: JsonObject) -> RunPlan:
        """The plan that the journal keeps; what another version wrote is ignored or defaulted."""
        parts = {"agent": AgentChoice, "worktree": WorktreeSettings, "limits": Limits}
        nested = {name: _record(kind, value.get(name) or {}) for name, kind in parts.items()}
        plan: RunPlan = _record(cls, {**value, **nested})
        return plan


@dataclass(frozen=True)
class RunRequest:
    """Everything that starting a run needs; the prompt is whole and ready to hand over."""

    spec_id: str
    prompt: str
    plan: RunPlan = field(default_factory=RunPlan)
    mode: str = "single"
    attempt: int | None = None  # which one this must be; None is whichever comes next


@dataclass(frozen=True)
class Run:
    """One attempt at one spec, as the journal has it."""

    run_id: str
    spec_id: str
    attempt: int
    phase: Phase
    mode: str
    agent: str
    model: str | None
    plan: RunPlan
    owner: ProcessIdentity | None
    agent_process: ProcessIdentity | None
    process_id: str | None
    base_commit: str | None
    branch: str | None
    worktree: str | None
    snapshot: str | None
    session_id: str | None
    cost_usd: float | None
    input_tokens: int | None
    output_tokens: int | None
    exit_code: int | None
    failure_class: str | None
    failure: str | None
    result: str | None
    retry_at: str | None
    request: str | None
    finisher: str | None
    finishings: int
    continues: str | None
    created_at: str
    started_at: str | None
    ended_at: str | None
    heartbeat_at: str | None
    settled_at: str | None = None

    @property
    def is_open(self) -> bool:
        """Whether the run still claims its spec."""
        return self.phase in OPEN

    def elapsed_seconds(self) -> float | None:
        """How long the run has taken so far, or took; what a person has is no run's time."""
        if self.started_at is None:
            return None
        begun = parse_iso(self.started_at).timestamp()
        end = self.ended_at or (self.heartbeat_at if self.phase is Phase.HELD else None)
        ended = parse_iso(end).timestamp() if end else time.time()
        return round(max(0.0, ended - begun), 1)


@dataclass(frozen=True)
class Move:
    """One step in a run's history."""

    at: str
    run_id: str
    before: str | None
    after: str
    note: str | None


@dataclass(frozen=True)
class Check:
    """One criterion's command, and how it went."""

    number: int
    criterion: str
    command: str
    passed: bool
    said: str
    seconds: float


class MergeStatus(StrEnum):
    """Where a branch on its way into the main branch is; recorded before the next step begins."""

    QUEUED = "queued"
    MERGING = "merging"
    MOVING = "moving"
    WAITING = "waiting"
    MERGED = "merged"
    CONFLICT = "conflict"
    FAILED = "failed"


OPEN_MERGES = (MergeStatus.QUEUED, MergeStatus.MERGING, MergeStatus.MOVING, MergeStatus.WAITING)
ACTIVE_MERGES = (MergeStatus.MERGING, MergeStatus.MOVING)


@dataclass(frozen=True)
class Merge:
    """One entry of the merge queue: a branch on its way into the main branch."""

    number: int
    spec_id: str
    branch: str
    target: str
    strategy: str
    status: MergeStatus
    tip: str | None
    onto: str | None
    candidate: str | None
    is_checked: bool
    delete_branch: bool
    files: tuple[str, ...]
    left_out: tuple[str, ...]
    note: str | None
    conflict_spec: str | None
    created_at: str
    updated_at: str


class ScheduleStatus(StrEnum):
    """Whether a schedule is under way, and how it ended."""

    RUNNING = "running"
    COMPLETED = "completed"
    FAILED = "failed"


@dataclass(frozen=True)
class Schedule:
    """An order to work through several specs."""

    schedule_id: str
    process_id: str | None
    spec_id: str
    mode: str
    plan: JsonObject
    pid: int | None
    status: str
    note: str | None
    stop_asked: bool
    created_at: str
    ended_at: str | None


class ClaimLost(Conflict):
    """Somebody else has the spec, or had it since it was looked at."""


def lost_claim(run: Run) -> ClaimLost:
    """Why nobody else gets the spec of this run: who has it."""
    who = f"run {run.run_id}"
    if run.phase is Phase.HELD:
        return ClaimLost(
            f"Spec '{run.spec_id}' has been taken over ({who})",
            f"Hand it back with `clew release {run.spec_id}` first.",
        )
    if run.is_open:
        pid = f", PID {run.owner.pid}" if run.owner else ""
        return ClaimLost(
            f"Spec '{run.spec_id}' is already being worked ({who}, {run.phase}{pid})",
            f"Wait for it, or stop it with `clew pause {run.spec_id}`.",
        )
    return ClaimLost(
        f"Spec '{run.spec_id}' was worked by somebody else meanwhile ({who}, {run.phase})",
        f"See how it went: `clew runs {run.spec_id}`.",
    )


def check_move(before: Phase, after: Phase) -> None:
    """Refuse a move that no run makes."""
    if after not in LEGAL_MOVES[before]:
        raise Conflict(
            f"A run that is {before} cannot become {after}",
            "Look at it again with `clew runs`; it may have gone on meanwhile.",
        )


def check_spec_id(spec_id: str) -> str:
    """A spec id that is safe as the name of a file, a branch and a ref."""
    if not _SPEC_ID.fullmatch(spec_id) or ".." in spec_id or spec_id.endswith((".", ".lock")):
        raise Invalid(
            f"Not a usable spec id: {spec_id[:100]!r}",
            "Letters, digits, dots, dashes and underscores; the first one a letter or digit.",
        )
    return spec_id


def check_run_id(run_id: str) -> str:
    """A run id as `new_run_id` makes them."""
    if not _RUN_ID.fullmatch(run_id):
        raise Invalid(f"Not a run id: {run_id[:100]!r}", "`clew runs` lists them.")
    return run_id


def new_run_id() -> str:
    """A run id that sorts by time."""
    return f"{time.strftime('%Y%m%dT%H%M%S', time.gmtime())}-{secrets.token_hex(4)}"


def now_text() -> str:
    """The time as RFC 3339 in UTC with milliseconds; texts sort as times do."""
    return utc_now(milliseconds=True)


def second_text(text: str) -> str:
    """The same time without the milliseconds, as the documented files have it."""
    return text[:19] + "Z"


def _record(kind: type[Any], value: JsonObject) -> Any:
    """A dataclass from what JSON made of it: known fields only, lists as tuples."""
    known = kind.__dataclass_fields__
    return kind(**{name: _frozen(item) for name, item in value.items() if name in known})


def _frozen(value: Any) -> Any:
    return tuple(_frozen(item) for item in value) if isinstance(value, list) else value
