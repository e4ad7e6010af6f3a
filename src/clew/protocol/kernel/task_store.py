"""Where tasks are kept: the interface of a store, and the SQLite file of a user.

A task is written before a client hears of it, and readable by every server on the store. One that
says it is being worked on, while the server that ran it is gone, was interrupted.
"""

from __future__ import annotations

import secrets
import sqlite3
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from pathlib import Path

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


Task = tuple[JsonObject, JsonObject]  # its state, and the work behind it


class TaskStore(ABC):
    """Tasks of several servers; what each store must be able to do."""

    def __init__(self) -> None:
        self.owner = secrets.token_hex(8)

    @abstractmethod
    def create(self, state: JsonObject, work: JsonObject, principal: str) -> None:
        """Store a new task; when this returns, `read` finds it."""

    @abstractmethod
    def close(self) -> None:
        """Give back what is held."""

    @abstractmethod
    def find(self, task_id: str) -> tuple[str, str, str] | None:
        """The owner, the state and the work of a task that has not expired."""

    @abstractmethod
    def change(self, task_id: str, make: Callable[[JsonObject, JsonObject], Task | None]) -> bool:
        """Store what `make` makes of a task, as ours, in one step that only one server can win."""

    @abstractmethod
    def is_alive(self, owner: str) -> bool:
        """Whether the server of that name still runs."""

    def read(self, task_id: str) -> Task:
        """A task's state and the work behind it."""
        found = self.find(task_id)
        if found is None:
            raise unknown_task(task_id)
        owner, text, work = found
        state: JsonObject = jsontext.loads(text)
        if state["status"] == "working" and not self.is_alive(owner):
            state = self._mark_interrupted(state)
        return state, jsontext.loads(work)

    def write(self, state: JsonObject) -> bool:
        """Store a task's new state and make it ours; False when it was final already."""

        def make(before: JsonObject, work: JsonObject) -> Task | None:
            return None if before["status"] in FINAL else (state, work)

        return self.change(state["taskId"], make)

    def answer(self, task_id: str, answers: JsonObject) -> Task | None:
        """Take answers to what a task asked.

        The new state and work, or None when none of the answers was waited for.
        """
        taken: list[Task] = []

        def make(state: JsonObject, work: JsonObject) -> Task | None:
            asked = state.get("inputRequests") or {}
            given = {k: v for k, v in answers.items() if k in asked and isinstance(v, dict)}
            if state["status"] != "input_required" or not given:
                return None
            work["answers"] |= given
            waiting = {k: v for k, v in asked.items() if k not in given}
            del state["inputRequests"]
            state |= {"inputRequests": waiting} if waiting else {"status": "working"}
            taken.append((state, work))
            return state, work

        self.change(task_id, make)
        return taken[0] if taken else None

    def _mark_interrupted(self, state: JsonObject) -> JsonObject:
        error = {"code": -32603, "message": "The server that ran this task ended"}
        ended = {**state, "status": "failed", "error": error, "statusMessage": error["message"]}
        self.write(ended)
        return ended


class SqliteTasks(TaskStore):
    """One file for all servers of a user; each holds a lock for as long as it lives."""

    def __init__(self, directory: Path) -> None:
        super().__init__()
        self._directory = private_directory(directory)
        path = directory / "tasks.sqlite3"
        try:
            self._database = open_database(path, read_migrations(MIGRATIONS))
        except sqlite3.DatabaseError as error:
            raise database_refusal("The store of tasks", path, error) from error
        self._guard = threading.Lock()
        self._claim = try_lock(self._lock_path(self.owner))
        self._forget_expired()

    def close(self) -> None:
        """Give back what is held."""
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

    def find(self, task_id: str) -> tuple[str, str, str] | None:
        """The owner, the state and the work of a task that has not expired."""
        with self._guard:
            row = self._database.execute(
                "SELECT owner, state, work FROM tasks WHERE task_id = ? AND expires > ?",
                (task_id, time.time()),
            ).fetchone()
        return None if row is None else (row["owner"], row["state"], row["work"])

    def change(self, task_id: str, make: Callable[[JsonObject, JsonObject], Task | None]) -> bool:
        """Store what `make` makes of a task, as ours, in one step that only one server can win."""
        with self._guard, writing(self._database) as database:
            row = database.execute(
                "SELECT state, work FROM tasks WHERE task_id = ?", (task_id,)
            ).fetchone()
            made = row and make(jsontext.loads(row["state"]), jsontext.loads(row["work"]))
            if made:
                database.execute(
                    "UPDATE tasks SET state = ?, work = ?, owner = ? WHERE task_id = ?",
                    (*map(jsontext.dumps, made), self.owner, task_id),
                )
        return bool(made)

    def is_alive(self, owner: str) -> bool:
        """Whether the server of that name still runs."""
        return owner == self.owner or is_locked(self._lock_path(owner))

    def _forget_expired(self) -> None:
        now = time.time()
        with self._guard, writing(self._database) as database:
            database.execute("DELETE FROM tasks WHERE expires < ?", (now,))
        for path in self._directory.glob("*.lock"):
            if path.stat().st_mtime < now - TTL_SECONDS and not self.is_alive(path.stem):
                path.unlink(missing_ok=True)

    def _lock_path(self, owner: str) -> Path:
        return self._directory / f"{owner}.lock"
