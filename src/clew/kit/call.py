"""What a tool handler knows of the call it serves: progress, cancellation, questions, project."""

from __future__ import annotations

from clew.kit.errors import Cancelled

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from clew.kit.jsontext import JsonObject


# The setting with the names, as patterns on lines, of repositories that the caller may see; a server
# that knows its callers has it always, and what it does not set for a call is nothing.
SEES = "sees"


class InputRequired(Exception):
    """Raised by `Call.ask` until the client has answered every question."""

    def __init__(self, requests: dict[str, JsonObject]) -> None:
        super().__init__("input required")
        self.requests = requests


class Call:
    """One running call. Handlers may use it; a handler that ignores it is fine too.

    A handler that asks is run again from its beginning once the answers are there, so it
    asks before it changes anything.
    """

    is_task = False  # whether the caller asks for the result later, and the call may take long

    def __init__(
        self,
        *,
        settings: Mapping[str, str] | None = None,
        answers: dict[str, Any] | None = None,
    ) -> None:
        self.settings: Mapping[str, str] = settings or {}
        self.answers: dict[str, Any] = answers or {}
        self.capabilities: JsonObject = {}
        self.client = ""  # whose call it is, where one server has many clients
        self.cancelled = False  # whether the caller asked to stop
        self._on_cancel: list[Callable[[], None]] = []

    def progress(self, done: float, total: float | None = None, message: str | None = None) -> None:
        """Tell the caller how far the work is; every report checks for cancellation."""
        self.check()
        self.report_progress(done, total, message)

    def report_progress(self, done: float, total: float | None, message: str | None) -> None:
        """Where progress goes; a plain call drops it, a transport's call sends it."""

    def log(self, level: str, data: object) -> None:
        """A log line for the client; a plain call drops it."""

    def check(self) -> None:
        """Raise Cancelled if the caller asked to stop."""
        if self.cancelled:
            raise Cancelled

    def cancel(self) -> None:
        """Ask the handler to stop and run what it registered for this case."""
        self.cancelled = True
        while self._on_cancel:
            self._on_cancel.pop()()

    def on_cancel(self, action: Callable[[], None]) -> None:
        """Run `action` when the call is cancelled (immediately if it already is)."""
        self._on_cancel.append(action)
        if self.cancelled:
            self.cancel()

    def sleep(self, seconds: float) -> None:
        """Wait, but wake up and raise Cancelled when the caller asks to stop."""
        import threading

        woken = threading.Event()
        self.on_cancel(woken.set)
        woken.wait(seconds)
        if woken.set in self._on_cancel:
            self._on_cancel.remove(woken.set)
        self.check()

    def ask(self, requests: dict[str, JsonObject]) -> dict[str, Any]:
        """The client's answers to these requests (`{key: {method, params}}`)."""
        missing = {key: request for key, request in requests.items() if key not in self.answers}
        if missing:
            raise InputRequired(missing)
        return {key: self.answers[key] for key in requests}

    def confirm(self, key: str, message: str) -> bool:
        """Whether the user accepted a yes/no question."""
        params = {
            "mode": "form",
            "message": message,
            "requestedSchema": {"type": "object", "properties": {}},
        }
        reply = self.ask({key: {"method": "elicitation/create", "params": params}})[key]
        return isinstance(reply, dict) and reply.get("action") == "accept"
