"""The fleet as people look at it: who works on what, where, since when, and what was said last."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from clew.team.database import Database

_MOST_ENDED = 30
_LONGEST_LINE = 200
_TAIL = 4000  # of a piece of a log: where its last line is


@dataclass(frozen=True)
class FleetRun:
    """An order, and the worker that has it."""

    order_id: int
    project: str
    spec_id: str
    agent: str
    state: str  # `lost`: its worker is silent for longer than its lease
    turn: int
    worker: str | None
    since: str  # when this state began, as far as that is known
    lease_left: float | None  # seconds; below zero if it is lost
    request: str | None
    note: str | None
    branch: str | None
    waits_for: tuple[str, ...]  # commands, by their hashes
    last_line: str

    def as_json(self) -> dict[str, Any]:
        """As `--json` tells it."""
        return vars(self)

    @property
    def lease(self) -> str:
        """The state of the lease in words."""
        if self.lease_left is None:
            return ""
        if self.lease_left <= 0:
            return f"ended {-self.lease_left:.0f} s ago"
        return f"{self.lease_left:.0f} s left"


def fleet_runs(
    database: Database, is_seen: Callable[[str], bool] = lambda _: True, *, ended: int = _MOST_ENDED
) -> list[FleetRun]:
    """Open orders, the oldest first, then the last that ended; only of projects that are seen."""
    projects = [row[0] for row in database.rows("SELECT DISTINCT project FROM work_orders")]
    seen = [project for project in projects if is_seen(project)]
    rows = database.rows(
        "WITH chosen AS ((SELECT * FROM work_orders WHERE ended_at IS NULL AND project = ANY(%s)"
        "  ORDER BY order_id) UNION ALL (SELECT * FROM work_orders WHERE ended_at IS NOT NULL"
        "  AND project = ANY(%s) ORDER BY ended_at DESC LIMIT %s))"
        " SELECT o.order_id, o.project, o.spec_id, o.agent,"
        "  CASE WHEN o.state = 'leased' AND o.leased_until <= now() THEN 'lost' ELSE o.state END,"
        "  o.turn, o.worker, to_char(coalesce(o.ended_at, CASE WHEN o.state = 'leased' THEN o.leased_at"
        "   END, o.created_at) AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS\"Z\"'),"
        "  CASE WHEN o.state = 'leased' THEN extract(epoch FROM o.leased_until - now())::float END,"
        "  o.request, o.note, o.branch, o.waits_for, coalesce(right(l.text, %s), '')"
        " FROM chosen o LEFT JOIN LATERAL (SELECT text FROM work_log w WHERE w.order_id = o.order_id"
        "  ORDER BY turn DESC, number DESC LIMIT 1) l ON true",
        (seen, seen, ended, _TAIL),
    )
    return [FleetRun(*(*row[:-2], tuple(row[-2]), _last_line(row[-1]))) for row in rows]


def _last_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1][:_LONGEST_LINE] if lines else ""
