"""Legacy sessions: what a handshake agreed on, and the stream for messages nobody asked for."""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Callable

from clew.kit.jsontext import JsonObject
from clew.protocol.http.callers import Caller
from clew.protocol.kernel.connection import Connection

_IDLE_SECONDS = 3600.0
_MOST_SESSIONS = 1000
_MOST_HELD = 1000


class Session:
    """One legacy client."""

    def __init__(self, caller: Caller, client: str | None = None) -> None:
        self.id = secrets.token_urlsafe(24)
        self.connection = Connection(
            self._deliver,
            principal=caller.principal,
            client=client or self.id,
            settings=caller.settings,
        )
        self.used = time.monotonic()
        self._lock = threading.Lock()
        self._held: list[JsonObject] = []
        self._listener: Callable[[JsonObject | None], None] | None = None

    def attach(self, listener: Callable[[JsonObject | None], None]) -> bool:
        """Send unasked messages here from now on; False when somebody listens already."""
        with self._lock:
            if self._listener is not None:
                return False
            self._listener = listener
            held, self._held = self._held, []
        for message in held:
            listener(message)
        return True

    def detach(self) -> None:
        """Nobody listens any more; messages are held for the next listener."""
        with self._lock:
            self._listener = None

    def end(self) -> None:
        """Close the connection and its stream."""
        self.connection.close()
        self.connection.cancel_all()
        with self._lock:
            listener, self._listener = self._listener, None
        if listener is not None:
            listener(None)

    def _deliver(self, message: JsonObject) -> None:
        with self._lock:
            listener = self._listener
            if listener is None:
                self._held = [*self._held[-_MOST_HELD:], message]
        if listener is not None:
            listener(message)


class Sessions:
    """All sessions; idle and surplus ones are ended."""

    def __init__(self) -> None:
        self._sessions: dict[str, Session] = {}

    def create(self, caller: Caller) -> Session:
        """A new session."""
        self._prune()
        session = Session(caller)
        self._sessions[session.id] = session
        return session

    def find(self, session_id: str, caller: Caller) -> Session | None:
        """The caller's session, noted as in use."""
        session = self._sessions.get(session_id)
        if session is None or session.connection.principal != caller.principal:
            return None
        session.used = time.monotonic()
        return session

    def end(self, session_id: str) -> bool:
        """End one session; False when there is none of that id."""
        session = self._sessions.pop(session_id, None)
        if session is not None:
            session.end()
        return session is not None

    def end_all(self) -> None:
        """End every session."""
        for session_id in list(self._sessions):
            self.end(session_id)

    def _prune(self) -> None:
        now = time.monotonic()
        by_age = sorted(self._sessions.values(), key=lambda session: session.used)
        surplus = len(by_age) - _MOST_SESSIONS + 1
        for index, session in enumerate(by_age):
            if index < surplus or now - session.used > _IDLE_SECONDS:
                self.end(session.id)
