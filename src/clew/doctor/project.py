"""Checks of the project: found, a git repository, complete, with commits."""

from __future__ import annotations

from pathlib import Path

from clew.doctor.model import Check, Subject, shell_path, show_path
from clew.kit.errors import Invalid, NotFound
from clew.kit.git import GitError, run_git
from clew.kit.project import find_project


def project(subject: Subject) -> list[Check]:
    """What state the project is in."""
    try:
        root = find_project(subject.project, subject.settings)
    except (Invalid, NotFound) as error:
        return [_not_found(error, named=bool(subject.project or subject.settings.get("project")))]
    found = Check("project", "ok", show_path(root))
    repository = _repository(root)
    if repository.status != "ok":
        return [found, repository]
    return [found, repository, *_shallow(root)]


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
    if "dubious ownership" in words:
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
    return [
        Check(
            "complete history",
            "warn",
            "The clone is shallow: older commits are missing",
            fix=f"git -C {shell_path(root)} fetch --unshallow",
        )
    ]
