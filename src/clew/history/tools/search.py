"""The tools that commitmux documents, and the search with every filter. They only read."""

from __future__ import annotations

from clew.catalog.model import (
    BOOLEAN,
    INTEGER,
    STRING,
    STRINGS,
    integer,
    list_schema,
    nullable,
    numbers,
    object_schema,
    one_of,
    record,
    records,
    string,
    strings,
    texts,
)
from clew.history.tools.declaration import (
    FRESHNESS,
    history_tool,
    with_freshness,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from clew.history.store.interface import HistoryStore
    from clew.kit.answer import Answer
    from clew.kit.call import Call
    from clew.kit.jsontext import JsonObject


def search(arguments: JsonObject, call: Call) -> Answer:
    """Search commits."""
    from clew.history.reader import looked_up
    from clew.history.search.filters import Filters
    from clew.history.search.search import SearchRequest, marked_commits
    from clew.history.search.unsearched import unsearched
    from clew.kit import jsontext
    from clew.kit.answer import Answer

    options = {name: arguments.get(name) for name in ("since", "repos", "paths")}
    limit = arguments.get("limit", 20)

    def work(store: HistoryStore) -> tuple[list[JsonObject], int]:
        return marked_commits(store, arguments["query"], limit=limit, **options)

    def unseen(store: HistoryStore, found: tuple[list[JsonObject], int]) -> JsonObject:
        filters = Filters(**options, by_author_date=True)
        words = SearchRequest(arguments["query"], filters).words_of_changes
        return unsearched(store, filters, words) if len(found[0]) < limit else {}

    (found, any_word), fresh = looked_up(call, work, options["repos"], unseen)
    mark = {"any_word": any_word} if any_word else {}
    data = {"result": found, **mark, "freshness": fresh}
    return Answer(jsontext.dumps(found), data=data)


def touches(arguments: JsonObject, call: Call) -> Answer:
    """Commits that touched a path."""
    from clew.history.questions.file_history import find_touches
    from clew.history.reader import answered

    options = {name: arguments.get(name) for name in ("since", "repos")}
    limit = arguments.get("limit", 50)

    def work(store: HistoryStore) -> object:
        return find_touches(store, arguments["path_glob"], limit=limit, **options)

    return answered(call, work, arguments.get("repos"))


def commit(arguments: JsonObject, call: Call) -> Answer:
    """One commit."""
    from clew.history.lookup import get_commit
    from clew.history.reader import answered

    repo, sha = arguments["repo"], arguments["sha"]
    return answered(call, lambda store: get_commit(store, repo, sha), [repo])


def patch(arguments: JsonObject, call: Call) -> Answer:
    """One commit's patch."""
    from clew.history.lookup import get_patch
    from clew.history.reader import answered

    repo, sha, most = arguments["repo"], arguments["sha"], arguments.get("max_bytes")
    return answered(call, lambda store: get_patch(store, repo, sha, most), [repo])


def find(arguments: JsonObject, call: Call) -> Answer:
    """Search with every filter, page by page, with the lines that match."""
    from functools import partial

    from clew.history.reader import looked_up
    from clew.history.search.dates import moment
    from clew.history.search.filters import Filters
    from clew.history.search.search import (
        MAX_CHARACTERS,
        SNIPPETS,
        SearchRequest,
        page_of_commits,
        unseen_beside,
    )
    from clew.kit.answer import Answer

    asked: JsonObject = {
        name: arguments.get(name) for name in ("repos", "paths", "status", "author", "ref")
    }
    asked |= {name: moment(arguments.get(name)) for name in ("since", "until")}
    filters = Filters(**asked)
    request = SearchRequest(
        arguments.get("query"),
        filters,
        sort=arguments.get("sort", "relevance"),
        place=arguments.get("in", "all"),
    )

    def work(store: HistoryStore) -> object:
        return page_of_commits(
            store,
            request,
            limit=arguments.get("limit", 20),
            cursor=arguments.get("cursor"),
            lines=arguments.get("lines", SNIPPETS),
            max_chars=arguments.get("max_chars", MAX_CHARACTERS),
        )

    unseen = partial(unseen_beside, asked=request)
    found, fresh = looked_up(call, work, filters.repos, unseen)
    return Answer.of({**found, "freshness": fresh})


_HIT: JsonObject = {
    **texts("repo sha subject author"),
    "date": INTEGER,
    "matched_paths": STRINGS,
    "patch_excerpt": STRING,
}
_LINES = records({"path": STRING, "line": INTEGER, **texts("kind text")})
_FILES = records({**texts("path status"), "old_path": nullable(STRING)})
_COMMIT: JsonObject = {
    **texts("repo sha subject"),
    "body": nullable(STRING),
    "author": STRING,
    "date": INTEGER,
    "changed_files": _FILES,
}
_PATCH = texts("repo sha patch_text")
_PAGE: JsonObject = {
    "commits": records({**_HIT, "committed": INTEGER, "snippets": _LINES}),
    "total": nullable(INTEGER),
    "next_cursor": nullable(STRING),
    "left_out": object_schema(numbers("commits snippets")),
}


def _any_word(schema: JsonObject) -> JsonObject:
    """The schema of an answer that may say how many of its last commits have only some words."""
    return {**schema, "properties": {**schema["properties"], "any_word": INTEGER}}


SEARCH_TOOLS = (
    history_tool(
        "search",
        "Full-text search over commit subjects, commit bodies, and patch previews",
        search,
        title="Search commits",
        core=True,
        properties={
            "query": string("FTS5 query string"),
            "since": integer("Unix timestamp lower bound on author date"),
            "repos": strings("Filter by repo names"),
            "paths": strings("Filter by path substrings"),
            "limit": integer("Max results (default 20)"),
        },
        required=("query",),
        output=_any_word(with_freshness(list_schema(record(_HIT)))),
    ),
    history_tool(
        "touches",
        "Find commits that touched a path matching a substring",
        touches,
        title="Commits that touched a path",
        properties={
            "path_glob": string("Substring to match against file paths"),
            "since": integer("Unix timestamp lower bound on author date"),
            "repos": STRINGS,
            "limit": integer("Max results (default 50)"),
        },
        required=("path_glob",),
        output=with_freshness(
            list_schema(
                record({**texts("repo sha subject"), "date": INTEGER, **texts("path status")})
            )
        ),
    ),
    history_tool(
        "get_commit",
        "Retrieve full metadata for a single commit",
        commit,
        title="Show a commit",
        core=True,
        properties={
            "repo": string("Repo name as registered with add-repo"),
            "sha": string("Commit SHA (full or partial prefix)"),
        },
        required=("repo", "sha"),
        output=object_schema({**FRESHNESS, **_COMMIT}, *_COMMIT),
    ),
    history_tool(
        "get_patch",
        "Retrieve the raw unified diff for a commit",
        patch,
        title="Show a commit's patch",
        core=True,
        properties={
            "repo": string("Repo name"),
            "sha": string("Commit SHA"),
            "max_bytes": integer("Truncate patch text to this many bytes"),
        },
        required=("repo", "sha"),
        output=object_schema({**FRESHNESS, **_PATCH}, *_PATCH),
    ),
    history_tool(
        "find",
        "Search commits by words, author, path, ref, time or status, with matching lines;"
        " without query: newest first",
        find,
        title="Find commits",
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
            "in": one_of("all", "message", "diff"),
            "sort": one_of("relevance", "date"),
            "limit": integer("Default 20"),
            "cursor": string("next_cursor of the page before"),
            "lines": integer("Lines per commit (default 3)"),
            "max_chars": integer("Size of the answer (default 20000)"),
        },
        output=_any_word(
            with_freshness(object_schema({**_PAGE, "index_changed": BOOLEAN}, *_PAGE))
        ),
    ),
)
