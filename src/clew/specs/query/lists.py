"""Lists of specs and the numbers about them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import Any

from clew.kit.errors import Invalid
from clew.specs.index.graph import Graph
from clew.specs.index.index import Snapshot
from clew.specs.model import STATUSES, Head, Spec
from clew.specs.store.store import SpecStore

DEFAULT_LIMIT = 50
_COUNTED = (
    "pending", "in_progress", "completed", "failed", "blocked", "cancelled", "needs_attention",
)  # fmt: skip
_COUNTED_AS = {"ready": "pending", "paused": "in_progress"}


def check_status(status: str, known: Iterable[str] = STATUSES) -> str:
    """The status, if there is one of that name."""
    if status not in (names := tuple(known)):
        raise Invalid(f"Invalid status: {status}. Must be one of: {', '.join(names)}")
    return status


def shown_status(head: Head, graph: Graph) -> str:
    """The status that people see: what is stored, except that a blocked spec says so."""
    if head.archived:
        return head.status
    state = graph.status(head.id)
    return (
        "pending" if state == "ready" and head.status in ("pending", "ready", "blocked") else state
    )


def summary(head: Head, graph: Graph) -> dict[str, Any]:
    """One spec in a list."""
    shown: dict[str, Any] = {
        "id": head.id,
        "title": head.title,
        "status": shown_status(head, graph),
        "type": head.type,
        "labels": list(head.labels),
        "depends_on": list(head.depends_on or ()),
    }
    if shown["status"] == "blocked":
        shown["blocked_by"] = blockers(head.id, graph)
    return shown


def blockers(spec_id: str, graph: Graph) -> list[dict[str, str]]:
    """What a spec waits for, and why each of it counts."""
    return [
        {"id": blocker.id, "reason": blocker.reason} for blocker in graph.state(spec_id).blocked_by
    ]


def spec_data(spec: Spec, found: Snapshot) -> dict[str, Any]:
    """Everything about one spec, given all of them."""
    graph = found.graph()
    shown: dict[str, Any] = {
        "id": spec.id,
        "title": spec.title,
        "status": shown_status(spec.head, graph),
        "type": spec.type,
        "body": spec.body,
    }
    names = ("prompt", "branch", "model", "completed_at")
    shown |= {name: spec.text(name) for name in names}
    lists = ("depends_on", "labels", "target_files", "context", "commits")
    shown |= {name: list(spec.words(name)) for name in lists}
    shown |= {
        "blocked_by": [] if spec.head.archived else blockers(spec.id, graph),
        "members": list(graph.members(spec.id)),
        "criteria": {"total": spec.head.criteria_total, "checked": spec.head.criteria_checked},
        "archived": spec.head.archived,
        "version": spec.version,
    }
    known = {*shown, "id", "title"}
    shown["fields"] = {name: value for name, value in spec.fields.items() if name not in known}
    return shown


def list_specs(
    store: SpecStore,
    *,
    status: str | None = None,
    labels: Iterable[str] = (),
    spec_type: str | None = None,
    query: str | None = None,
    among: set[str] | None = None,
    limit: int = DEFAULT_LIMIT,
    offset: int = 0,
) -> dict[str, Any]:
    """One page of specs; without a status or a query, cancelled ones are left out."""
    found = store.snapshot()
    heads, graph = found.active, found.graph()
    if query:
        from clew.specs.query.search import matching_heads

        heads = matching_heads(store, query, found)
    fits = status_filter(status, hide_cancelled=not query)
    kept = [head for head in heads if fits(head, graph)]
    wanted = set(labels)
    if wanted:
        kept = [head for head in kept if wanted.intersection(head.labels)]
    if among is not None:
        kept = [head for head in kept if head.id in among]
    if spec_type:
        kept = [head for head in kept if head.type == spec_type]
    return _page(kept, found, limit, offset)


def ready_specs(
    store: SpecStore, *, limit: int = DEFAULT_LIMIT, offset: int = 0, labels: Iterable[str] = ()
) -> dict[str, Any]:
    """One page of the specs that can be worked on now. Groups are worked through their members."""
    found = store.snapshot()
    ready, wanted = set(found.graph().ready()), set(labels)
    kept = [
        head
        for head in found.active
        if head.id in ready
        and head.type != "group"
        and (not wanted or wanted.intersection(head.labels))
    ]
    return _page(kept, found, limit, offset)


def status_filter(
    status: str | None, *, hide_cancelled: bool = False
) -> Callable[[Head, Graph], bool]:
    """Which specs a status means; `ready` and `blocked` are derived, the others stored."""
    if status is None:
        return lambda head, _graph: not (hide_cancelled and head.status == "cancelled")
    check_status(status)
    if status == "ready":
        return lambda head, graph: not head.archived and graph.status(head.id) == "ready"
    return lambda head, graph: shown_status(head, graph) == status


def _page(heads: list[Head], found: Snapshot, limit: int, offset: int) -> dict[str, Any]:
    limit, offset = max(0, limit), max(0, offset)
    specs = [summary(head, found.graph()) for head in heads[offset : offset + limit]]
    page: dict[str, Any] = {
        "specs": specs,
        "total": len(heads),
        "limit": limit,
        "returned": len(specs),
    }
    if offset + len(specs) < len(heads) and specs:
        page["next_offset"] = offset + len(specs)
    return _with_problems(page, found)


def _with_problems(answer: dict[str, Any], found: Snapshot) -> dict[str, Any]:
    """The answer and, where there are any, the files that could not be read as specs."""
    if found.problems:
        answer["problems"] = [problem._asdict() for problem in found.problems]
    return answer


def status_counts(store: SpecStore, *, activity: bool = False) -> dict[str, Any]:
    """How many specs there are of each status and, if asked for, what happens to those in progress."""
    found = store.snapshot()
    counts = dict.fromkeys(("total", *_COUNTED), 0)
    for head in found.active:
        status = shown_status(head, found.graph())
        counts["total"] += 1
        counts[_COUNTED_AS.get(status, status)] += 1
    answer = _with_problems({**counts}, found)
    if activity:
        running = [head for head in found.active if head.status == "in_progress"]
        answer["in_progress_activity"] = [_activity_of(store, head) for head in running]
    return answer


def brief_status(counts: dict[str, Any]) -> str:
    """The counts in one line, without those that are zero."""
    parts = [f"{counts[name]} {name}" for name in _COUNTED if counts[name]]
    if counts.get("problems"):
        parts.append(f"{len(counts['problems'])} unreadable")
    return " | ".join(parts) or "No specs"


def _activity_of(store: SpecStore, head: Head) -> dict[str, Any]:
    """A spec in progress, and when it and its log last changed."""
    log = store.paths.log_file(head.id)
    try:
        logged: float | None = log.stat().st_mtime
    except OSError:
        logged = None
    return {
        "id": head.id,
        "title": head.title,
        "spec_modified": _local_time(head.mtime_ns / 1e9),
        "log_modified": None if logged is None else _local_time(logged),
        "has_log": logged is not None,
    }


def _local_time(seconds: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(seconds))
