"""What a visitor needs for each page: as `team.identity.needs` says it of tools.

Questions to the index show what the visitor may see. Pages of the project are for those who may see
its repository, what else is on the machine for administrators. A page without a rule is theirs too.
"""

from __future__ import annotations

import inspect
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, NamedTuple

from starlette.routing import Route

from clew.web.security import CSRF_FIELD
from clew.web.site import NotAllowed, form_of, site_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.requests import Request
    from starlette.responses import Response

EVERYBODY, INDEX, PROJECT, NAMED, MACHINE = "everybody", "index", "project", "named", "machine"
_REACH = {
    "/static/{name}": EVERYBODY,
    "/": INDEX,  # whoever may not see the project is led to the history
    "/live": PROJECT,
    "/specs": PROJECT,
    "/specs/{spec_id}": PROJECT,
    "/specs/{spec_id}/live": PROJECT,
    "/specs/{spec_id}/move": PROJECT,
    "/specs/{spec_id}/edit": PROJECT,
    "/specs/{spec_id}/do/{action}": PROJECT,
    "/thread": PROJECT,
    "/documents": PROJECT,
    "/documents/{path:path}": PROJECT,
    "/commits/{sha}": PROJECT,
    "/commits/{sha}/in/{repo:path}": INDEX,
    "/history": INDEX,
    "/file": INDEX,
    "/pulse": INDEX,
    "/fleet": INDEX,
    "/fleet/live": INDEX,
    "/fleet/orders/{order_id:int}": INDEX,
    "/fleet/commands/{action}": NAMED,  # in the repository that the form names
}
_WORK = {"start", "pause", "takeover", "release", "merge", "cancel"}
_ADMIN = {"trust"}


class PageNeed(NamedTuple):
    """What a request needs."""

    scope: str
    reach: str


def need_of(path: str, method: str, action: str) -> PageNeed:
    """What a request to a route needs."""
    reach = _REACH.get(path, MACHINE)
    if reach in (NAMED, MACHINE) or action in _ADMIN:
        return PageNeed("admin", reach)
    if method in ("GET", "HEAD"):
        return PageNeed("read", reach)
    return PageNeed("work" if action in _WORK else "write", reach)


def admitted(route: Route) -> Route:
    """The route behind a check of who asks; what is changed there is in a team's audit."""
    endpoint: Callable[[Request], Response] = route.endpoint

    def checked(request: Request) -> Response:
        _check(request, route.path)
        with _audited(request, endpoint.__name__):
            return endpoint(request)

    async def checked_stream(request: Request) -> Response:
        _check(request, route.path)
        request.state.path = route.path
        return await endpoint(request)  # type: ignore[misc, no-any-return]

    is_stream = inspect.iscoroutinefunction(endpoint)
    return Route(route.path, checked_stream if is_stream else checked, methods=route.methods)


async def still_allowed(request: Request) -> bool:
    """Whether a visitor whose stream is open may see it still: sessions end, grants are withdrawn."""
    request.state.visitor = await request.state.look_again()
    if request.state.visitor is None:
        return False
    try:
        _check(request, request.state.path)
    except NotAllowed:
        return False
    return True


def _check(request: Request, path: str) -> None:
    site, action = site_of(request), request.path_params.get("action", "")
    need = need_of(path, request.method, action)
    named = form_of(request).get("project", "")
    may = site.visitor.may
    is_allowed = {
        EVERYBODY: True,
        INDEX: True,  # the index itself shows no more than the visitor may see
        PROJECT: site.shows_project(need.scope),
        NAMED: may(need.scope, named),
        MACHINE: site.is_export or may(need.scope),
    }[need.reach]
    if not is_allowed:
        where = {PROJECT: " in the project of this board", NAMED: " there"}.get(need.reach, "")
        raise NotAllowed(f"Your groups may not '{need.scope}'{where}", "Ask your administrator.")


def _audited(request: Request, name: str) -> AbstractContextManager[None]:
    site, form = site_of(request), form_of(request)
    if site.team is None or request.method != "POST":
        return nullcontext()
    said = {key: value for key, value in form.items() if key != CSRF_FIELD}
    deed = request.path_params.get("action", name)
    return site.team.audited(site.visitor.person, deed, {**request.path_params, **said})
