"""What the further answers share: whose commits count, how much is told, how a commit is shown."""

from __future__ import annotations

import re
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from clew.history.model import PLACE_BITS, Repo, first_id, last_id
from clew.history.store.lookup import get_commit
from clew.kit.errors import Invalid, NotFound
from clew.kit.sqlite import json_list

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

    from clew.history.store.store import HistoryStore

MOST_ANSWERS = 500
ALWAYS = 1 << 62
# A merge repeats what the commits of its second parent say, so it counts nowhere.
COUNTED = "c.reachable AND length(c.parents) <= 20"


def bounded(limit: int) -> int:
    """How many answers are given."""
    return max(0, min(limit, MOST_ANSWERS))


@contextmanager
def snapshot(store: HistoryStore) -> Iterator[HistoryStore]:
    """One state of the index for all that is read inside, whatever others write meanwhile."""
    if store.connection.in_transaction:
        yield store
        return
    store.connection.execute("BEGIN")
    try:
        yield store
    finally:
        store.connection.execute("ROLLBACK")


def lower_bound(since: int | None) -> int:
    """The earliest time that is wanted, as a number that the index can hold."""
    return -ALWAYS if since is None else max(-ALWAYS, min(since, ALWAYS))


def chosen_repos(store: HistoryStore, names: Sequence[str] | None) -> list[Repo]:
    """The repositories of these names, or all; a name that is not registered is an error."""
    repos = store.repos()
    if names is None:
        return repos
    known = {repo.name: repo for repo in repos}
    unknown = [name for name in names if name not in known]
    if unknown:
        listed = ", ".join(known) or "none"
        raise NotFound(f"Repo '{unknown[0]}' not found", f"Registered: {listed}.")
    return [known[name] for name in dict.fromkeys(names)]


def span(repo: Repo) -> tuple[int, int]:
    """The ids that commits of a repository have."""
    return first_id(repo.repo_id), last_id(repo.repo_id)


def among(repos: Collection[Repo]) -> tuple[str, str]:
    """The condition that a commit is of one of these repositories, and its value."""
    numbers = json_list(repo.repo_id for repo in repos)
    return "c.id >> 32 IN (SELECT value FROM json_each(?))", numbers


def clean_path(path: str) -> str:
    """A path as git writes it: relative, from the repository's root."""
    parts = path.removesuffix("/").split("/")
    unusable = re.search(r"[\x00\n\ud800-\udfff]", path) or path.startswith("-")
    if unusable or not {"", ".", ".."}.isdisjoint(parts):
        raise Invalid(f"Not a path in a repository: {path!r}", "Give it from the root on: src/a.py")
    return "/".join(parts)


def path_id(store: HistoryStore, path: str) -> int | None:
    """The number of a path, if any commit names it."""
    row = store.connection.execute("SELECT path_id FROM paths WHERE path = ?", (path,)).fetchone()
    return None if row is None else int(row[0])


def below(store: HistoryStore, directory: str) -> list[int]:
    """The numbers of all paths in a directory; an empty name means all."""
    if not directory:
        return [row[0] for row in store.connection.execute("SELECT path_id FROM paths")]
    rows = store.connection.execute(
        "SELECT path_id FROM paths WHERE path > ? AND path < ?",
        (f"{directory}/", f"{directory}0"),  # 0 is the sign after /
    )
    return [row[0] for row in rows]


def find_commit(store: HistoryStore, repo_name: str, sha: str) -> tuple[Repo, int, dict[str, Any]]:
    """A commit by the beginning of its SHA: its repository, its id, what is known of it."""
    repo = store.find_repo(repo_name)
    found = get_commit(store, repo_name, sha)
    return repo, store.known(repo.repo_id, [found["sha"]])[found["sha"]], found


def briefs(store: HistoryStore, ids: Iterable[int]) -> list[dict[str, Any]]:
    """Commits as lists show them, in the order of their ids as given."""
    wanted = list(ids)
    names = {repo.repo_id: repo.name for repo in store.repos()}
    rows = store.connection.execute(
        "SELECT c.id, c.sha, c.subject, c.author_time, a.name FROM json_each(?) w"
        " CROSS JOIN commit_rows c ON c.id = w.value"
        " JOIN people a ON a.person_id = c.author_id",
        (json_list(wanted),),
    )
    shown = {
        row["id"]: {
            "repo": names[row["id"] >> PLACE_BITS],
            "sha": row["sha"].hex(),
            "subject": row["subject"],
            "author": row["name"],
            "date": row["author_time"],
        }
        for row in rows
    }
    return [shown[commit_id] for commit_id in wanted]
