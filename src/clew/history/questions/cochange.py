"""Files that usually change together."""

from __future__ import annotations

import re
from typing import Any

from clew.history.lookup import clean_path, lower_bound, page
from clew.history.model import Repo
from clew.history.questions.file_history import path_changes
from clew.history.store.interface import HistoryStore

# A commit of more files than this is a reformatting or an import: it couples nothing.
_MOST_FILES = 50
_SHA = re.compile(r"[0-9a-f]{7,40}")


def co_change(
    store: HistoryStore,
    repo_name: str,
    path: str,
    *,
    since: int | None = None,
    min_support: int = 2,
    limit: int = 20,
) -> dict[str, Any]:
    """Files that changed in the same commits as a path, or as the files of a commit."""
    repo = store.find_repo(repo_name)
    own: set[str] = set()
    touched: set[int] = set()
    for name in _files_of(store, repo, path):
        changes = path_changes(store, repo, name)
        own |= {one.path for one in changes} | {one.old_path or "" for one in changes} | {name}
        touched |= {one.id for one in changes if one.commit_time >= lower_bound(since)}
    together, counted = store.co_changes(touched, _MOST_FILES)
    partners: list[dict[str, Any]] = [
        {"path": other, "support": count, "confidence": round(count / counted, 4)}
        for other, count in together.items()
        if other not in own and count >= min_support
    ]
    partners.sort(key=lambda one: (-one["support"], one["path"]))
    left_out = len(touched) - counted
    return page(
        "files", partners, limit, repo=repo.name, path=path, commits=counted, left_out=left_out
    )


def _files_of(store: HistoryStore, repo: Repo, name: str) -> list[str]:
    """The path itself, or the files of the commit that is called so."""
    if _SHA.fullmatch(name):
        records = store.commits_by_prefix(repo.repo_id, name, 2)
        if len(records) == 1:
            found = store.files([records[0].id])[records[0].id]
            return [file.path for file in found[:_MOST_FILES]]
    return [clean_path(name)]
