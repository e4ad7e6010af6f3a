"""Files that usually change together."""

from __future__ import annotations

from typing import Any

from clew.history.lookup import clean_path, lower_bound, page
from clew.history.questions.file_history import path_changes
from clew.history.store.interface import HistoryStore

# A commit of more files than this is a reformatting or an import: it couples nothing.
_MOST_FILES = 50


def co_change(
    store: HistoryStore,
    repo_name: str,
    path: str,
    *,
    since: int | None = None,
    min_support: int = 2,
    limit: int = 20,
) -> dict[str, Any]:
    """Files that changed in the same commits as a path, the most frequent first."""
    repo = store.find_repo(repo_name)
    changes = path_changes(store, repo, clean_path(path))
    own = {one.path for one in changes} | {one.old_path for one in changes} | {path}
    touched = {one.id for one in changes if one.commit_time >= lower_bound(since)}
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
