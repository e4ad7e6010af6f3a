"""A finished branch put on the remote's main branch: by compare-and-swap, one at a time."""

from __future__ import annotations

import tempfile
from pathlib import Path

from clew.kit.errors import Conflict, Unavailable
from clew.kit.git import GitError, git_line, run_git, run_network_git
from clew.team.working.orders import Order, Orders

_PROTOCOLS = ("https", "http", "ssh", "git", "file")
_TRIES = 5
_NOBODY = {"GIT_COMMITTER_NAME": "Clew", "GIT_COMMITTER_EMAIL": "clew@localhost",
           "GIT_AUTHOR_NAME": "Clew", "GIT_AUTHOR_EMAIL": "clew@localhost"}  # fmt: skip


class MergeConflict(Conflict):
    """Main and the branch changed the same lines."""


def merge_to_remote(orders: Orders, order: Order, clone: Path, branch: str) -> str:
    """Move the remote's main on to a merge of the branch; the commit it is now.

    The lock of the project keeps workers from racing for nothing; git's own comparison of what main
    was keeps everybody else's pushes.
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


def merged_as(clone: Path, order: Order) -> str | None:
    """The merge of an order whose worker died after it had pushed; None if there is none."""
    words = ("log", "-1", "--format=%H", "--fixed-strings", f"--grep={_mark(order)}")
    return git_line(clone, *words, "refs/remotes/origin/HEAD") or None


def _mark(order: Order) -> str:
    return f"Clew-Order: {order.project}/{order.spec_id} {order.order_id}."
