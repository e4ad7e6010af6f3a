"""What is known of the files that a task touches: people, companions, pitfalls, telling hunks."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from clew.history.lookup import patch_text
from clew.history.model import Repo
from clew.history.questions.cochange import co_change
from clew.history.questions.file_history import path_changes, recent_commits
from clew.history.questions.owners import owners
from clew.history.search.pathmatch import matching_paths
from clew.history.store.interface import HistoryStore
from clew.kit.errors import ClewError
from clew.kit.text.diff import file_diffs
from clew.kit.times import day_text
from clew.thread.model import EARLY, LATE, USUAL, Statement

_MOST_PATHS = 6
_MOST_TOGETHER = 6
_MOST_PITFALLS = 6
_RECENT = 200
_HOT = 10
_FIXES = 3
_YEAR = 365 * 86400
_LARGEST_PATCH = 200_000
_MOST_HUNK_LINES = 14
_LONGEST_LINE = 120
_REVERT = re.compile(r'^(?:Revert\b|Reapply ")')
_FLAKY = re.compile(
    r"\b(?:flak(?:y|iness)|intermittent(?:ly)?|race condition|deadlock)", re.IGNORECASE
)
_FIX = re.compile(r"\b(?:fix(?:e[sd])?|regression|bug|crash)", re.IGNORECASE)


@dataclass(frozen=True)
class Area:
    """Some files of a repository, as the index knows them."""

    store: HistoryStore
    repo: Repo
    paths: tuple[str, ...]

    def statements(self, targets: Sequence[str]) -> list[Statement]:
        """Pitfalls, companions and people of the files; `targets` are known to the reader."""
        statements: list[Statement] = []
        seen: set[str] = set()
        for path in self.paths:
            statements += self._pitfalls(path, seen)
        return [*statements[:_MOST_PITFALLS], *self._together(targets), *self._owners()]

    def _pitfalls(self, path: str, seen: set[str]) -> list[Statement]:
        rows = recent_commits(self.store, self.repo, path, _RECENT)
        source = f"file:{path}"
        statements = []
        fixes = 0
        for row in rows:
            sha, subject = row.sha, row.subject
            fixes += bool(_FIX.search(subject))
            word = (
                "reverted" if _REVERT.match(subject) else "flaky" if _FLAKY.search(subject) else ""
            )
            if word and sha not in seen:
                seen.add(sha)
                text = f"{word} in {path}: {sha[:12]} {day_text(row.date)} {subject}"
                statements.append(
                    Statement("pitfalls", text, f"commit:{self.repo.name}@{sha[:12]}", EARLY)
                )
        recent = [row for row in rows if row.date > rows[0].date - _YEAR]
        if len(recent) >= _HOT or fixes >= _FIXES:
            text = f"{path} is a hotspot: {len(recent)} commits in its last year, {fixes} fixes of {len(rows)} looked at"
            statements.append(Statement("pitfalls", text, source, USUAL))
        return statements

    def _together(self, targets: Sequence[str]) -> list[Statement]:
        """Files that usually change with these, but that nobody has listed."""
        support: Counter[str] = Counter()
        share: dict[str, tuple[float, str]] = {}
        for path in self.paths:
            for one in co_change(self.store, self.repo.name, path, limit=10)["files"]:
                other = one["path"]
                if other not in self.paths and other not in targets:
                    support[other] += one["support"]
                    share[other] = max(share.get(other, (0.0, "")), (one["confidence"], path))
        best = sorted(support, key=lambda path: (-share[path][0], -support[path], path))
        return [
            Statement(
                "together",
                f"{path} changed in {share[path][0]:.0%} of the commits of {share[path][1]}",
                f"file:{path}",
                USUAL if share[path][0] >= 0.3 else LATE,
            )
            for path in best[:_MOST_TOGETHER]
        ]

    def _owners(self) -> list[Statement]:
        statements = []
        for path in self.paths[:3]:
            found = owners(self.store, self.repo.name, path, limit=2)["owners"]
            names = ", ".join(
                f"{one['author']} ({one['share']:.0%}, last {day_text(one['last_touch'])})"
                for one in found
            )
            if names:
                statements.append(Statement("owners", f"{path}: {names}", f"file:{path}", LATE))
        return statements


def area_of(store: HistoryStore, repo: Repo, targets: Sequence[str]) -> Area:
    """The files that these names mean; globs and directories mean a few files each."""
    found: list[str] = []
    for target in targets:
        found += (
            [target] if _is_known(store, repo, target) else _files_matching(store, repo, target)
        )
    return Area(store, repo, tuple(dict.fromkeys(found))[:_MOST_PATHS])


def _is_known(store: HistoryStore, repo: Repo, path: str) -> bool:
    try:
        return bool(path_changes(store, repo, path))
    except ClewError:
        return False


def _files_matching(store: HistoryStore, repo: Repo, pattern: str) -> list[str]:
    try:
        paths = sorted(matching_paths(store, [pattern]).values())[:50]
    except ClewError:
        return []
    counted = {path: len(path_changes(store, repo, path)) for path in paths}
    best = sorted(
        (path for path in paths if counted[path]), key=lambda path: (-counted[path], path)
    )
    return best[:2]


def telling_hunk(
    store: HistoryStore, commit_id: int, words: Sequence[str], paths: Sequence[str]
) -> str:
    """The hunk with most of the words, of the files asked about if it touches them; or nothing."""
    best, most = "", (0, 0)
    files = file_diffs(patch_text(store, commit_id, _LARGEST_PATCH) or "")
    for path, hunk in ((file.path, hunk) for file in files for hunk in file.hunks):
        lowered = "\n".join([hunk.header, *hunk.lines]).lower()
        score = (int(path in paths), sum(word in lowered for word in words))
        if score > most:
            best, most = _excerpt(path, hunk.lines), score
    return best


def _excerpt(path: str, lines: Sequence[str]) -> str:
    """The changed lines with one line around, not too many and not too long."""
    changed = [n for n, line in enumerate(lines) if line[:1] in ("+", "-")]
    near = [n for n in range(len(lines)) if any(abs(n - one) <= 1 for one in changed)]
    kept = [lines[n][:_LONGEST_LINE] for n in near]
    more = [f"… {len(kept) - _MOST_HUNK_LINES} more lines"] if len(kept) > _MOST_HUNK_LINES else []
    return "\n".join([path, *kept[:_MOST_HUNK_LINES], *more])
