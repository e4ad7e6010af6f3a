"""The board as an application: routes, errors as pages, and the process that serves it."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.resources import files
from typing import TYPE_CHECKING

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from clew.kit.errors import ClewError, Conflict, NotFound, UsageError
from clew.protocol.http.guard import bare_host
from clew.protocol.http.server import Server, door, url_of
from clew.protocol.kernel.kernel import report_bug
from clew.web import live
from clew.web.access import EVERYBODY, INDEX, MACHINE, NAMED, PROJECT, admitted
from clew.web.pages import (
    board,
    commands,
    commit,
    documents,
    file,
    fleet,
    history,
    pulse,
    sessions,
    spec,
    spec_actions,
    thread,
)
from clew.web.security import Guard, TokenDoor
from clew.web.site import NotAllowed, build_environment, page, wants_data

if TYPE_CHECKING:
    import socket

    import uvicorn
    from starlette.requests import Request

    from clew.web.security import Door
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


_POST = ["POST"]
# Every page, and what a visitor must be allowed to see for it.
ROUTES = (
    (EVERYBODY, Route("/static/{name}", static)),
    (PROJECT, Route("/live", live.board_events)),
    (PROJECT, Route("/specs/{spec_id}/live", live.spec_events)),
    (INDEX, Route("/fleet/live", live.fleet_events)),
    (INDEX, Route("/", board.board)),  # whoever may not see the project is led to the history
    (PROJECT, Route("/specs", board.add, methods=_POST)),
    (PROJECT, Route("/specs/{spec_id}/move", board.move, methods=_POST)),
    (PROJECT, Route("/specs/{spec_id}", spec.show)),
    (PROJECT, Route("/specs/{spec_id}/edit", spec.edit)),
    (PROJECT, Route("/specs/{spec_id}/edit", spec.save, methods=_POST)),
    (PROJECT, Route("/specs/{spec_id}/do/{action}", spec_actions.act, methods=_POST)),
    (INDEX, Route("/history", history.search)),
    (PROJECT, Route("/commits/{sha}", commit.here)),
    (INDEX, Route("/commits/{sha}/in/{repo:path}", commit.show)),
    (INDEX, Route("/file", file.show)),
    (PROJECT, Route("/thread", thread.show)),
    (PROJECT, Route("/documents", documents.browse)),
    (PROJECT, Route("/documents/{path:path}", documents.show)),
    (MACHINE, Route("/commands", commands.browse)),
    (MACHINE, Route("/commands/{c1}/{c2}/{c3}", commands.show)),
    (INDEX, Route("/pulse", pulse.show)),
    (MACHINE, Route("/sessions/{name}", sessions.show)),
    (INDEX, Route("/fleet", fleet.show)),
    (INDEX, Route("/fleet/orders/{order_id:int}", fleet.show_order)),
    (NAMED, Route("/fleet/commands/{action}", fleet.decide, methods=_POST)),
)


def build_app(site: Site) -> Starlette:
    """The pages of a site, without the checks before them."""
    app = Starlette(
        routes=[admitted(route, reach) for reach, route in ROUTES],
        exception_handlers={
            ClewError: _refusal,  # type: ignore[dict-item]
            HTTPException: _no_page,  # type: ignore[dict-item]
            Exception: _bug,
        },
    )
    app.state.site = site
    app.state.environment = build_environment()
    app.state.hub = live.Hub(site)
    app.state.fleet = live.FleetWatch(site)
    return app


def _refusal(request: Request, error: ClewError) -> Response:
    kinds = {NotFound: 404, Conflict: 409, NotAllowed: 403}
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


@dataclass(frozen=True)
class SignInSettings:
    """What a board needs for its visitors to sign in."""

    client: str  # what the identity provider knows the board by
    secret: str = ""
    origin: str = ""  # under which people reach it; without one, as it listens


def serve(
    site: Site, listener: socket.socket, *, host: str, signs_in: SignInSettings | None = None
) -> int:
    """Serve the board until it is stopped; the exit code."""
    host, port = bare_host(host), listener.getsockname()[1]
    app = build_app(site)
    origin = signs_in.origin if signs_in is not None else ""
    address = url_of(host, listener, "/")
    knows: Door = TokenDoor(site.keys, port)
    if signs_in is None:
        address += f"?token={site.keys.token}"
    else:
        address = f"{origin}/" if origin else address
        knows = _people(site, signs_in, address.rstrip("/"))
    guard = Guard(app, knows, host=host, port=port, origin=origin, read_only=site.read_only)
    config = door(guard, _GRACE_SECONDS)
    return _BoardServer(config, app.state.hub, address).run_on(listener)


def _people(site: Site, settings: SignInSettings, origin: str) -> Door:
    from clew.web.people import PeopleDoor

    sign_in = site.team.sign_in() if site.team is not None else None
    if site.team is None or sign_in is None:
        raise UsageError(
            "Nobody can sign in: there is no team's database, or it knows no identity provider",
            "Name the database by --database, the provider by: clew team sign-in",
        )
    return PeopleDoor(site.team, sign_in, (settings.client, settings.secret), origin)
