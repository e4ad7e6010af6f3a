"""Checks of the project and what the rooms keep of it: repository, specs, history index."""

from __future__ import annotations

import time
from pathlib import Path

from clew.doctor.model import Check, Subject, shell_path, show_path
from clew.kit.errors import ClewError, Invalid, NotFound
from clew.kit.git import ForeignRepository, GitError, run_git
from clew.kit.paths import ProjectPaths
from clew.kit.project import find_project

_MOST_SHOWN = 3
_A_DAY = 24 * 3600


def project(subject: Subject) -> list[Check]:
    """Whether the project and its repository are usable."""
    try:
        root = find_project(subject.project, subject.settings)
    except (Invalid, NotFound) as error:
        return [_not_found(error, named=bool(subject.project or subject.settings.get("project")))]
    found = Check("project", "ok", show_path(root))
    repository = _repository(root)
    if repository.status != "ok":
        return [found, repository]
    return [found, repository, *_shallow(root)]


def specs(subject: Subject) -> list[Check]:
    """Whether every spec can be read and the configuration is valid."""
    root = subject.root
    if root is None or not ProjectPaths(root).has_specs:
        return []
    from clew.specs.store.config import load_config
    from clew.specs.store.store import SpecStore

    found = SpecStore(root).snapshot()
    problems = [str(problem) for problem in found.problems]
    cycles = [" -> ".join((*cycle, cycle[0])) for cycle in found.graph().cycles()]
    unread = f"{len(problems)} spec files cannot be read"
    checks = [
        _found("specs", problems, unread, f"{len(found.active)} readable", "clew spec lint"),
        _found("configuration", [str(w) for w in load_config(root).warnings],
               "The configuration has problems", "valid", "clew spec config"),
    ]  # fmt: skip
    if cycles:
        checks.append(Check("dependencies", "warn", f"Dependency cycle: {cycles[0]}",
                            detail="\n".join(cycles[:_MOST_SHOWN]), fix="clew spec dag"))  # fmt: skip
    if left := _left_behind(root):
        checks.append(Check("leftovers", "warn", f"{len(left)} files of interrupted writes",
                            detail="\n".join(map(show_path, left[:_MOST_SHOWN])), fix="clew doctor --fix",
                            repair=remove_leftovers))  # fmt: skip
    return checks


def remove_leftovers(subject: Subject) -> str:
    """Remove the leftovers of interrupted writes of specs."""
    root = subject.root
    left = _left_behind(root) if root else []
    for path in left:
        path.unlink(missing_ok=True)
    return f"Removed {len(left)} files of interrupted writes"


def history(subject: Subject) -> list[Check]:
    """Whether the history index is readable and up to date."""
    from clew.history.store.sqlite import SqliteHistory, database_path, rebuild_command
    from clew.history.sync.freshness import list_repos

    path = database_path(subject.settings)
    if not path.exists():
        return []
    try:
        with SqliteHistory.read(path) as store:
            repositories = list_repos(store)["repos"]
    except ClewError as error:
        fix = rebuild_command(path)
        return [Check("history index", "fail", error.message, detail=show_path(path), fix=fix)]
    stale = [repo["name"] for repo in repositories if repo["stale"]]
    if stale:
        summary = f"Stale: {', '.join(stale[:_MOST_SHOWN])}"
        return [Check("history index", "warn", summary, fix="clew history sync")]
    return [Check("history index", "ok", f"{len(repositories)} repositories")]


def _not_found(error: Invalid | NotFound, *, named: bool) -> Check:
    if named:
        return Check("project", "fail", error.message, fix="clew doctor --project DIR")
    summary = "No project in this directory or above it"
    detail = "Clew works better in a git repository."
    return Check("project", "warn", summary, detail=detail, fix="clew doctor --project DIR")


def _repository(root: Path) -> Check:
    here = shell_path(root)
    try:
        run_git("rev-parse", "--git-dir", cwd=root)
    except GitError as error:
        return _refused(root, error)
    commit = run_git("rev-parse", "--quiet", "--verify", "--short", "HEAD", cwd=root, check=False)
    if not commit:
        fix = f"git -C {here} add -A && git -C {here} commit -m 'First commit'"
        return Check("repository", "warn", "The repository has no commits yet", fix=fix)
    branch = run_git("symbolic-ref", "--quiet", "--short", "HEAD", cwd=root, check=False)
    at = branch.decode("utf-8", "replace").strip() or "detached"
    return Check("repository", "ok", f"{at} at {commit.decode('ascii', 'replace').strip()}")


def _refused(root: Path, error: GitError) -> Check:
    here = shell_path(root)
    words = error.message
    if isinstance(error, ForeignRepository):
        summary = "git refuses the repository because another user owns it"
        fix = f"git config --global --add safe.directory {here}"
        return Check("repository", "fail", summary, detail=words, fix=fix)
    if (root / ".git").exists():
        summary = "git cannot read the repository"
        return Check("repository", "fail", summary, detail=words, fix=f"git -C {here} fsck")
    return Check("repository", "warn", "Not a git repository", fix=f"git init {here}")


def _shallow(root: Path) -> list[Check]:
    answer = run_git("rev-parse", "--is-shallow-repository", cwd=root).strip()
    if answer != b"true":
        return []
    summary = "The clone is shallow: older commits are missing"
    fix = f"git -C {shell_path(root)} fetch --unshallow"
    return [Check("complete history", "warn", summary, fix=fix)]


def _left_behind(root: Path) -> list[Path]:
    """Files that were to become specs; somebody may still be at those that are not a day old."""
    found = (root / ".chant" / "specs").rglob(".*.md.????????")
    limit = time.time() - _A_DAY
    return [path for path in found if path.is_file() and path.lstat().st_mtime < limit]


def _found(name: str, problems: list[str], summary: str, fine: str, fix: str) -> Check:
    if not problems:
        return Check(name, "ok", fine)
    more = len(problems) - _MOST_SHOWN
    shown = [*problems[:_MOST_SHOWN], *([f"and {more} more"] if more > 0 else [])]
    return Check(name, "warn", summary, detail="\n".join(shown), fix=fix)
