"""The history room's tools."""

from __future__ import annotations

from clew.catalog.history_more import MORE_HISTORY_TOOLS
from clew.catalog.model import (
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
        output=list_schema(
            object_schema(
                {
                    "repo": STRING,
                    "sha": STRING,
                    "subject": STRING,
                    "author": STRING,
                    "date": INTEGER,
                    "matched_paths": STRINGS,
                    "patch_excerpt": STRING,
                },
                "repo",
                "sha",
                "subject",
                "author",
                "date",
                "matched_paths",
                "patch_excerpt",
            )
        ),
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
        output=list_schema(
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
            {"repo": STRING, "sha": STRING, "patch_text": STRING}, "repo", "sha", "patch_text"
        ),
    ),
    *MORE_HISTORY_TOOLS,
)
