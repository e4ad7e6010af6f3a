"""Tasks in PostgreSQL: any server answers for them, and one that dies is noticed."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress

from clew.kit import jsontext
from clew.kit.errors import Unavailable
from clew.kit.jsontext import JsonObject
from clew.protocol.kernel.task_store import TTL_SECONDS, Task, TaskStore
from clew.team.database import Database, require_schema

_ALIVE_SECONDS = 60.0  # longer than a restart or a fail-over of the database takes
_PATIENCE = 5.0


class PostgresTasks(TaskStore):
    """Tasks of all servers on a database; each says again and again that it lives."""

    def __init__(self, address: str, alive_seconds: float = _ALIVE_SECONDS) -> None:
        super().__init__()
        self._database = Database(address, patience=_PATIENCE)
        require_schema(self._database)
        self._guard = threading.Lock()
        self._alive_seconds = alive_seconds
        self._is_over = threading.Event()
        self._say_alive()
        self._run("DELETE FROM tasks WHERE expires < now()")
        self._run("DELETE FROM servers WHERE alive_until < now() - interval '1 day'")
        self._thread = threading.Thread(target=self._keep_alive, daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Give back what is held."""
        self._is_over.set()
        self._thread.join()
        with suppress(Unavailable):
            self._run("DELETE FROM servers WHERE owner = %s", self.owner)
        self._database.close()

    def create(self, state: JsonObject, work: JsonObject, principal: str) -> None:
        """Store a new task; when this returns, `read` finds it."""
        self._run(
            "INSERT INTO tasks VALUES (%s, %s, %s, now() + make_interval(secs => %s), %s, %s)",
            *(state["taskId"], self.owner, principal, TTL_SECONDS),
            *(jsontext.dumps(state), jsontext.dumps(work)),
        )

    def find(self, task_id: str) -> tuple[str, str, str] | None:
        """The owner, the state and the work of a task that has not expired."""
        with self._guard:
            row = self._database.row(
                "SELECT owner, state, work FROM tasks WHERE task_id = %s AND expires > now()",
                (task_id,),
            )
        return None if row is None else (row[0], row[1], row[2])

    def change(self, task_id: str, make: Callable[[JsonObject, JsonObject], Task | None]) -> bool:
        """Store what `make` makes of a task, as ours, in one step that only one server can win."""
        with self._guard, self._database.transaction():
            row = self._database.row(
                "SELECT state, work FROM tasks WHERE task_id = %s FOR UPDATE", (task_id,)
            )
            made = None if row is None else make(jsontext.loads(row[0]), jsontext.loads(row[1]))
            if made:
                self._database.run(
                    "UPDATE tasks SET state = %s, work = %s, owner = %s WHERE task_id = %s",
                    (*map(jsontext.dumps, made), self.owner, task_id),
                )
        return bool(made)

    def is_alive(self, owner: str) -> bool:
        """Whether the server of that name still runs."""
        if owner == self.owner:
            return True
        with self._guard:
            row = self._database.row(
                "SELECT 1 FROM servers WHERE owner = %s AND alive_until > now()", (owner,)
            )
        return row is not None

    def _keep_alive(self) -> None:
        while not self._is_over.wait(self._alive_seconds / 6):
            with suppress(Unavailable):
                self._say_alive()

    def _say_alive(self) -> None:
        self._run(
            "INSERT INTO servers VALUES (%s, now() + make_interval(secs => %s))"
            " ON CONFLICT (owner) DO UPDATE SET alive_until = excluded.alive_until",
            *(self.owner, self._alive_seconds),
        )

    def _run(self, statement: str, *values: object) -> None:
        with self._guard:
            self._database.run(statement, values)
