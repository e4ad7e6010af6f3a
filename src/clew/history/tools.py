"""The history room's tool handlers: read-only by construction."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from clew.history.lookup import get_commit, get_patch
from clew.history.search import search_commits
from clew.history.store import HistoryStore, database_path
from clew.history.touches import find_touches
from clew.kit.answer import Answer

if TYPE_CHECKING:
    from clew.kit.call import Call

_opened = threading.local()


def reading_store(call: Call) -> HistoryStore:
    """The read-only connection of this thread; opened again when the file was replaced."""
    path = database_path(call.settings)
    identity = (str(path), path.stat().st_ino if path.exists() else 0)
    if getattr(_opened, "identity", None) != identity:
        _opened.identity = None
        _opened.store = HistoryStore.read(path)
        _opened.identity = identity
    store: HistoryStore = _opened.store
    return store


def search(arguments: dict[str, Any], call: Call) -> Answer:
    """Search commits."""
    return Answer.of(
        search_commits(
            reading_store(call),
            arguments["query"],
            since=arguments.get("since"),
            repos=arguments.get("repos"),
            paths=arguments.get("paths"),
            limit=arguments.get("limit", 20),
        )
    )


def touches(arguments: dict[str, Any], call: Call) -> Answer:
    """Commits that touched a path."""
    return Answer.of(
        find_touches(
            reading_store(call),
            arguments["path_glob"],
            since=arguments.get("since"),
            repos=arguments.get("repos"),
            limit=arguments.get("limit", 50),
        )
    )


def commit(arguments: dict[str, Any], call: Call) -> Answer:
    """One commit."""
    return Answer.of(get_commit(reading_store(call), arguments["repo"], arguments["sha"]))


def patch(arguments: dict[str, Any], call: Call) -> Answer:
    """One commit's patch."""
    found = get_patch(
        reading_store(call), arguments["repo"], arguments["sha"], arguments.get("max_bytes")
    )
    return Answer.of(found)
