"""The history room's tool handlers: read-only by construction."""

from __future__ import annotations

import threading
import weakref
from typing import TYPE_CHECKING, Any

from clew.history.lookup import get_commit, get_patch
from clew.history.questions.touches import find_touches
from clew.history.search.search import SearchRequest, search_commits
from clew.history.store.sqlite import SqliteHistory, database_path
from clew.history.sync.freshness import freshness
from clew.kit import jsontext
from clew.kit.answer import Answer
from clew.kit.sqlite import is_frozen

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from clew.history.store.interface import HistoryStore
    from clew.kit.call import Call

_opened = threading.local()


def reading_store(call: Call) -> HistoryStore:
    """The read-only connection of this thread; opened again when the file was replaced.

    Also when others changed a file that SQLite takes for unchangeable, because it lies where this
    process may not write.
    """
    path = database_path(call.settings)
    found = path.stat() if path.exists() else None
    changed = found.st_mtime_ns if found and is_frozen(path) else 0
    identity = (str(path), found.st_ino if found else 0, changed)
    if getattr(_opened, "identity", None) != identity:
        if getattr(_opened, "closing", None) is not None:
            _opened.closing()
        _opened.identity = _opened.closing = None
        _opened.store = SqliteHistory.read(path)
        # At the end of the thread, or of the program.
        _opened.closing = weakref.finalize(threading.current_thread(), _opened.store.close)
        _opened.identity = identity
    store: HistoryStore = _opened.store
    return store


def answered(
    call: Call, work: Callable[[HistoryStore], object], repos: Collection[str] | None = None
) -> Answer:
    """What `work` finds in one state of the index, and how fresh that is of these repositories.

    The text is exactly what was found; `freshness` stands beside it in the data for programs.
    """
    with reading_store(call).snapshot() as store:
        found = work(store)
        named = [repo for repo in store.repos() if repos is None or repo.name in repos]
        fresh = freshness(store, named)
    data = found if isinstance(found, dict) else {"result": found}
    return Answer(jsontext.dumps(found), data={**data, "freshness": fresh})


def search(arguments: dict[str, Any], call: Call) -> Answer:
    """Search commits."""

    def work(store: HistoryStore) -> object:
        return search_commits(
            store,
            arguments["query"],
            since=arguments.get("since"),
            repos=arguments.get("repos"),
            paths=arguments.get("paths"),
            limit=arguments.get("limit", 20),
        )

    return answered(call, work, arguments.get("repos"))


def touches(arguments: dict[str, Any], call: Call) -> Answer:
    """Commits that touched a path."""

    def work(store: HistoryStore) -> object:
        return find_touches(
            store,
            arguments["path_glob"],
            since=arguments.get("since"),
            repos=arguments.get("repos"),
            limit=arguments.get("limit", 50),
        )

    return answered(call, work, arguments.get("repos"))


def commit(arguments: dict[str, Any], call: Call) -> Answer:
    """One commit."""
    repo, sha = arguments["repo"], arguments["sha"]
    return answered(call, lambda store: get_commit(store, repo, sha), [repo])


def patch(arguments: dict[str, Any], call: Call) -> Answer:
    """One commit's patch."""
    repo, sha, most = arguments["repo"], arguments["sha"], arguments.get("max_bytes")
    return answered(call, lambda store: get_patch(store, repo, sha, most), [repo])


def find(arguments: dict[str, Any], call: Call) -> Answer:
    """Search with every filter, page by page, with the lines that match."""
    from clew.history.search.dates import moment
    from clew.history.search.filters import Filters
    from clew.history.search.results import MAX_CHARACTERS, SNIPPETS, page_of_commits

    filters = Filters(
        since=moment(arguments.get("since")),
        until=moment(arguments.get("until")),
        **{name: arguments.get(name) for name in ("repos", "paths", "status", "author", "ref")},
    )

    asked = SearchRequest(
        arguments.get("query"),
        filters,
        sort=arguments.get("sort", "relevance"),
        place=arguments.get("in", "all"),
    )

    def work(store: HistoryStore) -> object:
        return page_of_commits(
            store,
            asked,
            limit=arguments.get("limit", 20),
            cursor=arguments.get("cursor"),
            lines=arguments.get("lines", SNIPPETS),
            max_chars=arguments.get("max_chars", MAX_CHARACTERS),
        )

    answer = answered(call, work, arguments.get("repos"))
    return Answer.of(answer.data)
