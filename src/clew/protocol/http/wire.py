"""One connection: how long it may take to ask, how much it may ask, and how many there may be."""

from __future__ import annotations

import asyncio
import resource
from functools import cache

from uvicorn.protocols.http.flow_control import CLOSE_HEADER
from uvicorn.protocols.http.h11_impl import H11Protocol

from clew.protocol.http.answers import refusal
from clew.protocol.versions import INTERNAL_ERROR

HEAD_SECONDS = 10.0
MOST_CONNECTIONS = 1000
MOST_REQUESTS = 10_000  # on one connection; then it is closed, so that none is held for ever
BACKLOG = 64  # asyncio accepts this many at once before it says so
_RESERVED_FILES = 64
_FEWEST_CONNECTIONS = 16
_MOST_SURPLUS = 16
_LINGER_SECONDS = 2.0


@cache
def most_connections() -> int:
    """How many connections may be open: fewer where the system allows few open files."""
    allowed, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if allowed == resource.RLIM_INFINITY:
        return MOST_CONNECTIONS
    room = allowed - BACKLOG - _RESERVED_FILES
    return min(MOST_CONNECTIONS, max(_FEWEST_CONNECTIONS, room))


def most_of_one_address() -> int:
    """How many of them one address may have: half, so that no machine keeps the others out."""
    return max(_FEWEST_CONNECTIONS, most_connections() // 2)


class Wire(H11Protocol):
    """uvicorn's connection, except that nobody can hold it without asking something."""

    waits_since = 0.0
    surplus = False
    _answered = 0
    _head_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Take the connection; when there are too many, only to refuse what it asks."""
        super().connection_made(transport)
        self.waits_since = self.loop.time()
        others = [wire for wire in self.connections if isinstance(wire, Wire) and wire is not self]
        if len(others) >= most_of_one_address():
            mine = [wire for wire in others if wire.address == self.address]
            has_room = _make_room(mine, most_of_one_address())
            self.surplus = not (has_room and _make_room(others, most_connections()))
        self._watch_head()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection."""
        self._unwatch_head()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Take what came."""
        if self.surplus:  # refused only now, because a close with unread data would hide why
            self.transport.write(_busy())
            self.transport.close()
            return
        super().data_received(data)
        self._watch_head()

    def handle_events(self) -> None:
        """Begin with the requests that have come; the last one on a connection ends it."""
        super().handle_events()
        cycle = self.cycle
        if self._answered >= MOST_REQUESTS - 1 and cycle and not cycle.response_started:
            cycle.scope["headers"] = [*cycle.scope["headers"], CLOSE_HEADER]

    def eof_received(self) -> bool:  # type: ignore[override]
        """Wait a moment with a quick answer: a client may close its side and still read.

        One that hung up looks the same, so this cannot last: hanging up cancels.
        """
        cycle = self.cycle
        if cycle is None or cycle.response_started or cycle.more_body:
            return False
        cycle.keep_alive = False
        self.loop.call_later(_LINGER_SECONDS, self.transport.close)
        return True

    def on_response_complete(self) -> None:
        """Wait for the next request."""
        self._answered += 1
        self.waits_since = self.loop.time()
        super().on_response_complete()

    @property
    def waits(self) -> bool:
        """Whether no request is under way."""
        over = self.cycle is None or self.cycle.response_complete
        return over and not self.transport.is_closing()

    @property
    def address(self) -> str:
        """Where the client is, without its port."""
        return self.client[0] if self.client else ""

    def _watch_head(self) -> None:
        if not self.waits:
            self._unwatch_head()
        elif self._head_timer is None:
            self._head_timer = self.loop.call_later(HEAD_SECONDS, self._end_waiting)

    def _end_waiting(self) -> None:
        self._head_timer = None
        if self.waits:
            self.transport.close()

    def _unwatch_head(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None


def _make_room(wires: list[Wire], most: int) -> bool:
    """Close the connection that has been silent the longest; False if all are busy."""
    taken = [wire for wire in wires if not wire.surplus and not wire.transport.is_closing()]
    if len(taken) < most or _close_oldest([wire for wire in taken if wire.waits]):
        return True
    refused = [wire for wire in wires if wire.surplus and wire.waits]
    if len(refused) >= _MOST_SURPLUS:
        _close_oldest(refused)
    return False


def _close_oldest(wires: list[Wire]) -> bool:
    if wires:
        min(wires, key=lambda wire: wire.waits_since).transport.abort()
    return bool(wires)


def _busy() -> bytes:
    body = bytes(refusal(503, "Too many connections.", INTERNAL_ERROR).body)
    head = "HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nRetry-After: 5\r\n"
    head += f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    return head.encode() + body
