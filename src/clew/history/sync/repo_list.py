"""The registered repositories, and whether the index still stands where they stand."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from clew.history.git.ref_files import RefFiles
from clew.history.store.scope import bounded

if TYPE_CHECKING:
    from clew.history.model import Repo
    from clew.history.store.store import HistoryStore


def list_repos(store: HistoryStore, *, limit: int = 100) -> dict[str, Any]:
    """All repositories with what is indexed of them; no git is started."""
    repos = store.repos()
    shown = [describe(store, repo) for repo in repos[: bounded(limit)]]
    return {"total": len(repos), "limit": bounded(limit), "repos": shown}


def describe(store: HistoryStore, repo: Repo) -> dict[str, Any]:
    """One repository: how much is indexed, up to which commit, and where its ref is now."""
    state = store.state(repo.repo_id)
    tips = store.tips(repo.repo_id)
    main = repo.default_branch or "HEAD"
    refs = RefFiles(Path(repo.local_path))
    head, tip = refs.commit(main), tips.get(main)
    return {
        "name": repo.name,
        "local_path": repo.local_path,
        "commit_count": store.commit_count(repo.repo_id),
        "last_synced_at": state["last_synced_at"] if state else None,
        "last_error": state["last_error"] if state else None,
        "ref": main,
        "tip": tip,
        "head": head,
        "stale": None if head is None else head != tip or _branches_moved(repo, refs, tips),
    }


def _branches_moved(repo: Repo, refs: RefFiles, tips: dict[str, str]) -> bool:
    if not repo.all_refs:
        return False
    known = {ref: sha for ref, sha in tips.items() if ref.startswith("refs/heads/")}
    return refs.branches() != known
