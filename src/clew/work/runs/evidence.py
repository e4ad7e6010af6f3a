"""What a run brought about: the work that lies in git, and checks that we run ourselves.

Work is what the branch has and its base has not, without what only touches `.chant/`: specs are
kept in the main checkout, and their bookkeeping is no work.
"""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from clew.kit.errors import ClewError
from clew.kit.git import PLAIN_DIFF, guard, run_git
from clew.kit.text.display import clipped
from clew.kit.text.redact import SecretLines
from clew.work.agents.command_line import run_environment
from clew.work.model import Check
from clew.work.processes.shell import run_command
from clew.work.worktrees.worktrees import dirty_files

if TYPE_CHECKING:
    from collections.abc import Iterator

    from clew.work.journal.journal import Journal
    from clew.work.model import Run
    from clew.work.paths import Places

BOOKKEEPING = ".chant"
_NOT_BOOKKEEPING = (".", f":(exclude,top){BOOKKEEPING}")
_LONGEST_OUTPUT = 2000


@dataclass(frozen=True)
class Work:
    """What is on a run's branch, and what is not yet."""

    commits: tuple[str, ...]
    files: tuple[str, ...]
    dirty: tuple[str, ...]

    @property
    def is_empty(self) -> bool:
        """Whether nothing at all has changed."""
        return not self.files


def work_of(places: Places, run: Run) -> Work:
    """What lies between the base of a run and its branch, and what its worktree has uncommitted."""
    if not run.branch or not run.base_commit:
        return Work((), (), ())
    spread = f"{guard(run.base_commit)}...{_tip(run)}"
    wanted = (*PLAIN_DIFF, "--name-only", "-z", spread, "--", *_NOT_BOOKKEEPING)
    files = _names(places.root, "diff", *wanted)
    return Work(tuple(commits_of(places, run)), tuple(files), _dirty(run))


def commits_of(places: Places, run: Run) -> list[str]:
    """The commits of a run's branch, short id and subject, the newest first."""
    if not run.branch or not run.base_commit:
        return []
    wanted = (_tip(run), f"^{guard(run.base_commit)}", "--", *_NOT_BOOKKEEPING)
    return _lines(places.root, "log", "--format=%h %s", *wanted)


def diffstat_of(places: Places, run: Run) -> str:
    """How many lines of which files a run's branch changes."""
    if not run.branch or not run.base_commit:
        return ""
    spread = f"{guard(run.base_commit)}...{_tip(run)}"
    wanted = (*PLAIN_DIFF, "--stat=80", spread, "--", *_NOT_BOOKKEEPING)
    return "\n".join(_lines(places.root, "diff", *wanted))


def run_checks(places: Places, journal: Journal, run: Run, worktree: Path) -> Iterator[Check]:
    """Run every criterion's command as it was when the run began; results go into the journal.

    The commands are those of the start: what has to be met is not for the agent to change.
    """
    limit = float(run.plan.get("check_seconds", 600))
    for number, (criterion, command) in enumerate(run.plan.get("criteria", ()), start=1):
        if command and journal.get(run.run_id).request is None:
            check = _check(places, run, worktree, number, criterion, command, limit)
            journal.keep_check(run.run_id, check)
            yield check


def _check(
    places: Places,
    run: Run,
    worktree: Path,
    number: int,
    criterion: str,
    command: str,
    limit: float,
) -> Check:
    began = time.monotonic()
    try:
        variables = run_environment(places, run, worktree)
        code, said = run_command(command, cwd=worktree, seconds=limit, variables=variables)
        said = said.strip() or f"exit status {code}"
    except (ClewError, OSError) as error:
        code, said = -1, str(error)
    said = clipped(SecretLines().clean(said), _LONGEST_OUTPUT)
    return Check(number, criterion, command, code == 0, said, time.monotonic() - began)


def _tip(run: Run) -> str:
    return f"refs/heads/{guard(str(run.branch))}"


def _dirty(run: Run) -> tuple[str, ...]:
    worktree = Path(run.worktree) if run.worktree else None
    if worktree is None or not (worktree / ".git").is_file():
        return ()
    names = dirty_files(worktree)
    return tuple(name for name in names if name.split("/", 1)[0] != BOOKKEEPING)


def _lines(root: Path, *arguments: str) -> list[str]:
    out = run_git(*arguments, cwd=root).decode("utf-8", "replace")
    return [line for line in out.splitlines() if line.strip()]


def _names(root: Path, *arguments: str) -> list[str]:
    out = run_git(*arguments, cwd=root)
    return [os.fsdecode(name) for name in out.split(b"\0") if name]
