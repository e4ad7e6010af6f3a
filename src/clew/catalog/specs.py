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
    object_schema,
    string,
    strings,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from clew.kit.jsontext import JsonObject

SPEC_ID = string("Spec ID (full or partial)")
_VERSION = string("`version` from chant_spec_get")
SPEC_CHANGED = object_schema({"id": STRING, "message": STRING}, "message")
_SPEC = object_schema(
    {"id": STRING, "title": nullable(STRING), "status": STRING, "type": STRING}, "id", "status"
)
_SPEC_PAGE = object_schema(
    {
        "specs": {"type": "array", "items": _SPEC},
        "total": INTEGER,
        "limit": INTEGER,
        "returned": INTEGER,
    },
    "specs",
    "total",
    "limit",
    "returned",
)
_DIAGNOSTIC = object_schema(
    {"severity": STRING, "rule": STRING, "message": STRING, "suggestion": nullable(STRING)},
    "severity",
    "rule",
    "message",
)
_DIAGNOSTICS: JsonObject = {"type": "array", "items": _DIAGNOSTIC}


# What a page's `next_offset` is given back as.
_OFFSET = {"offset": INTEGER}


def _spec_tool(name: str, description: str, **settings: Any) -> Tool:
    return Tool(name, description, face="chant", toolset="specs", **settings)


def _by_id(name: str, description: str, **settings: Any) -> Tool:
    return _spec_tool(name, description, properties={"id": SPEC_ID}, required=("id",), **settings)


SPECS_TOOLS = (
    _spec_tool(
        "chant_spec_list",
        "List all chant specs in the current project",
        handler="clew.specs.tools:spec_list",
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
        handler="clew.specs.tools:spec_get",
        title="Show a spec",
        effect=READS,
        core=True,
        output=object_schema(
            {
                "id": STRING,
                "title": nullable(STRING),
                "status": STRING,
                "type": STRING,
                "body": STRING,
            },
            "id",
            "status",
            "body",
        ),
    ),
    _spec_tool(
        "chant_ready",
        "List all specs that are ready to be worked (no unmet dependencies)",
        handler="clew.specs.tools:ready",
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
        handler="clew.specs.tools:status",
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
        handler="clew.specs.tools:log",
        title="Read a spec's log",
        effect=READS,
        properties={
            "id": SPEC_ID,
            "lines": integer("Number of lines to return (default: 100)"),
            "offset": integer("Start from byte offset (for incremental reads)"),
            "since": string("ISO timestamp - only lines after this time"),
        },
        required=("id",),
        output=object_schema(
            {
                "content": STRING,
                "byte_offset": INTEGER,
                "line_count": INTEGER,
                "has_more": BOOLEAN,
            },
            "content",
            "byte_offset",
            "line_count",
            "has_more",
        ),
    ),
    _spec_tool(
        "chant_search",
        "Search specs by title and body content",
        handler="clew.specs.tools:search",
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
        handler="clew.specs.tools:diagnose",
        title="Diagnose a spec",
        effect=READS,
        output={"type": "object"},
    ),
    _spec_tool(
        "chant_lint",
        "Lint specs to check for quality issues (complexity, missing criteria, etc.)",
        handler="clew.specs.tools:lint",
        title="Lint specs",
        effect=READS,
        properties={"id": string("Spec ID to lint (optional, lints all if not provided)")},
        output={"type": "object"},
    ),
    _by_id(
        "chant_verify",
        "Verify a spec meets its acceptance criteria",
        handler="clew.specs.tools:verify",
        title="Verify a spec",
        effect=READS,
        output=object_schema(
            {
                "spec_id": STRING,
                "verified": BOOLEAN,
                "criteria": object_schema(
                    {"total": INTEGER, "checked": INTEGER, "unchecked": INTEGER}
                ),
                "unchecked_items": STRINGS,
                "verification_notes": STRING,
            },
            "spec_id",
            "verified",
            "criteria",
            "unchecked_items",
            "verification_notes",
        ),
    ),
    _spec_tool(
        "chant_spec_update",
        "Update a chant spec status, frontmatter fields, or add output",
        handler="clew.specs.edit_tools:update",
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
        required=("id",),
        output=SPEC_CHANGED,
    ),
    _spec_tool(
        "chant_add",
        "Create a new spec with description",
        handler="clew.specs.edit_tools:add",
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
        handler="clew.specs.edit_tools:finalize",
        title="Finalize a spec",
        effect=SETS,
        output=SPEC_CHANGED,
    ),
    _by_id(
        "chant_reset",
        "Reset a failed spec to pending status so it can be reworked",
        handler="clew.work.tools:reset",
        title="Reset a spec",
        effect=SETS,
        output=SPEC_CHANGED,
    ),
    _by_id(
        "chant_resume",
        "(deprecated, use chant_reset) Reset a failed spec to pending",
        handler="clew.work.tools:reset",
        title="Reset a spec (old name)",
        effect=SETS,
        output=SPEC_CHANGED,
    ),
    _by_id(
        "chant_cancel",
        "Cancel a spec (sets status to cancelled)",
        handler="clew.work.tools:cancel",
        title="Cancel a spec",
        effect=ENDS,
        output=SPEC_CHANGED,
    ),
    _by_id(
        "chant_archive",
        "Move a completed spec to the archive directory",
        handler="clew.specs.edit_tools:archive",
        title="Archive a spec",
        effect=SETS,
        output=SPEC_CHANGED,
    ),
    _spec_tool(
        "chant_query",
        'Search specs with filters (status: label: type: file: depends: is:ready, -word, "phrase"); '
        "ranked, with matching lines",
        handler="clew.specs.tools:query",
        title="Query specs",
        effect=READS,
        original=False,
        properties={
            "query": string("Words and filters"),
            "limit": integer("Most hits (default 20)"),
            "offset": integer("Skip so many"),
            "archived": boolean("Also archived specs"),
        },
        required=("query",),
        output=_SPEC_PAGE,
    ),
    _spec_tool(
        "chant_check",
        "Check or uncheck one acceptance criterion, with evidence",
        handler="clew.specs.edit_tools:check",
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
        handler="clew.specs.edit_tools:edit",
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
