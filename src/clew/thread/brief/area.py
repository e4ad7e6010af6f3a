"""What is known of the files that a task touches: pitfalls, and what changes along."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Container, Sequence

from clew.history.model import Repo
from clew.history.questions.cochange import co_change
from clew.history.questions.file_history import recent_commits
from clew.history.store.interface import HistoryStore
from clew.kit.errors import ClewError
from clew.kit.times import day_text
from clew.thread.model import LATE, USUAL, Statement

_MOST_TOGETHER = 4
_MOST_PITFALLS = 3
_RECENT = 200
_LEAST_SHARE = 0.3
_LEAST_COMMITS = 3
_REVERT = re.compile(r'^(?:Revert\b|Reapply ")')
_FLAKY = re.compile(
    r"\b(?:flak(?:y|iness)|intermittent(?:ly)?|race condition|deadlock)", re.IGNORECASE
)


def pitfalls(store: HistoryStore, repo: Repo, paths: Sequence[str]) -> list[Statement]:
    """What was reverted or did not hold in these files."""
    found: dict[str, Statement] = {}
    for path in paths:
        try:
            rows = recent_commits(store, repo, path, _RECENT)
        except ClewError:
            continue
        for row in rows:
            is_revert = bool(_REVERT.match(row.subject))
            if is_revert or _FLAKY.search(row.subject):
                word = "reverted" if is_revert else "flaky"
                text = f"{word} in {path}: {row.sha[:12]} {day_text(row.date)} {row.subject}"
                source = f"commit:{repo.name}@{row.sha[:12]}"
                found.setdefault(row.sha, Statement("pitfalls", text, source, USUAL))
    return list(found.values())[:_MOST_PITFALLS]


def together(
    store: HistoryStore,
    repo: Repo,
    paths: Sequence[str],
    told: Sequence[str],
    existing: Container[str],
) -> list[Statement]:
    """Files that are there and usually change with these, but that nobody has listed."""
    support: Counter[str] = Counter()
    share: dict[str, tuple[float, str]] = {}
    for path in paths:
        for one in co_change(store, repo.name, path, limit=10)["files"]:
            other = one["path"]
            if other in existing and other not in paths and other not in told:
                support[other] += one["support"]
                share[other] = max(share.get(other, (0.0, "")), (one["confidence"], path))
    kept = [
        path
        for path in support
        if share[path][0] >= _LEAST_SHARE and support[path] >= _LEAST_COMMITS
    ]
    kept.sort(key=lambda path: (-share[path][0], -support[path], path))
    return [
        Statement(
            "together",
            f"{path} changed in {share[path][0]:.0%} of the commits of {share[path][1]}",
            f"file:{path}",
            LATE,
        )
        for path in kept[:_MOST_TOGETHER]
    ]
