"""Which commits a bug report is about: the one ranking, weighed again by what they changed."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from clew.history.lookup import bounded, message_lines, page
from clew.history.model import Repo
from clew.history.questions.links import named_commits
from clew.history.ranking.features import FEATURES as RANKED_BY
from clew.history.ranking.ranking import Ranker
from clew.history.ranking.weights import weighed
from clew.history.repo_git import repo_git
from clew.history.search.filters import between
from clew.history.search.likelihood import likely
from clew.history.search.suspects import Fit, Measure, Place
from clew.history.semantic.nearest import by_meaning
from clew.history.store.interface import CommitRecord, HistoryStore
from clew.kit.errors import ClewError
from clew.kit.git import GitError

_SHOWN = 3  # suspects that are shown with message and hunk
_CANDIDATES = 60  # whose changed lines are read
_HUNK_LINES = 5
_LONGEST_LINE = 120
_MESSAGE_CHARACTERS = 420
_MATCHES = 5
_NAME_FIRST = RANKED_BY.index("name_first")


def suspects_of_report(store: HistoryStore, repo: Repo, report: str, limit: int) -> dict[str, Any]:
    """Commits whose changes fit what a report says, the likeliest first, and how likely each is."""
    measure, fits = fits_of_report(store, repo, report)
    records = store.commits(fits)
    shares = _of_originals(likely(fits), records)
    best = sorted(shares, key=lambda number: -shares[number])
    found = []
    for place, number in enumerate(best[: bounded(limit)]):
        record, fit = records[number], fits[number]
        said = "\n".join(message_lines(record.subject, record.body))
        found.append(
            {
                "sha": record.sha,
                "subject": record.subject,
                "author": record.author,
                "date": record.date,
                "evidence": "described",
                "lines": fit.lines,
                "likely": round(shares[number], 2),
                "message": said[:_MESSAGE_CHARACTERS] if place < _SHOWN else None,
                **_shown(repo, measure, fit.place),
            }
        )
    beside = {"repo": repo.name, "target": report, "at": ""}
    return page("commits", found, limit, **beside) | {"total": len(fits)}


def _of_originals(
    shares: Mapping[int, float], records: Mapping[int, CommitRecord]
) -> dict[int, float]:
    """How likely the candidates are, without copies whose original is another one of them."""
    original: dict[int, float] = dict(shares)
    for number, record in records.items():
        named = named_commits(record.body or "")
        sources = [one.sha for one in named if one.kind == "cherry_picked_from"]
        for other, by in records.items():
            if other in original and other != number and by.sha.startswith(tuple(sources)):
                original[other] += original.pop(number, 0.0)
                break
    return original


def fits_of_report(store: HistoryStore, repo: Repo, report: str) -> tuple[Measure, dict[int, Fit]]:
    """What measures by a report, and how well each candidate fits it."""
    measure = Measure(store, repo, report)
    rows = Ranker(store, between(store, [repo], None, None), by_meaning).measured(measure.question)
    kind = measure.question.kind
    ranked = sorted(
        ((weighed(row, kind), commit.id, commit, row) for commit, row in rows), reverse=True
    )
    fits = {
        number: measure.of(commit, rank, row[_NAME_FIRST])
        for rank, number, commit, row in ranked[:_CANDIDATES]
    }
    return measure, fits


def _shown(repo: Repo, measure: Measure, place: Place | None) -> dict[str, Any]:
    """Where a commit says most of the report: file, lines, the words they share, where they stand now."""
    if place is None:
        return dict.fromkeys(("path", "line", "hunk", "stands")) | {"matches": []}
    start = max(0, place.at - 1)
    lines = place.hunk.lines[start : start + _HUNK_LINES]
    return {
        "path": place.path,
        "line": place.number,
        "hunk": "\n".join(line[:_LONGEST_LINE] for line in lines),
        "matches": measure.words_in(place.hunk)[:_MATCHES],
        "stands": _stands(repo, place),
    }


def _stands(repo: Repo, place: Place) -> int | None:
    """The number that the line has today in its file; None where it is gone, or nobody knows."""
    line = place.hunk.lines[place.at]
    with suppress(GitError, ClewError):
        now = repo_git(repo, "cat-file", "blob", f"HEAD:{place.path}").decode("utf-8", "replace")
        same = [n for n, text in enumerate(now.split("\n"), 1) if text.strip() == line[1:].strip()]
        return min(same, key=lambda n: abs(n - place.number), default=None)
    return None
