"""The HTTP application and the process that serves it."""

from __future__ import annotations

import asyncio
import signal
import sys
from typing import TYPE_CHECKING

import uvicorn
from starlette.applications import Starlette
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from clew.protocol.http.endpoint import Endpoint
from clew.protocol.http.guard import Guard
from clew.protocol.http.sessions import Sessions

if TYPE_CHECKING:
    import socket
    from types import FrameType

    from starlette.requests import Request

    from clew.protocol.kernel import Kernel

PATH = "/mcp"
_GRACE_SECONDS = 5


class HttpService:
    """The application: the endpoint behind its guard, and a health check."""

    def __init__(self, kernel: Kernel, *, host: str, token: str | None) -> None:
        self._kernel = kernel
        self._sessions = Sessions()
        self._endpoint = Endpoint(kernel, self._sessions)
        self._guard = Guard(host, token)
        self.app = Starlette(
            routes=[
                Route(PATH, self._mcp, methods=["GET", "POST", "DELETE"]),
                Route("/health", self._health, methods=["GET"]),
            ]
        )

    async def _mcp(self, request: Request) -> Response:
        refused = self._guard.refuse(request) or self._guard.refuse_stranger(request)
        if refused is not None:
            return refused
        if request.method == "POST":
            return await self._endpoint.post(request)
        if request.method == "GET":
            return await self._endpoint.get(request)
        return await self._endpoint.delete(request)

    async def _health(self, request: Request) -> Response:
        service = self._kernel.service
        refused = self._guard.refuse(request)
        if refused is not None:
            return refused
        return JSONResponse({"status": "ok", "name": service.name, "version": service.version})

    def end_streams(self) -> None:
        """Tell listeners that the server goes away."""
        self._kernel.subscriptions.close_all()
        self._sessions.end_all()


class _Server(uvicorn.Server):
    """uvicorn, except that open streams are ended before it waits for them."""

    def __init__(self, config: uvicorn.Config, service: HttpService) -> None:
        super().__init__(config)
        self._service = service

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Begin a graceful shutdown."""
        self._service.end_streams()
        super().handle_exit(sig, frame)
        # uvicorn raises the signal again after its shutdown; a clean end is no failure.
        self._captured_signals.clear()


def run(kernel: Kernel, listener: socket.socket, *, host: str, token: str | None) -> int:
    """Serve until told to stop; then finish what is under way."""
    service = HttpService(kernel, host=host, token=token)
    config = uvicorn.Config(
        service.app,
        log_level="warning",
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=_GRACE_SECONDS,
        lifespan="off",
    )
    port = listener.getsockname()[1]
    shown = f"[{host}]" if ":" in host else host
    print(f"http://{shown}:{port}{PATH}", flush=True)
    print("clew: serving; stop with Ctrl-C.", file=sys.stderr, flush=True)
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    asyncio.run(_Server(config, service).serve(sockets=[listener]))
    return 0
