"""Sessions of the older protocol in PostgreSQL, and what one server leaves for another."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Callable
from contextlib import suppress

import psycopg

from clew.kit import jsontext
from clew.kit.errors import Unavailable
from clew.kit.jsontext import JsonObject
from clew.team.database import Database, require_schema

_CHANNEL = "clew_sessions"
_LOOK_SECONDS = 2.0
_PATIENCE = 5.0
_IDLE = "1 hour"
_KEPT = "5 minutes"  # mail for calls; whoever runs the call has read it long before


class PostgresSessions:
    """The book of sessions of all servers on a database."""

    def __init__(self, address: str) -> None:
        self._database = Database(address, patience=_PATIENCE)
        require_schema(self._database)
        self._ears = Database(address, patience=_PATIENCE)
        self._name = secrets.token_hex(8)
        self._guard = threading.Lock()
        self._is_over = threading.Event()
        self._thread: threading.Thread | None = None

    def close(self) -> None:
        """Close the connections."""
        self._is_over.set()
        if self._thread is not None:
            self._thread.join()
        self._ears.close()
        self._database.close()

    def add(self, session_id: str, principal: str, agreed: JsonObject) -> None:
        """Enter a new session."""
        self._run("DELETE FROM mcp_sessions WHERE used < now() - %s::interval", _IDLE)
        self._run(
            "INSERT INTO mcp_sessions (session_id, principal, agreed) VALUES (%s, %s, %s)",
            *(session_id, principal, jsontext.dumps(agreed)),
        )

    def read(self, session_id: str) -> tuple[str, JsonObject] | None:
        """A session's principal and what was agreed on, noted as in use; None if it ended."""
        with self._guard:
            row = self._database.row(
                "WITH used AS (UPDATE mcp_sessions SET used = now() WHERE session_id = %s"
                "  AND used BETWEEN now() - %s::interval AND now() - interval '1 minute')"
                " SELECT principal, agreed FROM mcp_sessions WHERE session_id = %s"
                " AND used >= now() - %s::interval",
                (session_id, _IDLE, session_id, _IDLE),
            )
        return None if row is None else (row[0], jsontext.loads(row[1]))

    def keep(self, session_id: str, agreed: JsonObject) -> None:
        """Enter what was agreed on since."""
        text = jsontext.dumps(agreed)
        self._run(
            "UPDATE mcp_sessions SET agreed = %s WHERE session_id = %s AND agreed <> %s",
            *(text, session_id, text),
        )

    def end(self, session_id: str) -> bool:
        """Take a session out; False when there is none of that id."""
        return self._run("DELETE FROM mcp_sessions WHERE session_id = %s", session_id) > 0

    def post(self, session_id: str, message: JsonObject, *, for_client: bool) -> None:
        """Leave a message for the server that has the client's stream, or that runs a call."""
        with suppress(psycopg.errors.ForeignKeyViolation):  # the session ended meanwhile
            self._run(
                "INSERT INTO session_mail (session_id, sender, for_client, message)"
                " VALUES (%s, %s, %s, %s)",
                *(session_id, self._name, for_client, jsontext.dumps(message)),
            )
            self._run("NOTIFY " + _CHANNEL)

    def collect(self, session_id: str) -> list[JsonObject]:
        """Take what is left for a client; each message is taken once."""
        with self._guard:
            rows = self._database.rows(
                "WITH taken AS (DELETE FROM session_mail WHERE session_id = %s AND for_client"
                " RETURNING mail_id, message) SELECT message FROM taken ORDER BY mail_id",
                (session_id,),
            )
        return [jsontext.loads(row[0]) for row in rows]

    def listen(self, hear: Callable[[str, JsonObject | None], None]) -> None:
        """Tell of each session that has mail: a message for a call, or None if it is for a client."""
        self._thread = threading.Thread(target=self._listen, args=(hear,), daemon=True)
        self._thread.start()

    def _listen(self, hear: Callable[[str, JsonObject | None], None]) -> None:
        seen: set[int] = set()
        while not self._is_over.is_set():
            try:
                self._ears.run("LISTEN " + _CHANNEL)
                seen = self._look(hear, seen)
                next(
                    iter(self._ears.connection.notifies(timeout=_LOOK_SECONDS, stop_after=1)), None
                )
            except (Unavailable, psycopg.OperationalError):
                self._is_over.wait(_LOOK_SECONDS)  # it is opened again, and looks before it listens

    def _look(self, hear: Callable[[str, JsonObject | None], None], seen: set[int]) -> set[int]:
        """Tell of the mail of others; by what was seen, as numbers do not become visible in order."""
        rows = self._ears.rows(
            "SELECT mail_id, session_id, for_client, message FROM session_mail"
            " WHERE for_client OR (sender <> %s AND at > now() - interval '1 minute')"
            " ORDER BY mail_id",
            (self._name,),
        )
        for mail_id, session_id, for_client, message in rows:
            if for_client or mail_id not in seen:
                hear(session_id, None if for_client else jsontext.loads(message))
        if rows and rows[0][0] not in seen:
            self._ears.run(
                "DELETE FROM session_mail WHERE at < now() - %s::interval AND NOT for_client",
                (_KEPT,),
            )
        return {row[0] for row in rows}

    def _run(self, statement: str, *values: object) -> int:
        with self._guard:
            return self._database.run(statement, values)
