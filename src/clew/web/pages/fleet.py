"""The fleet: who works on what and where, what was said, and commands that wait for an approval."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clew.kit.errors import NotFound
from clew.specs.store.consent import readable
from clew.web.site import back_to, form_of, page, site_of
from clew.web.views.fleet import read_fleet

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

_MOST_TEXT = 200_000
_DONE = {"approve": "Approved", "refuse": "Refused", "revoke": "Taken back"}


def show(request: Request) -> Response:
    """Runs of the fleet, and what waits for a word."""
    found = read_fleet(site_of(request))
    return page(request, "fleet.html", here="fleet", fleet=found, readable=readable)


def show_order(request: Request) -> Response:
    """One order: where it is, and what was said."""
    site, order_id = site_of(request), request.path_params["order_id"]
    run = next((one for one in read_fleet(site).runs if one.order_id == order_id), None)
    if run is None or site.team is None:
        raise NotFound(f"No such order: {order_id}")
    with site.team.orders() as orders:
        log = "".join(text for _, _, text in orders.said(order_id))
    cut = len(log) > _MOST_TEXT
    return page(request, "order.html", here="fleet", run=run, log=log[-_MOST_TEXT:], is_cut=cut)


def decide(request: Request) -> Response:
    """Approve, refuse or take back commands of a project, by exactly their texts."""
    site, form, action = site_of(request), form_of(request), request.path_params["action"]
    project, hashes = form.get("project", ""), form.get("hashes", "").split()
    if site.team is None:
        raise NotFound("This board is of one machine")
    with site.team.consent() as consent:
        consent.decide(action, project, hashes, site.visitor.person or "the operator of the board")
    count = f"{len(hashes)} command{'s' if len(hashes) != 1 else ''}"
    return back_to("/fleet", f"{_DONE[action]}: {count} of {project}")
