"""HTTP responses whose bodies are JSON-RPC: one message, a refusal, a stream of events."""

from __future__ import annotations

from typing import TYPE_CHECKING

from starlette.responses import Response, StreamingResponse

from clew.protocol.errors import RpcError
from clew.protocol.kernel.exchange import error_response, wire_bytes
from clew.protocol.versions import INVALID_REQUEST

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Mapping

    from starlette.types import Receive, Scope, Send

    from clew.protocol.kernel.connection import RequestId

_STREAM_HEADERS = {"Cache-Control": "no-cache", "X-Accel-Buffering": "no"}


def event(message: object) -> bytes:
    """The message as one event of a stream."""
    return b"event: message\r\ndata: " + wire_bytes(message) + b"\r\n\r\n"


def json_response(message: object, status: int = 200) -> Response:
    """A response whose body is one message."""
    return Response(wire_bytes(message), status, media_type="application/json")


def refusal(
    status: int,
    message: str,
    code: int = INVALID_REQUEST,
    *,
    request_id: RequestId | None = None,
    headers: Mapping[str, str] | None = None,
) -> Response:
    """An HTTP error whose body is a JSON-RPC error."""
    response = json_response(error_response(request_id, RpcError(code, message)), status)
    response.headers.update(headers or {})
    return response


class EventStream(StreamingResponse):
    """A stream of events that calls back when it is over, even if it never began."""

    def __init__(self, events: AsyncIterator[bytes], on_close: Callable[[], None]) -> None:
        super().__init__(events, media_type="text/event-stream", headers=_STREAM_HEADERS)
        self._on_close = on_close

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the stream."""
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._on_close()
