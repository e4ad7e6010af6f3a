"""Registering repositories: what may be one, under which name, and forgetting it again."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

from clew.history.model import Repo
from clew.kit.errors import Invalid
from clew.kit.git import GitError, git_line, run_git
from clew.kit.locks import LONG_LOCK_TIMEOUT, locked

if TYPE_CHECKING:
    from collections.abc import Sequence
    from contextlib import AbstractContextManager

    from clew.history.store.interface import HistoryStore

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


def remove(store: HistoryStore, name: str) -> int:
    """Forget a repository and everything indexed of it; how many commits that were."""
    with index_lock(store), store.writing():
        return store.remove_repo(store.find_repo(name).repo_id)


def index_lock(store: HistoryStore) -> AbstractContextManager[None]:
    """Held by whoever reads commits in or takes them out, so that there is one at a time."""
    return locked(store.path.with_name(f"{store.path.name}.lock"), LONG_LOCK_TIMEOUT)
