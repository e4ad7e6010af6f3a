"""Tasks on disk: written before a client hears of them, readable by every server of this user.

Each server that runs tasks holds a lock for as long as it lives. A task that says it is being
worked on, while the lock of the server that ran it is free, was interrupted.
"""

from __future__ import annotations

import secrets
import sqlite3
import threading
import time
from pathlib import Path
from typing import Any

from clew.kit import jsontext
from clew.kit.files import private_directory
from clew.kit.jsontext import JsonObject
from clew.kit.locks import is_locked, try_lock
from clew.kit.sqlite import open_database, read_migrations, writing
from clew.kit.system_errors import database_refusal
from clew.protocol.errors import RpcError, invalid_params

MIGRATIONS = Path(__file__).with_name("migrations")
TTL_SECONDS = 24 * 3600
FINAL = ("completed", "failed", "cancelled")


def unknown_task(task_id: str) -> RpcError:
    """That there is no such task, or none of this caller."""
    return invalid_params(f"Invalid params: unknown task {task_id[:64]}")


class TaskStore:
    """The table of tasks, and this server's claim to the ones it runs."""

    def __init__(self, directory: Path) -> None:
        self._directory = private_directory(directory)
        path = directory / "tasks.sqlite3"
        try:
            self._database = open_database(path, read_migrations(MIGRATIONS))
        except sqlite3.DatabaseError as error:
            raise database_refusal("The store of tasks", path, error) from error
        self._guard = threading.Lock()
        self.owner = secrets.token_hex(8)
        self._claim = try_lock(self._lock_path(self.owner))
        self._forget_expired()

    def close(self) -> None:
        """Give the database and the claim back."""
        self._database.close()
        if self._claim is not None:
            self._claim.release()

    def create(self, state: JsonObject, work: JsonObject, principal: str) -> None:
        """Store a new task; when this returns, `read` finds it."""
        now = time.time()
        row = (
            state["taskId"],
            self.owner,
            principal,
            now,
            now + TTL_SECONDS,
            jsontext.dumps(state),
            jsontext.dumps(work),
        )
        with self._guard, writing(self._database) as database:
            database.execute("INSERT INTO tasks VALUES (?, ?, ?, ?, ?, ?, ?)", row)

    def read(self, task_id: str) -> tuple[JsonObject, JsonObject]:
        """A task's state and the work behind it."""
        row = self._row(task_id)
        state: JsonObject = jsontext.loads(row["state"])
        if state["status"] == "working" and not self._is_alive(row["owner"]):
            state = self._mark_interrupted(state)
        return state, jsontext.loads(row["work"])

    def write(self, state: JsonObject) -> bool:
        """Store a task's new state and make it ours; False when it was final already."""
        with self._guard, writing(self._database) as database:
            row = database.execute(
                "SELECT state FROM tasks WHERE task_id = ?", (state["taskId"],)
            ).fetchone()
            if row is None or jsontext.loads(row["state"])["status"] in FINAL:
                return False
            database.execute(
                "UPDATE tasks SET state = ?, owner = ? WHERE task_id = ?",
                (jsontext.dumps(state), self.owner, state["taskId"]),
            )
        return True

    def answer(self, task_id: str, answers: JsonObject) -> tuple[JsonObject, JsonObject] | None:
        """Take answers to what a task asked, in one step that only one server can win.

        The new state and work, or None when none of the answers was waited for.
        """
        with self._guard, writing(self._database) as database:
            row = database.execute(
                "SELECT state, work FROM tasks WHERE task_id = ?", (task_id,)
            ).fetchone()
            state: JsonObject = jsontext.loads(row["state"])
            work: JsonObject = jsontext.loads(row["work"])
            asked = state.get("inputRequests") or {}
            given = {k: v for k, v in answers.items() if k in asked and isinstance(v, dict)}
            if state["status"] != "input_required" or not given:
                return None
            work["answers"] |= given
            waiting = {k: v for k, v in asked.items() if k not in given}
            del state["inputRequests"]
            state |= {"inputRequests": waiting} if waiting else {"status": "working"}
            database.execute(
                "UPDATE tasks SET state = ?, owner = ?, work = ? WHERE task_id = ?",
                (jsontext.dumps(state), self.owner, jsontext.dumps(work), task_id),
            )
        return state, work

    def _row(self, task_id: str) -> Any:
        with self._guard:
            row = self._database.execute(
                "SELECT * FROM tasks WHERE task_id = ? AND expires > ?", (task_id, time.time())
            ).fetchone()
        if row is None:
            raise unknown_task(task_id)
        return row

    def _is_alive(self, owner: str) -> bool:
        return owner == self.owner or is_locked(self._lock_path(owner))

    def _mark_interrupted(self, state: JsonObject) -> JsonObject:
        error = {"code": -32603, "message": "The server that ran this task ended"}
        ended = {**state, "status": "failed", "error": error, "statusMessage": error["message"]}
        self.write(ended)
        return ended

    def _forget_expired(self) -> None:
        now = time.time()
        with self._guard, writing(self._database) as database:
            database.execute("DELETE FROM tasks WHERE expires < ?", (now,))
        for path in self._directory.glob("*.lock"):
            if path.stat().st_mtime < now - TTL_SECONDS and not self._is_alive(path.stem):
                path.unlink(missing_ok=True)

    def _lock_path(self, owner: str) -> Path:
        return self._directory / f"{owner}.lock"
