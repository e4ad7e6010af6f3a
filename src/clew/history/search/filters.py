"""Which commits count: by repository, time, person, path, status and ref.

Filters that few commits pass are turned into the set of those commits first; the others are
asked of each commit that the text index names. Either way they hold before anything is cut off.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from clew.history.lookup import chosen_repos, time_range
from clew.history.model import Repo
from clew.history.search.ancestry import reached
from clew.history.search.pathmatch import matching_paths
from clew.history.store.interface import EVER, CommitFilter, HistoryStore, Span
from clew.kit.errors import Invalid

STATUSES = "AMDRCT"
# Up to this many commits are listed; with more it is quicker to check each match.
_FEW = 3000


@dataclass(frozen=True)
class Filters:
    """What a commit must be to count, as requested; None does not filter."""

    repos: Sequence[str] | None = None
    paths: Sequence[str] | None = None
    status: str | None = None
    author: str | None = None
    ref: str | None = None
    since: int | None = None
    until: int | None = None
    by_author_date: bool = False  # instead of by when they were committed


def resolve_filters(store: HistoryStore, filters: Filters) -> CommitFilter:
    """The filters, with names, patterns and refs looked up."""
    repos = chosen_repos(store, filters.repos)
    statuses = _statuses(filters.status)
    paths = None if filters.paths is None else matching_paths(store, filters.paths)
    times = time_range(filters.since, filters.until)
    return CommitFilter(
        repos=repos,
        paths=paths,
        statuses=statuses,
        people=None if filters.author is None else _people(store, filters.author),
        times=times if filters.by_author_date else EVER,
        committed=EVER if filters.by_author_date else times,
        spans=_spans(store, repos, filters, times),
        ids=None if paths is None else _few_by_path(store, paths, statuses),
        reached=None if filters.ref is None else reached(store, repos, filters.ref),
    )


def between(
    store: HistoryStore, repos: Sequence[Repo], since: int | None, until: int | None
) -> CommitFilter:
    """The commits of some repositories within a time."""
    times = time_range(since, until)
    filters = Filters(since=since, until=until, by_author_date=True)
    return CommitFilter(list(repos), times=times, spans=_spans(store, list(repos), filters, times))


def _statuses(text: str | None) -> str:
    letters = (text or "").upper().replace(",", "").replace(" ", "")
    unknown = letters.strip(STATUSES)
    if unknown or (text is not None and not letters):
        raise Invalid(f"Not a status of files: {text!r}", f"Letters of {STATUSES}: AM, or D.")
    return letters


def _people(store: HistoryStore, part: str) -> list[int]:
    """Whose name or address has this part; `Name <address>` counts as one text."""
    wanted = part.casefold()
    people = store.remembered("people", lambda: _everyone(store))
    return [number for number, text in people if wanted in text]


def _everyone(store: HistoryStore) -> list[tuple[int, str]]:
    return [(number, f"{name} <{email}>".casefold()) for number, name, email in store.people()]


def _spans(
    store: HistoryStore, repos: list[Repo], filters: Filters, times: tuple[int, int]
) -> dict[int, Span]:
    """The first and the last commit of a time, by repository, where that saves reading matches.

    One index tells. The newest matches come first anyway, so of a long time up to now it need
    not be known.
    """
    if filters.since is None and filters.until is None:
        return {}
    most = _FEW if filters.until is None else None
    by_commit = not filters.by_author_date
    spans = {
        repo.repo_id: store.span_of_times(repo.repo_id, times, most, committed=by_commit)
        for repo in repos
    }
    return {repo_id: span for repo_id, span in spans.items() if span is not None}


def _few_by_path(
    store: HistoryStore, paths: dict[int, str], statuses: str
) -> frozenset[int] | None:
    if len(paths) >= _FEW:
        return None
    found = store.commits_touching(paths, statuses, _FEW)
    return frozenset(found) if len(found) < _FEW else None
