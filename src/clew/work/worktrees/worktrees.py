"""Worktrees: one for each spec, made from a chosen base, attached again rather than made anew.

Nothing here deletes work. A directory that is in the way is set aside; a worktree that vanished is
made again from its branch; removing refuses what is dirty or not merged, unless it is kept first.
Uncommitted work is kept as a commit under a ref of its own; worktree and index stay untouched.
Ignored files that a new worktree needs are named by `.worktreeinclude`, in the syntax of git.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path, PurePath

from clew.kit import jsontext
from clew.kit.errors import ClewError, Conflict, Invalid, NotFound
from clew.kit.files import private_directory, write_atomic
from clew.kit.git import GitError, git_line, guard, open_git, run_git
from clew.kit.locks import LONG_LOCK_TIMEOUT, locked
from clew.kit.repository import Checkout, branch_tip, checkouts, is_ancestor
from clew.specs.store.consent import Consent, NeedsApproval
from clew.work.model import KEEPER, WorktreeSettings, check_spec_id, now_text
from clew.work.paths import STATUS_FILE, keep_out_of_git, worktree_home
from clew.work.processes.child import run_command, shown_command

SNAPSHOT_REFS = "refs/chant/snapshots/"
# A fixed date gives the same commit each time, so asking often does not fill the repository.
_FIXED = {**KEEPER, "GIT_AUTHOR_DATE": "@1 +0000", "GIT_COMMITTER_DATE": "@1 +0000"}
_CHECKOUT_SECONDS = 600
KEPT_REFS = "refs/chant/kept/"
INCLUDE_FILE = ".worktreeinclude"
_NEVER = (".git", ".chant")


def take_snapshot(worktree: Path, run_id: str, note: str, *, working: bool = False) -> str | None:
    """The commit that keeps what is not on the branch yet, untracked files too; None if nothing.

    The index it is built with is a copy, so even a worktree in the middle of a merge, or with the
    index lock of a git that was killed, can be kept.
    """
    if _has_nothing_new(worktree, working=working):
        return None
    head = git_line(worktree, "rev-parse", "--verify", "HEAD^{commit}")
    with tempfile.TemporaryDirectory(prefix="clew-snapshot-") as directory:
        index = Path(directory) / "index"
        variables = {"GIT_INDEX_FILE": str(index)}
        own_index = Path(
            git_line(worktree, "rev-parse", "--path-format=absolute", "--git-path", "index")
        )
        if own_index.exists():
            shutil.copyfile(own_index, index)
        else:
            run_git("read-tree", head, cwd=worktree, variables=variables)
        # Files that cannot be read, or a repository inside, must not keep the rest from being kept.
        run_git(
            "-c", "advice.addEmbeddedRepo=false", "add", "--all", "--ignore-errors", "--", ":/",
            cwd=worktree, check=False, timeout=600, variables=variables, working=working,
        )  # fmt: skip
        tree = git_line(worktree, "write-tree", variables=variables)
    if tree != git_line(worktree, "rev-parse", f"{head}^{{tree}}"):
        message = f"Uncommitted work of run {run_id}\n\n{note}"
        kept = git_line(worktree, "commit-tree", tree, "-p", head, "-m", message, variables=KEEPER)
    elif _is_on_a_branch(worktree, head):
        return None
    else:
        kept = head
    run_git("update-ref", SNAPSHOT_REFS + guard(run_id), kept, cwd=worktree)
    return kept


def _has_nothing_new(worktree: Path, *, working: bool) -> bool:
    """Whether one look is enough to see that everything is on a branch."""
    out = run_git(
        "status", "--porcelain=v2", "--branch", "-z", "--untracked-files=normal",
        "--ignore-submodules=none", cwd=worktree, check=False, timeout=600, working=working,
    )  # fmt: skip
    lines = [line for line in out.split(b"\0") if line]
    on_branch = any(
        line.startswith(b"# branch.head ") and not line.endswith(b" (detached)") for line in lines
    )
    return on_branch and all(line.startswith(b"# ") for line in lines)


def restore_snapshot(worktree: Path, commit: str) -> bool:
    """Put the files of a snapshot into a new worktree, uncommitted as they were.

    False, and nothing done, when the branch has gone on since: that is for people to merge.
    """
    head = git_line(worktree, "rev-parse", "HEAD")
    if git_line(worktree, "rev-list", "--parents", "-1", guard(commit)).split()[1:] != [head]:
        return False
    words = ("restore", f"--source={guard(commit)}", "--worktree", "--", ":/")
    run_git(*words, cwd=worktree, working=True)
    return True


def _is_on_a_branch(worktree: Path, commit: str) -> bool:
    names = git_line(
        worktree, "for-each-ref", "--count=1", "--format=x", "--contains", commit, "refs/heads"
    )
    return bool(names)


def snapshot_or_reason(
    worktree: Path, run_id: str, note: str, *, working: bool = False
) -> tuple[str | None, str | None]:
    """The snapshot, or in words why none could be taken."""
    try:
        return take_snapshot(worktree, run_id, note, working=working), None
    except (GitError, OSError) as error:
        return None, f"No snapshot could be taken of {worktree}: {error}"


def is_merged(root: Path, branch: str, target: str) -> bool:
    """Whether the target has everything that the branch brings."""
    guard(branch), guard(target)
    return (
        is_ancestor(root, branch, target)
        or _all_picked(root, target, branch)
        or _merging_changes_nothing(root, target, branch)
        or _squash_is_picked(root, target, branch)
    )


def _all_picked(root: Path, target: str, branch: str) -> bool:
    """Every commit has a twin with the same patch: rebased or cherry-picked."""
    lines = git_line(root, "cherry", target, branch).splitlines()
    return bool(lines) and all(line.startswith("-") for line in lines)


def _merging_changes_nothing(root: Path, target: str, branch: str) -> bool:
    try:
        merged = git_line(root, "merge-tree", "--write-tree", target, branch)
    except GitError:  # a conflict, or a git that cannot do this yet
        return False
    return merged == git_line(root, "rev-parse", f"{target}^{{tree}}")


def _squash_is_picked(root: Path, target: str, branch: str) -> bool:
    """The branch as one commit has a twin, though the target went on from there."""
    try:
        base = git_line(root, "merge-base", target, branch)
    except GitError:  # no common history
        return False
    squashed = git_line(
        root, "commit-tree", f"{branch}^{{tree}}", "-p", base, "-m", "squashed", variables=_FIXED
    )
    return _all_picked(root, target, squashed)


@dataclass(frozen=True)
class Worktree:
    """A spec's worktree; `is_new` says that its directory was made just now."""

    path: Path
    branch: str
    base_commit: str
    is_new: bool


@dataclass(frozen=True)
class Owner:
    """The record of whose a worktree is; only what has one is ever cleaned up."""

    spec_id: str
    root: str
    path: str
    branch: str
    base_commit: str
    made_at: str


@lru_cache(maxsize=1024)
def branch_of(spec_id: str, prefix: str = "chant/") -> str:
    """The branch of a spec."""
    branch = guard(prefix) + check_spec_id(spec_id)
    try:
        run_git("check-ref-format", f"refs/heads/{branch}", cwd=Path("/"))
    except GitError:
        raise Invalid(f"Not usable as a branch: {branch}", "Choose another prefix.") from None
    return branch


def path_of(root: Path, spec_id: str) -> Path:
    """Where the worktree of a spec is, or would be."""
    return worktree_home(root) / check_spec_id(spec_id)


def resolve_base(root: Path, base_ref: str) -> str:
    """The commit that a base ref stands for."""
    try:
        return git_line(root, "rev-parse", "--verify", "--quiet", f"{guard(base_ref)}^{{commit}}")
    except GitError:
        if not git_line(root, "for-each-ref", "--count=1", "--format=x"):
            raise Invalid("The repository has no commits yet", "Commit something first.") from None
        raise NotFound(
            f"No such commit or branch: {base_ref}", "Name the base that work starts from."
        ) from None


def prepare(root: Path, spec_id: str, settings: WorktreeSettings) -> Worktree:
    """The spec's worktree, whatever state its branch and directory are in."""
    branch, path = branch_of(spec_id, settings.branch_prefix), path_of(root, spec_id)
    home = private_directory(path.parent)
    with locked(home / ".lock", LONG_LOCK_TIMEOUT):
        keep_out_of_git(root)
        known = _registered(root, path)
        if known is not None and (path / ".git").is_file():
            return _attach(root, known, branch, settings)
        if known is not None:  # the directory is gone, after a reboot or by somebody's hand
            run_git("worktree", "remove", "--force", "--", str(path), cwd=root)
        _set_aside(path)
        base = _add(root, path, branch, settings)
        if settings.setup:
            write_atomic(_setup_mark(home, spec_id), "")
        owner = Owner(spec_id, str(root), str(path), branch, base, now_text())
        write_atomic(_owner_file(home, spec_id), jsontext.pretty(asdict(owner)) + "\n")
    return Worktree(path, branch, base, is_new=True)


def needs_setup(root: Path, spec_id: str) -> bool:
    """Whether the set-up commands of a spec's worktree have not all run yet."""
    return _setup_mark(worktree_home(root), spec_id).exists()


def note_setup(root: Path, spec_id: str) -> None:
    """Note that the set-up commands of a spec's worktree have run."""
    _setup_mark(worktree_home(root), spec_id).unlink(missing_ok=True)


def _setup_mark(home: Path, spec_id: str) -> Path:
    return _owner_file(home, spec_id).with_suffix(".setup")


def owners(root: Path) -> list[Owner]:
    """Every worktree that was made for this project and not removed since."""
    found = []
    for file in sorted((worktree_home(root) / ".owners").glob("*.json")):
        try:
            found.append(Owner(**jsontext.loads(file.read_text(encoding="utf-8"))))
        except (OSError, jsontext.JsonError, TypeError):
            continue
    return found


def dirty_files(worktree: Path, *, working: bool = False) -> list[str]:
    """What is changed or untracked, relative to the worktree."""
    words = ("status", "--porcelain=v1", "-z", "--no-renames")
    out = run_git(*words, cwd=worktree, working=working)
    names = [os.fsdecode(entry[3:]) for entry in out.split(b"\0") if entry]
    return [name for name in names if name != STATUS_FILE]


def remove(
    root: Path,
    spec_id: str,
    target_refs: tuple[str, ...] = ("HEAD",),
    *,
    settings: WorktreeSettings | None = None,
    force: bool = False,
) -> list[str]:
    """Remove a spec's worktree and branch; what is not merged or not committed is refused.

    The teardown commands run first. With `force` it is removed whatever they say, and what would
    be lost is kept under Clew's own refs. Returns what was kept.
    """
    home = worktree_home(root)
    owner = next((o for o in owners(root) if o.spec_id == spec_id), None)
    if owner is None or Path(owner.path) != home / spec_id:
        raise NotFound(f"No worktree of spec '{spec_id}' was made here", "Nothing was removed.")
    with locked(home / ".lock", LONG_LOCK_TIMEOUT):
        kept = _keep_or_refuse(root, owner, target_refs, force=force)
        if settings is not None and Path(owner.path).is_dir():
            _tear_down(root, Path(owner.path), settings, force=force)
        if _registered(root, Path(owner.path)) is not None:
            run_git("worktree", "remove", "--force", "--", owner.path, cwd=root)
        tip = branch_tip(root, owner.branch)
        if tip is not None:
            # An agent could have made it a name for another branch, which then would go.
            words = ("update-ref", "--no-deref", "-d", f"refs/heads/{owner.branch}")
            run_git(*words, tip, cwd=root)
        _owner_file(home, spec_id).unlink(missing_ok=True)
        note_setup(root, spec_id)
    return kept


def _keep_or_refuse(
    root: Path, owner: Owner, target_refs: tuple[str, ...], *, force: bool
) -> list[str]:
    path, kept = Path(owner.path), []
    if (path / ".git").is_file():
        changed = dirty_files(path, working=True)
        if changed and not force:
            raise Conflict(
                f"The worktree of '{owner.spec_id}' has uncommitted changes: "
                + ", ".join(changed[:5])
                + (" ..." if len(changed) > 5 else ""),
                f"Commit them in {path}, or remove it with --force (they are kept under a ref).",
            )
        name = _kept_name(owner, "uncommitted")
        snapshot = take_snapshot(path, name, "Kept when removed", working=True)
        kept += [snapshot] if snapshot else []
    tip = branch_tip(root, owner.branch)
    if tip is not None and not any(is_merged(root, owner.branch, ref) for ref in target_refs):
        if not force:
            raise Conflict(
                f"Branch {owner.branch} has work that is not in {' or '.join(target_refs)}",
                f"Merge it with `clew merge {owner.spec_id}`, or remove it with --force.",
            )
        ref = KEPT_REFS + _kept_name(owner, "branch")
        run_git("update-ref", ref, tip, cwd=root)
        kept.append(ref)
    return kept


def _tear_down(root: Path, path: Path, settings: WorktreeSettings, *, force: bool) -> None:
    missing = Consent(root).missing(settings.teardown)
    if missing and not force:
        raise NeedsApproval(root, missing)
    for command in settings.teardown if not missing else ():
        try:
            code, said = run_command(command, cwd=path, seconds=settings.command_seconds)
        except (ClewError, OSError) as error:
            code, said = -1, str(error)
        if code != 0 and not force:
            last = (said.strip().splitlines() or [f"exit {code}"])[-1]
            raise Conflict(
                f"The teardown command failed: {shown_command(command)}: {last}",
                "Put it right, or remove the worktree with --force.",
            )


def _kept_name(owner: Owner, what: str) -> str:
    stamp = now_text().replace(":", "").replace(".", "-")
    return f"{owner.spec_id}-{what}-{stamp}"


def _attach(root: Path, known: Checkout, branch: str, settings: WorktreeSettings) -> Worktree:
    """The worktree that is there already; in the middle of a rebase it has no branch."""
    if known.branch not in (None, branch):
        raise Conflict(
            f"The worktree {known.path} has branch {known.branch} checked out, not {branch}",
            f"Check out {branch} there, or remove the worktree.",
        )
    return Worktree(known.path, branch, _base_commit(root, branch, settings), is_new=False)


def _add(root: Path, path: Path, branch: str, settings: WorktreeSettings) -> str:
    is_sparse = bool(settings.sparse)
    flags = ["--no-checkout"] if is_sparse else []
    if branch_tip(root, branch) is None:
        base = resolve_base(root, settings.base_ref)
        what = ["--no-track", "-b", branch, "--", str(path), base]
    else:
        base = _base_commit(root, branch, settings)
        what = ["--", str(path), branch]
    try:
        words = ("worktree", "add", *flags, *what)
        run_git(*words, cwd=root, timeout=_CHECKOUT_SECONDS, working=True)
    except GitError as error:
        if "already checked out" in error.message or "already used by" in error.message:
            raise Conflict(
                f"Branch {branch} is checked out somewhere else",
                "Check out another branch there, then start again.",
            ) from error
        raise
    if is_sparse:
        names = [guard(name) for name in settings.sparse]
        run_git("sparse-checkout", "set", "--", *names, cwd=path, working=True)
        words = ("checkout", "--quiet", branch, "--")
        run_git(*words, cwd=path, timeout=_CHECKOUT_SECONDS, working=True)
    return base


def _base_commit(root: Path, branch: str, settings: WorktreeSettings) -> str:
    """Where the branch's own work begins."""
    recorded = next((o.base_commit for o in owners(root) if o.branch == branch), None)
    if recorded and is_ancestor(root, recorded, branch, check=False):
        return recorded
    base = resolve_base(root, settings.base_ref)
    return git_line(root, "merge-base", base, branch) or base


def _set_aside(path: Path) -> None:
    """Move away a directory that git does not know; it may be somebody's work."""
    if path.is_dir() and not path.is_symlink() and not any(path.iterdir()):
        path.rmdir()
    elif path.exists() or path.is_symlink():
        stamp = now_text().replace(":", "").replace(".", "-")
        path.rename(path.with_name(f".aside-{path.name}-{stamp}"))


def _registered(root: Path, path: Path) -> Checkout | None:
    wanted = os.path.realpath(path)
    same = (known for known in checkouts(root) if os.path.realpath(known.path) == wanted)
    return next(same, None)


def _owner_file(home: Path, spec_id: str) -> Path:
    return home / ".owners" / f"{spec_id}.json"


def copy_included(root: Path, worktree: Path) -> list[str]:
    """Copy what `.worktreeinclude` names and git ignores; what is there already stays.

    Tracked files never match: a worktree has its own.
    """
    file = root / INCLUDE_FILE
    if not file.is_file():
        return []
    named = run_git(
        "ls-files", "--others", "--ignored", f"--exclude-from={file}", "-z", cwd=root, timeout=300
    )
    copied = []
    for name in _ignored(root, named):
        place = os.fsdecode(name)
        if PurePath(place).parts[0] not in _NEVER and _copy(root, worktree, place):
            copied.append(place)
    return copied


def _ignored(root: Path, names: bytes) -> list[bytes]:
    if not names:
        return []
    with open_git("check-ignore", "-z", "--stdin", cwd=root, feed=True) as process:
        out, _ = process.communicate(names)
    return [name for name in out.split(b"\0") if name]


def _copy(root: Path, worktree: Path, place: str) -> bool:
    source, target = root / place, worktree / place
    top = worktree.resolve()
    if top not in (target.parent.resolve(), *target.parent.resolve().parents):
        return False  # a link in the worktree would lead the copy out of it
    if target.exists() or target.is_symlink():
        return False
    with suppress(OSError):
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(source, target, follow_symlinks=False)
        return True
    return False
