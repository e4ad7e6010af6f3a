"""A finished branch put on the remote's main branch: by compare-and-swap, one at a time."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

from clew.kit.errors import Cancelled, Conflict, Unavailable
from clew.kit.git import GitError, git_line, run_git, run_network_git
from clew.kit.text.display import clipped
from clew.specs.store.config import load_config
from clew.team.working.orders import Order, Orders
from clew.work.merging.candidate import failed_check, integration_tree, show_commit
from clew.work.model import WorktreeSettings

_PROTOCOLS = ("https", "http", "ssh", "git", "file")
_TRIES = 5
_LOOK_SECONDS = 2.0
# What leads to the team's database: nothing that a project names is told.
SECRETS = ("CLEW_DATABASE", "CLEW_DATABASE_READ", "PGPASSWORD", "PGPASSFILE", "PGSERVICEFILE")
_NOBODY = {"GIT_COMMITTER_NAME": "Clew", "GIT_COMMITTER_EMAIL": "clew@localhost",
           "GIT_AUTHOR_NAME": "Clew", "GIT_AUTHOR_EMAIL": "clew@localhost"}  # fmt: skip


class MergeConflict(Conflict):
    """Main and the branch changed the same lines."""


class Stopped(Conflict):
    """Somebody asked to pause, to hand over or to cancel while checks ran."""

    def __init__(self, request: str) -> None:
        super().__init__(f"{request} during the checks of the merge")
        self.request = request


class ChecksFailed(Conflict):
    """The project's checks do not pass on what main would become."""


def merge_to_remote(
    orders: Orders, order: Order, clone: Path, branch: str, allow: Callable[[Sequence[str]], None]
) -> str:
    """Move the remote's main on to a merge of the branch; the commit it is now.

    The project's merge checks run on exactly that commit, once `allow` lets their texts pass. The lock
    of the project is held meanwhile: main can move on by one checked merge at a time, so workers that
    checked beside each other would all but one have to begin again. It is no more than that: a worker
    that loses it with its connection overwrites nothing, since git compares what main was.
    """
    main = git_line(clone, "symbolic-ref", "--short", "refs/remotes/origin/HEAD").removeprefix(
        "origin/"
    )
    with orders.merging(order.project):
        for _ in range(_TRIES):
            orders.renew(order)
            run_network_git("fetch", "--quiet", "origin", cwd=clone, protocols=_PROTOCOLS)
            # Whoever had the lease before may have merged it late: never twice.
            if (done := merged_as(clone, order)) is not None:
                return done
            base = git_line(clone, "rev-parse", f"refs/remotes/origin/{main}")
            made = _merged(clone, base, branch, order)
            _check(clone, base, made, order, allow, _Asked(orders, order))
            orders.renew(order)
            lease = f"--force-with-lease=refs/heads/{main}:{base}"
            try:
                run_network_git(
                    "push", "--quiet", lease, "origin", f"{made}:refs/heads/{main}",
                    f":refs/heads/{branch}", cwd=clone, protocols=_PROTOCOLS,
                )  # fmt: skip
            except GitError:
                continue  # somebody pushed meanwhile: merge with that
            return made
    raise Unavailable(f"The remote's {main} could not be moved", "Look at the remote's rules.")


def _merged(clone: Path, base: str, branch: str, order: Order) -> str:
    """A merge of main and the branch that has the spec as the worker left it."""
    try:
        tree = git_line(clone, "merge-tree", "--write-tree", base, branch)
    except GitError:
        raise MergeConflict(f"{branch} conflicts with main", "Merge it by hand.") from None
    name = f".chant/specs/{order.spec_id}.md"
    spec = git_line(clone, "hash-object", "-w", "--", name)
    with tempfile.TemporaryDirectory(dir=clone.parent) as place:
        index = {"GIT_INDEX_FILE": str(Path(place) / "index")}
        run_git("read-tree", tree, cwd=clone, variables=index)
        entry = f"100644,{spec},{name}"
        run_git("update-index", "--add", "--cacheinfo", entry, cwd=clone, variables=index)
        tree = run_git("write-tree", cwd=clone, variables=index).decode().strip()
    message = f"Merge {branch}\n\n{_mark(order)}"
    words = ("commit-tree", tree, "-p", base, "-p", branch, "-m", message)
    return run_git(*words, cwd=clone, variables=_NOBODY).decode().strip()


class _Asked:
    """What is asked of an order while its checks run; looked at once in a while."""

    def __init__(self, orders: Orders, order: Order) -> None:
        self._orders, self._order = orders, order
        self._next = 0.0
        self.request: str | None = None

    def __call__(self) -> bool:
        """Whether to break off."""
        if time.monotonic() >= self._next:
            self._next = time.monotonic() + _LOOK_SECONDS
            with suppress(Unavailable):  # the database is away: the check goes on
                self.request = self._orders.renew(self._order)
        return self.request is not None


def _check(
    clone: Path,
    base: str,
    made: str,
    order: Order,
    allow: Callable[[Sequence[str]], None],
    asked: _Asked,
) -> None:
    """Run the merge checks that main has now: a branch does not choose what it is held to."""
    tree = integration_tree(clone, base, WorktreeSettings(), clone.parent / "merging")
    config = load_config(tree)
    setup, commands = config.words("worktree", "setup"), config.words("merge", "checks")
    if not commands:
        return
    allow((*setup, *commands))
    seconds = float(config.number("merge", "check_seconds") or 900)
    variables = {"CHANT_SPEC_ID": order.spec_id, **dict.fromkeys(SECRETS, "")}
    for number, command in enumerate((*setup, *commands)):
        if number == len(setup):
            show_commit(tree, made)
        try:
            said = failed_check(tree, command, seconds=seconds, variables=variables, stop=asked)
        except Cancelled:
            raise Stopped(asked.request or "pause") from None
        if said is not None:
            raise ChecksFailed(f"The check failed on top of main: {command}\n{clipped(said, 2000)}")


def merged_as(clone: Path, order: Order) -> str | None:
    """The merge of an order whose worker died after it had pushed; None if there is none."""
    words = ("log", "-1", "--format=%H", "--fixed-strings", f"--grep={_mark(order)}")
    return git_line(clone, *words, "refs/remotes/origin/HEAD") or None


def _mark(order: Order) -> str:
    return f"Clew-Order: {order.project}/{order.spec_id} {order.order_id}."
