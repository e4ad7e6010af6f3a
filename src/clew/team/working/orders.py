"""What a fleet is to work on: orders, who has one, and what was said about it.

The lease decides. A worker that does not renew it in time has lost the order, whatever it believes:
everything it says afterwards is refused by its turn. Its branch is on the remote, and another
worker goes on from there. PostgreSQL's own clock is the only one that counts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from typing import Any
from zlib import crc32

import psycopg

from clew.kit.errors import Conflict, NotFound, Unavailable
from clew.team.database import Database, require_schema

_CHANNEL = "clew_orders"
_LEASE_SECONDS = 30.0
_MERGE_SECONDS = 4 * 3600.0  # others' checks run meanwhile
_MERGING = 0x40000000  # numbers of locks: one for each project
_ENDS = ("finished", "failed", "cancelled")
_COLUMNS = "order_id, project, spec_id, agent, labels, state, turn, worker, request, branch, snapshot, note"
_MINE = "order_id = %s AND turn = %s AND worker = %s AND state = 'leased' AND leased_until > now()"


class LeaseLost(Conflict):
    """Somebody else may have the order by now."""


@dataclass(frozen=True)
class Order:
    """A spec of a project that somebody wants worked."""

    order_id: int
    project: str
    spec_id: str
    agent: str
    labels: tuple[str, ...]
    state: str
    turn: int
    worker: str | None
    request: str | None
    branch: str | None
    snapshot: str | None
    note: str | None


class Orders:
    """The orders of a database."""

    def __init__(self, address: str, lease_seconds: float = _LEASE_SECONDS) -> None:
        self.database = Database(address)
        self._lease = lease_seconds

    def close(self) -> None:
        """Close the connection."""
        self.database.close()

    def add(self, project: str, spec_id: str, agent: str, labels: Sequence[str] = ()) -> Order:
        """A new order; Conflict while the spec has one."""
        try:
            row = self.database.row(
                "INSERT INTO work_orders (project, spec_id, agent, labels) VALUES (%s, %s, %s, %s)"
                f" RETURNING {_COLUMNS}",
                (project, spec_id, agent, list(labels)),
            )
        except psycopg.errors.UniqueViolation:
            raise Conflict(f"Spec '{spec_id}' of {project} is ordered already") from None
        self._tell()
        return _order(row)

    def get(self, order_id: int) -> Order:
        """One order."""
        row = self.database.row(
            f"SELECT {_COLUMNS} FROM work_orders WHERE order_id = %s", (order_id,)
        )
        if row is None:
            raise NotFound(f"No such order: {order_id}")
        return _order(row)

    def all(self) -> list[Order]:
        """All orders, the oldest first."""
        rows = self.database.rows(f"SELECT {_COLUMNS} FROM work_orders ORDER BY order_id")
        return [_order(row) for row in rows]

    def lease(self, worker: str, agents: Sequence[str], labels: Sequence[str] = ()) -> Order | None:
        """The oldest order that this worker may take: its agent, and every label it asks for.

        One statement of one transaction: of any number of workers, one gets it. A database that was
        migrated past what this program knows gives it nothing more.
        """
        require_schema(self.database)
        row = self.database.row(
            "WITH ended AS (UPDATE work_orders SET state = 'waiting', worker = NULL,"
            "  leased_until = NULL, note = 'interrupted: ' || coalesce(worker, '?')"
            "  WHERE state = 'leased' AND leased_until <= now() RETURNING order_id),"
            " chosen AS (SELECT order_id FROM work_orders WHERE agent = ANY(%s)"
            "  AND labels <@ %s AND state = 'waiting' ORDER BY order_id"
            "  LIMIT 1 FOR UPDATE SKIP LOCKED)"
            " UPDATE work_orders o SET state = 'leased', turn = o.turn + 1, worker = %s,"
            "  request = NULL, leased_at = now(), leased_until = now() + make_interval(secs => %s)"
            " FROM chosen WHERE o.order_id = chosen.order_id"
            f" RETURNING {', '.join(f'o.{name}' for name in _COLUMNS.split(', '))}",
            (list(agents), list(labels), worker, self._lease),
        )
        return None if row is None else _order(row)

    def renew(
        self, order: Order, *, branch: str | None = None, snapshot: str | None = None
    ) -> str | None:
        """Keep an order for another while, and say what is on the remote; what is asked of it."""
        row = self.database.row(
            "WITH kept AS (UPDATE work_orders SET leased_until = now() + make_interval(secs => %s),"
            " branch = coalesce(%s, branch), snapshot = coalesce(%s, snapshot)"
            f" WHERE {_MINE} RETURNING request) SELECT request FROM kept",
            (self._lease, branch, snapshot, *_identity(order)),
        )
        if row is None:
            raise LeaseLost(f"The lease of order {order.order_id} ended")
        request: str | None = row[0]
        return request

    def end(self, order: Order, state: str, note: str | None = None) -> None:
        """Give an order back: paused, waiting again, or ended."""
        done = self.database.run(
            "UPDATE work_orders SET state = %s, note = %s, worker = NULL, leased_until = NULL,"
            f" ended_at = CASE WHEN %s THEN now() END WHERE {_MINE}",
            (state, note, state in _ENDS, *_identity(order)),
        )
        if not done:
            raise LeaseLost(f"The lease of order {order.order_id} ended")
        self._tell()

    def wait_for(self, order: Order, hashes: Sequence[str], note: str) -> None:
        """Give an order back until a person approved these commands; at once, if that is done."""
        with self.database.transaction():
            # Whoever approves one of them meanwhile waits for this, and then finds the order.
            open_ones = self.database.rows(
                "SELECT refused_by FROM team_commands WHERE project = %s AND hash = ANY(%s)"
                " AND approved_by IS NULL FOR SHARE",
                (order.project, list(hashes)),
            )
            refusal = next((by for (by,) in open_ones if by is not None), None)
            waits = bool(open_ones) and refusal is None
            self.database.run(
                "UPDATE work_orders SET waits_for = %s WHERE order_id = %s",
                (list(hashes) if waits else [], order.order_id),
            )
            if refusal is not None:
                self.end(order, "failed", f"a command that it needs was refused by {refusal}")
            else:
                self.end(order, "paused" if waits else "waiting", note if waits else None)

    def is_any_open(self) -> bool:
        """Whether anything waits or is worked on."""
        row = self.database.row(
            "SELECT 1 FROM work_orders WHERE state IN ('waiting', 'leased') LIMIT 1"
        )
        return row is not None

    def merging(self, project: str) -> AbstractContextManager[None]:
        """Held by whoever moves a project's main branch."""
        number = _MERGING | crc32(project.encode()) & 0x0FFFFFFF
        return self.database.locked((number, False), timeout=_MERGE_SECONDS)

    def ask(self, order_id: int, request: str) -> None:
        """Ask the worker that has an order to pause, hand over or cancel; it hears at once."""
        done = self.database.run(
            "UPDATE work_orders SET request = %s WHERE order_id = %s AND state = 'leased'",
            (request, order_id),
        )
        if not done:
            raise Conflict(f"Nobody works on order {order_id} now")
        self._tell()

    def resume(self, order_id: int) -> None:
        """Let a paused order be taken again."""
        done = self.database.run(
            "UPDATE work_orders SET state = 'waiting', waits_for = '{}'"
            " WHERE order_id = %s AND state = 'paused'",
            (order_id,),
        )
        if not done:
            raise Conflict(f"Order {order_id} is not paused")
        self._tell()

    def log(self, order: Order, number: int, text: str) -> None:
        """Store a piece of what was said in this turn; once, however often it is sent."""
        with self.database.transaction():
            held = self.database.row(
                f"SELECT 1 FROM work_orders WHERE {_MINE} FOR SHARE", _identity(order)
            )
            if held is None:
                raise LeaseLost(f"The lease of order {order.order_id} ended")
            self.database.run(
                "INSERT INTO work_log (order_id, turn, number, text) VALUES (%s, %s, %s, %s)"
                " ON CONFLICT DO NOTHING",
                (order.order_id, order.turn, number, text.replace("\x00", "\ufffd")),
            )
            self._tell()

    def said(self, order_id: int, after: tuple[int, int] = (0, 0)) -> list[tuple[int, int, str]]:
        """What was said behind a turn and number: turn, number and text of each piece."""
        rows = self.database.rows(
            "SELECT turn, number, text FROM work_log WHERE order_id = %s"
            " AND (turn, number) > (%s, %s) ORDER BY turn, number",
            (order_id, *after),
        )
        return [(turn, number, text) for turn, number, text in rows]

    def changes(self, seconds: float) -> Iterator[None]:
        """Something may have changed: told by the database, or after so many seconds in any case."""
        while True:
            with suppress(Unavailable):  # whoever looks finds out by itself
                self.database.run("LISTEN " + _CHANNEL)
            yield
            try:
                next(iter(self.database.connection.notifies(timeout=seconds, stop_after=1)), None)
            except (psycopg.OperationalError, Unavailable):
                continue  # the connection is opened again, and looks before it listens

    def _tell(self) -> None:
        self.database.run("NOTIFY " + _CHANNEL)


def _identity(order: Order) -> tuple[Any, ...]:
    return order.order_id, order.turn, order.worker


def _order(row: tuple[Any, ...] | None) -> Order:
    assert row is not None
    values = dict(zip(_COLUMNS.split(", "), row, strict=True))
    return Order(**{**values, "labels": tuple(values["labels"])})
