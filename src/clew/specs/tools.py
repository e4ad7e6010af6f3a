"""The handlers of the tools that read specs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from clew.kit.answer import Answer
from clew.specs.query import lists as pages
from clew.specs.store.store import open_store

if TYPE_CHECKING:
    from clew.kit.call import Call
    from clew.specs.index.index import Snapshot
    from clew.specs.model import Spec
    from clew.specs.store.config import Config
    from clew.specs.store.store import SpecStore


def store_of(call: Call) -> SpecStore:
    """The store of the project that a call is about."""
    return open_store(settings=call.settings)


def config_of(store: SpecStore) -> Config:
    """The configuration of a store's project."""
    from clew.specs.store.config import load_config

    return load_config(store.paths.root)


def _json(data: object) -> Answer:
    return Answer.of(data, indent=2)


def spec_list(arguments: dict[str, Any], call: Call) -> Answer:
    """One page of specs."""
    return _json(
        pages.list_specs(
            store_of(call),
            status=arguments.get("status"),
            limit=arguments.get("limit", pages.DEFAULT_LIMIT),
            offset=arguments.get("offset", 0),
        )
    )


def ready(arguments: dict[str, Any], call: Call) -> Answer:
    """One page of the specs that can be worked on."""
    limit = arguments.get("limit", pages.DEFAULT_LIMIT)
    offset = arguments.get("offset", 0)
    return _json(pages.ready_specs(store_of(call), limit=limit, offset=offset))


def query(arguments: dict[str, Any], call: Call) -> Answer:
    """One page of the specs that a query finds, with the lines that match."""
    from clew.specs.query.search import search_specs

    found = search_specs(
        store_of(call),
        arguments["query"],
        limit=arguments.get("limit", 20),
        offset=arguments.get("offset", 0),
        archived=arguments.get("archived", False),
    )
    return _json(found)


def spec_get(arguments: dict[str, Any], call: Call) -> Answer:
    """One spec with its body."""
    return _json(spec_data(*store_of(call).find(arguments["id"])))


def spec_data(spec: Spec, found: Snapshot) -> dict[str, Any]:
    """Everything about one spec, given all of them."""
    graph = found.graph()
    shown: dict[str, Any] = {
        "id": spec.id,
        "title": spec.title,
        "status": pages.shown_status(spec.head, graph),
        "type": spec.type,
        "body": spec.body,
    }
    names = ("prompt", "branch", "model", "completed_at")
    shown |= {name: spec.text(name) for name in names}
    lists = ("depends_on", "labels", "target_files", "context", "commits")
    shown |= {name: list(spec.words(name)) for name in lists}
    shown |= {
        "blocked_by": [] if spec.head.archived else pages.blockers(spec.id, graph),
        "members": list(graph.members(spec.id)),
        "criteria": {"total": spec.head.criteria_total, "checked": spec.head.criteria_checked},
        "archived": spec.head.archived,
        "version": spec.version,
    }
    known = {*shown, "id", "title"}
    shown["fields"] = {name: value for name, value in spec.fields.items() if name not in known}
    return shown


def status(arguments: dict[str, Any], call: Call) -> Answer:
    """Counts by status; in one line if that is wanted."""
    counts = pages.status_counts(store_of(call), activity=bool(arguments.get("include_activity")))
    if arguments.get("brief"):
        return Answer(pages.brief_status(counts), data=counts)
    return _json(counts)


def log(arguments: dict[str, Any], call: Call) -> Answer:
    """A part of a spec's log, and where to go on."""
    from clew.specs.query.logs import DEFAULT_LINES, read_log

    store = store_of(call)
    spec_id = store.load(arguments["id"]).id
    page = read_log(
        store.paths.log_file(spec_id),
        spec_id,
        lines=arguments.get("lines", DEFAULT_LINES),
        offset=arguments.get("offset"),
        since=arguments.get("since"),
    )
    return _json(page.as_json())


def search(arguments: dict[str, Any], call: Call) -> Answer:
    """Specs that contain a text."""
    from clew.specs.query.search import find_specs

    store = store_of(call)
    fits, snapshot = pages.status_filter(arguments.get("status")), store.snapshot()
    graph = snapshot.graph()
    return _json(
        [
            {
                "id": head.id,
                "title": head.title,
                "status": pages.shown_status(head, graph),
                "type": head.type,
            }
            for head in find_specs(store, arguments["query"], snapshot)
            if fits(head, graph)
        ]
    )


def diagnose(arguments: dict[str, Any], call: Call) -> Answer:
    """What is wrong with a spec."""
    from clew.specs.check.diagnose import diagnose_any

    return _json(diagnose_any(store_of(call), arguments["id"]))


def lint(arguments: dict[str, Any], call: Call) -> Answer:
    """Findings about one spec or all."""
    from clew.specs.check.lint import lint_all, lint_specs

    store = store_of(call)
    config = config_of(store)
    if arguments.get("id"):
        return _json(lint_specs(store, config, [store.load(arguments["id"])]).as_json())
    return _json(lint_all(store, config).as_json())


def verify(arguments: dict[str, Any], call: Call) -> Answer:
    """Whether a spec's criteria are met."""
    from clew.specs.check.diagnose import verify as check

    return _json(check(store_of(call).load(arguments["id"])))
