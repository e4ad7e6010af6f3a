"""Legacy sessions: what a handshake agreed on, and the stream for messages nobody asked for.

Several servers behind one address know sessions together by a `SessionBook`. Then a request may
come to any of them; what belongs to another one's call or stream is passed on.
"""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Callable
from typing import Protocol

from clew.kit.jsontext import JsonObject
from clew.protocol.http.callers import Caller
from clew.protocol.kernel.connection import Connection

_IDLE_SECONDS = 3600.0
_MOST_SESSIONS = 1000
_MOST_HELD = 1000


class SessionBook(Protocol):
    """What servers know of sessions together."""

    def add(self, session_id: str, principal: str, agreed: JsonObject) -> None:
        """Enter a new session."""

    def read(self, session_id: str) -> tuple[str, JsonObject] | None:
        """A session's principal and what was agreed on, noted as in use; None if it ended."""

    def keep(self, session_id: str, agreed: JsonObject) -> None:
        """Enter what was agreed on since."""

    def end(self, session_id: str) -> bool:
        """Take a session out; False when there is none of that id."""

    def post(self, session_id: str, message: JsonObject, *, for_client: bool) -> None:
        """Leave a message for the server that has the client's stream, or that runs a call."""

    def collect(self, session_id: str) -> list[JsonObject]:
        """Take what is left for a client; each message is taken once."""

    def listen(self, hear: Callable[[str, JsonObject | None], None]) -> None:
        """Tell of each session that has mail: a message for a call, or None if it is for a client."""

    def close(self) -> None:
        """Give back what is held."""


class Session:
    """One legacy client."""

    def __init__(
        self,
        caller: Caller,
        client: str | None = None,
        session_id: str | None = None,
        book: SessionBook | None = None,
    ) -> None:
        self.id = session_id or secrets.token_urlsafe(24)
        self.connection = Connection(
            self._deliver,
            principal=caller.principal,
            client=client or self.id,
            settings=caller.settings,
        )
        if book is not None:  # else two servers would ask under the same id
            self.connection.asks_as = f"clew-{secrets.token_hex(4)}"
        self.used = time.monotonic()
        self._lock = threading.Lock()
        self._held: list[JsonObject] = []
        self._listener: Callable[[JsonObject | None], None] | None = None
        self._book = book

    def attach(self, listener: Callable[[JsonObject | None], None]) -> bool:
        """Send unasked messages here from now on; False when somebody listens already."""
        with self._lock:
            if self._listener is not None:
                return False
            self._listener = listener
            held, self._held = self._held, []
        for message in held:
            listener(message)
        self.collect()
        return True

    def collect(self) -> None:
        """Send what other servers left for the client, if its stream is here."""
        with self._lock:
            listener = self._listener
        if listener is not None and self._book is not None:
            for message in self._book.collect(self.id):
                listener(message)

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
            if listener is None and self._book is None:
                self._held = [*self._held[-_MOST_HELD:], message]
        if listener is not None:
            listener(message)
        elif self._book is not None:
            self._book.post(self.id, message, for_client=True)


class Sessions:
    """All sessions; idle and surplus ones are ended."""

    def __init__(self, book: SessionBook | None = None) -> None:
        self._sessions: dict[str, Session] = {}
        self._book = book

    @property
    def is_shared(self) -> bool:
        """Whether other servers know these sessions, so that asking for one takes a while."""
        return self._book is not None

    def pass_on_to(self, handle: Callable[[JsonObject, Session], None]) -> None:
        """Let what other servers got for a call of this one be handled."""

        def hear(session_id: str, message: JsonObject | None) -> None:
            session = self._sessions.get(session_id)
            if session is not None and message is not None:
                handle(message, session)
            elif session is not None:
                session.collect()

        if self._book is not None:
            self._book.listen(hear)

    def create(self, caller: Caller) -> Session:
        """A new session."""
        self._prune()
        session = Session(caller, book=self._book)
        self._sessions[session.id] = session
        if self._book is not None:
            self._book.add(session.id, caller.principal, session.connection.agreed())
        return session

    def find(self, session_id: str, caller: Caller) -> Session | None:
        """The caller's session, noted as in use."""
        session = self._sessions.get(session_id)
        if self._book is not None:
            known = self._book.read(session_id)
            if known is None:
                self._forget(session_id)
                return None
            if known[0] != caller.principal:
                return None
            if session is None:
                made = Session(caller, session_id=session_id, book=self._book)
                session = self._sessions.setdefault(session_id, made)
            session.connection.agree(known[1])
        if session is None or session.connection.principal != caller.principal:
            return None
        session.used = time.monotonic()
        return session

    def keep(self, session: Session, message: JsonObject | None = None) -> None:
        """Let other servers know what was agreed on, and a message for a call that one may run."""
        if self._book is not None and session.id in self._sessions:
            self._book.keep(session.id, session.connection.agreed())
            if message is not None:
                self._book.post(session.id, message, for_client=False)

    def end(self, session_id: str) -> bool:
        """End one session; False when there is none of that id."""
        was_here = self._forget(session_id)
        return self._book.end(session_id) if self._book is not None else was_here

    def close(self) -> None:
        """End what is here of every session; those that others know go on."""
        for session_id in list(self._sessions):
            self._forget(session_id)

    def _forget(self, session_id: str) -> bool:
        session = self._sessions.pop(session_id, None)
        if session is not None:
            session.end()
        return session is not None

    def _prune(self) -> None:
        now = time.monotonic()
        by_age = sorted(self._sessions.values(), key=lambda session: session.used)
        surplus = len(by_age) - _MOST_SESSIONS + 1
        for index, session in enumerate(by_age):
            if index < surplus or now - session.used > _IDLE_SECONDS:
                self._forget(session.id)
