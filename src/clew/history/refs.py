"""Which refs count, where they point, and which commits they still reach."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from clew.history.model import Repo, first_id, last_id
from clew.kit.errors import Invalid
from clew.kit.git import GitError, guard, open_git, run_git

if TYPE_CHECKING:
    from clew.history.store import HistoryStore


def read_tips(root: Path, repo: Repo) -> tuple[str, dict[str, str]]:
    """The main tip, and every ref to index with the commit it points to."""
    if not root.is_dir():
        raise Invalid(f"No repository at {root}", "Move it back, or run 'commitmux remove-repo'.")
    main = repo.default_branch or "HEAD"
    head = _resolve(root, main)
    if not repo.all_refs:
        return head, {main: head}
    listed = run_git(
        "for-each-ref",
        "--format=%(refname) %(objectname) %(objecttype) %(*objectname) %(*objecttype)",
        "refs/heads",
        "refs/tags",
        cwd=root,
    )
    tips = {main: head}
    for line in listed.decode("utf-8", "replace").splitlines():
        ref, sha, kind, *peeled = line.split(" ")
        if kind == "tag" and len(peeled) == 2:
            sha, kind = peeled
        if kind == "commit":
            tips[ref] = sha
    return head, tips


def _resolve(root: Path, name: str) -> str:
    try:
        found = run_git("rev-parse", "--verify", "--quiet", f"{guard(name)}^{{commit}}", cwd=root)
    except GitError:
        raise Invalid(
            f"{root} has no commit at {name}",
            "Make a first commit, or choose a branch with --default-branch.",
        ) from None
    return found.decode("ascii").strip()


def tips_are_kept(root: Path, old: dict[str, str], new: dict[str, str]) -> bool:
    """Whether everything that was reachable still is."""
    kept = set(new.values())
    moved = [sha for sha in set(old.values()) if sha not in kept]
    if not moved:
        return True
    lost = run_git("rev-list", "--max-count=1", *moved, "--not", *kept, "--", cwd=root, check=False)
    known = all(run_git("cat-file", "-t", sha, cwd=root, check=False) for sha in moved)
    return known and not lost


def mark_reachable(store: HistoryStore, repo: Repo, root: Path, tips: dict[str, str]) -> int:
    """Note which indexed commits the refs still reach; how many they do not."""
    connection = store.connection
    connection.execute("CREATE TEMP TABLE IF NOT EXISTS reached (sha BLOB PRIMARY KEY)")
    connection.execute("DELETE FROM reached")
    process = open_git("rev-list", "--stdin", cwd=root, feed=True)
    assert process.stdin is not None
    assert process.stdout is not None
    with process:
        process.stdin.write("".join(f"{sha}\n" for sha in tips.values()).encode())
        process.stdin.close()
        connection.executemany(
            "INSERT OR IGNORE INTO reached VALUES (?)",
            ((bytes.fromhex(line.strip().decode()),) for line in process.stdout),
        )
    span = (first_id(repo.repo_id), last_id(repo.repo_id))
    connection.execute(
        "UPDATE commit_rows SET reachable = sha IN (SELECT sha FROM reached)"
        " WHERE id BETWEEN ? AND ? AND reachable != (sha IN (SELECT sha FROM reached))",
        span,
    )
    row = connection.execute(
        "SELECT count(*) FROM commit_rows WHERE id BETWEEN ? AND ? AND NOT reachable", span
    ).fetchone()
    connection.execute("DROP TABLE reached")
    return int(row[0])
