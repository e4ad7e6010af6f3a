"""The history room's further tools: Clew's own, beside those that commitmux documents."""

from __future__ import annotations

from clew.catalog.model import (
    BOOLEAN,
    INTEGER,
    NUMBER,
    READS,
    STRING,
    STRINGS,
    Tool,
    boolean,
    integer,
    nullable,
    object_schema,
    string,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from clew.kit.jsontext import JsonObject

_REPO = string("Repo name")
_SHA = string("Commit SHA")
_PATH = string("File, from the repository's root")
_SINCE = integer("Unix time, not before")
_REV = string("Commit or branch (default HEAD)")
_COMMIT: JsonObject = {
    "repo": STRING,
    "sha": STRING,
    "subject": STRING,
    "author": STRING,
    "date": INTEGER,
}
_PAGE: JsonObject = {"total": INTEGER, "limit": INTEGER}


def _limit(default: int) -> JsonObject:
    return integer(f"Default {default}")


def _all(properties: JsonObject) -> JsonObject:
    return object_schema(properties, *properties)


def _page(items: str, properties: JsonObject, **beside: JsonObject) -> JsonObject:
    """A bounded list of objects, with what stands beside it."""
    return _all({**_PAGE, **beside, items: {"type": "array", "items": _all(properties)}})


def _tool(
    name: str,
    description: str,
    *,
    title: str,
    properties: JsonObject,
    required: tuple[str, ...] = (),
    output: JsonObject,
) -> Tool:
    return Tool(
        f"commitmux_{name}",
        description,
        title=title,
        face="commitmux",
        toolset="history",
        handler=f"clew.history.more_tools:{name.removeprefix('list_')}",
        effect=READS,
        original=False,
        properties=properties,
        required=required,
        output={**output, "properties": {**output["properties"], "freshness": {"type": "object"}}},
    )


_CHANGED_LINES: JsonObject = {
    "added": INTEGER,
    "removed": INTEGER,
    "lines": {
        "type": "array",
        "items": _all({"path": STRING, "line": INTEGER, "sign": STRING, "text": STRING}),
    },
}
_LINE_COMMIT: JsonObject = {
    "sha": STRING,
    "subject": STRING,
    "author": STRING,
    "email": STRING,
    "date": INTEGER,
}

_MODE: JsonObject = {
    "type": "string",
    "enum": ["hybrid", "semantic", "words"],
    "description": "Default hybrid",
}
_RANKED: JsonObject = {"score": NUMBER, "found_by": STRINGS}
_HOW: JsonObject = {"mode": STRING, "model": nullable(STRING), "skipped": STRINGS}

SEMANTIC_TOOLS = (
    _tool(
        "search_semantic",
        "Commits that fit a description, by meaning and by any of its words",
        title="Search by meaning",
        properties={
            "query": string("What you look for, in a sentence"),
            "mode": _MODE,
            "repos": STRINGS,
            "paths": STRINGS,
            "since": _SINCE,
            "limit": _limit(10),
        },
        required=("query",),
        output=_page("commits", {**_COMMIT, **_RANKED}, **_HOW),
    ),
    _tool(
        "search_memory",
        "Sections of the Markdown notes that agents keep as their memory",
        title="Search memory",
        properties={
            "query": string("What you look for, in a sentence"),
            "mode": _MODE,
            "project": string("Only this project's notes"),
            "limit": _limit(10),
        },
        required=("query",),
        output=_page(
            "sections",
            {
                "source": STRING,
                "project": STRING,
                "heading": STRING,
                "line": INTEGER,
                "text": STRING,
                "is_whole": BOOLEAN,
                **_RANKED,
            },
            **_HOW,
            files=INTEGER,
        ),
    ),
)

MORE_HISTORY_TOOLS = (
    *SEMANTIC_TOOLS,
    _tool(
        "list_repos",
        "Indexed repositories: commits, last sync, indexed tip, current head, stale or not",
        title="List repositories",
        properties={"limit": _limit(100)},
        output=_page(
            "repos",
            {
                "name": STRING,
                "local_path": STRING,
                "commit_count": INTEGER,
                "last_synced_at": nullable(INTEGER),
                "last_error": nullable(STRING),
                "ref": STRING,
                "tip": nullable(STRING),
                "head": nullable(STRING),
                "stale": nullable(BOOLEAN),
            },
        ),
    ),
    _tool(
        "pickaxe",
        "Commits whose diff added or removed a text (like git log -S; regex: -G), with the"
        " first and the last",
        title="When a text came or went",
        properties={
            "text": string("Part of a line"),
            "regex": boolean("text is a Python regex"),
            "direction": {
                "type": "string",
                "enum": ["both", "added", "removed"],
                "description": "Default both",
            },
            "repos": STRINGS,
            "paths": STRINGS,
            "since": _SINCE,
            "limit": _limit(20),
        },
        required=("text",),
        output=_page(
            "commits",
            {**_COMMIT, **_CHANGED_LINES},
            complete=BOOLEAN,
            first={"type": ["object", "null"]},
            last={"type": ["object", "null"]},
        ),
    ),
    _tool(
        "file_history",
        "Commits of one file across renames, newest first",
        title="History of a file",
        properties={"repo": _REPO, "path": _PATH, "since": _SINCE, "limit": _limit(50)},
        required=("repo", "path"),
        output=_page(
            "commits",
            {
                **_COMMIT,
                "path": STRING,
                "status": STRING,
                "old_path": nullable(STRING),
                "added": INTEGER,
                "removed": INTEGER,
            },
        ),
    ),
    _tool(
        "blame",
        "Who last touched lines of a file. Reads the repository",
        title="Blame lines",
        properties={
            "repo": _REPO,
            "path": _PATH,
            "start": integer("First line (default: all)"),
            "end": integer("Last line"),
            "rev": _REV,
            "limit": _limit(100),
        },
        required=("repo", "path"),
        output=_page(
            "lines",
            {
                "start": INTEGER,
                "end": INTEGER,
                **_LINE_COMMIT,
                "path": STRING,
                "line": INTEGER,
                "previous": nullable(STRING),
                "indexed": BOOLEAN,
            },
            repo=STRING,
            path=STRING,
            rev=STRING,
        ),
    ),
    _tool(
        "line_history",
        "All commits that changed lines of a file, newest first. Reads the repository",
        title="History of lines",
        properties={
            "repo": _REPO,
            "path": _PATH,
            "start": integer("First line"),
            "end": integer("Last line"),
            "rev": _REV,
            "limit": _limit(20),
        },
        required=("repo", "path", "start"),
        output=_page("commits", _LINE_COMMIT, repo=STRING, path=STRING, rev=STRING),
    ),
    _tool(
        "owners",
        "Who knows a file or directory: authors by recent changes, share, bus factor",
        title="Owners of a path",
        properties={
            "repo": _REPO,
            "path": string("File or directory (default: all)"),
            "since": _SINCE,
            "limit": _limit(10),
        },
        required=("repo",),
        output=_page(
            "owners",
            {
                "author": STRING,
                "email": STRING,
                "commits": INTEGER,
                "lines": INTEGER,
                "last_touch": INTEGER,
                "share": NUMBER,
            },
            repo=STRING,
            path=STRING,
            commits=INTEGER,
            bus_factor=INTEGER,
        ),
    ),
    _tool(
        "co_change",
        "Files that usually change together with a file",
        title="What changes together",
        properties={
            "repo": _REPO,
            "path": _PATH,
            "since": _SINCE,
            "min_support": integer("Fewest common commits (default 2)"),
            "limit": _limit(20),
        },
        required=("repo", "path"),
        output=_page(
            "files",
            {"path": STRING, "support": INTEGER, "confidence": NUMBER},
            repo=STRING,
            path=STRING,
            commits=INTEGER,
            left_out=INTEGER,
        ),
    ),
    _tool(
        "hotspots",
        "Paths that changed most in a time",
        title="What changes most",
        properties={
            "repos": STRINGS,
            "paths": STRINGS,
            "since": _SINCE,
            "until": integer("Unix time, not after"),
            "limit": _limit(20),
        },
        output=_page(
            "paths",
            {
                "repo": STRING,
                "path": STRING,
                "commits": INTEGER,
                "added": INTEGER,
                "removed": INTEGER,
                "authors": INTEGER,
            },
        ),
    ),
    _tool(
        "similar",
        "Past commits most like a commit (repo and sha) or like a diff",
        title="Similar commits",
        properties={
            "repo": _REPO,
            "sha": _SHA,
            "diff": string("A unified diff instead"),
            "repos": STRINGS,
            "limit": _limit(10),
        },
        output=_page(
            "commits",
            {**_COMMIT, "score": NUMBER, "words": STRINGS, "paths": STRINGS},
            words=STRINGS,
        ),
    ),
    _tool(
        "links",
        "What a commit reverts, fixes or picks, what does so to it, and its issues",
        title="Linked commits",
        properties={"repo": _REPO, "sha": _SHA, "limit": _limit(50)},
        required=("repo", "sha"),
        output=_page(
            "links",
            {
                "kind": STRING,
                "sha": STRING,
                "subject": nullable(STRING),
                "date": nullable(INTEGER),
            },
            repo=STRING,
            sha=STRING,
            subject=STRING,
            issues={
                "type": "array",
                "items": _all({"kind": STRING, "ref": STRING, "closes": BOOLEAN}),
            },
        ),
    ),
    _tool(
        "by_issue",
        "Commits whose message names an issue",
        title="Commits of an issue",
        properties={
            "issue": string("#123, GH-123, ABC-123 or a URL"),
            "repos": STRINGS,
            "limit": _limit(50),
        },
        required=("issue",),
        output=_page("commits", {**_COMMIT, "closes": BOOLEAN}, issue=STRING),
    ),
    _tool(
        "contains",
        "Branches and tags that contain a commit. Reads the repository",
        title="Refs with a commit",
        properties={"repo": _REPO, "sha": _SHA, "limit": _limit(100)},
        required=("repo", "sha"),
        output=_page("refs", {"ref": STRING, "indexed": BOOLEAN}, repo=STRING, sha=STRING),
    ),
)
