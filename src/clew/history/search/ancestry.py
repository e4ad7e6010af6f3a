"""Which indexed commits a branch, a tag or a commit reaches, according to the index alone."""

from __future__ import annotations

import re
from collections.abc import Collection
from pathlib import Path

from clew.history.git.ref_files import RefFiles
from clew.history.lookup import find_record
from clew.history.model import Repo
from clew.history.store.interface import HistoryStore
from clew.kit.errors import Invalid, NotFound

_PLACES = ("{}", "refs/heads/{}", "refs/tags/{}", "refs/remotes/{}")
_SHA = re.compile(r"[0-9a-f]{7,40}")
_SHA_BYTES = 20


def reached(store: HistoryStore, repos: Collection[Repo], ref: str) -> frozenset[int]:
    """The commits that a ref reaches, in all of the repositories that know it."""
    if not ref or not ref.isprintable() or ref.startswith("-"):
        raise Invalid(f"Not usable as a branch or tag: {ref!r}")
    tips = {repo: _indexed_tip(store, repo, ref) for repo in repos}
    found = [_ancestors(store, repo, tip) for repo, tip in tips.items() if tip]
    if not found:
        raise NotFound(
            f"The index knows no branch, tag or commit {ref!r}",
            "Run 'commitmux sync', index every ref with 'commitmux update-repo NAME --all-refs',"
            " or give the commit's SHA.",
        )
    return frozenset().union(*found)


def _indexed_tip(store: HistoryStore, repo: Repo, ref: str) -> str | None:
    """The commit of a ref as of the last sync, else where it is now if that is indexed."""
    tips = store.tips(repo.repo_id)
    synced = next((tips[name] for place in _PLACES if (name := place.format(ref)) in tips), None)
    if synced is not None and store.known(repo.repo_id, [synced]):
        return synced
    files = RefFiles(Path(repo.local_path))
    if "HEAD" in tips and files.head_ref() in (ref, f"refs/heads/{ref}"):
        return tips["HEAD"]
    for place in _PLACES:
        sha = files.commit(place.format(ref))
        if sha and store.known(repo.repo_id, [sha]):
            return sha
    return _commit_by_sha(store, repo, ref.lower())


def _commit_by_sha(store: HistoryStore, repo: Repo, sha: str) -> str | None:
    if not _SHA.fullmatch(sha):
        return None
    try:
        return find_record(store, repo.name, sha, f"No commit {sha}").sha
    except NotFound:
        return None


def _ancestors(store: HistoryStore, repo: Repo, tip: str) -> frozenset[int]:
    return store.remembered(
        ("reached", repo.repo_id, tip), lambda: _walk(store, repo, bytes.fromhex(tip))
    )


def _walk(store: HistoryStore, repo: Repo, tip: bytes) -> frozenset[int]:
    known = {sha: (number, parents) for number, sha, parents in store.ancestry(repo.repo_id)}
    waiting, seen = [tip], set()
    while waiting:
        sha = waiting.pop()
        if sha in seen or sha not in known:
            continue
        seen.add(sha)
        parents = known[sha][1]
        waiting += [parents[at : at + _SHA_BYTES] for at in range(0, len(parents), _SHA_BYTES)]
    return frozenset(known[sha][0] for sha in seen)
