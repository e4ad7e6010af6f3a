"""Clones that Clew makes and owns: under the index's own directory, and nowhere else.

The network is used only here, and only for an address that somebody gave to `add-repo --url`.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from clew.history.model import Repo
from clew.history.store.interface import HistoryStore
from clew.history.sync.repositories import check_filters, check_name, is_taken, remove
from clew.kit.errors import Conflict, Invalid, Unavailable
from clew.kit.files import private_directory
from clew.kit.git import GitError, git_line, run_git, run_network_git
from clew.kit.locks import LONG_LOCK_TIMEOUT, is_locked, locked, try_lock

_FORMS = ("https://", "http://", "git@", "git://", "ssh://")
_LOGIN = re.compile(r"^(\w+://)([^/@:]*)(?::[^/@]*)?@")
_OWN = "clew-clone"  # a file in every clone that we made
# However long it takes, but not from a server that has fallen silent.
_PATIENT = (
    "-c", "http.lowSpeedLimit=100", "-c", "http.lowSpeedTime=60",
    "-c", "maintenance.auto=true", "-c", "gc.auto=6700", "-c", "gc.autoDetach=false",
)  # fmt: skip


def check_url(url: str) -> str:
    """An address that git may be given."""
    if not url.startswith(_FORMS) or not url.isprintable() or " " in url:
        raise Invalid(
            f"'{shown_url(url)}' is not a valid git URL"
            " (expected https://, http://, git@, git://, or ssh://)"
        )
    return url


def shown_url(url: str) -> str:
    """The address without a password, and where ssh does not need it without a user's name."""
    return _LOGIN.sub(r"\1\2@" if url.startswith("ssh://") else r"\1", url)


def name_of_url(url: str) -> str:
    """The name a repository gets when none is given: the last part of its address."""
    return re.split(r"[/:]", url.rstrip("/"))[-1].removesuffix(".git")


def clones_directory(store: HistoryStore) -> Path:
    """Where this index's clones are."""
    return store.path.absolute().parent / "clones"


def add_clone(
    store: HistoryStore,
    url: str,
    *,
    name: str | None = None,
    exclude: Sequence[str] = (),
    all_refs: bool = False,
    default_branch: str | None = None,
    author: str | None = None,
    announce: Callable[[str], None] | None = None,
) -> Repo:
    """Clone a repository and register it. What fails leaves nothing behind."""
    check_filters(exclude, author)
    wanted = check_name(name if name is not None else name_of_url(check_url(url)))
    check_url(url)
    if is_taken(store, wanted):
        raise Conflict(
            f"A repo named '{wanted}' already exists. Use 'commitmux status' to see all repos."
        )
    if announce is not None:
        announce(f"Cloning {wanted} from {shown_url(url)}...")
    place = clone_into(clones_directory(store), wanted, url, shown=announce is not None)
    try:
        return store.add_repo(
            Repo(
                repo_id=0,
                name=wanted,
                local_path=str(place),
                remote_url=shown_url(url),
                default_branch=default_branch,
                all_refs=all_refs,
                exclude_prefixes=tuple(exclude),
                author_filter=author,
                managed_clone=True,
            )
        )
    except BaseException:
        shutil.rmtree(place, ignore_errors=True)
        raise


def fetch_clone(place: Path) -> None:
    """Bring a clone up to date, and follow the default branch of where it came from."""
    if not (place / _OWN).is_file():
        raise Invalid(
            f"No clone at {place}", "Run 'commitmux remove-repo', then 'commitmux add-repo --url'."
        )
    with locked(place / "clew.lock", LONG_LOCK_TIMEOUT):
        url = git_line(place, "config", "--get", "remote.origin.url")
        _network_git(url, "fetch", "--prune", "--quiet", "origin", cwd=place)
        _follow_default_branch(place, url)


def remove_with_clone(store: HistoryStore, name: str) -> tuple[int, Path | None]:
    """Forget a repository; a clone that Clew made is deleted. How many commits, which clone."""
    repo = store.find_repo(name)
    count = remove(store, name)
    place = Path(repo.local_path)
    if not (repo.managed_clone and is_own_clone(store, place)):
        return count, None
    with store.locked():
        shutil.rmtree(place)
    return count, place


def is_own_clone(store: HistoryStore, place: Path) -> bool:
    """Whether a directory is a clone that this index made: in its place, and marked."""
    inside = place.parent.resolve() == clones_directory(store).resolve()
    real = place.name not in ("", ".", "..") and place.is_dir() and not place.is_symlink()
    return inside and real and (place / _OWN).is_file()


def clone_into(clones: Path, name: str, url: str, *, shown: bool = False) -> Path:
    """The new clone, made under another name and moved to its own when it is whole."""
    existed = clones.is_dir()
    private_directory(clones)
    for left in clones.glob("%partial-*"):
        if not is_locked(left / "lock"):  # by a clone that was killed
            shutil.rmtree(left, ignore_errors=True)
    partial = Path(tempfile.mkdtemp(prefix="%partial-", dir=clones))
    lock = try_lock(partial / "lock")
    try:
        bare = partial / "clone"
        progress = ["--progress"] if shown else ["--quiet"]
        asked = ("clone", "--bare", *progress, "--", url, str(bare))
        _network_git(url, *asked, cwd=partial, shown=shown)
        for refs in ("heads", "tags"):
            rule = f"+refs/{refs}/*:refs/{refs}/*"
            run_git("config", "--add", "remote.origin.fetch", rule, cwd=bare)
        (bare / _OWN).write_text("Made by commitmux add-repo --url.\n", encoding="utf-8")
        return bare.rename(_free_place(clones, name))
    except GitError as error:
        words = f"Failed to clone '{name}' from '{shown_url(url)}'"
        raise Unavailable(words, error.message.replace(url, shown_url(url))) from None
    finally:
        shutil.rmtree(partial, ignore_errors=True)
        if lock is not None:
            lock.release()
        if not existed and not any(clones.iterdir()):
            clones.rmdir()


def _free_place(clones: Path, name: str) -> Path:
    """A directory for a name, which may hold a slash; `%` is in no name, so nothing collides."""
    plain = name.replace("/", "%2F")
    candidates = (clones / f"{plain}{'%' * turn}" for turn in range(100))
    return next(place for place in candidates if not os.path.lexists(place))


def _follow_default_branch(place: Path, url: str) -> None:
    listed = _network_git(url, "ls-remote", "--symref", "origin", "HEAD", cwd=place)
    found = re.search(rb"^ref: (refs/heads/\S+)\tHEAD$", listed, re.MULTILINE)
    if found is not None:
        branch = found[1].decode("utf-8", "surrogateescape")
        known = run_git("rev-parse", "--verify", "--quiet", branch, cwd=place, check=False)
        if known:
            run_git("symbolic-ref", "HEAD", branch, cwd=place)


def _network_git(url: str, *arguments: str, cwd: Path, shown: bool = False) -> bytes:
    """Run git for an address that a person gave: without questions, by its protocol only.

    The user's own credential helpers and command for ssh count: they are how a private repository
    is reached, and no repository can name them here.
    """
    form, _, rest = check_url(url).partition("://")
    protocol = form if rest else "ssh"
    variables = {
        "GIT_SSH_COMMAND": os.environ.get("GIT_SSH_COMMAND", "ssh -oBatchMode=yes"),
        "GIT_ASKPASS": "",
        "SSH_ASKPASS": "",
    }
    return run_network_git(
        *_PATIENT, *arguments, cwd=cwd, variables=variables,
        protocols=("http", "https") if protocol == "http" else (protocol,),  # servers redirect
        shows_progress=shown and sys.stderr.isatty(),
    )  # fmt: skip
