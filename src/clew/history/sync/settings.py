"""Changing what a registered repository is: its name, place, and what is indexed of it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from clew.history.sync.refs import read_tips
from clew.history.sync.repositories import check_filters, check_name, repository_root
from clew.kit.errors import Conflict, Invalid, NotFound
from clew.kit.git import guard

if TYPE_CHECKING:
    from typing import Any

    from clew.history.model import Repo
    from clew.history.store.interface import HistoryStore

_READ_ANEW = ("exclude_prefixes", "author_filter")


@dataclass(frozen=True)
class Change:
    """What an update did."""

    repo: Repo
    changed: tuple[str, ...]

    @property
    def needs_full_sync(self) -> bool:
        """Whether commits that are indexed already were read with other settings."""
        return any(name in _READ_ANEW for name in self.changed)


def update(store: HistoryStore, name: str, wanted: dict[str, Any]) -> Change:
    """Give a repository these settings; the names are those of `Repo`."""
    repo = store.find_repo(name)
    _check(store, repo, wanted)
    if "local_path" in wanted:
        wanted = {**wanted, "local_path": _new_place(repo, Path(wanted["local_path"]))}
    new = replace(repo, **wanted)
    changed = tuple(key for key in wanted if getattr(repo, key) != getattr(new, key))
    if "default_branch" in changed and new.default_branch and Path(new.local_path).is_dir():
        read_tips(Path(new.local_path), new)
    if changed:
        store.update_repo(new)
    return Change(new, changed)


def _check(store: HistoryStore, repo: Repo, wanted: dict[str, Any]) -> None:
    name = wanted.get("name")
    if name is not None and name != repo.name and _is_taken(store, check_name(name)):
        raise Conflict(f"A repo named '{name}' already exists.", "Choose another name.")
    if wanted.get("default_branch") is not None:
        guard(wanted["default_branch"])
    check_filters(wanted.get("exclude_prefixes", ()), wanted.get("author_filter"))


def _is_taken(store: HistoryStore, name: str) -> bool:
    try:
        store.find_repo(name)
    except NotFound:
        return False
    return True


def _new_place(repo: Repo, path: Path) -> str:
    if repo.managed_clone:
        raise Invalid(
            f"'{repo.name}' is a clone that Clew made; its place is not yours to choose",
            "Use 'commitmux remove-repo', then 'commitmux add-repo' with the path.",
        )
    return str(repository_root(path))
