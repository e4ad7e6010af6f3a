"""One repository's index as a file of its own, and such a file taken into another index."""

from __future__ import annotations

import os
import sqlite3
import tempfile
from dataclasses import replace
from pathlib import Path

from clew.history.model import Repo
from clew.history.store.interface import HistoryStore
from clew.history.store.sqlite import SqliteHistory, migrations
from clew.history.sync.repositories import check_name
from clew.history.sync.sync import copy_repo
from clew.kit.errors import Conflict, Invalid, Unavailable


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
    with SqliteHistory.create(made) as target:
        copied = target.add_repo(replace(repo, repo_id=0, managed_clone=False))
        with store.snapshot(), target.writing():  # one state, whoever syncs meanwhile
            count = copy_repo(store, repo.repo_id, target, copied.repo_id)
        target.seal()
    return count


def attach_snapshot(store: HistoryStore, file: Path, name: str | None = None) -> tuple[Repo, int]:
    """Take a snapshot into this index; the repository it became, and how many commits."""
    with SqliteHistory.read(file, any_schema=True) as source:
        try:
            repo = _only_repo(source, file)
            wanted = check_name(name if name is not None else repo.name)
            with store.locked():
                return _attach(store, source, repo, wanted)
        except (sqlite3.DatabaseError, Unavailable, ValueError) as error:
            raise Invalid(f"{file} is damaged: {error}", "Make the snapshot again.") from error


def _attach(store: HistoryStore, source: HistoryStore, repo: Repo, name: str) -> tuple[Repo, int]:
    added = store.add_repo(replace(repo, repo_id=0, name=name, managed_clone=False))
    try:
        with store.writing():
            return added, copy_repo(source, repo.repo_id, store, added.repo_id)
    except BaseException:
        with store.writing():
            store.remove_repo(added.repo_id)
        raise


def _only_repo(source: SqliteHistory, file: Path) -> Repo:
    version, own = source.schema_version(), len(migrations())
    if version != own:
        raise Invalid(
            f"{file} has schema {version}, this Clew writes {own}",
            "Make the snapshot with the same version of Clew.",
        )
    repos = source.repos()
    if len(repos) != 1:
        raise Invalid(f"{file} is not a snapshot: it holds {len(repos)} repositories, not one")
    return repos[0]
