"""Which refs contain a commit: the index knows who descends from whom, git where refs are."""

from __future__ import annotations

from array import array
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from clew.history.git.ref_files import RefFiles
from clew.history.lookup import find_commit, page
from clew.history.model import LAST_PLACE, Repo
from clew.history.repo_git import repo_git
from clew.history.store.interface import HistoryStore

_KINDS = ("refs/heads", "refs/tags", "refs/remotes")
_FORMAT = "%(objecttype) %(objectname) %(*objecttype) %(*objectname) %(refname)"
_SHA_BYTES = 20
_NONE = -1


def contains(store: HistoryStore, repo_name: str, sha: str, *, limit: int = 100) -> dict[str, Any]:
    """Branches and tags that contain a commit; `indexed` tells which of them the index follows."""
    repo, found = find_commit(store, repo_name, sha)
    refs = _refs(repo)
    tips = {tip for _, tip in refs if tip}
    known = store.known(repo.repo_id, tips)
    descent = store.remembered(("descent", repo.repo_id), partial(_Descent.read, store, repo))
    having = descent.of(found.id & LAST_PLACE)
    containing = {tip for tip, number in known.items() if having[number & LAST_PLACE]}
    containing |= _beyond(store, repo, tips - known.keys(), having)
    asked = [ref for ref, tip in refs if not tip]
    by_git = _by_git(repo, found.sha, asked) if asked else frozenset()
    followed = _followed(store, repo)
    names = [ref for ref, tip in refs if tip in containing or ref in by_git]
    listed = [{"ref": name, "indexed": name in followed} for name in names]
    return page("refs", listed, limit, repo=repo.name, sha=found.sha)


def _refs(repo: Repo) -> list[tuple[str, str]]:
    """The refs in git's order, each with its commit; empty for a tag of a tag."""
    listed = repo_git(repo, "for-each-ref", f"--format={_FORMAT}", *_KINDS)
    found = []
    for line in listed.decode("utf-8", "replace").splitlines():
        kind, sha, peeled_kind, peeled, name = line.split(" ", 4)
        if kind == "commit":
            found.append((name, sha))
        elif kind == "tag" and peeled_kind in ("commit", "tag"):
            found.append((name, peeled if peeled_kind == "commit" else ""))
    return found


def _by_git(repo: Repo, sha: str, refs: list[str]) -> frozenset[str]:
    listed = repo_git(repo, "for-each-ref", f"--contains={sha}", "--format=%(refname)", *refs)
    return frozenset(listed.decode("utf-8", "replace").splitlines())


@dataclass
class _Descent:
    """The parents of a repository's commits, all by their places."""

    first: array[int]
    others: dict[int, tuple[int, ...]] = field(default_factory=dict)
    is_ordered: bool = True

    @classmethod
    def read(cls, store: HistoryStore, repo: Repo) -> _Descent:
        """What the index has."""
        rows = list(store.ancestry(repo.repo_id))
        places = {sha: number & LAST_PLACE for number, sha, _ in rows}
        found = cls(array("q", [_NONE]) * (max(places.values(), default=0) + 1))
        for _, sha, parents in rows:
            place = places[sha]
            known = [
                places[parents[at : at + _SHA_BYTES]]
                for at in range(0, len(parents), _SHA_BYTES)
                if parents[at : at + _SHA_BYTES] in places
            ]
            if known:
                found.first[place] = known[0]
                found.is_ordered = found.is_ordered and max(known) < place
            if len(known) > 1:
                found.others[place] = tuple(known[1:])
        return found

    def of(self, place: int) -> bytearray:
        """For each place whether that commit is this one or descends from it."""
        having = bytearray(len(self.first) + 1)  # the last one stands for no parent
        having[place] = 1
        first, others = self.first, self.others
        count = 0
        while count != sum(having):
            count = sum(having)
            for at in range(place + 1 if self.is_ordered else 0, len(first)):
                if having[first[at]] or (at in others and any(having[p] for p in others[at])):
                    having[at] = 1
            if self.is_ordered:
                break
        return having


def _beyond(store: HistoryStore, repo: Repo, tips: set[str], having: bytearray) -> set[str]:
    """Those of some commits that the index does not have, and that contain the one asked for."""
    if not tips:
        return set()
    key = ("beyond", repo.repo_id, frozenset(tips))
    rows = store.remembered(key, lambda: _unindexed(store, repo, tips))
    found: set[str] = set()
    for sha, places, parents in rows:
        if any(having[place] for place in places) or not found.isdisjoint(parents):
            found.add(sha)
    return found & tips


def _unindexed(
    store: HistoryStore, repo: Repo, tips: set[str]
) -> list[tuple[str, list[int], list[str]]]:
    """Commits outside the index, parents first: the places of indexed parents, and the others."""
    asked = [*sorted(tips), *(f"^{sha}" for sha in store.tips(repo.repo_id).values())]
    words = ("rev-list", "--topo-order", "--reverse", "--parents", "--ignore-missing", "--stdin")
    listed = repo_git(repo, *words, given="".join(f"{one}\n" for one in asked).encode())
    rows = [line.split() for line in listed.decode("ascii").splitlines()]
    known = store.known(repo.repo_id, {sha for row in rows for sha in row[1:]})
    return [
        (row[0], [known[sha] & LAST_PLACE for sha in row[1:] if sha in known], row[1:])
        for row in rows
    ]


def _followed(store: HistoryStore, repo: Repo) -> set[str]:
    named = set(store.tips(repo.repo_id))
    if "HEAD" in named:
        named.add(RefFiles(Path(repo.local_path)).head_ref() or "HEAD")
    return named | {f"{kind}/{name}" for kind in _KINDS for name in named}
