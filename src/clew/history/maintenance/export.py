"""One repository's index as a file of its own, and such a file taken into another index."""

from __future__ import annotations

import os
import sqlite3
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from clew.history.store.schema import MIGRATIONS
from clew.history.store.store import HistoryStore, check_name
from clew.history.sync.repositories import index_lock
from clew.history.sync.transfer import copy_commits, copy_progress
from clew.kit.errors import Conflict, Invalid, Unavailable
from clew.kit.sqlite import writing

if TYPE_CHECKING:
    from clew.history.model import Repo


def write_snapshot(store: HistoryStore, name: str, file: Path) -> int:
    """Write one repository's index to a new file; how many commits."""
    repo = store.find_repo(name)
    if file.exists():
        raise Conflict(f"{file} exists already", "Choose another name, or remove it.")
    if not file.absolute().parent.is_dir():
        raise Invalid(f"No such directory: {file.absolute().parent}")
    with tempfile.TemporaryDirectory(prefix=".snapshot-", dir=file.absolute().parent) as place:
        made = Path(place) / "index.sqlite3"
        count = _write(store, repo, made)
        os.link(made, file)  # unlike a rename, this never replaces a file that came meanwhile
    return count


def _write(store: HistoryStore, repo: Repo, made: Path) -> int:
    target = HistoryStore.create(made)
    try:
        copied = target.add_repo(replace(repo, repo_id=0, managed_clone=False))
        store.connection.execute("BEGIN")  # one state of the index, whoever syncs meanwhile
        try:
            with writing(target.connection):
                count = copy_commits(store, repo.repo_id, target, copied.repo_id)
                copy_progress(store, repo.repo_id, target, copied.repo_id)
        finally:
            store.connection.execute("COMMIT")
        target.connection.execute("PRAGMA journal_mode=DELETE")
    finally:
        target.close()
    return count


def attach_snapshot(store: HistoryStore, file: Path, name: str | None = None) -> tuple[Repo, int]:
    """Take a snapshot into this index; the repository it became, and how many commits."""
    source = HistoryStore.read(file)
    try:
        repo = _only_repo(source, file)
        wanted = check_name(name if name is not None else repo.name)
        with index_lock(store):
            return _attach(store, source, repo, wanted)
    except (sqlite3.DatabaseError, Unavailable, ValueError) as error:
        raise Invalid(f"{file} is damaged: {error}", "Make the snapshot again.") from error
    finally:
        source.close()


def _attach(store: HistoryStore, source: HistoryStore, repo: Repo, name: str) -> tuple[Repo, int]:
    added = store.add_repo(replace(repo, repo_id=0, name=name, managed_clone=False))
    try:
        with writing(store.connection):
            count = copy_commits(source, repo.repo_id, store, added.repo_id)
            copy_progress(source, repo.repo_id, store, added.repo_id)
    except BaseException:
        store.forget_numbers()
        with writing(store.connection):
            store.connection.execute("DELETE FROM repos WHERE repo_id = ?", (added.repo_id,))
        raise
    return added, count


def _only_repo(source: HistoryStore, file: Path) -> Repo:
    version = source.connection.execute("PRAGMA user_version").fetchone()[0]
    if version != len(MIGRATIONS):
        raise Invalid(
            f"{file} has schema {version}, this Clew writes {len(MIGRATIONS)}",
            "Make the snapshot with the same version of Clew.",
        )
    repos = source.repos()
    if len(repos) != 1:
        raise Invalid(f"{file} is not a snapshot: it holds {len(repos)} repositories, not one")
    return repos[0]
