"""The older dialect (`list_tools`, `invoke_tool`) and JSON-RPC batches.

In this dialect a slow tool answers several times under one id: results with
`status: "in_progress"` first, the final one without that status last.
"""

from __future__ import annotations

from _thread import allocate_lock

from clew.kit.errors import ClewError, Invalid
from clew.protocol.errors import RpcError, invalid_params, invalid_request
from clew.protocol.kernel.exchange import error_response
from clew.protocol.service import UnknownTool
from clew.protocol.versions import INTERNAL_ERROR

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from clew.kit.jsontext import JsonObject
    from clew.protocol.kernel.connection import Send
    from clew.protocol.kernel.exchange import Exchange
    from clew.protocol.kernel.kernel import Kernel


def list_tools(exchange: Exchange, kernel: Kernel) -> None:
    """The tools with the dialect's key for their schema."""
    tools = [
        {
            "name": tool["name"],
            "description": tool["description"],
            "parameters": tool["inputSchema"],
        }
        for tool in kernel.service.documented_tools()
    ]
    exchange.reply({"tools": tools})


def invoke_tool(exchange: Exchange, kernel: Kernel) -> None:
    """Run a tool; wrong parameters are protocol errors here."""
    name = exchange.request.text("name")
    arguments = exchange.request.mapping("parameters")
    try:
        arguments = kernel.service.check_call(name, arguments, exchange.call)
    except (UnknownTool, Invalid) as error:
        raise invalid_params(f"Invalid params: {error.message}") from None
    exchange.streams_results = True
    try:
        answer = kernel.service.call_tool(name, arguments, exchange.call)
    except ClewError as error:
        raise RpcError(INTERNAL_ERROR, error.full_text()) from None
    if answer.is_error:
        raise RpcError(INTERNAL_ERROR, answer.text)
    extra = answer.structured() or {}
    exchange.reply({**extra, "output": extra.get("output", answer.text)})


class Batch:
    """Collects the answers to a batch and sends them together."""

    def __init__(
        self, items: list[object], send: Send, on_end: Callable[[], None] | None = None
    ) -> None:
        self._items = items
        self._send = send
        self._on_end = on_end
        self._lock = allocate_lock()
        self._answers: list[JsonObject] = []
        self._open = 1 + sum(1 for item in items if not _is_silent(item))

    def run(self, handle: Callable[[object, Send, Callable[[], None]], None]) -> None:
        """Serve every item; the answers follow when the last one is there."""
        for item in self._items:
            if isinstance(item, list):
                error = invalid_request("Invalid request: a batch inside a batch")
                self._reply(error_response(None, error))
                self._ended()
            else:
                handle(item, self._reply, self._ended)
        self._ended()

    def _reply(self, message: JsonObject) -> None:
        if "method" in message:
            self._send(message)
            return
        with self._lock:
            self._answers.append(message)

    def _ended(self) -> None:
        with self._lock:
            self._open -= 1
            complete = self._open == 0
        if complete and self._answers:
            self._send(self._answers)
        if complete and self._on_end is not None:
            self._on_end()


def _is_silent(item: object) -> bool:
    if not isinstance(item, dict):
        return False
    is_response = "method" not in item and ("result" in item or "error" in item)
    return is_response or ("id" not in item and isinstance(item.get("method"), str))
