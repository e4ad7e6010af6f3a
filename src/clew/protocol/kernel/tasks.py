"""The tasks extension: a slow call returns a handle immediately; the client polls it later."""

from __future__ import annotations

import secrets
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any

from clew.kit.call import Call, InputRequired
from clew.kit.errors import Cancelled, ClewError, Unavailable
from clew.kit.jsontext import JsonObject
from clew.kit.system_errors import refusal
from clew.kit.times import utc_now
from clew.protocol.errors import RpcError
from clew.protocol.kernel.exchange import Exchange
from clew.protocol.kernel.kernel import Kernel
from clew.protocol.kernel.task_store import FINAL, TTL_SECONDS, TaskStore, unknown_task
from clew.protocol.versions import INTERNAL_ERROR
from clew.protocol.workers import Workers

_POLL_MS = 500
_PROGRESS_EVERY_SECONDS = 0.2
_LOOK_EVERY_SECONDS = 0.5
_DISK_TROUBLE = (OSError, sqlite3.Error)
_TROUBLE = (*_DISK_TROUBLE, Unavailable)


class TaskCall(Call):
    """A call inside a task: its progress becomes the task's status message."""

    is_task = True

    def __init__(
        self,
        settings: Mapping[str, str],
        answers: dict[str, Any],
        report: Callable[[str], None],
    ) -> None:
        super().__init__(settings=settings, answers=answers)
        self._report = report
        self._reported = 0.0

    def report_progress(self, done: float, total: float | None, message: str | None) -> None:
        """Note how far the task is, at most a few times per second."""
        if time.monotonic() - self._reported >= _PROGRESS_EVERY_SECONDS:
            self._reported = time.monotonic()
            self._report(message or (f"{done:g} of {total:g}" if total else f"{done:g}"))


class TaskDesk:
    """Creates, runs and answers for tasks."""

    def __init__(self, kernel: Kernel, store: TaskStore) -> None:
        self._kernel = kernel
        self._store = store
        self._running: dict[str, TaskCall] = {}
        self._unsaved: dict[str, JsonObject] = {}  # what the store has refused so far
        self._lock = threading.Lock()
        self._workers = Workers(threads=8, waiting=256)
        self._watching = False

    def create(self, exchange: Exchange, name: str, arguments: JsonObject) -> None:
        """Store the task, answer with its handle, then start it."""
        now = _now()
        state: JsonObject = {
            "taskId": secrets.token_urlsafe(24),
            "status": "working",
            "createdAt": now,
            "lastUpdatedAt": now,
            "ttlMs": TTL_SECONDS * 1000,
            "pollIntervalMs": _POLL_MS,
        }
        work: JsonObject = {
            "name": name,
            "arguments": arguments,
            "answers": exchange.call.answers,
            "capabilities": exchange.request.capabilities,
            "owner": exchange.connection.owner,
            "settings": dict(exchange.connection.settings),
        }
        with _disk_errors_explained():
            self._store.create(state, work, exchange.connection.principal)
        exchange.reply(state, result_type="task")
        self._start(state, work)

    def exists(self, task_id: str, owner: str) -> bool:
        """Whether there is such a task."""
        try:
            self._read(task_id, owner)
        except RpcError:
            return False
        return True

    def state(self, task_id: str, owner: str) -> JsonObject:
        """The task as `tasks/get` shows it."""
        state = self._read(task_id, owner)[0]
        return state if state["status"] in FINAL else self._unsaved.get(task_id, state)

    def update(self, task_id: str, owner: str, answers: JsonObject) -> None:
        """Take answers to what the task asked; go on when none is missing."""
        self._read(task_id, owner)
        with _disk_errors_explained():
            taken = self._store.answer(task_id, answers)
        if taken is not None:
            state, work = taken
            self._save(state)
            if state["status"] == "working":
                self._start(state, work)

    def cancel(self, task_id: str, owner: str) -> None:
        """Stop the task where it can be stopped."""
        state, _ = self._read(task_id, owner)
        call = self._running.get(task_id)
        if call is not None:
            call.cancel()
        if state["status"] not in FINAL:
            rest = {name: value for name, value in state.items() if name != "inputRequests"}
            self._save({**rest, "status": "cancelled"})

    def _read(self, task_id: str, owner: str) -> tuple[JsonObject, JsonObject]:
        with _disk_errors_explained():
            state, work = self._store.read(task_id)
        if work.get("owner", "") != owner:
            raise unknown_task(task_id)
        return state, work

    def _start(self, state: JsonObject, work: JsonObject) -> None:
        call = TaskCall(
            {**self._kernel.service.settings, **work.get("settings", {})},
            dict(work["answers"]),
            lambda text: self._save({**state, "statusMessage": text}),
        )
        call.capabilities = work["capabilities"]
        with self._lock:
            self._running[state["taskId"]] = call
            must_watch = not self._watching
            self._watching = True
        if not self._workers.submit(lambda: self._run(state, work, call)):
            self._fail(state, RpcError(INTERNAL_ERROR, "Server is busy: too many tasks"))
        if must_watch:
            threading.Thread(target=self._look_after, daemon=True).start()

    def _look_after(self) -> None:
        """Stop what another server was asked to cancel; store what the disk refused before."""
        while True:
            time.sleep(_LOOK_EVERY_SECONDS)
            with self._lock:
                running, unsaved = dict(self._running), list(self._unsaved.values())
                if not running and not unsaved:
                    self._watching = False
                    return
            for state in unsaved:
                self._save(state)
            for task_id, call in running.items():
                with suppress(ClewError), _disk_errors_explained():  # trouble that may pass
                    stored = self._store.read(task_id)[0]
                    if not call.cancelled and stored["status"] == "cancelled":
                        call.cancel()

    def _run(self, state: JsonObject, work: JsonObject, call: TaskCall) -> None:
        from clew.protocol.kernel.asking import check_capabilities
        from clew.protocol.kernel.kernel import report_bug
        from clew.protocol.kernel.methods import tool_result

        try:
            call.check()
            result = tool_result(
                self._kernel.service.call_tool(work["name"], work["arguments"], call)
            )
            self._save({**state, "status": "completed", "result": result})
        except InputRequired as pause:
            try:
                check_capabilities(call.capabilities, pause.requests)
            except RpcError as error:
                self._fail(state, error)
            else:
                waiting = {"status": "input_required", "inputRequests": pause.requests}
                self._save({**state, **waiting})
        except Cancelled:
            self._save({**state, "status": "cancelled"})
        except ClewError as error:
            from clew.kit.answer import Answer

            answer = tool_result(Answer.error(error.full_text()))
            self._save({**state, "status": "completed", "result": answer})
        except RpcError as error:
            self._fail(state, error)
        except Exception as error:  # noqa: BLE001 - a handler's bug must not end the server
            report_bug(error)
            self._fail(state, RpcError(INTERNAL_ERROR, "Internal error"))
        finally:
            with self._lock:
                self._running.pop(state["taskId"], None)

    def _fail(self, state: JsonObject, error: RpcError) -> None:
        self._save({**state, "status": "failed", "error": error.wire()})

    def _save(self, state: JsonObject) -> None:
        state, task_id = {**state, "lastUpdatedAt": _now()}, state["taskId"]
        is_news = state["status"] != "working"  # else more follows soon
        try:
            is_stored = self._store.write(state)
        except _TROUBLE:
            if is_news:
                with self._lock:
                    self._unsaved.setdefault(task_id, state)
            return
        if is_news:
            with self._lock:
                self._unsaved.pop(task_id, None)
        if is_stored:
            self._kernel.subscriptions.announce_task(state)


@contextmanager
def _disk_errors_explained() -> Iterator[None]:
    """Errors of the disk are reported to the client; they are no bug."""
    try:
        yield
    except _DISK_TROUBLE as error:
        unavailable = refusal(error)
        if unavailable is None:
            raise
        raise unavailable from error


def _now() -> str:
    return utc_now(milliseconds=True)
