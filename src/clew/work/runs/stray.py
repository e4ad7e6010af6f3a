"""Commits that an agent made outside its worktree: found, named, and how they get to its branch.

Where the user's checkout and the main branch are is written down before the agent starts. What
they have gained at its end is the agent's if it says so: workers begin their messages with the
spec. Clew's own merges, other workers and people move the same branches, so nothing else is.
"""

from __future__ import annotations

import shlex
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from clew.kit import jsontext
from clew.kit.errors import NotFound
from clew.kit.files import write_atomic
from clew.kit.git import GitError, git_line, guard
from clew.kit.paths import ProjectPaths
from clew.work.model import Run
from clew.work.workspace import Workspace
from clew.work.worktrees.main_branch import checkout_of, main_branch

_FILE = "before.json"
_HEAD = "HEAD"


@dataclass(frozen=True)
class Strays:
    """What an agent committed to a branch, or a detached checkout, that is not its own."""

    place: str
    before: str
    commits: tuple[str, ...]  # id and subject, the oldest first
    others: bool  # whether somebody else's commits are among them


def note_places(work: Workspace, run: Run) -> None:
    """Write down where the main branch and the user's checkout are."""
    root = work.root
    places = {git_line(root, "symbolic-ref", "--quiet", "--short", _HEAD, check=False) or _HEAD}
    with suppress(NotFound):
        places.add(main_branch(root, work.config()))
    tips = {
        place: git_line(root, "rev-parse", "--verify", "--quiet", _ref(place), check=False)
        for place in places
    }
    file = work.paths.run_directory(run.run_id) / _FILE
    write_atomic(file, jsontext.dumps({p: tip for p, tip in tips.items() if tip}), mode=0o600)


def find_strays(paths: ProjectPaths, run: Run) -> list[Strays]:
    """What the run's agent committed where it should not; nothing where that cannot be told."""
    try:
        text = (paths.run_directory(run.run_id) / _FILE).read_text(encoding="utf-8")
        tips = jsontext.loads(text)
        return [
            found for place, tip in tips.items() if (found := _strays_at(paths, run, place, tip))
        ]
    except (OSError, jsontext.JsonError, GitError):
        return []


def strays_text(paths: ProjectPaths, run: Run, found: list[Strays]) -> str:
    """What happened, which commits, and the commands that put it right."""
    lines = []
    for strays in found:
        where = "the user's checkout" if strays.place == _HEAD else f"'{strays.place}'"
        lines.append(f"The agent left its worktree and committed to {where}:")
        lines += [f"  {commit}" for commit in strays.commits]
        lines.append(f"Move this to its branch '{run.branch}':\n  {_moving(paths, run, strays)}")
    lines.append(
        f"Then check it: `clew takeover {run.spec_id} --force`, "
        f"`clew release {run.spec_id} --finish`."
    )
    return "\n".join(lines)


def _strays_at(paths: ProjectPaths, run: Run, place: str, before: str) -> Strays | None:
    spread = f"{guard(before)}..{_ref(place)}"
    own = f"^refs/heads/{guard(run.branch)}" if run.branch else f"^{before}"
    said = git_line(paths.root, "log", "--reverse", "--no-merges", "--format=%h %s", spread, own)
    lines = said.splitlines()
    mark = f"chant({run.spec_id})"
    mine = tuple(line for line in lines if line.partition(" ")[2].startswith(mark))
    every = int(git_line(paths.root, "rev-list", "--count", spread))
    return Strays(place, before, mine, others=len(mine) != every) if mine else None


def _moving(paths: ProjectPaths, run: Run, strays: Strays) -> str:
    """The commands for a shell; other people's commits and uncommitted work stay."""
    names = [commit.partition(" ")[0] for commit in strays.commits]
    there = paths.root if strays.place == _HEAD else _checkout_of(paths, strays.place)
    # Where the commits stay in the history, a copy made in the same second would be the very same
    # commit, and merging it would bring nothing back. What -x adds makes it another one.
    how = ("cherry-pick", "-x") if strays.others else ("cherry-pick",)
    pick = _git(Path(run.worktree or paths.root), *how, *names)
    if there is None:
        undo = _git(paths.root, "branch", "--force", strays.place, strays.before)
        return pick if strays.others else f"{pick} && {undo}"
    if strays.others:
        return f"{pick} && {_git(there, 'revert', '--no-edit', *reversed(names))}"
    return f"{pick} && {_git(there, 'reset', '--keep', strays.before)}"


def _checkout_of(paths: ProjectPaths, branch: str) -> Path | None:
    try:
        return checkout_of(paths.root, branch)
    except GitError:
        return None


def _git(place: Path, *words: str) -> str:
    return shlex.join(("git", "-C", str(place), *words))


def _ref(place: str) -> str:
    return _HEAD if place == _HEAD else f"refs/heads/{guard(place)}"
