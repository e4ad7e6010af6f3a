"""The changes that were made for a spec: out of git, as added lines with their places."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from clew.kit.errors import ClewError, Invalid, NotFound
from clew.kit.git import PLAIN_DIFF, guard, run_git
from clew.kit.paths import CHANT
from clew.kit.text.diff import file_diffs
from clew.specs.model import Spec
from clew.specs.query.commits import commits_or_none

_LARGEST = 20_000_000
_FLAGS = (*PLAIN_DIFF, "-U0", "-M")
_PLACES = ("--", ":(top)", f":(top,exclude){CHANT}")  # specs are no part of what was made for them
_RANGE = re.compile(r"(.*?)(\.{2,3})(.*)")


@dataclass(frozen=True)
class Change:
    """One changed file: its path, the lines that came with their numbers, how many went."""

    path: str
    added: tuple[tuple[int, str], ...] = ()
    removed: int = 0
    binary: bool = False


@dataclass(frozen=True)
class Diff:
    """All changes of a spec, and where they come from."""

    source: str
    changes: tuple[Change, ...]

    @property
    def added(self) -> int:
        """How many lines came."""
        return sum(len(change.added) for change in self.changes)


def diff_of(project: Path, spec: Spec, asked: str | None = None) -> Diff:
    """What was changed for a spec: in a range that is named, on its branch, or in its commits."""
    if asked:
        return _range(project, asked)
    branch = spec.text("branch")
    if branch and _commit(project, branch):
        base = spec.text("target_branch") or "HEAD"
        return _between(project, base, branch, f"branch {branch}")
    commits = commits_or_none(project, spec.id) or list(spec.words("commits"))
    known = [sha for sha in commits if _commit(project, sha)]
    if not known:
        raise NotFound(
            f"No changes found for spec '{spec.id}': no branch, no commits",
            "Name a range of commits, for example main..my-branch.",
        )
    text = _git(project, "show", "--format=", *_FLAGS, *known, *_PLACES)
    return Diff(f"commits {', '.join(known)}", _changes(text))


def _range(project: Path, asked: str) -> Diff:
    found = _RANGE.fullmatch(asked.strip())
    if not found:
        _required(project, asked)
        return _between(project, "HEAD", asked, asked)
    old, dots, new = found[1] or "HEAD", found[2], found[3] or "HEAD"
    _required(project, old)
    _required(project, new)
    if dots == "...":
        return _between(project, old, new, asked)
    return Diff(asked, _changes(_git(project, "diff", *_FLAGS, old, new, *_PLACES)))


def _between(project: Path, base: str, new: str, source: str) -> Diff:
    """What a branch has that its base has not."""
    _required(project, base)
    return Diff(source, _changes(_git(project, "diff", *_FLAGS, f"{base}...{new}", *_PLACES)))


def _required(project: Path, revision: str) -> None:
    if not _commit(project, revision):
        raise NotFound(f"No such commit: {revision}", "Name a branch, a tag or a commit's id.")


def _commit(project: Path, revision: str) -> bool:
    try:
        run_git("rev-parse", "--verify", "--quiet", f"{guard(revision)}^{{commit}}", cwd=project)
    except ClewError:
        return False
    return True


def _git(project: Path, *arguments: str) -> str:
    raw = run_git(*arguments, cwd=project)
    if len(raw) > _LARGEST:
        raise Invalid("The changes are larger than 20 MB", "Name a smaller range of commits.")
    return raw.decode("utf-8", "replace")


def _changes(text: str) -> tuple[Change, ...]:
    """A diff without context, taken apart; several changes of one file become one."""
    files: dict[str, Change] = {}
    for one in file_diffs(text):
        known = files.get(one.path, Change(one.path))
        files[one.path] = Change(
            one.path,
            (*known.added, *one.added),
            known.removed + len(one.removed),
            known.binary or one.is_binary,
        )
    return tuple(files.values())
