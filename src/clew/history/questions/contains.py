"""Which refs contain a commit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from clew.history.git.ref_files import RefFiles
from clew.history.lookup import find_commit, page
from clew.history.model import Repo
from clew.history.questions.repo_git import repo_git
from clew.history.store.interface import HistoryStore

_KINDS = ("refs/heads", "refs/tags", "refs/remotes")


def contains(store: HistoryStore, repo_name: str, sha: str, *, limit: int = 100) -> dict[str, Any]:
    """Branches and tags that contain a commit; `indexed` tells which of them the index follows."""
    repo, found = find_commit(store, repo_name, sha)
    listed = repo_git(
        repo, "for-each-ref", f"--contains={found.sha}", "--format=%(refname)", *_KINDS
    )
    followed = _followed(store, repo)
    names = listed.decode("utf-8", "replace").splitlines()
    refs = [{"ref": name, "indexed": name in followed} for name in names]
    return page("refs", refs, limit, repo=repo.name, sha=found.sha)


def _followed(store: HistoryStore, repo: Repo) -> set[str]:
    named = set(store.tips(repo.repo_id))
    if "HEAD" in named:
        named.add(RefFiles(Path(repo.local_path)).head_ref() or "HEAD")
    return named | {f"{kind}/{name}" for kind in _KINDS for name in named}
