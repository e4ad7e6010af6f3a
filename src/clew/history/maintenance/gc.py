"""Making the index smaller: what no ref has reached for long, and what nothing refers to."""

from __future__ import annotations

import sqlite3
import time
from dataclasses import dataclass

from clew.history.store.delete import forget_commits, sweep_patches, sweep_paths, sweep_people
from clew.history.store.store import HistoryStore
from clew.history.sync.repositories import index_lock
from clew.kit.errors import Unavailable

_DAY = 86_400


@dataclass(frozen=True)
class Freed:
    """What a clean-up dropped, or would drop."""

    commits: int
    patches: int
    paths: int
    people: int
    bytes_before: int
    bytes_after: int


def collect(store: HistoryStore, days: int = 30, *, dry_run: bool = False) -> Freed:
    """Drop unreachable commits that are older, then what is left without a use."""
    before = _size(store)
    with index_lock(store):
        counts = _dropped(store, int(time.time()) - days * _DAY, dry_run=dry_run)
        store.forget_numbers()
        if not dry_run:
            _tighten(store)
    return Freed(*counts, bytes_before=before, bytes_after=_size(store))


def _dropped(store: HistoryStore, before: int, *, dry_run: bool) -> tuple[int, int, int, int]:
    connection = store.connection
    connection.execute("BEGIN IMMEDIATE")
    done = "ROLLBACK"
    try:
        old = connection.execute(
            "SELECT id FROM commit_rows WHERE NOT reachable AND commit_time < ?", (before,)
        ).fetchall()
        counts = (
            forget_commits(store, [row["id"] for row in old]),
            sweep_patches(connection),
            sweep_paths(connection),
            sweep_people(connection),
        )
        done = "ROLLBACK" if dry_run else "COMMIT"
    finally:
        connection.execute(done)
    return counts


def _tighten(store: HistoryStore) -> None:
    """Merge the text indexes and give free pages back; readers go on meanwhile."""
    connection = store.connection
    try:
        for index in ("commits_fts", "search_fts", "paths_fts"):
            connection.execute(f"INSERT INTO {index} ({index}) VALUES ('optimize')")  # noqa: S608
        connection.execute("VACUUM")
        connection.execute("PRAGMA busy_timeout=500")  # a reader may keep the log; then it stays
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    except sqlite3.OperationalError as error:
        raise Unavailable(
            f"What was unused is dropped, but the file could not be made smaller: {error}",
            "Try again when nothing else uses the index, and see that the disk has room.",
        ) from error


def _size(store: HistoryStore) -> int:
    pages, size = (
        int(store.connection.execute(f"PRAGMA {what}").fetchone()[0])
        for what in ("page_count", "page_size")
    )
    return pages * size
