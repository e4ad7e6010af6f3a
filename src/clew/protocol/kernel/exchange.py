"""One request: reading it, serving it, and how its answers are stamped and sent."""

from __future__ import annotations

from clew.kit import jsontext
from clew.kit.call import SEES, Call
from clew.protocol.errors import RpcError, invalid_params, invalid_request, unsupported_version
from clew.protocol.versions import (
    INTERNAL_ERROR,
    LOG_LEVELS,
    META_CAPABILITIES,
    META_LOG_LEVEL,
    META_SEES,
    META_SERVER,
    META_VERSION,
    MODERN,
    MODERN_VERSIONS,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from clew.kit.jsontext import JsonObject
    from clew.protocol.errors import RpcError
    from clew.protocol.kernel.connection import Connection, RequestId, Send
    from clew.protocol.service import Service


class Request:
    """A request whose form is right."""

    __slots__ = ("capabilities", "id", "log_level", "meta", "method", "modern", "params", "version")

    def __init__(
        self, request_id: RequestId, method: str, params: JsonObject, connection: Connection
    ) -> None:
        self.id = request_id
        self.method = method
        self.params = params
        meta = params.get("_meta")
        self.meta: JsonObject = meta if isinstance(meta, dict) else {}
        self.modern = META_VERSION in self.meta
        self.version = connection.version
        self.capabilities = connection.capabilities
        self.log_level: str | None = connection.log_level
        if self.modern:
            self._read_modern_meta()

    def _read_modern_meta(self) -> None:
        version = self.meta[META_VERSION]
        if version not in MODERN_VERSIONS:
            raise unsupported_version(version, MODERN_VERSIONS)
        self.version = MODERN
        capabilities = self.meta.get(META_CAPABILITIES)
        if not isinstance(capabilities, dict):
            raise invalid_params(f"Invalid params: _meta lacks {META_CAPABILITIES}")
        self.capabilities = capabilities
        self.log_level = self.meta.get(META_LOG_LEVEL)
        if self.log_level is not None and self.log_level not in LOG_LEVELS:
            raise invalid_params("Invalid params: unknown log level")

    def text(self, name: str) -> str:
        """A parameter that must be a non-empty string."""
        value = self.params.get(name)
        if not isinstance(value, str) or not value:
            raise invalid_params(f"Invalid params: {name} must be a non-empty string")
        return value

    def mapping(self, name: str) -> JsonObject:
        """A parameter that must be an object where it is given."""
        value = self.params.get(name)
        if value is None:
            return {}
        if not isinstance(value, dict):
            raise invalid_params(f"Invalid params: {name} must be an object")
        return value


def usable_id(message: object) -> RequestId | None:
    """The id to answer to, or None where there is none that can be echoed."""
    value = message.get("id") if isinstance(message, dict) else None
    return value if isinstance(value, (str, int)) and not isinstance(value, bool) else None


def read_request(message: JsonObject, connection: Connection, wrong_version: str) -> Request:
    """The request in a message, or RpcError."""
    if message.get("jsonrpc") != "2.0":
        raise invalid_request(wrong_version)
    request_id = usable_id(message)
    if request_id is None:
        raise invalid_request("Invalid request: id must be a string or an integer")
    method = message.get("method")
    if not isinstance(method, str):
        raise invalid_request("Invalid request: method must be a string")
    params = message.get("params", {})
    if params is None:
        params = {}
    if not isinstance(params, dict):
        raise invalid_params("Invalid params: params must be an object")
    return Request(request_id, method, params, connection)


class Result(dict[str, "Any"]):
    """A result that may have the JSON of some of its members already."""

    known_json: Mapping[str, Sequence[bytes]] = {}


def wire_bytes(message: Any, end: bytes = b"") -> bytes:
    """A message as it goes over the wire; an error in its place where JSON cannot say it."""
    try:
        result = message.get("result") if type(message) is dict else None
        if isinstance(result, Result) and result.known_json:
            return _spliced(message, result, end)
        return jsontext.dumps_bytes(message) + end
    except (jsontext.JsonError, UnicodeEncodeError):
        error = RpcError(INTERNAL_ERROR, "Internal error")
        return jsontext.dumps_bytes(error_response(usable_id(message), error)) + end


def _spliced(message: JsonObject, result: Result, end: bytes) -> bytes:
    """The message, with the result last and in it, last, what is JSON already."""
    known = result.known_json
    rest = {key: value for key, value in result.items() if key not in known}
    parts = [jsontext.dumps_bytes({**message, "result": rest}).removesuffix(b"}}")]
    for key, texts in known.items():
        parts += [b',"%b":' % key.encode(), *texts]
    parts += [b"}}", end]
    return b"".join(parts)


def error_response(request_id: RequestId | None, error: RpcError) -> JsonObject:
    """The response that carries an error."""
    return {"jsonrpc": "2.0", "id": request_id, "error": error.wire()}


class ServedCall(Call):
    """A call whose progress and log lines reach the client."""

    def __init__(self, exchange: Exchange, settings: Mapping[str, str]) -> None:
        super().__init__(settings=settings)
        self._exchange: Exchange | None = exchange
        self._furthest: float | None = None
        self.capabilities = exchange.request.capabilities
        self.client = exchange.connection.client

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
        seen = request.meta.get(META_SEES)
        narrowed = {SEES: seen} if isinstance(seen, str) else {}
        self.call: ServedCall = ServedCall(
            self, {**service.settings, **narrowed, **connection.settings}
        )

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
        stamped.known_json = getattr(result, "known_json", {})
        return stamped
