"""The index as servers read it: never written, one connection for each thread, always current."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from clew.history.store.engines import index_address, is_remote, read_index
from clew.history.store.interface import HistoryStore
from clew.history.sync.freshness import freshness
from clew.kit import jsontext
from clew.kit.answer import Answer
from clew.kit.call import SEES, Call
from clew.kit.errors import NotFound
from clew.kit.project import find_repository
from clew.kit.sqlite import is_frozen

_opened = threading.local()


def reading_store(call: Call) -> HistoryStore:
    """The read-only connection of this thread, with what the caller may see.

    It is opened again when the file was replaced; also when others changed a file that SQLite takes
    for unchangeable, because it lies where this process may not write.
    """
    address = index_address(call.settings)
    identity = (address,) if is_remote(address) else _identity(Path(address))
    if getattr(_opened, "identity", None) != identity:
        if getattr(_opened, "closing", None) is not None:
            _opened.closing()
        _opened.identity = _opened.closing = None
        _opened.store = read_index(address)
        # At the end of the thread, or of the program.
        _opened.closing = weakref.finalize(threading.current_thread(), _opened.store.close)
        _opened.identity = identity
    store: HistoryStore = _opened.store
    sees = call.settings.get(SEES)
    return store if sees is None else store.seen_by(sees.split("\n"))


def _identity(path: Path) -> tuple[object, ...]:
    found = path.stat() if path.exists() else None
    changed = found.st_mtime_ns if found and is_frozen(path) else 0
    return str(path), found.st_ino if found else 0, changed


@contextmanager
def index_for(call: Call) -> Iterator[HistoryStore]:
    """One state of the index; with the setting `index=no`, one made for this question alone."""
    if call.settings.get("index") == "no":
        with _passing_index(call) as store:
            yield store
    else:
        with reading_store(call).snapshot() as store:
            yield store


@contextmanager
def _passing_index(call: Call) -> Iterator[HistoryStore]:
    """What git has of the repository that the caller is in, read into a file that is not kept."""
    root = find_repository(call.settings)
    if root is None:
        raise NotFound("There is no git repository here", "Change to one, or name one with --repo.")
    from tempfile import TemporaryDirectory

    from clew.history.store.sqlite import SqliteHistory
    from clew.history.sync.ingest import sync_repo
    from clew.history.sync.repositories import plain_name, register

    with (
        TemporaryDirectory() as directory,
        SqliteHistory.create(Path(directory) / "index.sqlite3", is_scratch=True) as store,
    ):
        sync_repo(store, register(store, root, name=plain_name(root)))
        yield store


def looked_up(
    call: Call,
    work: Callable[[HistoryStore], Any],
    repos: Collection[str] | None = None,
    unseen: Callable[[HistoryStore, Any], dict[str, Any]] | None = None,
) -> tuple[Any, dict[str, Any]]:
    """What `work` finds in one state of the index, and how fresh that is of these repositories.

    Beside that, of what was found, what `unseen` says that it may have missed.
    """
    with index_for(call) as store:
        found = work(store)
        named = [repo for repo in store.repos() if repos is None or repo.name in repos]
        beside = {} if unseen is None else unseen(store, found)
        return _worded(call, found), _worded(call, freshness(store, named)) | beside


def _worded(call: Call, found: Any) -> Any:
    """What was found, with the commands that it proposes as the caller's face has them."""
    if not (isinstance(found, dict) and (found.get("sync") or found.get("skipped"))):
        return found
    from clew.catalog.wording import for_caller

    word = partial(for_caller, call.settings)
    if "sync" in found:
        return {**found, "sync": word(found["sync"])}
    return {**found, "skipped": [word(reason) for reason in found["skipped"]]}


def answered(
    call: Call, work: Callable[[HistoryStore], object], repos: Collection[str] | None = None
) -> Answer:
    """An answer whose text is exactly what was found; its data has `freshness` beside that."""
    found, fresh = looked_up(call, work, repos)
    data = found if isinstance(found, dict) else {"result": found}
    return Answer(jsontext.dumps(found), data={**data, "freshness": fresh})
