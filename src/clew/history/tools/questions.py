"""Clew's own questions about history. They only read; those that start git say so.

Required arguments go to the function that answers by position, the others by name. The command
of the same name asks the same function.
"""

from __future__ import annotations

from clew.catalog.model import (
    BOOLEAN,
    INTEGER,
    NUMBER,
    STRING,
    STRINGS,
    Tool,
    boolean,
    integer,
    nullable,
    string,
)
from clew.history.tools.declaration import (
    history_tool,
    numbers,
    one_of,
    record,
    records,
    texts,
    with_freshness,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from clew.history.store.interface import HistoryStore
    from clew.kit.answer import Answer
    from clew.kit.call import Call
    from clew.kit.jsontext import JsonObject

    Find = Callable[..., JsonObject]

_FINDERS: dict[str, tuple[Callable[[], Find], tuple[str, ...]]] = {}
_REPO = string("Repo name")
_SHA = string("Commit SHA")
_PATH = string("File, from the repository's root")
_SINCE = integer("Unix time, not before")
_REV = string("Commit or branch (default HEAD)")
_MODE = one_of("hybrid", "semantic", "words")
_COMMIT: JsonObject = {**texts("repo sha subject author"), "date": INTEGER}
_LINE_COMMIT: JsonObject = {**texts("sha subject author email"), "date": INTEGER}
_CHANGED_LINES: JsonObject = {
    **numbers("added removed"),
    "lines": records({"path": STRING, "line": INTEGER, **texts("sign text")}),
}
_RANKED: JsonObject = {"score": NUMBER, "found_by": STRINGS}
_HOW: JsonObject = {"mode": STRING, "model": nullable(STRING), "skipped": STRINGS}


def _limit(default: int) -> JsonObject:
    return integer(f"Default {default}")


def _page(items: str, properties: JsonObject, **beside: JsonObject) -> JsonObject:
    """A bounded list of objects, with what stands beside it."""
    return record({**numbers("total limit"), **beside, items: records(properties)})


def _question(
    name: str,
    description: str,
    load: Callable[[], Find],
    *,
    required: tuple[str, ...] = (),
    output: JsonObject,
    reads_index: bool = True,
    **declared: Any,
) -> Tool:
    """The tool of a question; `load` imports what answers it."""

    def handler(arguments: JsonObject, call: Call) -> Answer:
        from clew.history.reader import answered
        from clew.kit.answer import Answer

        if not reads_index:
            return Answer.of(ask(name, arguments))
        repos = arguments.get("repos") or ([arguments["repo"]] if "repo" in arguments else None)
        return Answer.of(answered(call, lambda store: ask(name, arguments, store), repos).data)

    _FINDERS[name] = (load, required)
    return history_tool(
        name,
        description,
        handler,
        original=False,
        required=required,
        output=with_freshness(output),
        **declared,
    )


def ask(name: str, arguments: JsonObject, *store: HistoryStore) -> JsonObject:
    """What a question finds for these arguments, in an index if it reads one."""
    load, required = _FINDERS[name]
    given = dict(arguments)
    needed = [given.pop(argument) for argument in required]
    return load()(*store, *needed, **given)


def _search_semantic() -> Find:
    from clew.history.semantic.search import search_semantic

    return search_semantic


def _search_memory() -> Find:
    from clew.history.semantic.notes import search_memory

    return search_memory


def _list_repos() -> Find:
    from clew.history.sync.freshness import list_repos

    return list_repos


def _pickaxe() -> Find:
    from clew.history.questions.pickaxe import find_changes

    return find_changes


def _file_history() -> Find:
    from clew.history.questions.file_history import file_history

    return file_history


def _blame() -> Find:
    from clew.history.questions.blame import blame

    return blame


def _line_history() -> Find:
    from clew.history.questions.blame import line_history

    return line_history


def _owners() -> Find:
    from clew.history.questions.owners import owners

    return owners


def _co_change() -> Find:
    from clew.history.questions.cochange import co_change

    return co_change


def _hotspots() -> Find:
    from clew.history.questions.hotspots import hotspots

    return hotspots


def _similar() -> Find:
    from clew.history.questions.similar import similar

    return similar


def _links() -> Find:
    from clew.history.questions.links import commit_links

    return commit_links


def _by_issue() -> Find:
    from clew.history.questions.issues import by_issue

    return by_issue


def _contains() -> Find:
    from clew.history.questions.contains import contains

    return contains


QUESTION_TOOLS = (
    _question(
        "search_semantic",
        "Commits that fit a description, by meaning and by any of its words",
        _search_semantic,
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
    _question(
        "search_memory",
        "Sections of the Markdown notes that agents keep as their memory",
        _search_memory,
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
                **texts("source project heading"),
                "line": INTEGER,
                "text": STRING,
                "is_whole": BOOLEAN,
                **_RANKED,
            },
            **_HOW,
            files=INTEGER,
        ),
        reads_index=False,
    ),
    _question(
        "list_repos",
        "Indexed repositories: commits, last sync, indexed tip, current head, stale or not",
        _list_repos,
        title="List repositories",
        properties={"limit": _limit(100)},
        output=_page(
            "repos",
            {
                **texts("name local_path"),
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
    _question(
        "pickaxe",
        "Commits whose diff added or removed a text (like git log -S; regex: -G), with the"
        " first and the last",
        _pickaxe,
        title="When a text came or went",
        properties={
            "text": string("Part of a line"),
            "regex": boolean("text is a Python regex"),
            "direction": one_of("both", "added", "removed"),
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
    _question(
        "file_history",
        "Commits of one file across renames, newest first",
        _file_history,
        title="History of a file",
        properties={"repo": _REPO, "path": _PATH, "since": _SINCE, "limit": _limit(50)},
        required=("repo", "path"),
        output=_page(
            "commits",
            {
                **_COMMIT,
                **texts("path status"),
                "old_path": nullable(STRING),
                **numbers("added removed"),
            },
        ),
    ),
    _question(
        "blame",
        "Who last touched lines of a file. Reads the repository",
        _blame,
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
                **numbers("start end"),
                **_LINE_COMMIT,
                "path": STRING,
                "line": INTEGER,
                "previous": nullable(STRING),
                "indexed": BOOLEAN,
            },
            **texts("repo path rev"),
        ),
    ),
    _question(
        "line_history",
        "All commits that changed lines of a file, newest first. Reads the repository",
        _line_history,
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
        output=_page("commits", _LINE_COMMIT, **texts("repo path rev")),
    ),
    _question(
        "owners",
        "Who knows a file or directory: authors by recent changes, share, bus factor",
        _owners,
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
                **texts("author email"),
                **numbers("commits lines last_touch"),
                "share": NUMBER,
            },
            **texts("repo path"),
            **numbers("commits bus_factor"),
        ),
    ),
    _question(
        "co_change",
        "Files that usually change together with a file",
        _co_change,
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
            **texts("repo path"),
            **numbers("commits left_out"),
        ),
    ),
    _question(
        "hotspots",
        "Paths that changed most in a time",
        _hotspots,
        title="What changes most",
        properties={
            "repos": STRINGS,
            "paths": STRINGS,
            "since": _SINCE,
            "until": integer("Unix time, not after"),
            "limit": _limit(20),
        },
        output=_page("paths", {**texts("repo path"), **numbers("commits added removed authors")}),
    ),
    _question(
        "similar",
        "Past commits most like a commit (repo and sha) or like a diff",
        _similar,
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
    _question(
        "links",
        "What a commit reverts, fixes or picks, what does so to it, and its issues",
        _links,
        title="Linked commits",
        properties={"repo": _REPO, "sha": _SHA, "limit": _limit(50)},
        required=("repo", "sha"),
        output=_page(
            "links",
            {**texts("kind sha"), "subject": nullable(STRING), "date": nullable(INTEGER)},
            **texts("repo sha subject"),
            issues=records({**texts("kind ref"), "closes": BOOLEAN}),
        ),
    ),
    _question(
        "by_issue",
        "Commits whose message names an issue",
        _by_issue,
        title="Commits of an issue",
        properties={
            "issue": string("#123, GH-123, ABC-123 or a URL"),
            "repos": STRINGS,
            "limit": _limit(50),
        },
        required=("issue",),
        output=_page("commits", {**_COMMIT, "closes": BOOLEAN}, issue=STRING),
    ),
    _question(
        "contains",
        "Branches and tags that contain a commit. Reads the repository",
        _contains,
        title="Refs with a commit",
        properties={"repo": _REPO, "sha": _SHA, "limit": _limit(100)},
        required=("repo", "sha"),
        output=_page("refs", {"ref": STRING, "indexed": BOOLEAN}, **texts("repo sha")),
    ),
)
