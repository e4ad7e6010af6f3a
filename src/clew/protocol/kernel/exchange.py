"""One request being served: where its answers go, and how they are stamped."""

from __future__ import annotations

from clew.kit.call import Call
from clew.protocol.kernel.request import Result, error_response
from clew.protocol.versions import LOG_LEVELS, META_SERVER

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from clew.kit.jsontext import JsonObject
    from clew.protocol.errors import RpcError
    from clew.protocol.kernel.connection import Connection, Send
    from clew.protocol.kernel.request import Request
    from clew.protocol.service import Service


class ServedCall(Call):
    """A call whose progress and log lines reach the client."""

    def __init__(self, exchange: Exchange, settings: Mapping[str, str]) -> None:
        super().__init__(settings=settings)
        self._exchange: Exchange | None = exchange
        self._furthest: float | None = None
        self.capabilities = exchange.request.capabilities

    def close(self) -> None:
        """Let go of the exchange, so that neither waits for the garbage collector."""
        self._exchange = None

    def report_progress(self, done: float, total: float | None, message: str | None) -> None:
        """Send progress in the form that this request's dialect has for it."""
        exchange = self._exchange
        if exchange is None:
            return
        if exchange.streams_results:
            exchange.interim({"output": message or "", "status": "in_progress"})
            return
        token = exchange.request.meta.get("progressToken")
        if not isinstance(token, (str, int)) or isinstance(token, bool):
            return
        if self._furthest is not None and done <= self._furthest:
            return
        self._furthest = done
        params: JsonObject = {"progressToken": token, "progress": done}
        if total is not None:
            params["total"] = total
        if message is not None:
            params["message"] = message
        exchange.notify("notifications/progress", params)

    def log(self, level: str, data: object) -> None:
        """Send a log line when the client wants lines of this level."""
        exchange = self._exchange
        wanted = exchange.request.log_level if exchange else None
        if exchange is None or wanted is None or LOG_LEVELS.index(level) < LOG_LEVELS.index(wanted):
            return
        if "logging" in exchange.service.features:
            exchange.notify("notifications/message", {"level": level, "data": data})


class Exchange:
    """A request, its connection and the way back."""

    def __init__(
        self,
        request: Request,
        connection: Connection,
        send: Send,
        service: Service,
        on_end: Callable[[], None] | None = None,
    ) -> None:
        self.request = request
        self.connection = connection
        self.send = send
        self.service = service
        self._on_end = on_end
        self.streams_results = False
        self.call: ServedCall = ServedCall(self, service.settings)

    def notify(self, method: str, params: JsonObject) -> None:
        """Send a notification that belongs to this request."""
        if not self.call.cancelled:
            self.send({"jsonrpc": "2.0", "method": method, "params": params})

    def reply(self, result: JsonObject, *, result_type: str = "complete") -> None:
        """Answer the request, unless it was cancelled."""
        if self.request.modern:
            result = self._stamped(result, result_type)
        self._end({"jsonrpc": "2.0", "id": self.request.id, "result": result})

    def interim(self, result: JsonObject) -> None:
        """Send a result that is not the last; only the older dialect has these."""
        if not self.call.cancelled:
            self.send({"jsonrpc": "2.0", "id": self.request.id, "result": result})

    def fail(self, error: RpcError) -> None:
        """Answer the request with an error, unless it was cancelled."""
        self._end(error_response(self.request.id, error))

    def drop(self) -> None:
        """End without an answer."""
        self.connection.finish(self.request.id)
        self.call.close()
        if self._on_end is not None:
            self._on_end()

    def _end(self, response: JsonObject) -> None:
        try:
            if not self.call.cancelled:
                self.send(response)
        finally:
            self.drop()

    def _stamped(self, result: JsonObject, result_type: str) -> JsonObject:
        meta = dict(result.get("_meta") or {})
        meta[META_SERVER] = {"name": self.service.name, "version": self.service.version}
        stamped = Result(resultType=result_type, **result)
        stamped["_meta"] = meta
        stamped.structured_text = getattr(result, "structured_text", None)
        return stamped
