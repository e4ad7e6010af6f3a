"""The HTTP application and the process that serves it."""

from __future__ import annotations

import asyncio
import signal
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import uvicorn
from starlette.requests import ClientDisconnect, Request

from clew.protocol.http.answers import json_response, refusal
from clew.protocol.http.callers import METADATA_PATH, Caller, Gate, Watch
from clew.protocol.http.endpoint import GOING_AWAY, Endpoint
from clew.protocol.http.guard import Guard, bare_host
from clew.protocol.http.notes import log_note, note_of, tell
from clew.protocol.http.sessions import SessionBook, Sessions
from clew.protocol.http.wire import BACKLOG, Wire
from clew.protocol.kernel.kernel import report_bug
from clew.protocol.versions import INTERNAL_ERROR

if TYPE_CHECKING:
    import socket
    from collections.abc import Iterator

    from starlette.responses import Response
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from clew.protocol.kernel.kernel import Kernel

PATH = "/mcp"
_STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_GRACE_SECONDS = 5
_LAST_WORDS_SECONDS = 1  # after the grace, to tell clients that it is over
_LOOK_EVERY_SECONDS = 0.1


class _Sending:
    """Sends a response and remembers that it began."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self.status = 0

    @property
    def began(self) -> bool:
        """Whether anything was sent."""
        return self.status != 0

    async def __call__(self, message: Message) -> None:
        self.status = message.get("status", self.status)
        await self._send(message)


class HttpService:
    """The application: the endpoint behind its guard, and a health check."""

    def __init__(
        self,
        kernel: Kernel,
        *,
        host: str,
        port: int,
        token: str | None,
        gate: Gate | None = None,
        book: SessionBook | None = None,
        watch: Watch | None = None,
    ) -> None:
        self._kernel = kernel
        self._watch = watch
        self._sessions = Sessions(book)
        self._gate = gate
        self._guard = Guard(host, token, port, gate)
        self._endpoint = Endpoint(kernel, self._sessions, self._guard)

    async def app(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, and note it."""
        sending, began = _Sending(send), time.perf_counter()
        request = Request(scope, receive)
        try:
            await self._app(request, scope, receive, sending)
        finally:
            note = note_of(request, sending.status, time.perf_counter() - began)
            log_note(note)
            if self._watch is not None:
                self._watch.note(note.status, note.seconds)

    async def _app(
        self, request: Request, scope: Scope, receive: Receive, sending: _Sending
    ) -> None:
        """Answer one request; whatever happens, in JSON."""
        try:
            response = await self._answer(request)
            await response(scope, receive, sending)
        except ClientDisconnect:
            return
        except asyncio.CancelledError:  # the server ends now; raised on, it prints a traceback
            failure = refusal(503, GOING_AWAY, INTERNAL_ERROR)
        except Exception as error:  # noqa: BLE001 - a bug must not look like a page
            report_bug(error)
            failure = refusal(500, "Internal error", INTERNAL_ERROR)
        else:
            return
        if not sending.began:
            await failure(scope, receive, sending)

    async def _answer(self, request: Request) -> Response:
        routes = {PATH: self._mcp, "/readyz": self._ready}
        routes |= dict.fromkeys(("/health", "/healthz"), self._health)
        if self._gate is not None:
            routes |= dict.fromkeys((METADATA_PATH, METADATA_PATH + PATH), self._metadata)
        route = routes.get(request.scope["path"].rstrip("/"))
        if route is None:
            return refusal(404, f"Nothing here. The server is at {PATH}.")
        return self._guard.refuse(request) or await route(request)

    async def _mcp(self, request: Request) -> Response:
        methods = {
            "GET": self._endpoint.get,
            "POST": self._endpoint.post,
            "DELETE": self._endpoint.delete,
        }
        serve = methods.get(request.method)
        if serve is None:
            return _not_allowed(", ".join(methods))
        caller = await self._guard.admitted(request)
        request.scope["clew.caller"] = caller if isinstance(caller, Caller) else None
        return await serve(request, caller) if isinstance(caller, Caller) else caller

    async def _metadata(self, request: Request) -> Response:
        if request.method not in ("GET", "HEAD"):
            return _not_allowed("GET, HEAD")
        assert self._gate is not None
        return json_response(self._gate.metadata())

    async def _health(self, request: Request) -> Response:
        if request.method not in ("GET", "HEAD"):
            return _not_allowed("GET, HEAD")
        service = self._kernel.service
        return json_response({"status": "ok", "name": service.name, "version": service.version})

    async def _ready(self, request: Request) -> Response:
        if request.method not in ("GET", "HEAD"):
            return _not_allowed("GET, HEAD")
        reason = await asyncio.to_thread(self._watch.why_unready) if self._watch else ""
        if reason:
            return json_response({"status": "unready", "reason": reason}, 503)
        return json_response({"status": "ready"})

    def end_streams(self) -> None:
        """Tell listeners that the server goes away."""
        self._kernel.subscriptions.close_all()
        self._sessions.close()

    def give_up(self) -> None:
        """Tell callers that their answers will not come."""
        self._endpoint.give_up()


def _not_allowed(allowed: str) -> Response:
    return refusal(405, f"Use one of these methods: {allowed}.", headers={"Allow": allowed})


class Server(uvicorn.Server):
    """uvicorn, except that it says where it serves, and that being told to stop is no failure."""

    def __init__(self, config: uvicorn.Config, address: str, notice: str) -> None:
        super().__init__(config)
        self._address = address
        self._notice = notice

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to serve, then say where; errors of the system are reported in one line."""
        asyncio.get_running_loop().set_exception_handler(_report)
        await super().startup(sockets)
        print(self._address, flush=True)
        tell(f"{self._notice}; stop with Ctrl-C.")

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Stop when told to; uvicorn's own way raises the signal again after a clean end."""
        before = {number: signal.signal(number, self.handle_exit) for number in _STOP_SIGNALS}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def run_on(self, listener: socket.socket) -> int:
        """Serve this socket until told to stop; the exit code."""
        signal.signal(signal.SIGPIPE, signal.SIG_IGN)
        asyncio.run(self.serve(sockets=[listener]))
        return 0


def url_of(host: str, listener: socket.socket, path: str) -> str:
    """The address at which a socket is reached."""
    shown = f"[{host}]" if ":" in host else host
    return f"http://{shown}:{listener.getsockname()[1]}{path}"


class _McpServer(Server):
    """The server of the endpoint: open streams are ended before it waits for them."""

    def __init__(self, config: uvicorn.Config, service: HttpService, address: str) -> None:
        super().__init__(config, address, "serving")
        self._service = service

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End the streams, wait for calls, and give up on those that take too long."""
        asyncio.get_running_loop().call_later(_GRACE_SECONDS, self._service.give_up)
        ending = asyncio.create_task(self._end_streams())
        await super().shutdown(sockets)
        ending.cancel()

    async def _end_streams(self) -> None:
        while True:  # a stream that was asked for just now may open after the others ended
            self._service.end_streams()
            await asyncio.sleep(_LOOK_EVERY_SECONDS)


def _report(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """One line for what the system refuses, such as one more open file; the rest are bugs."""
    error = context.get("exception")
    if isinstance(error, OSError):
        tell(f"{context['message']}: {error}")
    else:
        loop.default_exception_handler(context)


def door(app: ASGIApp, grace_seconds: int) -> uvicorn.Config:
    """How every HTTP server of ours is reached: one kind of connection, its limits, no log."""
    return uvicorn.Config(
        app,
        interface="asgi3",
        http=Wire,
        ws="none",
        lifespan="off",
        backlog=BACKLOG,
        log_level="critical",
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=grace_seconds,
    )


def run(
    kernel: Kernel,
    listener: socket.socket,
    *,
    host: str,
    token: str | None = None,
    gate: Gate | None = None,
    book: SessionBook | None = None,
    watch: Watch | None = None,
) -> int:
    """Serve until told to stop; then finish what is under way. One token, or a gate, or neither."""
    host, port = bare_host(host), listener.getsockname()[1]
    service = HttpService(
        kernel, host=host, port=port, token=token, gate=gate, book=book, watch=watch
    )
    config = door(service.app, _GRACE_SECONDS + _LAST_WORDS_SECONDS)
    return _McpServer(config, service, url_of(host, listener, PATH)).run_on(listener)
