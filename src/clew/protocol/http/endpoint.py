"""The MCP endpoint: one POST per message, answered by JSON or by a stream of events."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeVar
from weakref import WeakSet

from starlette.responses import Response

from clew.kit import jsontext
from clew.protocol.errors import RpcError
from clew.protocol.http.answers import EventStream, event, json_response, refusal
from clew.protocol.http.callers import Caller
from clew.protocol.http.guard import (
    Guard,
    check_headers,
    check_parameter_headers,
    is_json,
    is_modern,
    read_body,
)
from clew.protocol.http.sessions import Session
from clew.protocol.kernel.connection import Connection
from clew.protocol.kernel.exchange import error_response, usable_id
from clew.protocol.versions import (
    HEADER_MISMATCH,
    INTERNAL_ERROR,
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
    from clew.protocol.kernel.kernel import Kernel

GOING_AWAY = "The server goes away before the answer is ready."
_Given = TypeVar("_Given")
_KEEP_ALIVE_SECONDS = 15.0
_STATUS = {
    PARSE_ERROR: 400,
    INVALID_REQUEST: 400,
    METHOD_NOT_FOUND: 404,
    HEADER_MISMATCH: 400,
    MISSING_CAPABILITY: 400,
    UNSUPPORTED_VERSION: 400,
}


class Mailbox:
    """Messages from worker threads, for one response to one message; None ends it."""

    def __init__(self, message: object = None) -> None:
        self._loop = asyncio.get_running_loop()
        self._messages: asyncio.Queue[Any] = asyncio.Queue()
        self._asked = message
        self.last_words: JsonObject | None = None

    def put(self, message: object) -> None:
        """Add a message, from any thread; a loop that has ended needs none."""
        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._messages.put_nowait, message)

    def end(self) -> None:
        """No more messages."""
        self.put(None)

    def give_up(self) -> None:
        """Answer that there will be no answer."""
        error = RpcError(INTERNAL_ERROR, GOING_AWAY)
        self.last_words = error_response(usable_id(self._asked), error)
        self.put(self.last_words)
        self.end()

    def is_interim(self, message: object) -> bool:
        """Whether more follows: a message before the answer, or a result that is not the last."""
        if not isinstance(message, dict):
            return False
        result = message.get("result")
        if _method(self._asked) == "invoke_tool" and isinstance(result, dict):
            return result.get("status") == "in_progress"
        return "method" in message

    async def get(self) -> Any:
        """The next message, or None at the end."""
        return await self._messages.get()


class Endpoint:
    """Serves the kernel at one path."""

    def __init__(self, kernel: Kernel, sessions: Sessions, guard: Guard) -> None:
        self._kernel = kernel
        self._sessions = sessions
        self._guard = guard
        self._waiting: WeakSet[Mailbox] = WeakSet()
        sessions.pass_on_to(
            lambda message, session: kernel.handle(
                message, session.connection, session.connection.send
            )
        )

    def give_up(self) -> None:
        """Answer what is still under way: there is no more time for it."""
        for mailbox in list(self._waiting):
            mailbox.give_up()

    async def post(self, request: Request, caller: Caller) -> Response:
        """One message from a client."""
        if not is_json(request):
            return refusal(415, "Send application/json.")
        body = await read_body(request)
        if isinstance(body, Response):
            return body
        try:
            message = jsontext.loads_bytes(body)
        except jsontext.JsonError as error:
            return refusal(400, f"Parse error: {error}", PARSE_ERROR)
        reason = _why_no_message(message)
        if reason:
            return refusal(400, f"Invalid request: {reason}", request_id=usable_id(message))
        request.scope["clew.asked"] = message
        refused = self._guard.refuse_deed(caller, message)
        return refused or await self._serve(request, message, caller)

    async def _serve(self, request: Request, message: object, caller: Caller) -> Response:
        if isinstance(message, dict) and is_modern(request.headers, message):
            return await self._post_modern(request, message, caller)
        return await self._post_legacy(request, message, caller)

    async def _post_modern(self, request: Request, message: JsonObject, caller: Caller) -> Response:
        if _needs_no_answer(message):
            return Response(status_code=202)
        try:
            check_headers(request.headers, message)
            self._check_parameters(request, message)
        except RpcError as error:
            return json_response(error_response(usable_id(message), error), 400)
        mailbox = self._mailbox(message)
        connection = Connection(
            mailbox.put,
            principal=caller.principal,
            client=_client(request),
            settings=caller.settings,
        )
        self._kernel.handle(message, connection, mailbox.put, mailbox.end)
        return await self._respond(request, mailbox, connection.cancel_all, modern=True)

    def _check_parameters(self, request: Request, message: JsonObject) -> None:
        name, arguments = (message["params"].get(key) for key in ("name", "arguments"))
        if message.get("method") != "tools/call" or not isinstance(name, str):
            return
        if isinstance(arguments, dict):
            schema = self._kernel.service.input_schema(name)
            check_parameter_headers(request.headers, schema, arguments)

    async def _post_legacy(self, request: Request, message: object, caller: Caller) -> Response:
        session = await self._aside(lambda: self._session(request, message, caller))
        if isinstance(session, Response):
            return session
        if _needs_no_answer(message):
            self._kernel.handle(message, session.connection, session.connection.send)
            await self._aside(lambda: self._sessions.keep(session, _for_a_call(message)))
            return Response(status_code=202)
        mailbox = self._mailbox(message)
        self._kernel.handle(message, session.connection, mailbox.put, mailbox.end)
        # In this era a client that hangs up has not cancelled; it says so when it does.
        response = await self._respond(request, mailbox, _do_nothing, modern=False)
        await self._aside(lambda: self._sessions.keep(session))
        if _is_initialize(message):
            response.headers["Mcp-Session-Id"] = session.id
        return response

    def _session(self, request: Request, message: object, caller: Caller) -> Session | Response:
        if _is_initialize(message):
            return self._sessions.create(caller)
        session_id = request.headers.get("mcp-session-id")
        if session_id is None:  # without a handshake each request stands alone
            return Session(caller, _client(request))
        session = self._sessions.find(session_id, caller)
        if session is None:
            return refusal(404, "Unknown session. Initialize again.")
        if self._sessions.is_shared:  # the handshake may have been with another server
            self._kernel.subscriptions.welcome(session.connection)
        return session

    async def _aside(self, work: Callable[[], _Given]) -> _Given:
        """What is asked of sessions; not on the loop where a database answers."""
        return await asyncio.to_thread(work) if self._sessions.is_shared else work()

    def _mailbox(self, message: object) -> Mailbox:
        mailbox = Mailbox(message)
        self._waiting.add(mailbox)
        return mailbox

    async def _respond(
        self, request: Request, mailbox: Mailbox, cancel: Callable[[], None], *, modern: bool
    ) -> Response:
        first = await _first_message(request, mailbox)
        if first is None:
            cancel()
            return Response(status_code=202)
        if mailbox.is_interim(first):
            return EventStream(_events(mailbox, first), cancel)
        status = 503 if first is mailbox.last_words else _status(first, modern=modern)
        return json_response(first, status)

    async def get(self, request: Request, caller: Caller) -> Response:
        """The legacy stream of messages that answer nothing."""
        session_id = request.headers.get("mcp-session-id", "")
        session = await self._aside(lambda: self._sessions.find(session_id, caller))
        if session is None:
            return _needs_session()
        mailbox = Mailbox()
        if not await self._aside(lambda: session.attach(mailbox.put)):
            return refusal(409, "This session has an open stream already.")
        return EventStream(_events(mailbox, None), session.detach)

    async def delete(self, request: Request, caller: Caller) -> Response:
        """End a legacy session."""
        session_id = request.headers.get("mcp-session-id")
        if session_id is None:
            return _needs_session()
        if await self._aside(lambda: self._sessions.find(session_id, caller)) is None:
            return refusal(404, "Unknown session.")
        await self._aside(lambda: self._sessions.end(session_id))
        return Response(status_code=204)


def _client(request: Request) -> str:
    """Whose request it is where no session says so: that of one connection."""
    return "{}:{}".format(*request.client) if request.client else "unknown"


def _needs_session() -> Response:
    return refusal(405, "Without a session there is only POST.", headers={"Allow": "POST"})


def _do_nothing() -> None:
    """For streams whose end means nothing."""


def _method(message: object) -> object:
    return message.get("method") if isinstance(message, dict) else None


def _is_initialize(message: object) -> bool:
    return isinstance(message, dict) and "id" in message and _method(message) == "initialize"


def _needs_no_answer(message: object) -> bool:
    """Whether a message is a notification or a response."""
    return isinstance(message, dict) and ("id" not in message or "method" not in message)


def _for_a_call(message: object) -> JsonObject | None:
    """A message that is meant for a call under way: an answer to its question, or its end."""
    is_meant = isinstance(message, dict) and (
        "method" not in message or message["method"] == "notifications/cancelled"
    )
    return message if is_meant and isinstance(message, dict) else None


def _why_no_message(message: object) -> str | None:
    """What keeps an object from being a notification or a response; the kernel reads the rest."""
    if not isinstance(message, dict) or not _needs_no_answer(message):
        return None
    if message.get("jsonrpc") != "2.0":
        return "jsonrpc must be 2.0"
    if "method" in message:
        return None if isinstance(message["method"], str) else "method must be a string"
    if "id" in message and ("result" in message or "error" in message):
        return None
    return "neither a request nor a notification nor a response"


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


async def _events(mailbox: Mailbox, first: object) -> AsyncIterator[bytes]:
    yield event(first) if first is not None else b": open\r\n\r\n"
    while True:
        try:
            message = await asyncio.wait_for(mailbox.get(), _KEEP_ALIVE_SECONDS)
        except TimeoutError:
            yield b": keep-alive\r\n\r\n"
            continue
        if message is None:
            return
        yield event(message)
