"""One peer: what it negotiated, what runs for it, what it was asked."""

from __future__ import annotations

from _thread import allocate_lock

from clew.kit.errors import ClewError
from clew.protocol.versions import OLDEST

TYPE_CHECKING = False
if TYPE_CHECKING:
    from _thread import LockType
    from collections.abc import Callable, Mapping
    from typing import Any

    from clew.kit.call import Call
    from clew.kit.jsontext import JsonObject

    RequestId = str | int
    Send = Callable[[Any], None]


class PeerGone(ClewError):
    """The peer hung up or did not answer a question in time."""


class _Question:
    """A request from us to the peer, waiting for its answer."""

    __slots__ = ("answered", "reply")

    def __init__(self) -> None:
        self.answered = allocate_lock()
        self.answered.acquire()
        self.reply: JsonObject | None = None

    def settle(self) -> None:
        """Wake whoever waits, once."""
        if self.answered.locked():
            self.answered.release()


class Connection:
    """The state that a legacy handshake sets up, and the calls that run for a peer.

    Modern requests carry all they need and use only the second half.
    """

    def __init__(
        self,
        send: Send,
        *,
        principal: str = "local",
        client: str = "",
        settings: Mapping[str, str] | None = None,
    ) -> None:
        self.send = send
        self.principal = principal
        self.client = client
        self.settings: Mapping[str, str] = settings or {}
        self.asks_as = "clew"
        self.version = OLDEST
        self.initialized = False
        self.capabilities: JsonObject = {}
        self.log_level = "info"
        self.subscribed: set[str] = set()
        self.closed = False
        self._running: dict[RequestId, Call] = {}
        self._lock = allocate_lock()
        self._idle: LockType | None = None
        self._questions: dict[str, _Question] = {}
        self._asked = 0

    @property
    def owner(self) -> str:
        """Whose tasks these are: a known caller's own; of servers that know none, everybody's."""
        return self.principal if self.settings else ""

    def agreed(self) -> JsonObject:
        """What the handshake and later requests set up."""
        return {
            "version": self.version,
            "initialized": self.initialized,
            "capabilities": self.capabilities,
            "log_level": self.log_level,
            "subscribed": sorted(self.subscribed),
        }

    def agree(self, agreed: JsonObject) -> None:
        """Set up what was agreed on, maybe with another server."""
        self.version = agreed["version"]
        self.initialized = agreed["initialized"]
        self.capabilities = agreed["capabilities"]
        self.log_level = agreed["log_level"]
        self.subscribed = set(agreed["subscribed"])

    def begin(self, request_id: RequestId, call: Call) -> bool:
        """Note a running call; False when its id is taken."""
        with self._lock:
            if request_id in self._running:
                return False
            self._running[request_id] = call
            return True

    def finish(self, request_id: RequestId) -> None:
        """Forget a call that was answered."""
        with self._lock:
            self._running.pop(request_id, None)
            if not self._running and self._idle is not None:
                self._idle.release()
                self._idle = None

    def cancel(self, request_id: object) -> None:
        """Cancel a running call; unknown ids are ignored, as the protocol wants."""
        with self._lock:
            usable = isinstance(request_id, (str, int)) and not isinstance(request_id, bool)
            call = self._running.get(request_id) if usable else None  # type: ignore[call-overload]
        if call is not None:
            call.cancel()

    def cancel_all(self) -> None:
        """Cancel everything that runs."""
        with self._lock:
            calls = list(self._running.values())
        for call in calls:
            call.cancel()

    def wait_idle(self, timeout: float | None) -> bool:
        """Wait until nothing runs; False when the time was up first."""
        with self._lock:
            if not self._running:
                return True
            idle = self._idle = allocate_lock()
            idle.acquire()
        return idle.acquire(timeout=-1 if timeout is None else timeout)

    def ask(
        self, send: Send, method: str, params: JsonObject, call: Call, timeout: float
    ) -> JsonObject:
        """Send the peer a request and wait for its result, or until the call is cancelled."""
        question = _Question()
        call.on_cancel(question.settle)
        with self._lock:
            self._asked += 1
            question_id = f"{self.asks_as}-{self._asked}"
            self._questions[question_id] = question
        try:
            send({"jsonrpc": "2.0", "id": question_id, "method": method, "params": params})
            if self.closed or not question.answered.acquire(timeout=timeout):
                raise PeerGone(f"The client did not answer {method}")
            call.check()
            if question.reply is None:
                raise PeerGone(f"The client did not answer {method}")
        finally:
            with self._lock:
                self._questions.pop(question_id, None)
        result = question.reply.get("result")
        if not isinstance(result, dict):
            raise PeerGone(f"The client refused {method}")
        return result

    def answer(self, message: JsonObject) -> None:
        """Take the peer's response to a question; others are ignored."""
        question_id = message.get("id")
        with self._lock:
            question = None
            if isinstance(question_id, str):
                question = self._questions.pop(question_id, None)
        if question is not None:  # an answer that comes twice counts once
            question.reply = message
            question.settle()

    def close(self) -> None:
        """The peer is gone: nobody waits for it any longer."""
        self.closed = True
        with self._lock:
            questions = list(self._questions.values())
        for question in questions:
            question.settle()
