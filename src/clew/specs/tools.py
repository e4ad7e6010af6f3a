"""The specs room's tools: the half of the chant tools that runs no agent."""

from __future__ import annotations

from clew.catalog.model import (
    BOOLEAN,
    ENDS,
    INTEGER,
    READS,
    SETS,
    STRING,
    STRINGS,
    WRITES,
    Tool,
    boolean,
    integer,
    list_schema,
    nullable,
    numbers,
    object_schema,
    record,
    string,
    strings,
    texts,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from clew.catalog.model import Handler
    from clew.kit.answer import Answer
    from clew.kit.call import Call
    from clew.kit.jsontext import JsonObject
    from clew.specs.model import Spec
    from clew.specs.store.store import SpecStore

_ACTOR = "mcp"
_LISTS = ("depends_on", "labels", "target_files")
SPEC_ID = string("Spec ID (full or partial)")
_VERSION = string("`version` from chant_spec_get")
SPEC_CHANGED = object_schema({"id": STRING, "message": STRING}, "message")
_SPEC = object_schema(
    {"id": STRING, "title": nullable(STRING), "status": STRING, "type": STRING}, "id", "status"
)
_SPEC_PAGE = record({"specs": {"type": "array", "items": _SPEC}, **numbers("total limit returned")})
_FOUND = texts("severity rule message")
_DIAGNOSTIC = object_schema({**_FOUND, "suggestion": nullable(STRING)}, *_FOUND)
_DIAGNOSTICS: JsonObject = {"type": "array", "items": _DIAGNOSTIC}


# What a page's `next_offset` is given back as.
_OFFSET = {"offset": INTEGER}


def _spec_tool(name: str, description: str, **settings: Any) -> Tool:
    return Tool(name, description, face="chant", toolset="specs", **settings)


def _by_id(name: str, description: str, **settings: Any) -> Tool:
    return _spec_tool(name, description, properties={"id": SPEC_ID}, required=("id",), **settings)


def _store_of(call: Call) -> SpecStore:
    from clew.specs.store.store import open_store

    return open_store(settings=call.settings)


def _json(data: object) -> Answer:
    from clew.kit.answer import Answer

    return Answer.indented(data)


def _said(text: str, *, data: JsonObject) -> Answer:
    from clew.kit.answer import Answer

    return Answer(text, data=data)


def _updated(spec: Spec) -> Answer:
    text = f"Updated spec: {spec.id}"
    return _said(text, data={"id": spec.id, "message": text, "version": spec.version})


def _given(arguments: JsonObject, *names: str) -> dict[str, Any]:
    """The arguments of these names that the caller gave."""
    return {name: arguments[name] for name in names if name in arguments}


def spec_list(arguments: JsonObject, call: Call) -> Answer:
    """One page of specs."""
    from clew.specs.query import lists

    how = _given(arguments, "status", "limit", "offset")
    return _json(lists.list_specs(_store_of(call), **how))


def ready(arguments: JsonObject, call: Call) -> Answer:
    """One page of the specs that can be worked on."""
    from clew.specs.query import lists

    return _json(lists.ready_specs(_store_of(call), **_given(arguments, "limit", "offset")))


def query(arguments: JsonObject, call: Call) -> Answer:
    """One page of the specs that a query finds, with the lines that match."""
    from clew.specs.query.search import search_specs

    how = _given(arguments, "limit", "offset", "archived")
    return _json(search_specs(_store_of(call), arguments["query"], **how))


def spec_get(arguments: JsonObject, call: Call) -> Answer:
    """One spec with its body."""
    from clew.specs.query.lists import spec_data

    return _json(spec_data(*_store_of(call).find(arguments["id"])))


def status(arguments: JsonObject, call: Call) -> Answer:
    """Counts by status; in one line if that is wanted."""
    from clew.specs.query import lists

    counts = lists.status_counts(_store_of(call), activity=bool(arguments.get("include_activity")))
    if arguments.get("brief"):
        return _said(lists.brief_status(counts), data=counts)
    return _json(counts)


def log(arguments: JsonObject, call: Call) -> Answer:
    """A part of a spec's log, and where to go on."""
    from clew.specs.query.logs import read_log

    store = _store_of(call)
    spec_id = store.load(arguments["id"]).id
    part = _given(arguments, "lines", "offset", "since")
    return _json(read_log(store.paths.log_file(spec_id), spec_id, **part)._asdict())


def search(arguments: JsonObject, call: Call) -> Answer:
    """Specs that contain a text."""
    from clew.kit.answer import Answer
    from clew.specs.query.search import find_rows

    return Answer.listed(find_rows(_store_of(call), **_given(arguments, "query", "status")))


def diagnose(arguments: JsonObject, call: Call) -> Answer:
    """What is wrong with a spec."""
    from clew.catalog.wording import for_caller
    from clew.specs.check.diagnose import diagnose_any

    found = diagnose_any(_store_of(call), arguments["id"])
    return _json(
        {**found, "suggestion": for_caller(call.settings, found["suggestion"] or "") or None}
    )


def lint(arguments: JsonObject, call: Call) -> Answer:
    """Findings about one spec or all."""
    from clew.specs.check.lint import lint_all, lint_specs

    store = _store_of(call)
    config = store.config()
    if arguments.get("id"):
        return _json(lint_specs(store, config, [store.load(arguments["id"])]).as_json())
    return _json(lint_all(store, config).as_json())


def verify(arguments: JsonObject, call: Call) -> Answer:
    """Whether a spec's criteria are met."""
    from clew.specs.check.diagnose import verify as check

    return _json(check(_store_of(call).load(arguments["id"])))


def update(arguments: JsonObject, call: Call) -> Answer:
    """Change a spec's status or fields, or append output."""
    from clew.specs.change.update import update_spec

    fields: dict[str, Any] = {name: arguments[name] for name in _LISTS if name in arguments}
    if arguments.get("model"):
        fields["model"] = arguments["model"]
    how = _given(arguments, "status", "output", "replace_body", "expected_version")
    return _updated(
        update_spec(_store_of(call), arguments["id"], fields=fields, actor=_ACTOR, **how)
    )


def edit(arguments: JsonObject, call: Call) -> Answer:
    """Set status, fields and body at once, if nobody changed the spec meanwhile."""
    from clew.specs.change.update import edit_spec

    fields, how = arguments.get("set"), _given(arguments, "status", "body", "expected_version")
    return _updated(edit_spec(_store_of(call), arguments["id"], fields=fields, actor=_ACTOR, **how))


def check(arguments: JsonObject, call: Call) -> Answer:
    """Check or uncheck one criterion."""
    from clew.specs.change.update import check_criterion

    which = (arguments["id"], arguments["number"])
    how = _given(arguments, "checked", "evidence", "expected_version")
    return _json(check_criterion(_store_of(call), *which, actor=_ACTOR, **how))


def add(arguments: JsonObject, call: Call) -> Answer:
    """Create a spec and lint it."""
    from clew.specs.change.add import add_spec
    from clew.specs.check.lint import lint_lines, lint_specs
    from clew.specs.check.lint_rules import NO_CRITERIA

    store = _store_of(call)
    config = store.config()
    spec = add_spec(store, arguments["description"], prompt=arguments.get("prompt"), actor=_ACTOR)
    report = lint_specs(store, config, [spec])
    message = f"Created spec: {spec.id}"
    data = {
        "id": spec.id,
        "message": message,
        "diagnostics": [finding.as_json() for finding in report.findings],
    }
    # Documented: a new spec with a title alone is answered by one line.
    others = tuple(finding for finding in report.findings if finding.message != NO_CRITERIA)
    return _said(message + lint_lines(report._replace(findings=others)), data=data)


def finalize(arguments: JsonObject, call: Call) -> Answer:
    """Complete a spec."""
    from clew.specs.change.finalize import finalize as complete

    store = _store_of(call)
    done = complete(store, store.config(), arguments["id"], actor=_ACTOR)
    text = f"Finalized spec: {done['id']}"
    return _said(text, data={**done, "message": text})


_BEFORE_RESET = (
    _spec_tool(
        "chant_spec_list",
        "List all chant specs in the current project",
        handler=spec_list,
        title="List specs",
        effect=READS,
        core=True,
        properties={
            "status": string(
                "Filter by status (pending, in_progress, completed, failed, ready, blocked)"
            ),
            "limit": integer("Maximum number of specs to return (default: 50)"),
        },
        also_accepts=_OFFSET,
        output=_SPEC_PAGE,
    ),
    _by_id(
        "chant_spec_get",
        "Get details of a chant spec including full body content",
        handler=spec_get,
        title="Show a spec",
        effect=READS,
        core=True,
        output=object_schema({**_SPEC["properties"], "body": STRING}, "id", "status", "body"),
    ),
    _spec_tool(
        "chant_ready",
        "List all specs that are ready to be worked (no unmet dependencies)",
        handler=ready,
        title="List ready specs",
        effect=READS,
        core=True,
        properties={"limit": integer("Maximum number of specs to return (default: 50)")},
        also_accepts=_OFFSET,
        output=_SPEC_PAGE,
    ),
    _spec_tool(
        "chant_status",
        "Get project status summary with spec counts by status",
        handler=status,
        title="Project status",
        effect=READS,
        properties={
            "brief": boolean(
                "Return brief single-line output (e.g., '3 pending | 2 in_progress | 15 completed')"
            ),
            "include_activity": boolean(
                "Include activity info for in_progress specs (last modified time, log activity)"
            ),
        },
        output={"type": "object"},
    ),
    _spec_tool(
        "chant_log",
        "Read execution log for a spec",
        handler=log,
        title="Read a spec's log",
        effect=READS,
        properties={
            "id": SPEC_ID,
            "lines": integer("Number of lines to return (default: 100)"),
            "offset": integer("Start from byte offset (for incremental reads)"),
            "since": string("ISO timestamp - only lines after this time"),
        },
        required=("id",),
        output=record(
            {"content": STRING, **numbers("byte_offset line_count"), "has_more": BOOLEAN}
        ),
    ),
    _spec_tool(
        "chant_search",
        "Search specs by title and body content",
        handler=search,
        title="Search specs",
        effect=READS,
        properties={
            "query": string("Search query (case-insensitive substring match)"),
            "status": string("Filter by status"),
        },
        required=("query",),
        output=list_schema(_SPEC),
    ),
    _by_id(
        "chant_diagnose",
        "Diagnose issues with a spec (check file, log, locks, commits, criteria)",
        handler=diagnose,
        title="Diagnose a spec",
        effect=READS,
        output={"type": "object"},
    ),
    _spec_tool(
        "chant_lint",
        "Lint specs to check for quality issues (complexity, missing criteria, etc.)",
        handler=lint,
        title="Lint specs",
        effect=READS,
        properties={"id": string("Spec ID to lint (optional, lints all if not provided)")},
        output={"type": "object"},
    ),
    _by_id(
        "chant_verify",
        "Verify a spec meets its acceptance criteria",
        handler=verify,
        title="Verify a spec",
        effect=READS,
        output=record(
            {
                "spec_id": STRING,
                "verified": BOOLEAN,
                "criteria": object_schema(numbers("total checked unchecked")),
                "unchecked_items": STRINGS,
                "verification_notes": STRING,
            }
        ),
    ),
    _spec_tool(
        "chant_spec_update",
        "Update a chant spec status, frontmatter fields, or add output",
        handler=update,
        title="Update a spec",
        effect=WRITES,
        core=True,
        properties={
            "id": SPEC_ID,
            "status": string("New status (pending, in_progress, completed, failed)"),
            "output": string("Output text to append to spec body"),
            "depends_on": strings("Spec IDs this spec depends on"),
            "labels": strings("Labels to assign to the spec"),
            "target_files": strings("Target file paths for the spec"),
            "model": string("Model name to use for the spec"),
        },
        also_accepts={"replace_body": BOOLEAN},
        required=("id",),
        output=SPEC_CHANGED,
    ),
    _spec_tool(
        "chant_add",
        "Create a new spec with description",
        handler=add,
        title="Add a spec",
        effect=WRITES,
        core=True,
        properties={
            "description": string("Description of work to be done (becomes spec title)"),
            "prompt": string("Optional prompt template name to use"),
        },
        required=("description",),
        output=object_schema(
            {"id": STRING, "message": STRING, "diagnostics": _DIAGNOSTICS}, "message"
        ),
    ),
    _by_id(
        "chant_finalize",
        "Mark a spec as completed (validates all criteria are checked)",
        handler=finalize,
        title="Finalize a spec",
        effect=SETS,
        output=SPEC_CHANGED,
    ),
)
_OWN = (
    _spec_tool(
        "chant_query",
        'Search specs with filters (status: label: type: file: depends: is:ready, -word, "phrase"); '
        "ranked, with matching lines",
        handler=query,
        title="Query specs",
        effect=READS,
        original=False,
        properties={
            "query": string("Words and filters"),
            "limit": integer("Most hits (default 20)"),
            "offset": integer("Number of results to skip"),
            "archived": boolean("Also archived specs"),
        },
        required=("query",),
        output=_SPEC_PAGE,
    ),
    _spec_tool(
        "chant_check",
        "Check or uncheck one acceptance criterion, with evidence",
        handler=check,
        title="Check a criterion",
        effect=SETS,
        original=False,
        properties={
            "id": SPEC_ID,
            "number": integer("The criterion, from 1"),
            "checked": boolean("Default true"),
            "evidence": string("What shows that it is met"),
            "expected_version": _VERSION,
        },
        required=("id", "number"),
        output=object_schema({"id": STRING, "checked": BOOLEAN, "unchecked": INTEGER}, "id"),
    ),
    _spec_tool(
        "chant_edit",
        "Set any status or fields of a spec, refused if it changed since expected_version",
        handler=edit,
        title="Edit a spec",
        effect=SETS,
        original=False,
        properties={
            "id": SPEC_ID,
            "status": string("Any status that may follow"),
            "set": {"type": "object", "description": "Frontmatter fields; null removes one"},
            "body": string("The whole new text"),
            "expected_version": _VERSION,
        },
        required=("id",),
        output=SPEC_CHANGED,
    ),
)


def specs_tools(reset: Handler, cancel: Handler, archive: Handler) -> tuple[Tool, ...]:
    """Every tool of the room; what needs to know about agents and branches is the work room's."""
    return (
        *_BEFORE_RESET,
        _by_id(
            "chant_reset",
            "Reset a failed spec to pending status so it can be reworked",
            handler=reset,
            title="Reset a spec",
            effect=SETS,
            output=SPEC_CHANGED,
        ),
        _by_id(
            "chant_resume",
            "(deprecated, use chant_reset) Reset a failed spec to pending",
            handler=reset,
            title="Reset a spec (old name)",
            effect=SETS,
            output=SPEC_CHANGED,
        ),
        _by_id(
            "chant_cancel",
            "Cancel a spec (sets status to cancelled)",
            handler=cancel,
            title="Cancel a spec",
            effect=ENDS,
            output=SPEC_CHANGED,
        ),
        _by_id(
            "chant_archive",
            "Move a completed spec to the archive directory",
            also_accepts={"force": BOOLEAN},
            handler=archive,
            title="Archive a spec",
            effect=SETS,
            output=SPEC_CHANGED,
        ),
        *_OWN,
    )
