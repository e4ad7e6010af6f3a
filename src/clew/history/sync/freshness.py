"""How far the index is behind what the repositories hold now."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from clew.history.git.ref_files import RefFiles, limits
from clew.history.lookup import page
from clew.history.model import Repo
from clew.history.search.unsearched import unsearched_line
from clew.history.store.interface import HistoryStore
from clew.kit.errors import ClewError

Stamp = tuple[tuple[int, int, int] | None, ...]


_MOST_LISTED = 10
_MOST_STEPS = 256
_MOST_KEPT = 500
_heads: dict[tuple[str, str], tuple[list[Path], Stamp, str | None, dict[str, str]]] = {}


def freshness(store: HistoryStore, repos: Sequence[Repo]) -> dict[str, Any]:
    """Whether the index is up to date with these repositories, read from their ref files alone.

    `stale` is null when that is unknown. Repositories that are not fresh are listed, with
    how many commits are missing where new commits still lie as single files, else null.
    `limits` names clones that were made without old commits or objects.
    """
    outdated = [entry for repo in repos if (entry := _state_of(store, repo))]
    lacking = {repo.name: found for repo in repos if (found := limits(Path(repo.local_path)))}
    beside: dict[str, Any] = {}
    if lacking:
        beside["limits"] = dict(list(lacking.items())[:_MOST_LISTED])
    if not outdated:
        return {"stale": False, **beside}
    name = f" --repo {outdated[0]['repo']}" if len(outdated) == 1 else ""
    return {
        "stale": True if any(entry["stale"] for entry in outdated) else None,
        "repos": outdated[:_MOST_LISTED],
        "sync": f"commitmux sync{name}",
        **beside,
    }


_LIMITS = {
    "shallow": "shallow clone: older history is not there",
    "partial": "partial clone: objects that are not there cannot be read",
}


def limit_lines(repo: Repo) -> list[str]:
    """What the clone of a repository was made without, for people."""
    return [_LIMITS[one] for one in limits(Path(repo.local_path))]


def freshness_lines(found: dict[str, Any]) -> list[str]:
    """The same for people; nothing when the index is fresh and whole."""
    lines = []
    if found["stale"]:
        stale = [entry for entry in found["repos"] if entry["stale"]]
        named = ", ".join(map(_counted, stale))
        lines.append(f"The index is behind: {named}. Run: {found['sync']}")
    for name, lacking in found.get("limits", {}).items():
        lines += [f"{name}: {_LIMITS[one]}." for one in lacking]
    if "unsearched" in found:
        lines.append(unsearched_line(found))
    return lines


def _counted(entry: dict[str, Any]) -> str:
    behind = entry["behind"]
    return f"{entry['repo']} ({behind} commit{'s'[: behind != 1]})" if behind else entry["repo"]


def _state_of(store: HistoryStore, repo: Repo) -> dict[str, Any] | None:
    """One repository that is not known to be fresh."""
    main = repo.default_branch or "HEAD"
    head: str | None = None
    branches: dict[str, str] = {}
    with suppress(OSError, UnicodeDecodeError):
        head, branches = _where_refs_point(repo, main)
    if head is None:
        return {"repo": repo.name, "stale": None, "behind": None}
    done = store.tips(repo.repo_id)
    if done.get(main) == head and not _branches_moved(repo, branches, done):
        return None
    tips = [head, *branches.values()]
    return {"repo": repo.name, "stale": True, "behind": _count_loose(store, repo, tips)}


def _branches_moved(repo: Repo, branches: dict[str, str], done: dict[str, str]) -> bool:
    if not repo.all_refs:
        return False
    return branches != {ref: sha for ref, sha in done.items() if ref.startswith("refs/heads/")}


def _where_refs_point(repo: Repo, main: str) -> tuple[str | None, dict[str, str]]:
    """The commit of the main ref, and of all branches where all count; read when files changed."""
    key = (repo.local_path, f"{main} all" if repo.all_refs else main)
    kept = _heads.get(key)
    if kept is not None and _stamp(kept[0]) == kept[1]:
        return kept[2], kept[3]
    refs = RefFiles(Path(repo.local_path))
    sources = refs.sources(main) + (refs.branch_directories() if repo.all_refs else [])
    stamp = _stamp(sources)
    found = refs.commit(main), refs.branches() if repo.all_refs else {}
    if len(_heads) >= _MOST_KEPT:
        _heads.clear()
    _heads[key] = (sources, stamp, *found)
    return found


def _stamp(files: list[Path]) -> Stamp:
    return tuple(map(_stat, files))


def _stat(file: Path) -> tuple[int, int, int] | None:
    try:
        found = file.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_ino, found.st_size


def _count_loose(store: HistoryStore, repo: Repo, tips: list[str]) -> int | None:
    """How many commits the tips reach before indexed ones, by their files; None if unknown."""
    refs = RefFiles(Path(repo.local_path))
    waiting = list(tips)
    seen: set[str] = set()
    while waiting:
        sha = waiting.pop()
        if sha in seen or store.known(repo.repo_id, [sha]):
            continue
        parents = refs.parents(sha)
        if parents is None or len(seen) >= _MOST_STEPS:
            return None
        seen.add(sha)
        waiting += parents
    return len(seen)


def repo_status(store: HistoryStore, repo: Repo) -> dict[str, Any]:
    """One repository: what is indexed of it, when, and how many commits are missing."""
    state = store.state(repo.repo_id)
    return {
        "name": repo.name,
        "commit_count": store.commit_count(repo.repo_id),
        "source": repo.remote_url or repo.local_path,
        "local_path": repo.local_path,
        "last_synced_at": state.at,
        "last_synced_sha": state.sha,
        "last_error": state.error,
        "exclude_prefixes": list(repo.exclude_prefixes),
        "author_filter": repo.author_filter,
        "behind": commits_behind(store, repo),
        "limits": limits(Path(repo.local_path)),
    }


def list_repos(store: HistoryStore, *, limit: int = 100, behind: bool = False) -> dict[str, Any]:
    """All repositories with what is indexed of them; git is started only to count what is not."""
    found = page("repos", store.repos(), limit)
    found["repos"] = [
        {**_described(store, repo), "behind": commits_behind(store, repo) if behind else None}
        for repo in found["repos"]
    ]
    return found


def _described(store: HistoryStore, repo: Repo) -> dict[str, Any]:
    """One repository: how much is indexed, up to which commit, and where its ref is now."""
    state, done = store.state(repo.repo_id), store.tips(repo.repo_id)
    main = repo.default_branch or "HEAD"
    refs = RefFiles(Path(repo.local_path))
    head = refs.commit(main)
    moved = head != done.get(main) or _branches_moved(
        repo, refs.branches() if repo.all_refs else {}, done
    )
    return {
        "name": repo.name,
        "local_path": repo.local_path,
        "commit_count": store.commit_count(repo.repo_id),
        "last_synced_at": state.at,
        "last_error": state.error,
        "ref": main,
        "tip": done.get(main),
        "head": head,
        "stale": None if head is None else moved,
    }


def commits_behind(store: HistoryStore, repo: Repo) -> int | None:
    """How many commits the repository has that the index has not; None when git cannot say."""
    from clew.history.sync.refs import Refs, count_missing, existing_commits

    try:
        tips = Refs(Path(repo.local_path), repo).tips
        done = store.tips(repo.repo_id)
        known = set(done.values())
        new = [sha for sha in set(tips.values()) - known if not store.known(repo.repo_id, [sha])]
        if not new:
            return 0
        root = Path(repo.local_path)
        return count_missing(root, new, existing_commits(root, known))
    except ClewError:
        return None
