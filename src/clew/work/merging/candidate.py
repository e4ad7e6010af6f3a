"""Where branches are put together and checked: a worktree of its own that holds nobody's work.

The result of a merge is made as objects, so there is never a half-merged tree; the worktree only
shows it to the project's checks. Specs are changed in the project itself: what a branch did to a
spec file that the project has is left out, and reported.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from clew.kit.errors import ClewError, Conflict, Unavailable
from clew.kit.files import private_directory
from clew.kit.git import PLAIN_DIFF, GitError, git_line, guard, run_git
from clew.kit.locks import LONG_LOCK_TIMEOUT, locked
from clew.kit.repository import is_ancestor
from clew.kit.text.display import shown_path
from clew.work.model import WorktreeSettings
from clew.work.paths import worktree_home
from clew.work.processes.child import run_command
from clew.work.worktrees.worktrees import copy_included

INTEGRATION = ".integration"
_KEPT = (".chant/specs", ".chant/archive")
_SECONDS = 600
_LONGEST_SAID = 4000
_line = partial(git_line, timeout=_SECONDS)


class MergeConflict(Conflict):
    """Two sides changed the same lines."""

    def __init__(self, branch: str, target: str, files: Sequence[str]) -> None:
        super().__init__(
            f"{branch} conflicts with {target} in: {', '.join(files)}",
            "The branch is kept as it is.",
        )
        self.files = tuple(files)


@dataclass(frozen=True)
class Sides:
    """What is merged into what, by name and by commit."""

    branch: str
    tip: str
    target: str
    onto: str


@dataclass(frozen=True)
class Candidate:
    """The commit that the main branch would move to, and the spec files left out of it."""

    commit: str
    left_out: tuple[str, ...]


def conflicting_files(root: Path, onto: str, tip: str) -> list[str]:
    """The files in which two commits conflict, spec files of the project aside."""
    return _real(root, _merged_tree(root, onto, tip, working=False)[1])


def integration_tree(
    root: Path, commit: str, settings: WorktreeSettings, home: Path | None = None
) -> Path:
    """The integration worktree at this commit, whatever was left in it; made if need be."""
    home = private_directory(home or worktree_home(root))
    path = home / INTEGRATION
    with locked(home / ".lock", LONG_LOCK_TIMEOUT):
        try:
            if (path / ".git").is_file():
                _put_back(path, commit)
                return path
        except GitError:
            pass  # nothing in it is worth keeping: it is made anew
        run_git("worktree", "remove", "--force", "--force", "--", str(path), cwd=root, check=False)
        shutil.rmtree(path, ignore_errors=True)
        run_git(
            "worktree", "add", "--force", "--detach", "--", str(path), guard(commit),
            cwd=root, timeout=_SECONDS, working=True,
        )  # fmt: skip
    copy_included(root, path)
    _set_up(path, settings)
    return path


def integrate(root: Path, tree: Path, sides: Sides, strategy: str, message: str) -> Candidate:
    """The commit in which both sides are put together; a conflict changes nothing."""
    has_merges = _line(root, "rev-list", "--merges", "--count", sides.tip, f"^{sides.onto}") != "0"
    if strategy == "rebase" and not has_merges:
        commit = _rebased(root, tree, sides)
        if commit is not None:
            return _with_kept_specs(root, tree, sides, commit)
    return _merged(root, tree, sides, message)


def failed_check(
    tree: Path,
    command: str,
    *,
    seconds: float,
    variables: Mapping[str, str],
    stop: Callable[[], bool] | None = None,
) -> str | None:
    """Run a check in the integration worktree; what it said if it failed, else None."""
    try:
        code, said = run_command(command, cwd=tree, seconds=seconds, variables=variables, stop=stop)
    except Unavailable as error:
        return error.message
    except OSError as error:
        return str(error)
    return None if code == 0 else f"{said.rstrip()[-_LONGEST_SAID:]}\n(exit {code})".strip()


def show_commit(tree: Path, commit: str) -> None:
    """Have the integration worktree show this commit; ignored files, like caches, stay."""
    words = ("checkout", "--quiet", "--force", "--detach", guard(commit))
    run_git(*words, cwd=tree, timeout=_SECONDS, working=True)
    run_git("clean", "--quiet", "-ffd", cwd=tree, timeout=_SECONDS)


def _put_back(path: Path, commit: str) -> None:
    """Clear away what a merge that was cut off left; its owner is gone, we hold its lock."""
    own = Path(_line(path, "rev-parse", "--path-format=absolute", "--git-dir"))
    (own / "index.lock").unlink(missing_ok=True)
    (own / "HEAD.lock").unlink(missing_ok=True)
    run_git("rebase", "--quit", cwd=path, check=False)
    show_commit(path, commit)


def _set_up(path: Path, settings: WorktreeSettings) -> None:
    for command in settings.setup:
        code, said = run_command(command, cwd=path, seconds=settings.command_seconds)
        if code != 0:
            last = (said.strip().splitlines() or [f"exit {code}"])[-1]
            shutil.rmtree(path, ignore_errors=True)  # so that it is set up again next time
            raise ClewError(
                f"The setup command failed in the integration worktree: {command}: {last}",
                "Correct `worktree.setup`, then merge again.",
            )


def _merged(root: Path, tree: Path, sides: Sides, message: str) -> Candidate:
    made, conflicts = _merged_tree(tree, sides.onto, sides.tip, working=True)
    real = _real(root, conflicts)
    if real:
        raise MergeConflict(sides.branch, sides.target, real)
    final, left_out = _without_kept(root, tree, sides.onto, made)
    if not left_out and is_ancestor(root, sides.onto, sides.tip, timeout=_SECONDS):
        return Candidate(sides.tip, ())
    commit = _line(tree, "commit-tree", final, "-p", sides.onto, "-p", sides.tip, "-m", message)
    return Candidate(commit, left_out)


def _merged_tree(root: Path, onto: str, tip: str, *, working: bool) -> tuple[str, list[bytes]]:
    words = ("merge-tree", "--write-tree", "--name-only", "--no-messages", "-z")
    sides = (guard(onto), guard(tip))
    git = partial(run_git, *words, *sides, cwd=root, timeout=_SECONDS, working=working)
    out = git(check=False) or git()  # no merge at all, so git says why
    made, *files = out.rstrip(b"\0").split(b"\0")
    return made.decode("ascii"), files


def _rebased(root: Path, tree: Path, sides: Sides) -> str | None:
    """The tip of the branch's commits on top of the target; None if only specs conflict."""
    show_commit(tree, sides.tip)
    try:
        run_git(
            "-c", "rebase.autoStash=false", "-c", "rebase.updateRefs=false",
            "rebase", "--quiet", "--empty=drop", sides.onto,
            cwd=tree, timeout=_SECONDS, working=True,
        )  # fmt: skip
    except GitError:
        out = run_git("diff", *PLAIN_DIFF, "--name-only", "--diff-filter=U", "-z", cwd=tree)
        files = [name for name in out.split(b"\0") if name]
        run_git("rebase", "--abort", cwd=tree, check=False, working=True)
        real = _real(root, files)
        if real:
            raise MergeConflict(sides.branch, sides.target, real) from None
        if files:
            return None
        raise
    return _line(tree, "rev-parse", "HEAD")


def _with_kept_specs(root: Path, tree: Path, sides: Sides, commit: str) -> Candidate:
    final, left_out = _without_kept(root, tree, sides.onto, f"{commit}^{{tree}}")
    if left_out:
        words = "Keep the project's own spec files"
        commit = _line(tree, "commit-tree", final, "-p", commit, "-m", words)
    return Candidate(commit, left_out)


def _without_kept(root: Path, tree: Path, onto: str, made: str) -> tuple[str, tuple[str, ...]]:
    """The tree with the target's own spec files, and which ones the branch had changed."""
    prefix = _line(root, "rev-parse", "--show-prefix")
    paths = [f"{prefix}{name}" for name in _KEPT]
    out = run_git(
        "--literal-pathspecs", "diff-tree", "-r", "--name-only", "--no-renames", "-z", onto, made,
        "--", *paths, cwd=tree,
    )  # fmt: skip
    files = [name for name in out.split(b"\0") if name]
    kept = [name for name in files if _is_in(tree, onto, name) or _is_on_disk(root, prefix, name)]
    if not kept:
        return made, ()
    with tempfile.TemporaryDirectory(prefix="clew-merge-") as directory:
        variables = {"GIT_INDEX_FILE": str(Path(directory) / "index")}
        run_git("read-tree", made, cwd=tree, variables=variables)
        names = [os.fsdecode(name) for name in kept]
        run_git(
            "--literal-pathspecs", "reset", "--quiet", onto, "--", *names,
            cwd=tree, variables=variables,
        )  # fmt: skip
        final = git_line(tree, "write-tree", variables=variables)
    return final, tuple(shown_path(name) for name in kept)


def _real(root: Path, files: Sequence[bytes]) -> list[str]:
    """The files in conflict that are not the project's own specs."""
    if not files:
        return []
    prefix = _line(root, "rev-parse", "--show-prefix")
    kept = tuple(f"{prefix}{place}/" for place in _KEPT)
    return [shown_path(name) for name in files if not os.fsdecode(name).startswith(kept)]


def _is_in(tree: Path, commit: str, name: bytes) -> bool:
    words = ("--literal-pathspecs", "ls-tree", "--name-only", "-z", commit, "--")
    return bool(run_git(*words, os.fsdecode(name), cwd=tree))


def _is_on_disk(root: Path, prefix: str, name: bytes) -> bool:
    return os.path.lexists(root / os.fsdecode(name)[len(prefix) :])
