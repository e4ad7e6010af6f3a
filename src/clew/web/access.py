"""What a visitor needs for each page: as `team.identity.needs` says it of tools.

Questions to the index show what the visitor may see. Pages of the project are for those who may see
its repository, what else is on the machine for administrators.
"""

from __future__ import annotations

import inspect
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING

from starlette.routing import Route

from clew.web.security import CSRF_FIELD
from clew.web.site import NotAllowed, form_of, site_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.requests import Request
    from starlette.responses import Response

# What a page shows: to everybody, of the index, of the project, of the repository that its form
# names, of the machine.
EVERYBODY, INDEX, PROJECT, NAMED, MACHINE = "everybody", "index", "project", "named", "machine"
_WORK = {"start", "pause", "takeover", "release", "merge", "cancel"}
_ADMIN = {"trust"}


def _scope(reach: str, method: str, action: str) -> str:
    """What a visitor must be allowed to do for a request to a page."""
    if reach in (NAMED, MACHINE) or action in _ADMIN:
        return "admin"
    if method in ("GET", "HEAD"):
        return "read"
    return "work" if action in _WORK else "write"


def admitted(route: Route, reach: str) -> Route:
    """The route behind a check of who asks; what is changed there is in a team's audit."""
    endpoint: Callable[[Request], Response] = route.endpoint

    def checked(request: Request) -> Response:
        _check(request, reach)
        with _audited(request, endpoint.__name__):
            return endpoint(request)

    async def checked_stream(request: Request) -> Response:
        _check(request, reach)
        request.state.reach = reach
        return await endpoint(request)  # type: ignore[misc, no-any-return]

    is_stream = inspect.iscoroutinefunction(endpoint)
    return Route(route.path, checked_stream if is_stream else checked, methods=route.methods)


async def still_allowed(request: Request) -> bool:
    """Whether a visitor whose stream is open may see it still: sessions end, grants are withdrawn."""
    request.state.visitor = await request.state.look_again()
    if request.state.visitor is None:
        return False
    try:
        _check(request, request.state.reach)
    except NotAllowed:
        return False
    return True


def _check(request: Request, reach: str) -> None:
    site = site_of(request)
    scope = _scope(reach, request.method, request.path_params.get("action", ""))
    named = form_of(request).get("project", "")
    may = site.visitor.may
    is_allowed = {
        EVERYBODY: True,
        INDEX: True,  # the index itself shows no more than the visitor may see
        PROJECT: site.shows_project(scope),
        NAMED: may(scope, named),
        MACHINE: site.is_export or may(scope),
    }[reach]
    if not is_allowed:
        where = {PROJECT: " in the project of this board", NAMED: " there"}.get(reach, "")
        raise NotAllowed(f"Your groups may not '{scope}'{where}", "Ask your administrator.")


def _audited(request: Request, name: str) -> AbstractContextManager[None]:
    site, form = site_of(request), form_of(request)
    if site.team is None or request.method != "POST":
        return nullcontext()
    said = {key: value for key, value in form.items() if key != CSRF_FIELD}
    deed = request.path_params.get("action", name)
    return site.team.audited(site.visitor.person, deed, {**request.path_params, **said})
