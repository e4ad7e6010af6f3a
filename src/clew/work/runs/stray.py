"""Commits that an agent made outside its worktree: found, named, and how they get to its branch.

Where the user's checkout and the main branch are is written down before the agent starts. What
they have gained at its end is the agent's if it says so: workers begin their messages with the
spec, and git names a commit to whoever makes it. Clew's own merges, other workers and people move the
same branches. So a commit that was made there meanwhile, and of which nothing tells by whom, is only
mentioned, with what is known about it.
"""

from __future__ import annotations

import re
import shlex
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from clew.kit import jsontext
from clew.kit.errors import NotFound
from clew.kit.files import write_atomic
from clew.kit.git import GitError, git_line, guard
from clew.kit.paths import ProjectPaths
from clew.kit.times import parse_iso, utc_text
from clew.work.journal.run_log import log_state, read_events
from clew.work.model import FailureClass, Run
from clew.work.workspace import Workspace
from clew.work.worktrees.main_branch import checkout_of, main_branch

_FILE = "before.json"
_HEAD = "HEAD"
_FIELDS = "--format=%H%x09%h%x09%ct%x09%cn%x09%s"
# What git prints to whoever commits: [main 1a2b3c4] subject
_COMMITTED = re.compile(r"\[[^\[\]\n]{1,250} ([0-9a-f]{7,64})\] ")
_OF_A_WORKER = re.compile(r"chant\([^)\s]+\)")
# How the log of a branch calls a commit that was made there, and not brought from elsewhere.
_MADE_HERE = re.compile(r"commit\b|cherry-pick|revert|am\b")


@dataclass(frozen=True)
class Strays:
    """What appeared on a branch, or in a detached checkout, that is not the run's own."""

    place: str
    before: str
    commits: tuple[str, ...]  # id and subject, the oldest first
    others: bool  # whether there are other commits besides
    is_sure: bool = True  # that the agent made them

    @property
    def where(self) -> str:
        """The place in words."""
        return "the user's checkout" if self.place == _HEAD else f"'{self.place}'"


@dataclass(frozen=True)
class _Commit:
    """A commit that was not there when the agent started."""

    name: str
    short: str
    made_at: int
    by: str
    subject: str


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
    """What was committed where the run's agent should not; nothing where that cannot be told."""
    try:
        text = (paths.run_directory(run.run_id) / _FILE).read_text(encoding="utf-8")
        tips = jsontext.loads(text)
        return [found for place, tip in tips.items() for found in _at(paths, run, place, tip)]
    except (OSError, jsontext.JsonError, GitError):
        return []


def report_strays(paths: ProjectPaths, run: Run) -> str | None:
    """Write into the run's log what happened outside its worktree; the agent's own deeds."""
    found = find_strays(paths, run)
    doubtful = doubt_text(paths, run, found)
    if doubtful:
        log_state(paths, run.spec_id, run.run_id, f"NOTE: {doubtful}")
    sure = [strays for strays in found if strays.is_sure]
    if not sure:
        return None
    text = _strays_text(paths, run, sure)
    kind = FailureClass.STRAYED
    log_state(paths, run.spec_id, run.run_id, f"WARNING: {text}", failure_class=kind)
    return text


def _strays_text(paths: ProjectPaths, run: Run, found: list[Strays]) -> str:
    """What happened, which commits, and the commands that put it right."""
    lines = []
    for strays in found:
        lines.append(f"The agent left its worktree and committed to {strays.where}:")
        lines += [f"  {commit}" for commit in strays.commits]
        lines.append(f"Move this to its branch '{run.branch}':\n  {_moving(paths, run, strays)}")
    lines.append(
        f"Then check it: `clew takeover {run.spec_id} --force`, "
        f"`clew release {run.spec_id} --finish`."
    )
    return "\n".join(lines)


def doubt_text(paths: ProjectPaths, run: Run, found: list[Strays]) -> str:
    """What is known of commits that may be anybody's, and what to do if they are the agent's."""
    lines = []
    for strays in found:
        if strays.is_sure:
            continue
        lines.append(
            f"While the agent worked, somebody committed to {strays.where}, naming no spec:"
        )
        lines += [f"  {commit}" for commit in strays.commits]
        lines.append(
            "If that was you, all is well. If it was the agent, move it to its branch "
            f"'{run.branch}':\n  {_moving(paths, run, strays)}"
        )
    return "\n".join(lines)


def _at(paths: ProjectPaths, run: Run, place: str, before: str) -> list[Strays]:
    new = _new_commits(paths, run, place, before)
    if not new:
        return []
    mark, told = f"chant({run.spec_id})", _told(paths, run)
    mine = [c for c in new if c.subject.startswith(mark) or c.name.startswith(told)]
    rest = [c for c in new if c not in mine and not _OF_A_WORKER.match(c.subject)]
    doubtful = _made_meanwhile(paths, run, place, rest) if rest else []
    count = int(git_line(paths.root, "rev-list", "--count", f"{guard(before)}..{_ref(place)}"))
    named = tuple(f"{c.short} {c.subject}" for c in mine)
    shown = tuple(
        f"{c.short} {c.subject} (by {c.by}, {utc_text(c.made_at)[11:19]} UTC)" for c in doubtful
    )
    found = [
        Strays(place, before, named, others=len(mine) != count),
        Strays(place, before, shown, others=len(doubtful) != count, is_sure=False),
    ]
    return [strays for strays in found if strays.commits]


def _new_commits(paths: ProjectPaths, run: Run, place: str, before: str) -> list[_Commit]:
    """What a place has gained, the oldest first, without merges and what the run's branch has."""
    spread = f"{guard(before)}..{_ref(place)}"
    own = f"^refs/heads/{guard(run.branch)}" if run.branch else f"^{before}"
    said = git_line(paths.root, "log", "--reverse", "--no-merges", _FIELDS, spread, own)
    fields = [line.split("\t", 4) for line in said.split("\n") if line]
    return [_Commit(name, short, int(at), by, subject) for name, short, at, by, subject in fields]


def _told(paths: ProjectPaths, run: Run) -> tuple[str, ...]:
    """The beginnings of the names of commits that git named to the run's agent as its own."""
    events = read_events(paths.events_file(run.spec_id), run.run_id)
    texts = (str(event.get("text", "")) for event in events)
    return tuple({found for text in texts for found in _COMMITTED.findall(text)})


def _made_meanwhile(
    paths: ProjectPaths, run: Run, place: str, commits: list[_Commit]
) -> list[_Commit]:
    """Those that were made at this place while the agent worked: not pulled, merged or older."""
    said = git_line(
        paths.root, "log", "--walk-reflogs", "--format=%H %gs", _ref(place), check=False
    )
    logged = (line.partition(" ") for line in said.split("\n"))
    made = {name for name, _, how in logged if _MADE_HERE.match(how)}
    begun = int(parse_iso(run.started_at or run.created_at).timestamp())
    return [c for c in commits if c.name in made and c.made_at >= begun]


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
