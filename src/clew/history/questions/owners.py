"""Who knows a file or a directory: authors by what they changed there, and how lately."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from operator import mul
from typing import Any

from clew.history.lookup import clean_path, lower_bound, page
from clew.history.model import Repo
from clew.history.questions.file_history import path_changes
from clew.history.store.interface import Effort, HistoryStore

_HALF_LIFE = 365.0 * 86400
_MAJORITY = 0.5
_NOBODY = frozenset(("", "admin", "nobody", "root", "ubuntu", "unknown", "user", "your name"))


def owners(
    store: HistoryStore,
    repo_name: str,
    path: str = "",
    *,
    since: int | None = None,
    limit: int = 10,
) -> dict[str, Any]:
    """Authors of a path, the foremost first; the bus factor is how many hold half of it."""
    repo = store.find_repo(repo_name)
    name = clean_path(path) if path not in ("", ".") else ""
    earliest = lower_bound(since)
    efforts = _efforts(store, repo, name)
    if since is not None:
        efforts = [one for one in efforts if one.commit_time >= earliest]
    ranked = _ranked(store, efforts)
    return page(
        "owners",
        [{**owner, "share": round(owner["share"], 4)} for owner in ranked],
        limit,
        repo=repo.name,
        path=name,
        commits=len(efforts),
        bus_factor=_bus_factor([owner["share"] for owner in ranked]),
        mailmap=_mailmap(ranked),
    )


def _mailmap(ranked: list[dict[str, Any]]) -> list[str]:
    """Lines for a mailmap: people of the same name with several addresses, the foremost kept."""
    first: dict[str, dict[str, Any]] = {}
    lines = []
    for owner in ranked:
        name = owner["author"].strip().casefold()
        known = first.setdefault(name, owner)
        if known is not owner and name not in _NOBODY:
            lines.append(f"{known['author']} <{known['email']}> <{owner['email']}>")
    return lines


def _efforts(store: HistoryStore, repo: Repo, name: str) -> list[Effort]:
    """The commits that changed a file across renames, or else any file of a directory."""
    below = store.directory_changes(repo.repo_id, name)
    changes = path_changes(store, repo, name) if name else []
    if not changes:
        return below
    found = {effort.id: effort for effort in below}
    for one in changes:
        lines = (one.added or 0) + (one.removed or 0)  # a damaged row has none
        known = found.get(one.id)
        found[one.id] = Effort(
            one.id, one.author_id, one.author_time, one.commit_time,
            lines + (known.lines if known else 0),
        )  # fmt: skip
    return list(found.values())


@dataclass
class _Owner:
    """What one person did: lines and commits, as they are and weighted by how recent."""

    last: tuple[int, int]
    author_id: int
    commits: int = 0
    lines: int = 0
    weight: float = 0.0
    weighted_lines: float = 0.0


def _by_author(efforts: Sequence[Effort]) -> dict[int, list[Effort]]:
    found: defaultdict[int, list[Effort]] = defaultdict(list)
    for effort in efforts:
        found[effort[1]].append(effort)
    return found


def _ranked(store: HistoryStore, efforts: Sequence[Effort]) -> list[dict[str, Any]]:
    newest = max((effort.author_time for effort in efforts), default=0)
    people = {number: (name, email) for number, name, email in store.people()}
    owners_by_email: dict[str, _Owner] = {}
    for author_id, own in _by_author(efforts).items():
        last = max((written, number) for number, _, written, _, _ in own)
        owner = owners_by_email.setdefault(people[author_id][1].lower(), _Owner(last, author_id))
        if owner.last < last:
            owner.last, owner.author_id = last, author_id
        weights = [2.0 ** ((one[2] - newest) / _HALF_LIFE) for one in own]
        lines = [one[4] for one in own]
        owner.commits += len(own)
        owner.lines += sum(lines)
        owner.weight += sum(weights)
        owner.weighted_lines += sum(map(mul, weights, lines))
    return _shares(list(owners_by_email.values()), people)


def _shares(owners_: list[_Owner], people: dict[int, tuple[str, str]]) -> list[dict[str, Any]]:
    """Half of a share is of the commits, half of the lines, both weighted by how recent."""
    commits = sum(one.weight for one in owners_)
    lines = sum(one.weighted_lines for one in owners_)
    shown = []
    for one in owners_:
        of_commits = one.weight / commits
        of_lines = one.weighted_lines / lines if lines else of_commits
        name, email = people[one.author_id]
        shown.append(
            {
                "author": name,
                "email": email,
                "commits": one.commits,
                "lines": one.lines,
                "last_touch": one.last[0],
                "share": (of_commits + of_lines) / 2,
            }
        )
    return sorted(shown, key=lambda one: (-one["share"], one["email"]))


def _bus_factor(shares: list[float]) -> int:
    held = 0.0
    for count, share in enumerate(shares, start=1):
        held += share
        if held >= _MAJORITY - 1e-9:
            return count
    return 0
