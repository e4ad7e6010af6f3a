"""The thread: from a vision to a line as a picture with its gaps, and from a line back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from clew.web.site import page, path_part, site_of, url

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.requests import Request
    from starlette.responses import Response

    from clew.thread.rooms import Rooms
    from clew.thread.trace.trace import TraceRow

_BUDGET = 6000
_KINDS = {
    "line": "This line",
    "file": "This file",
    "commit": "came with the commit",
    "spec": "made for the spec",
    "run": "in the run",
    "decision": "as was decided in",
    "feature": "for the feature",
    "objective": "which serves the objective",
    "vision": "of the vision",
}


def show(request: Request) -> Response:
    """The whole thread, the part of it about one item or spec, or why a line is there."""
    from clew.thread.rooms import open_rooms

    given = request.query_params
    rooms = open_rooms(site_of(request).settings, str(site_of(request).root))
    target = _target(given.get("file", ""), given.get("line", "")) or given.get("why", "").strip()
    if target:
        return _why(request, rooms, target, given.get("repo") or None)
    return _trace(request, rooms, given.get("item", ""), given.get("spec", ""))


def _trace(request: Request, rooms: Rooms, item: str, spec: str) -> Response:
    from clew.thread.trace.picture import lay_out
    from clew.thread.trace.trace import trace
    from clew.thread.why.documents import read_documents
    from clew.web.views.thread import gaps_of, node_address

    made = trace(rooms)
    documents = read_documents(rooms.project)
    decisions = {one.name: one.path for one in documents.decisions}
    found = documents.item(item) if item else None
    return page(
        request,
        "thread.html",
        here="thread",
        layout=lay_out(made, _row_filter(item, spec)),
        address=lambda node: node_address(node, decisions),
        gaps=[] if item or spec else gaps_of(made),
        share=made.share(),
        missing=made.missing,
        item=item,
        item_text=found[0].text if found else "",
        item_path=found[1] if found else "",
        spec=made.specs.get(spec),
    )


def _row_filter(item: str, spec: str) -> Callable[[TraceRow], bool]:
    if item:
        return lambda row: item in (row.objective, row.feature, *row.decisions)
    if spec:
        return lambda row: spec in row.specs
    return lambda row: bool(row.objective or row.feature)


def _why(request: Request, rooms: Rooms, target: str, repo: str | None) -> Response:
    from clew.thread.why.why import why

    pack = why(rooms, target, repo=repo, budget=_BUDGET)
    name = str(pack.more.get("repo", ""))
    sections: dict[str, list[dict[str, str]]] = {}
    for one in pack.statements:
        if one.source.startswith("session:") and not site_of(request).shows_machine():
            continue  # what agents were asked is shared by choice only
        entry = {"text": one.text, "address": address_of(one.source, name)}
        sections.setdefault(one.section, []).append(entry)
    return page(
        request,
        "why.html",
        here="thread",
        target=target,
        title=pack.title,
        chain=[_station(link, name) for link in pack.more.get("chain", ())],
        sections=sections,
        left_out=pack.left_out,
    )


def _station(link: dict[str, str], repo: str) -> dict[str, Any]:
    name = link["id"].partition("@")[2][:12] if link["kind"] == "commit" else link["id"]
    return {
        "kind": link["kind"],
        "words": _KINDS.get(link["kind"], link["kind"]),
        "name": name,
        "title": link["title"],
        "address": address_of(f"{link['kind']}:{link['id']}", repo),
    }


def address_of(source: str, repo: str) -> str:
    """The page about a source such as `commit:shop@3f2a` or `spec:2026-01-22-001-x7m`."""
    kind, _, name = source.partition(":")
    if kind in ("feature", "objective") or (kind == "vision" and "#" in name):
        return url("/thread", item=name.rpartition("#")[2])
    makers: dict[str, Callable[[], str]] = {
        "commit": lambda: _commit_address(name),
        "spec": lambda: f"/specs/{path_part(name)}",
        "decision": lambda: f"/documents/{name}",
        "vision": lambda: f"/documents/{name}",
        "file": lambda: _file_address(name, repo),
        "line": lambda: _file_address(name, repo),
    }
    return makers[kind]() if kind in makers else ""


def _commit_address(name: str) -> str:
    where, _, sha = name.rpartition("@")
    return f"/commits/{path_part(sha)}/in/{path_part(where)}"


def _file_address(name: str, repo: str) -> str:
    path, _, line = name.rpartition(":")
    if path and line.replace("-", "").isdecimal():
        return url("/file", repo=repo, path=path) + f"#L{line.partition('-')[0]}"
    return url("/file", repo=repo, path=name)


def _target(path: str, line: str) -> str:
    return f"{path}:{line}" if path and line.isdecimal() else path
