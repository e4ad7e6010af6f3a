"""Registered repositories: adding them, changing their settings, removing them."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from clew.history.model import Repo
from clew.history.store.interface import HistoryStore
from clew.history.sync.refs import Refs
from clew.kit.errors import Conflict, Invalid
from clew.kit.git import ForeignRepository, GitError, git_line, guard, run_git

_READ_ANEW = ("exclude_prefixes", "author_filter")
_NAME = re.compile(r"[\w.@+][\w.@+~ /-]{0,199}")


def register(
    store: HistoryStore,
    path: Path,
    *,
    name: str | None = None,
    exclude: Sequence[str] = (),
    all_refs: bool = False,
    default_branch: str | None = None,
    author: str | None = None,
) -> Repo:
    """Register a local repository; its history is read by the next sync."""
    check_filters(exclude, author)
    root = repository_root(path)
    remote = run_git("config", "--get", "remote.origin.url", cwd=root, check=False)
    repo = Repo(
        repo_id=0,
        name=check_name(name if name is not None else root.name.removesuffix(".git")),
        local_path=str(root),
        remote_url=without_password(remote.decode("utf-8", "replace").strip()) or None,
        default_branch=default_branch,
        all_refs=all_refs,
        exclude_prefixes=tuple(exclude),
        author_filter=author,
    )
    return store.add_repo(repo)


def plain_name(root: Path) -> str:
    """The name that a repository gets by itself: its directory's, as far as it is usable."""
    plain = re.sub(r"[^\w.@+~ -]", "_", root.name.removesuffix(".git")).lstrip("-~ ")
    return plain[:150] or "repository"


def check_name(name: str) -> str:
    """A repository name that is safe to show, to store and to use in a path."""
    parts = name.split("/")
    if not _NAME.fullmatch(name) or not {"", ".", ".."}.isdisjoint(parts):
        raise Invalid(
            f"Not a usable repository name: {name!r}",
            "Choose one with --name: letters, digits, and . _ - @ + ~ between them.",
        )
    return name


def repository_root(path: Path) -> Path:
    """The root of a repository: a checkout, a linked worktree or a bare directory."""
    if not path.is_dir():
        raise Invalid(f"No such directory: {path}", "Name the directory that holds the repository.")
    root = path.resolve()
    if not os.fsencode(root).decode("utf-8", "ignore") == str(root):
        raise Invalid(f"The path is not UTF-8: {root!r}", "Rename it, then add it again.")
    try:
        bare = run_git("rev-parse", "--is-bare-repository", cwd=root).strip() == b"true"
        shown = "--absolute-git-dir" if bare else "--show-toplevel"
        top = Path(git_line(root, "rev-parse", shown))
    except ForeignRepository:
        raise
    except GitError:
        raise Invalid(
            f"'{root}' is not a git repository", "Name its root, or make one with 'git init'."
        ) from None
    if top.resolve() != root:
        raise Invalid(f"'{root}' is not a git repository", f"Its root is {top}.")
    if run_git("rev-parse", "--show-object-format", cwd=root).strip() != b"sha1":
        raise Invalid(f"'{root}' does not use SHA-1 commit ids", "Only those can be indexed.")
    return root


def without_password(url: str) -> str:
    """A remote's address without the user and password that it may carry."""
    return re.sub(r"^(\w[\w+.-]*://)[^/@]*@", r"\1", url)


def check_filters(exclude: Sequence[str], author: str | None) -> None:
    """Refuse filters that would leave nothing."""
    if "" in exclude:
        raise Invalid("An empty --exclude would leave every path out", "Use --clear-exclude.")
    if author is not None and not author.strip():
        raise Invalid("An empty --author would leave every commit out", "Use --no-author.")


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
        _ = Refs(Path(new.local_path), new).tips
    if changed:
        store.update_repo(new)
    return Change(new, changed)


def _check(store: HistoryStore, repo: Repo, wanted: dict[str, Any]) -> None:
    name = wanted.get("name")
    if name is not None and name != repo.name and is_taken(store, check_name(name)):
        raise Conflict(f"A repo named '{name}' already exists.", "Choose another name.")
    if wanted.get("default_branch") is not None:
        guard(wanted["default_branch"])
    check_filters(wanted.get("exclude_prefixes", ()), wanted.get("author_filter"))


def is_taken(store: HistoryStore, name: str) -> bool:
    """Whether a repository has this name."""
    return any(repo.name == name for repo in store.repos())


def _new_place(repo: Repo, path: Path) -> str:
    if repo.managed_clone:
        raise Invalid(
            f"'{repo.name}' is a clone that Clew manages; its path cannot be changed",
            "Use 'commitmux remove-repo', then 'commitmux add-repo' with the path.",
        )
    return str(repository_root(path))


def remove(store: HistoryStore, name: str) -> int:
    """Forget a repository and everything indexed of it; how many commits that were."""
    with store.locked(), store.writing():
        return store.remove_repo(store.find_repo(name).repo_id)
