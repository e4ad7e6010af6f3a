"""Which commits count: by repository, time, person, path, status and ref.

Filters that few commits pass are turned into the set of those commits first; the others are
asked of each commit that the text index names. Either way they hold before anything is cut off.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from clew.history.search.ancestry import reached
from clew.history.search.pathmatch import matching_paths
from clew.history.store.cache import remembered
from clew.history.store.scope import ALWAYS, chosen_repos, lower_bound, span
from clew.kit.errors import Invalid
from clew.kit.sqlite import json_list

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clew.history.model import Repo
    from clew.history.store.store import HistoryStore

STATUSES = "AMDRCT"
# Up to so many commits are listed; with more it is quicker to ask each one that matches.
_FEW = 3000


@dataclass(frozen=True)
class Filters:
    """What a commit must be to count, as it was asked; None asks nothing."""

    repos: Sequence[str] | None = None
    paths: Sequence[str] | None = None
    status: str | None = None
    author: str | None = None
    ref: str | None = None
    since: int | None = None
    until: int | None = None


@dataclass(frozen=True)
class Sieve:
    """Filters made ready for one index: conditions on `commit_rows c`, and their values."""

    repos: list[Repo]
    paths: dict[int, str] | None
    statuses: str
    people: list[int] | None
    times: tuple[int, int]
    spans: dict[int, tuple[int, int]]
    ids: frozenset[int] | None
    reached: frozenset[int] | None

    def span(self, repo: Repo) -> tuple[int, int]:
        """Between which ids the commits of a repository lie that are of the time asked for."""
        return self.spans.get(repo.repo_id) or span(repo)

    @property
    def is_narrow(self) -> bool:
        """Whether matches are asked for more than their time."""
        asked = (self.paths, self.people, self.reached)
        return bool(self.statuses) or any(one is not None for one in asked)

    @property
    def is_empty(self) -> bool:
        """Whether no commit can pass."""
        sets = (self.paths, self.people, self.ids, self.reached)
        return not self.repos or any(found is not None and not found for found in sets)

    def condition(self, commit: str) -> tuple[str, list[object]]:
        """The condition on a commit's row, whose id is written so, and its values."""
        parts = ["c.reachable", "c.author_time BETWEEN ? AND ?"]
        values: list[object] = [*self.times]
        if self.ids is not None:
            parts.append(f"+{commit} IN (SELECT value FROM json_each(?))")  # noqa: S608 - a column
            values.append(json_list(self.ids))
        elif self.paths is not None or self.statuses:
            files, more = self._file_condition()
            parts.append(
                "EXISTS (SELECT 1 FROM file_rows f"  # noqa: S608 - a column and conditions
                f" WHERE f.commit_id = {commit} AND {files})"
            )
            values += more
        if self.people is not None:
            parts.append("c.author_id IN (SELECT value FROM json_each(?))")
            values.append(json_list(self.people))
        return " AND ".join(parts), values

    def _file_condition(self) -> tuple[str, list[object]]:
        parts, values = [], []
        if self.paths is not None:
            parts.append("+f.path_id IN (SELECT value FROM json_each(?))")
            values.append(json_list(self.paths))
        if self.statuses:
            parts.append("instr(?, f.status)")
            values.append(self.statuses)
        return " AND ".join(parts), list(values)

    def keeps(self, commit_id: int) -> bool:
        """Whether the ref that was asked for reaches a commit; no index can tell that."""
        return self.reached is None or commit_id in self.reached

    def passes_file(self, path_id: int, status: str) -> bool:
        """Whether a file of a commit is one that was asked for."""
        return (self.paths is None or path_id in self.paths) and (
            not self.statuses or status in self.statuses
        )


def make_sieve(store: HistoryStore, asked: Filters) -> Sieve:
    """The filters, with names, patterns and refs looked up."""
    repos = chosen_repos(store, asked.repos)
    statuses = _statuses(asked.status)
    paths = None if asked.paths is None else matching_paths(store, asked.paths)
    times = lower_bound(asked.since), lower_bound(ALWAYS if asked.until is None else asked.until)
    return Sieve(
        repos=repos,
        paths=paths,
        statuses=statuses,
        people=None if asked.author is None else _people(store, asked.author),
        times=times,
        spans=_spans(store, repos, asked, times),
        ids=None if paths is None else _few_by_path(store, paths, statuses),
        reached=None if asked.ref is None else reached(store, repos, asked.ref),
    )


def _statuses(text: str | None) -> str:
    letters = (text or "").upper().replace(",", "").replace(" ", "")
    unknown = letters.strip(STATUSES)
    if unknown or (text is not None and not letters):
        raise Invalid(f"Not a status of files: {text!r}", f"Letters of {STATUSES}: AM, or D.")
    return letters


def _people(store: HistoryStore, part: str) -> list[int]:
    """Whose name or address has this part; `Name <address>` counts as one text."""
    return remembered(store, ("people", part), lambda: _find_people(store, part))


def _find_people(store: HistoryStore, part: str) -> list[int]:
    wanted = part.casefold()
    rows = store.connection.execute("SELECT person_id, name || ' <' || email || '>' FROM people")
    return [row[0] for row in rows if wanted in row[1].casefold()]


def _spans(
    store: HistoryStore, repos: list[Repo], asked: Filters, times: tuple[int, int]
) -> dict[int, tuple[int, int]]:
    """The first and the last commit of a time, by repository, where that saves reading matches.

    One index tells. The newest matches come first anyway, so of a long time up to now it need
    not be known.
    """
    if asked.since is None and asked.until is None:
        return {}
    most = _FEW if asked.until is None else -1
    found = {}
    for repo in repos:
        first, last, count = store.connection.execute(
            "SELECT min(id), max(id), count(*) FROM (SELECT id FROM commit_rows"
            " INDEXED BY commit_author_time"
            " WHERE author_time BETWEEN ? AND ? AND id BETWEEN ? AND ? LIMIT ?)",
            (*times, *span(repo), most),
        ).fetchone()
        if count != most:
            found[repo.repo_id] = (first, last) if count else (0, 0)
    return found


def _few_by_path(
    store: HistoryStore, paths: dict[int, str], statuses: str
) -> frozenset[int] | None:
    if len(paths) >= _FEW:
        return None
    # Without a status the index on paths answers alone.
    passes = "instr(?, f.status)" if statuses else "? = ''"
    rows = store.connection.execute(
        "SELECT f.commit_id FROM json_each(?) w"  # noqa: S608 - one of two conditions
        f" CROSS JOIN file_rows f ON f.path_id = w.value WHERE {passes} LIMIT ?",
        (json_list(paths), statuses, _FEW),
    ).fetchall()
    return frozenset(row[0] for row in rows) if len(rows) < _FEW else None
