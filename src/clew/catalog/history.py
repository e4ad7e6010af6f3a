"""The history room's tools."""

from __future__ import annotations

from clew.catalog.history_more import MORE_HISTORY_TOOLS
from clew.catalog.model import (
    BOOLEAN,
    INTEGER,
    READS,
    STRING,
    STRINGS,
    Tool,
    integer,
    list_schema,
    nullable,
    object_schema,
    string,
    strings,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from clew.kit.jsontext import JsonObject

_FRESHNESS: JsonObject = {"freshness": {"type": "object"}}
_HIT: JsonObject = {
    "repo": STRING,
    "sha": STRING,
    "subject": STRING,
    "author": STRING,
    "date": INTEGER,
    "matched_paths": STRINGS,
    "patch_excerpt": STRING,
}
_LINES: JsonObject = {
    "type": "array",
    "items": object_schema(
        {"path": STRING, "line": INTEGER, "kind": STRING, "text": STRING},
        "path",
        "line",
        "kind",
        "text",
    ),
}


def _with_freshness(schema: JsonObject) -> JsonObject:
    """The schema of an answer that may say, beside what it found, how fresh the index is."""
    return {**schema, "properties": {**schema["properties"], **_FRESHNESS}}


def _one_of(options: tuple[str, ...]) -> JsonObject:
    return {"type": "string", "enum": list(options), "description": f"Default {options[0]}"}


_FIND = Tool(
    "commitmux_find",
    "Search commits by words, author, path, ref, time and status, with the lines that match, page"
    " by page. Without query: all that pass, newest first",
    title="Find commits",
    face="commitmux",
    toolset="history",
    handler="clew.history.tools:find",
    effect=READS,
    original=False,
    properties={
        "query": string('Words, "a phrase", pre*, -not, added:x, removed:x, path:x'),
        "author": string("Part of name or email"),
        "paths": strings("Parts of paths, or globs"),
        "status": string("Letters of AMDRC"),
        "ref": string("Branch, tag or SHA that has it"),
        "since": string("2024-01-31, 2 weeks ago, or Unix time"),
        "until": string("Same"),
        "repos": STRINGS,
        "in": _one_of(("all", "message", "diff")),
        "sort": _one_of(("relevance", "date")),
        "limit": integer("Default 20"),
        "cursor": string("next_cursor of the page before"),
        "lines": integer("Lines per commit (default 3)"),
        "max_chars": integer("Size of the answer (default 20000)"),
    },
    output=_with_freshness(
        object_schema(
            {
                "commits": {
                    "type": "array",
                    "items": object_schema({**_HIT, "snippets": _LINES}, *_HIT, "snippets"),
                },
                "total": nullable(INTEGER),
                "next_cursor": nullable(STRING),
                "left_out": object_schema({"commits": INTEGER, "snippets": INTEGER}),
                "index_changed": BOOLEAN,
            },
            "commits",
            "total",
            "next_cursor",
            "left_out",
        )
    ),
)

HISTORY_TOOLS = (
    Tool(
        "commitmux_search",
        "Full-text search over commit subjects, commit bodies, and patch previews",
        title="Search commits",
        face="commitmux",
        toolset="history",
        handler="clew.history.tools:search",
        effect=READS,
        core=True,
        properties={
            "query": string("FTS5 query string"),
            "since": integer("Unix timestamp lower bound on author date"),
            "repos": strings("Filter by repo names"),
            "paths": strings("Filter by path substrings"),
            "limit": integer("Max results (default 20)"),
        },
        required=("query",),
        output=_with_freshness(list_schema(object_schema(_HIT, *_HIT))),
    ),
    Tool(
        "commitmux_touches",
        "Find commits that touched a path matching a substring",
        title="Commits that touched a path",
        face="commitmux",
        toolset="history",
        handler="clew.history.tools:touches",
        effect=READS,
        properties={
            "path_glob": string("Substring to match against file paths"),
            "since": integer("Unix timestamp lower bound on author date"),
            "repos": STRINGS,
            "limit": integer("Max results (default 50)"),
        },
        required=("path_glob",),
        output=_with_freshness(
            list_schema(
                object_schema(
                    {
                        "repo": STRING,
                        "sha": STRING,
                        "subject": STRING,
                        "date": INTEGER,
                        "path": STRING,
                        "status": STRING,
                    },
                    "repo",
                    "sha",
                    "subject",
                    "date",
                    "path",
                    "status",
                )
            )
        ),
    ),
    Tool(
        "commitmux_get_commit",
        "Retrieve full metadata for a single commit",
        title="Show a commit",
        face="commitmux",
        toolset="history",
        handler="clew.history.tools:commit",
        effect=READS,
        core=True,
        properties={
            "repo": string("Repo name as registered with add-repo"),
            "sha": string("Commit SHA (full or partial prefix)"),
        },
        required=("repo", "sha"),
        output=object_schema(
            {
                **_FRESHNESS,
                "repo": STRING,
                "sha": STRING,
                "subject": STRING,
                "body": nullable(STRING),
                "author": STRING,
                "date": INTEGER,
                "changed_files": {
                    "type": "array",
                    "items": object_schema(
                        {"path": STRING, "status": STRING, "old_path": nullable(STRING)},
                        "path",
                        "status",
                        "old_path",
                    ),
                },
            },
            "repo",
            "sha",
            "subject",
            "body",
            "author",
            "date",
            "changed_files",
        ),
    ),
    Tool(
        "commitmux_get_patch",
        "Retrieve the raw unified diff for a commit",
        title="Show a commit's patch",
        face="commitmux",
        toolset="history",
        handler="clew.history.tools:patch",
        effect=READS,
        core=True,
        properties={
            "repo": string("Repo name"),
            "sha": string("Commit SHA"),
            "max_bytes": integer("Truncate patch text to this many bytes"),
        },
        required=("repo", "sha"),
        output=object_schema(
            {**_FRESHNESS, "repo": STRING, "sha": STRING, "patch_text": STRING},
            "repo",
            "sha",
            "patch_text",
        ),
    ),
    _FIND,
    *MORE_HISTORY_TOOLS,
)
