"""How far the index is behind what the repositories hold now."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from clew.history.refs import count_missing, existing_commits, read_tips
from clew.kit.errors import ClewError

if TYPE_CHECKING:
    from clew.history.model import Repo
    from clew.history.store import HistoryStore


def repo_status(store: HistoryStore, repo: Repo) -> dict[str, Any]:
    """One repository: what is indexed of it, when, and how many commits are missing."""
    state = store.state(repo.repo_id)
    return {
        "name": repo.name,
        "commit_count": store.commit_count(repo.repo_id),
        "source": repo.remote_url or repo.local_path,
        "local_path": repo.local_path,
        "last_synced_at": state["last_synced_at"] if state else None,
        "last_synced_sha": state["last_synced_sha"] if state else None,
        "last_error": state["last_error"] if state else None,
        "exclude_prefixes": list(repo.exclude_prefixes),
        "author_filter": repo.author_filter,
        "behind": commits_behind(store, repo),
    }


def commits_behind(store: HistoryStore, repo: Repo) -> int | None:
    """How many commits the repository has that the index has not; None when git cannot say."""
    try:
        _, tips = read_tips(Path(repo.local_path), repo)
        done = store.tips(repo.repo_id)
        known = set(done.values())
        new = [sha for sha in set(tips.values()) - known if not store.known(repo.repo_id, [sha])]
        if not new:
            return 0
        root = Path(repo.local_path)
        return count_missing(root, new, existing_commits(root, known))
    except ClewError:
        return None
