"""The board as an application: routes, errors as pages, and the process that serves it."""

from __future__ import annotations

from importlib.resources import files
from typing import TYPE_CHECKING

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from clew.kit.errors import ClewError, Conflict, NotFound
from clew.protocol.http.guard import bare_host
from clew.protocol.http.server import Server, door, url_of
from clew.protocol.kernel.kernel import report_bug
from clew.web import live
from clew.web.pages import (
    board,
    commands,
    commit,
    documents,
    file,
    history,
    pulse,
    sessions,
    spec,
    thread,
)
from clew.web.security import Guard
from clew.web.site import build_environment, page, wants_data

if TYPE_CHECKING:
    import socket

    import uvicorn
    from starlette.requests import Request
    from starlette.types import ASGIApp

    from clew.web.site import Site

_GRACE_SECONDS = 3
_KINDS = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}


def static(request: Request) -> Response:
    """One of our own files."""
    name = request.path_params["name"]
    known = {entry.name: entry for entry in files("clew.web").joinpath("static").iterdir()}
    kind = _KINDS.get(name[name.rfind(".") :])
    if name not in known or kind is None:
        raise HTTPException(404)
    lasts = "v" in request.query_params  # its address is another once its content is
    headers = {"Cache-Control": "max-age=31536000, immutable" if lasts else "no-cache"}
    return Response(known[name].read_bytes(), media_type=kind, headers=headers)


ROUTES = [
    Route("/static/{name}", static),
    Route("/live", live.board_events),
    Route("/specs/{spec_id}/live", live.spec_events),
    *board.ROUTES,
    *spec.ROUTES,
    *history.ROUTES,
    *commit.ROUTES,
    *file.ROUTES,
    *thread.ROUTES,
    *documents.ROUTES,
    *commands.ROUTES,
    *pulse.ROUTES,
    *sessions.ROUTES,
]


def build_app(site: Site) -> Starlette:
    """The pages of a site, without the checks before them."""
    app = Starlette(
        routes=ROUTES,
        exception_handlers={
            ClewError: _refusal,  # type: ignore[dict-item]
            HTTPException: _no_page,  # type: ignore[dict-item]
            Exception: _bug,
        },
    )
    app.state.site = site
    app.state.environment = build_environment()
    app.state.hub = live.Hub(site)
    return app


def _refusal(request: Request, error: ClewError) -> Response:
    kinds = {NotFound: 404, Conflict: 409}
    status = next((code for kind, code in kinds.items() if isinstance(error, kind)), 400)
    return _error_page(request, status, error.message, error.hint or "")


def _no_page(request: Request, error: HTTPException) -> Response:
    if error.status_code == 405:
        return _error_page(request, 405, "This address is not used that way.", "")
    return _error_page(request, error.status_code, "There is no such page.", "")


def _bug(request: Request, error: Exception) -> Response:
    report_bug(error)
    return _error_page(
        request,
        500,
        "This is a bug in Clew, not a mistake of yours.",
        "The terminal in which `clew web` runs says more.",
    )


def _error_page(request: Request, status: int, message: str, hint: str) -> Response:
    if wants_data(request):
        return JSONResponse({"error": message, "hint": hint}, status)
    return page(request, "error.html", status=status, message=message, hint=hint)


class _BoardServer(Server):
    """The server of the board: open streams are ended before it waits for them."""

    def __init__(self, config: uvicorn.Config, hub: live.Hub, address: str) -> None:
        super().__init__(config, address, "the board is open at this address")
        self._hub = hub

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End the streams, then wait for what is under way."""
        self._hub.close()
        await super().shutdown(sockets)


def guarded(site: Site, app: Starlette, *, host: str, port: int) -> ASGIApp:
    """The application behind its checks."""
    return Guard(app, site.keys, host=host, port=port, read_only=site.read_only)


def serve(site: Site, listener: socket.socket, *, host: str) -> int:
    """Serve the board until it is stopped; the exit code."""
    host, port = bare_host(host), listener.getsockname()[1]
    app = build_app(site)
    config = door(guarded(site, app, host=host, port=port), _GRACE_SECONDS)
    address = url_of(host, listener, f"/?token={site.keys.token}")
    return _BoardServer(config, app.state.hub, address).run_on(listener)
