"""A session's page: what was asked, said and done, as the index keeps it."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from clew.kit.errors import NotFound
from clew.web.site import page, site_of

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response


def show(request: Request) -> Response:
    """One session of this project; an export has none, since it may be shown to others."""
    from clew.sessions.room import current_index, named_session, refuse_off

    site, name = site_of(request), request.path_params["name"]
    if site.is_export:
        raise NotFound("An export has no sessions")
    with current_index(site.root) as (index, _):
        refuse_off(index)
        session = named_session(index, name)
        if session.project != os.path.realpath(site.root):
            raise NotFound("This session belongs to another project")
        turns = index.turns(session.id)
    return page(request, "session.html", here="history", session=session, turns=turns)
