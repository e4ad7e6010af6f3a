"""The thread's tools."""

from __future__ import annotations

from clew.catalog.model import (
    INTEGER,
    NUMBER,
    READS,
    STRING,
    STRINGS,
    Tool,
    integer,
    nullable,
    object_schema,
    string,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from clew.kit.jsontext import JsonObject

_STATEMENTS: JsonObject = {
    "type": "array",
    "items": object_schema(
        {"section": STRING, "text": STRING, "source": STRING}, "section", "text", "source"
    ),
}
_PACK: JsonObject = {
    "title": STRING,
    "budget": INTEGER,
    "tokens": INTEGER,
    "statements": _STATEMENTS,
    "left_out": {"type": "object"},
}
_LINKS: JsonObject = {
    "type": "array",
    "items": object_schema({"kind": STRING, "id": STRING, "title": STRING}, "kind", "id", "title"),
}
_HIT = object_schema(
    {
        "kind": STRING,
        "id": STRING,
        "title": STRING,
        "snippet": STRING,
        "score": NUMBER,
        "time": nullable(INTEGER),
        "call": STRING,
        "tool": nullable({"type": "object"}),
    },
    "kind",
    "id",
    "title",
    "snippet",
    "score",
    "call",
)

THREAD_TOOLS = (
    Tool(
        "clew_why",
        "Why is this here: a line's commit, its spec, run, decision and vision; later fixes and"
        " reverts, rejected alternatives. Each statement has its source. Reads the repository",
        title="Why is this here",
        face="clew",
        toolset="thread",
        effect=READS,
        original=False,
        core=True,
        handler="clew.thread.tools:why",
        properties={
            "target": string("PATH, PATH:LINE, PATH:LINE-LINE, symbol or SHA"),
            "repo": string("Registered repository (default: the project's)"),
            "budget": integer("Tokens (default 1500)"),
        },
        required=("target",),
        output=object_schema({**_PACK, "repo": STRING, "chain": _LINKS}, *_PACK),
    ),
    Tool(
        "clew_brief",
        "What to know before starting a task: criteria, binding decisions, related commits with"
        " hunks, files that change along, overlapping specs, owners, pitfalls",
        title="Brief",
        face="clew",
        toolset="thread",
        effect=READS,
        original=False,
        core=True,
        handler="clew.thread.tools:brief",
        properties={
            "task": string("Spec id, or what is to be done"),
            "budget": integer("Tokens (default 2000)"),
        },
        required=("task",),
        output=object_schema({**_PACK, "spec": nullable(STRING), "targets": STRINGS}, *_PACK),
    ),
    Tool(
        "clew_recall",
        "Where was this done before: commits, specs, run logs, commands and documents, by one"
        " question",
        title="Recall",
        face="clew",
        toolset="thread",
        effect=READS,
        original=False,
        core=True,
        handler="clew.thread.tools:recall",
        properties={
            "query": string("A question or words"),
            "kinds": {
                "type": "array",
                "items": {
                    "type": "string",
                    "enum": ["commit", "spec", "run", "command", "document"],
                },
            },
            "repos": STRINGS,
            "since": string("2024-01-31, 2 weeks ago, or Unix time"),
            "until": string("Same"),
            "limit": integer("Default 10"),
        },
        required=("query",),
        output=object_schema(
            {"hits": {"type": "array", "items": _HIT}, "total": INTEGER, "missing": STRINGS},
            "hits",
            "total",
            "missing",
        ),
    ),
    Tool(
        "clew_trace",
        "The matrix objective, feature, decision, spec, commit, with gaps and the share of recent"
        " lines that hang on a spec",
        title="Trace",
        face="clew",
        toolset="thread",
        effect=READS,
        original=False,
        handler="clew.thread.tools:trace",
        properties={"recent": integer("How many commits count as recent (default 200)")},
        output=object_schema(
            {
                "rows": {"type": "array", "items": {"type": "object"}},
                "titles": {"type": "object"},
                "gaps": {"type": "object"},
                "recent": {"type": "object"},
                "missing": STRINGS,
            },
            "rows",
            "gaps",
            "recent",
        ),
    ),
)
