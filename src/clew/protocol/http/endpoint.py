"""The MCP endpoint: one POST per message, answered by JSON or by a stream of events."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from starlette.responses import JSONResponse, Response, StreamingResponse

from clew.kit import jsontext
from clew.protocol.connection import Connection
from clew.protocol.errors import RpcError
from clew.protocol.http.guard import LARGEST_BODY, read_body, refusal
from clew.protocol.http.headers import check_headers, check_parameter_headers, is_modern
from clew.protocol.http.sessions import Session
from clew.protocol.request import error_response, usable_id
from clew.protocol.versions import (
    HEADER_MISMATCH,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    MISSING_CAPABILITY,
    PARSE_ERROR,
    UNSUPPORTED_VERSION,
)

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from starlette.requests import Request

    from clew.kit.jsontext import JsonObject
    from clew.protocol.http.sessions import Sessions
    from clew.protocol.kernel import Kernel

_KEEP_ALIVE_SECONDS = 15.0
_STATUS = {
    PARSE_ERROR: 400,
    INVALID_REQUEST: 400,
    METHOD_NOT_FOUND: 404,
    HEADER_MISMATCH: 400,
    MISSING_CAPABILITY: 400,
    UNSUPPORTED_VERSION: 400,
}
_STREAM_HEADERS = {"Cache-Control": "no-cache", "X-Accel-Buffering": "no"}


class Mailbox:
    """Messages from worker threads, for one response; None ends it."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._messages: asyncio.Queue[Any] = asyncio.Queue()

    def put(self, message: object) -> None:
        """Add a message, from any thread; a loop that has ended needs none."""
        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._messages.put_nowait, message)

    def end(self) -> None:
        """No more messages."""
        self.put(None)

    async def get(self) -> Any:
        """The next message, or None at the end."""
        return await self._messages.get()


class Endpoint:
    """Serves the kernel at one path."""

    def __init__(self, kernel: Kernel, sessions: Sessions) -> None:
        self._kernel = kernel
        self._sessions = sessions

    async def post(self, request: Request) -> Response:
        """One message from a client."""
        if "json" not in request.headers.get("content-type", "application/json"):
            return refusal(415, "Send application/json.")
        body = await read_body(request)
        if body is None:
            return refusal(413, f"The body is larger than {LARGEST_BODY} bytes.")
        try:
            message = jsontext.loads_bytes(body)
        except jsontext.JsonError as error:
            return refusal(400, f"Parse error: {error}", PARSE_ERROR)
        if isinstance(message, dict) and is_modern(request.headers, message):
            return await self._post_modern(request, message)
        return await self._post_legacy(request, message)

    async def _post_modern(self, request: Request, message: JsonObject) -> Response:
        if "id" not in message:
            return Response(status_code=202)
        try:
            check_headers(request.headers, message)
            self._check_parameters(request, message)
        except RpcError as error:
            return JSONResponse(error_response(usable_id(message), error), status_code=400)
        mailbox = Mailbox()
        connection = Connection(mailbox.put, principal="http")
        self._kernel.handle(message, connection, mailbox.put, mailbox.end)
        return await self._respond(request, mailbox, connection.cancel_all, modern=True)

    def _check_parameters(self, request: Request, message: JsonObject) -> None:
        arguments = message["params"].get("arguments")
        if message.get("method") == "tools/call" and isinstance(arguments, dict):
            schema = self._kernel.service.input_schema(message["params"].get("name", ""))
            check_parameter_headers(request.headers, schema, arguments)

    async def _post_legacy(self, request: Request, message: object) -> Response:
        session = self._session(request, message)
        if isinstance(session, Response):
            return session
        if _needs_no_answer(message):
            self._kernel.handle(message, session.connection, session.connection.send)
            return Response(status_code=202)
        mailbox = Mailbox()
        self._kernel.handle(message, session.connection, mailbox.put, mailbox.end)
        # In this era a client that hangs up has not cancelled; it says so when it does.
        response = await self._respond(request, mailbox, _do_nothing, modern=False)
        if _is_initialize(message):
            response.headers["Mcp-Session-Id"] = session.id
        return response

    def _session(self, request: Request, message: object) -> Session | Response:
        if _is_initialize(message):
            return self._sessions.create("http")
        session_id = request.headers.get("mcp-session-id")
        if session_id is None:
            return Session("http")  # without a handshake each request stands alone
        session = self._sessions.find(session_id)
        if session is None:
            return refusal(404, "Unknown session. Initialize again.")
        return session

    async def _respond(
        self, request: Request, mailbox: Mailbox, cancel: Callable[[], None], *, modern: bool
    ) -> Response:
        first = await _first_message(request, mailbox)
        if first is None:
            cancel()
            return Response(status_code=202)
        if isinstance(first, list) or "method" not in first:
            return JSONResponse(first, status_code=_status(first, modern=modern))
        return StreamingResponse(
            _events(mailbox, first, cancel),
            media_type="text/event-stream",
            headers=_STREAM_HEADERS,
        )

    async def get(self, request: Request) -> Response:
        """The legacy stream of messages that answer nothing."""
        session = self._sessions.find(request.headers.get("mcp-session-id", ""))
        if session is None:
            return Response(status_code=405, headers={"Allow": "POST"})
        mailbox = Mailbox()
        if not session.attach(mailbox.put):
            return refusal(409, "This session has an open stream already.")
        return StreamingResponse(
            _events(mailbox, None, session.detach),
            media_type="text/event-stream",
            headers=_STREAM_HEADERS,
        )

    async def delete(self, request: Request) -> Response:
        """End a legacy session."""
        session_id = request.headers.get("mcp-session-id")
        if session_id is None:
            return Response(status_code=405, headers={"Allow": "POST"})
        return Response(status_code=204 if self._sessions.end(session_id) else 404)


def _do_nothing() -> None:
    """For streams whose end means nothing."""


def _is_initialize(message: object) -> bool:
    return isinstance(message, dict) and message.get("method") == "initialize"


def _needs_no_answer(message: object) -> bool:
    if not isinstance(message, dict):
        return False
    return "id" not in message or "method" not in message


def _status(message: JsonObject | list[JsonObject], *, modern: bool) -> int:
    if isinstance(message, list) or "error" not in message:
        return 200
    code = message["error"]["code"]
    if not modern and code == METHOD_NOT_FOUND:
        return 200
    return _STATUS.get(code, 200)


async def _first_message(request: Request, mailbox: Mailbox) -> Any:
    """The first message, or None when the call ended without one or the client left."""
    message = asyncio.ensure_future(mailbox.get())
    gone = asyncio.ensure_future(_disconnected(request))
    try:
        await asyncio.wait({message, gone}, return_when=asyncio.FIRST_COMPLETED)
        return message.result() if message.done() else None
    finally:
        for waiting in (message, gone):
            waiting.cancel()


async def _disconnected(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


async def _events(
    mailbox: Mailbox, first: object, on_close: Callable[[], None]
) -> AsyncIterator[bytes]:
    try:
        yield _event(first) if first is not None else b": open\r\n\r\n"
        while True:
            try:
                message = await asyncio.wait_for(mailbox.get(), _KEEP_ALIVE_SECONDS)
            except TimeoutError:
                yield b": keep-alive\r\n\r\n"
                continue
            if message is None:
                return
            yield _event(message)
    finally:
        on_close()


def _event(message: object) -> bytes:
    return b"event: message\r\ndata: " + jsontext.dumps_bytes(message) + b"\r\n\r\n"
