"""A spec's page: what it says, its criteria, runs, diff and neighbours; and changing its text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from clew.kit.errors import Conflict
from clew.web.site import ACTOR, back_to, form_of, page, path_part, site_of

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

    from clew.specs.model import Spec

_LISTS = ("labels", "depends_on", "target_files")


def show(request: Request) -> Response:
    """Everything about one spec."""
    from clew.specs.files.criteria import parse_criteria
    from clew.specs.store.config import load_config
    from clew.web.views import spec as specview
    from clew.web.views.drawing import draw_around
    from clew.web.views.review import remarks_in
    from clew.work.runs.reasons import explain

    site = site_of(request)
    store = site.specs()
    spec, snapshot = store.find(request.path_params["spec_id"])
    known = specview.journalled(site.work(), spec.id)
    config = load_config(site.root)
    branch = specview.branch_view(site.root, config, spec)
    text, output = specview.text_parts(spec.body)
    log, offset = specview.log_part(store, spec.id)
    remarks = remarks_in(spec.body)
    graph = snapshot.graph()
    state = graph.status(spec.id)
    return page(
        request,
        "spec.html",
        here="board",
        spec=spec,
        state=state,
        text=text,
        output=output,
        criteria=specview.with_checks(parse_criteria(spec.body).items, known.checks),
        waits=specview.waits(graph, spec),
        unapproved=specview.unapproved(site.root, config, spec, known),
        known=known,
        reason=explain(site.work(), spec.id, spec.status),
        branch=branch,
        remarks=remarks,
        remarks_at=_by_line(remarks),
        actions=specview.actions(spec, state, known, branch),
        picture=draw_around(snapshot, spec.id),
        members=[snapshot.by_id[name] for name in graph.members(spec.id)],
        dependents=graph.dependents(spec.id),
        log=log,
        offset=offset,
        events=specview.events_of(store, spec.id),
    )


def _by_line(remarks: list[Any]) -> dict[tuple[str, str, int], list[str]]:
    found: dict[tuple[str, str, int], list[str]] = {}
    for remark in remarks:
        found.setdefault((remark.path, remark.side, remark.line), []).append(remark.text)
    return found


def edit(request: Request) -> Response:
    """The form in which a spec's text is changed."""
    spec = site_of(request).specs().load(request.path_params["spec_id"])
    return page(
        request,
        "edit.html",
        here="board",
        spec=spec,
        body=spec.body,
        lists={name: ", ".join(spec.words(name)) for name in _LISTS},
        version=spec.version,
    )


def save(request: Request) -> Response:
    """The changed text; where somebody else was first, both texts are shown."""
    from clew.specs.change.update import edit_spec

    form, site = form_of(request), site_of(request)
    store = site.specs()
    spec = store.load(request.path_params["spec_id"])
    given = form.get("body", "").replace("\r\n", "\n")
    lists = {name: form.get(name, "") for name in _LISTS}
    if form.get("version", "") != spec.version:
        return _both(request, spec, given, lists)
    fields = {
        name: _words(text) or None
        for name, text in lists.items()
        if name in form and _words(text) != list(spec.words(name))
    }
    body = given.replace("\n", "\r\n") if "\r\n" in spec.body else given
    if body == spec.body and not fields:
        return back_to(f"/specs/{path_part(spec.id)}", "Nothing was changed")
    try:
        edit_spec(
            store,
            spec.id,
            fields=fields,
            body=None if body == spec.body else body,
            expected_version=spec.version,
            actor=ACTOR,
        )
    except Conflict:
        now = store.load(spec.id)
        if now.version == spec.version:
            raise
        return _both(request, now, given, lists)
    return back_to(f"/specs/{path_part(spec.id)}", "Saved")


def _both(request: Request, now: Spec, given: str, lists: dict[str, str]) -> Response:
    """The text that was sent and the one that is there, and what is different."""
    from difflib import unified_diff

    from clew.web.views.diffs import read_diff

    theirs = now.body.replace("\r\n", "\n")
    lines = unified_diff(theirs.split("\n"), given.split("\n"), "there", "yours", lineterm="")
    return page(
        request,
        "conflict.html",
        status=409,
        here="board",
        spec=now,
        theirs=theirs,
        body=given,
        lists=lists,
        version=now.version,
        diff=read_diff("diff --git a/spec b/spec\n" + "\n".join(lines)),
    )


def _words(text: str) -> list[str]:
    return list(dict.fromkeys(part.strip() for part in text.split(",") if part.strip()))
