"""git on a registered repository, for the few answers that the index does not hold.

It runs in that repository and no other, never reaches the network, and starts no program that
the repository's configuration names.
"""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from pathlib import Path

from clew.history.lookup import clean_path
from clew.history.model import Repo
from clew.kit.errors import Invalid, NotFound
from clew.kit.git import GitError, guard, read_git, run_git

LACKING = "'git fetch --refetch --no-filter' brings what was left out; 'git fsck' tells damage."


def repo_git(repo: Repo, *arguments: str, given: bytes = b"") -> bytes:
    """What git prints in a registered repository; `given` is what it reads."""
    root, place = _named(repo)
    words = (*place, *arguments)
    run = partial(run_git, *words, cwd=root, given=given)
    return run() if repo.answers is None else repo.answers.ask(words, given, run)


def repo_git_head(
    repo: Repo, *arguments: str, most: int, seconds: float
) -> tuple[bytes, int | None]:
    """The first bytes of it, for what may print any amount, and how git ended if that was all."""
    root, words = _named(repo)
    return read_git(*words, *arguments, cwd=root, most=most, seconds=seconds)


def _named(repo: Repo) -> tuple[Path, tuple[str, ...]]:
    """Where it is, and the words by which git means it."""
    root = Path(repo.local_path)
    if not root.is_dir():
        raise Invalid(f"No repository at {root}", "Move it back, or run 'commitmux remove-repo'.")
    marker = root / ".git"
    # Named outright, because git would look for a repository in the directories above.
    place = marker if marker.exists() else root
    return root, (f"--git-dir={place}", "--literal-pathspecs")


def resolve(repo: Repo, revision: str) -> str:
    """The commit that a revision names."""
    if not revision.isprintable():
        raise Invalid(f"Not usable as a revision: {revision!r}")
    try:
        found = repo_git(
            repo, "rev-parse", "--verify", "--quiet", "--end-of-options",
            f"{guard(revision)}^{{commit}}",
        )  # fmt: skip
    except GitError:
        raise NotFound(f"{repo.name} has no commit at {revision}") from None
    return found.decode("ascii").strip()


def tracked(repo: Repo, commit: str, path: str) -> str:
    """The path, if it is a file in that commit."""
    name = guard(clean_path(path))
    kind = b""
    with suppress(GitError):
        kind = repo_git(repo, "cat-file", "-t", f"{commit}:{name}").strip()
    if kind != b"blob":
        raise no_file(repo, commit, name, commit[:12])
    return name


def no_file(repo: Repo, commit: str, path: str, shown: str, hint: str = "") -> NotFound:
    """The error for a file that a commit does not have, or whose content this clone does not have."""
    listed = b""
    with suppress(GitError):
        listed = repo_git(repo, "ls-tree", commit, "--", guard(path))
    if b" blob " in listed:
        return NotFound(
            f"{repo.name} is a partial or damaged clone without the content of {path}", LACKING
        )
    return NotFound(f"{repo.name} has no file {path} at {shown}", hint)


def line_range(start: int | None, end: int | None) -> tuple[int, int | None]:
    """Lines from one to another, both included; one line when only the first is named."""
    first = 1 if start is None else start
    last = start if end is None else end
    if first < 1 or (last is not None and last < first):
        raise Invalid(f"Not a range of lines: {first} to {last}", "Lines count from 1.")
    return first, last
