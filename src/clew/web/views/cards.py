"""The board as data: columns of cards, for the browser and for the terminal."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from clew.kit.files import open_regular
from clew.kit.paths import ProjectPaths
from clew.specs.change.lifecycle import ALLOWED
from clew.specs.index.graph import Graph
from clew.specs.index.index import Snapshot
from clew.specs.model import Head
from clew.specs.query.lists import blockers
from clew.specs.store.store import SpecStore
from clew.work.journal.sqlite import read_journal
from clew.work.model import OPEN, Phase, Run
from clew.work.runs.reasons import reason_of

COLUMNS = (
    ("ready", "Ready", ("ready",)),
    ("blocked", "Blocked", ("blocked",)),
    ("in_progress", "In progress", ("in_progress", "paused")),
    ("attention", "Needs attention", ("needs_attention", "failed")),
    ("completed", "Completed", ("completed",)),
)
_COLUMN_OF = {status: name for name, _, statuses in COLUMNS for status in statuses}
# The status that a card gets when it is put into a column; nothing is put into `blocked`.
MOVES = {
    "ready": "pending",
    "in_progress": "in_progress",
    "attention": "needs_attention",
    "completed": "completed",
}
_TAIL_BYTES = 4096
_LONGEST_LINE = 160


@dataclass(frozen=True)
class Card:
    """One spec on the board."""

    id: str
    title: str
    status: str
    column: str
    type: str
    labels: tuple[str, ...]
    criteria: tuple[int, int]
    blocked_by: tuple[dict[str, str], ...]
    moves: tuple[str, ...]
    stamp: str
    since: str | None = None
    phase: str | None = None
    agent: str | None = None
    log_line: str = ""
    reason: str = ""
    completed_at: str | None = None

    def as_json(self) -> dict[str, Any]:
        """The card for programs."""
        return {
            "id": self.id,
            "title": self.title,
            "status": self.status,
            "type": self.type,
            "labels": list(self.labels),
            "criteria": {"checked": self.criteria[0], "total": self.criteria[1]},
            "blocked_by": list(self.blocked_by),
            "running_since": self.since,
            "phase": self.phase,
            "agent": self.agent,
            "log_line": self.log_line,
            "reason": self.reason,
        }


@dataclass(frozen=True)
class Column:
    """Cards of one kind: those that are shown, and how many there are."""

    name: str
    title: str
    total: int
    cards: tuple[Card, ...] = ()

    @property
    def left(self) -> int:
        """How many are not shown."""
        return self.total - len(self.cards)


@dataclass(frozen=True)
class Filter:
    """Which specs are shown: a query, a label, a type, and how many of each column."""

    query: str = ""
    label: str = ""
    type: str = ""
    most: dict[str, int] = field(default_factory=dict)
    usual: int = 30


@dataclass(frozen=True)
class Board:
    """All columns, what can be filtered by, and the files that are no specs."""

    columns: tuple[Column, ...]
    labels: tuple[str, ...]
    types: tuple[str, ...]
    total: int
    problems: tuple[str, ...] = ()


def read_board(store: SpecStore, paths: ProjectPaths, wanted: Filter | None = None) -> Board:
    """The board as the files and the journal are now."""
    wanted = wanted or Filter()
    snapshot = store.snapshot()
    graph = snapshot.graph()
    groups: dict[str, list[Head]] = {name: [] for name, _, _ in COLUMNS}
    for head in _matching_heads(store, snapshot, wanted):
        column = _COLUMN_OF.get(graph.status(head.id))
        if column is not None:
            groups[column].append(head)
    # What was done last is what people look for; everything else is in the order of its ids.
    groups["completed"].sort(key=lambda head: head.completed_at or "", reverse=True)
    runs = open_runs(paths)
    columns = []
    for name, title, _ in COLUMNS:
        most = wanted.most.get(name, wanted.usual)
        shown = groups[name][:most]
        whys = _reasons(paths, shown)
        cards = tuple(
            _card(head, graph, runs.get(head.id), paths, whys.get(head.id, "")) for head in shown
        )
        columns.append(Column(name, title, len(groups[name]), cards))
    labels = sorted({label for head in snapshot.active for label in head.labels})
    types = sorted({head.type for head in snapshot.active})
    problems = tuple(str(problem) for problem in snapshot.problems)
    return Board(tuple(columns), tuple(labels), tuple(types), len(snapshot.active), problems)


def open_runs(paths: ProjectPaths) -> dict[str, Run]:
    """The run that claims each spec now."""
    with read_journal(paths) as journal:
        runs = [] if journal is None else journal.runs(phases=OPEN)
    return {run.spec_id: run for run in runs}


def allowed_columns(status: str) -> tuple[str, ...]:
    """The columns that a card of this stored status may be put into."""
    here = _COLUMN_OF.get(status, "ready" if status == "pending" else "")
    return tuple(
        column for column, new in MOVES.items() if column != here and (new in ALLOWED[status])
    )


def stamp_of(head: Head) -> str:
    """A value that changes with a spec's file, from its head alone."""
    return f"{head.mtime_ns}-{head.size}"


def last_log_line(paths: ProjectPaths, spec_id: str) -> str:
    """The last line of a spec's log that says something."""
    try:
        with open(open_regular(paths.log_file(spec_id)), "rb") as stream:
            stream.seek(0, 2)
            stream.seek(max(0, stream.tell() - _TAIL_BYTES))
            lines = stream.read().decode("utf-8", "replace").splitlines()
    except OSError:
        return ""
    said = next((line for line in reversed(lines) if line.strip(" =#")), "")
    text = said.partition("] ")[2] if said.startswith("[") and "] " in said else said
    return text.strip()[:_LONGEST_LINE]


def _matching_heads(store: SpecStore, snapshot: Snapshot, wanted: Filter) -> list[Head]:
    heads = snapshot.active
    if wanted.query:
        from clew.specs.query.search import matching_heads

        heads = matching_heads(store, wanted.query, snapshot)
    return [
        head
        for head in heads
        if (not wanted.label or wanted.label in head.labels)
        and (not wanted.type or wanted.type == head.type)
    ]


def _reasons(paths: ProjectPaths, heads: list[Head]) -> dict[str, str]:
    """Why each of these specs waits for somebody, in a line."""
    stopped = [head for head in heads if head.status in ("failed", "needs_attention")]
    with read_journal(paths) as journal:
        if journal is None or not stopped:
            return {}
        found = {head.id: reason_of(journal, head.id, head.status) for head in stopped}
    return {
        name: reason.why.partition("\n")[0][:_LONGEST_LINE]
        for name, reason in found.items()
        if reason is not None
    }


def _card(head: Head, graph: Graph, run: Run | None, paths: ProjectPaths, reason: str) -> Card:
    status = graph.status(head.id)
    works = status in ("in_progress", "paused")
    held = run is not None and run.phase is not Phase.HELD
    return Card(
        id=head.id,
        title=head.title or "(no title)",
        status=status,
        column=_COLUMN_OF[status],
        type=head.type,
        labels=head.labels,
        criteria=(head.criteria_checked, head.criteria_total),
        blocked_by=tuple(blockers(head.id, graph)) if status == "blocked" else (),
        moves=() if held else allowed_columns(head.status),
        stamp=stamp_of(head),
        since=(run.started_at or run.created_at) if run else None,
        phase=str(run.phase) if run else None,
        agent=run.agent if run else None,
        log_line=last_log_line(paths, head.id) if works else "",
        reason=reason,
        completed_at=head.completed_at,
    )
