"""The board: specs in columns by state; moved by dragging, added in one line, filtered by URL."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urlencode

from starlette.responses import JSONResponse

from clew.kit.errors import Conflict, Invalid, NotFound
from clew.web.site import ACTOR, back_to, form_of, page, site_of, state_word, wants_data

if TYPE_CHECKING:
    from starlette.datastructures import QueryParams
    from starlette.requests import Request
    from starlette.responses import Response

    from clew.specs.model import Spec
    from clew.web.site import Site
    from clew.web.views.cards import Filter

_MORE = 100
_MOST = 5000


def board(request: Request) -> Response:
    """The board, or how to get one."""
    from clew.specs.store.store import NOT_INITIALIZED
    from clew.web.views.cards import MOVES, read_board

    site = site_of(request)
    if not site.shows_project():
        return back_to("/history")
    try:
        store = site.specs()
    except NotFound as error:
        if error.message != NOT_INITIALIZED:
            raise
        return page(request, "no_specs.html", here="board")
    wanted, error_text = _filter(request.query_params), ""
    try:
        found = read_board(store, site.work(), wanted)
    except Invalid as error:
        error_text = error.full_text()
        found = read_board(store, site.work(), _filter(request.query_params, query=""))
    return page(
        request,
        "board.html",
        here="board",
        board=found,
        wanted=wanted,
        moves=MOVES,
        error=error_text,
        more={
            column.name: _more_url(request, column.name, column.total) for column in found.columns
        },
        is_filtered=bool(wanted.query or wanted.label or wanted.type),
    )


def add(request: Request) -> Response:
    """A new spec out of one line."""
    from clew.specs.change.add import add_spec

    form, site = form_of(request), site_of(request)
    spec = add_spec(site.specs(), form.get("description", ""), actor=ACTOR)
    return back_to("/", f"Added {spec.id}: {spec.title}", new=spec.id)


def move(request: Request) -> Response:
    """A card put into another column."""
    from clew.web.views.cards import MOVES, stamp_of

    form, site = form_of(request), site_of(request)
    store = site.specs()
    spec = store.load(request.path_params["spec_id"])
    column = form.get("to", "")
    if column not in MOVES:
        raise Invalid("Nothing can be put there", f"Columns: {', '.join(MOVES)}.")
    if form.get("stamp") not in (None, "", stamp_of(spec.head)):
        raise Conflict(
            f"Spec '{spec.id}' has changed meanwhile; it is {state_word(spec.status).lower()} now",
            "Look at it again, then move it.",
        )
    moved = move_spec(site, spec, MOVES[column])
    text = f"{moved.id} is {state_word(moved.status).lower()} now"
    if wants_data(request):
        return JSONResponse({"message": text, "status": moved.status})
    return back_to(form.get("back", "/") if _is_local(form.get("back", "/")) else "/", text)


def move_spec(site: Site, spec: Spec, status: str) -> Spec:
    """The spec in another status; completing it goes through the same gate as everywhere."""
    from clew.specs.change.finalize import finalize
    from clew.specs.change.lifecycle import check_move
    from clew.specs.change.update import edit_spec
    from clew.specs.store.config import load_config
    from clew.web.views.cards import open_runs
    from clew.work.model import Phase

    store = site.specs()
    check_move(spec.status, status)
    run = open_runs(site.work()).get(spec.id)
    if run is not None and run.phase is not Phase.HELD:
        raise Conflict(f"An agent is at work on '{spec.id}'", "Pause it or take it over first.")
    if status == "completed":
        config = load_config(site.root)
        finalize(store, config, spec.id, actor=ACTOR, allow_no_commits=True)
        return store.load(spec.id)
    return edit_spec(store, spec.id, status=status, expected_version=spec.version, actor=ACTOR)


def _is_local(address: str) -> bool:
    return address.startswith("/") and not address.startswith(("//", "/\\"))


def _filter(given: QueryParams, query: str | None = None) -> Filter:
    from clew.web.views.cards import COLUMNS, Filter

    most = {}
    for name, _, _ in COLUMNS:
        count = given.get(f"most_{name}", "")
        if count.isdecimal() and len(count) < 6:
            most[name] = min(int(count), _MOST)
    return Filter(
        query=given.get("q", "").strip() if query is None else query,
        label=given.get("label", ""),
        type=given.get("type", ""),
        most=most,
    )


def _more_url(request: Request, column: str, total: int) -> str:
    pairs = {
        name: value for name, value in request.query_params.items() if name not in ("notice", "new")
    }
    shown = pairs.get(f"most_{column}", "0")
    now = int(shown) if shown.isdecimal() and len(shown) < 6 else 0
    pairs[f"most_{column}"] = str(min(total, max(now, 30) + _MORE, _MOST))
    return f"/?{urlencode(pairs)}"
