"""Watching repositories: a cheap look at their refs, and a sync of those that moved."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from clew.history.model import Repo
from clew.history.store.interface import HistoryStore
from clew.history.sync.refs import Refs
from clew.history.sync.sync import bring_up_to_date
from clew.kit.errors import ClewError, Conflict
from clew.kit.locks import HeldLock, try_lock

_FETCH_EVERY = 300.0  # how often a clone asks its server, in seconds


def lock_watching(store: HistoryStore) -> HeldLock:
    """The right to watch this index, which one process has at a time."""
    lock = try_lock(store.path.with_name(f"{store.path.name}.watch.lock"))
    if lock is None:
        raise Conflict(f"Another 'commitmux watch' is watching {store.path}")
    return lock


@dataclass
class Watcher:
    """What is watched, and what happened so far."""

    store: HistoryStore
    tell: Callable[[str], None]
    rounds: int = 0
    syncs: int = 0
    commits: int = 0
    _errors: dict[str, str] = field(default_factory=dict)
    _fetched: dict[str, float] = field(default_factory=dict)

    def look(self) -> int:
        """Look at every repository once, sync what moved; how many failed."""
        self.rounds += 1
        failed = 0
        for repo in self.store.repos():
            try:
                self._look_at(repo)
                self._errors.pop(repo.name, None)
            except ClewError as error:
                failed += 1
                self._tell_once(repo.name, error.message)
        return failed

    def _look_at(self, repo: Repo) -> None:
        if not self._has_moved(repo):
            return
        result = bring_up_to_date(self.store, repo)
        if result.indexed or result.orphaned:
            self.syncs += 1
            self.commits += result.indexed
            hidden = f", {result.orphaned} no longer reached" if result.orphaned else ""
            self.tell(f"{repo.name}: {result.indexed} indexed{hidden}")

    def _has_moved(self, repo: Repo) -> bool:
        if repo.managed_clone:
            now = time.monotonic()
            is_due = now - self._fetched.get(repo.name, -_FETCH_EVERY) >= _FETCH_EVERY
            if is_due:
                self._fetched[repo.name] = now
            return is_due
        return not Refs(Path(repo.local_path), repo).are_done(self.store, repo.repo_id)

    def _tell_once(self, name: str, message: str) -> None:
        if self._errors.get(name) != message:
            self._errors[name] = message
            self.tell(f"{name}: {message}")
