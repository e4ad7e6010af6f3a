"""Repositories' indexes moved from a file into PostgreSQL; `write_snapshot` moves them back."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from clew.history.store.interface import HistoryStore
from clew.history.store.sqlite import SqliteHistory
from clew.history.sync.sync import copy_repo


def import_index(
    store: HistoryStore, file: Path, names: tuple[str, ...] = ()
) -> list[tuple[str, int]]:
    """Take repositories of an index in a file into this one; each with how many commits.

    One that is here already is replaced at once: nobody sees it half.
    """
    done = []
    with SqliteHistory.read(file) as source, source.snapshot():
        chosen = [source.find_repo(name) for name in names] or source.repos()
        known = {repo.name: repo for repo in store.repos()}
        for repo in chosen:
            own = known.get(repo.name) or store.add_repo(replace(repo, repo_id=0))
            with store.locked(own.repo_id), store.writing():
                store.delete_repo_commits(own.repo_id)
                done.append((repo.name, copy_repo(source, repo.repo_id, store, own.repo_id)))
                store.sweep_patches()
    return done
