"""Commits most alike to a commit or a diff: rare words of changed lines, and shared paths."""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Any

from clew.history.store.lookup import changed_files, get_patch
from clew.history.store.scope import COUNTED, among, bounded, briefs, chosen_repos, find_commit
from clew.kit.errors import Invalid, NotFound
from clew.kit.sqlite import json_list
from clew.kit.text.diff import FileDiff, file_diffs

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clew.history.model import Repo
    from clew.history.store.store import HistoryStore

_WORD = re.compile(r"[^\W_]{3,40}")
_WEIGHED = 60
_CHOSEN = 16
_COMMON = 2000  # a word in more commits than this says nothing of any of them
_PATH_SHARE = 0.3
_RANKED = 400
_NEIGHBOURS = 200
_MOST_PATHS = 50
_LONGEST_DIFF = 1024 * 1024


def similar(
    store: HistoryStore,
    *,
    repo: str | None = None,
    sha: str | None = None,
    diff: str | None = None,
    repos: Sequence[str] | None = None,
    limit: int = 10,
) -> dict[str, Any]:
    """Commits like this one, or like a pasted diff, the most alike first."""
    own, patch, paths = _given(store, repo, sha, diff)
    parts = list(file_diffs(patch))
    paths |= {part.path for part in parts if part.path}
    chosen = chosen_repos(store, repos)
    postings = _rare_words(store, _words(parts), chosen, own)
    scores, shared = _scores(postings)
    for commit_id in _neighbours(store, paths, chosen):
        if commit_id != own:
            scores[commit_id] += 0.0
    ranked = []
    for commit_id in sorted(scores, key=lambda one: -scores[one])[:_RANKED]:
        touched = {entry["path"] for entry in changed_files(store, commit_id)}
        both = touched & paths
        near = len(both) / len(touched | paths) if touched | paths else 0.0
        score = scores[commit_id] * (1 - _PATH_SHARE) + near * _PATH_SHARE
        ranked.append((score, commit_id, sorted(both)[:20]))
    ranked.sort(key=lambda one: (-one[0], -one[1]))
    shown = ranked[: bounded(limit)]
    heads = briefs(store, [one[1] for one in shown])
    return {
        "total": len(scores),
        "limit": bounded(limit),
        "words": list(postings),
        "commits": [
            {**head, "score": round(score, 4), "words": shared[commit_id], "paths": both}
            for head, (score, commit_id, both) in zip(heads, shown, strict=True)
        ],
    }


def _given(
    store: HistoryStore, repo: str | None, sha: str | None, diff: str | None
) -> tuple[int | None, str, set[str]]:
    """The commit that was named, the patch, and the paths that are compared."""
    if diff is not None:
        return None, diff[:_LONGEST_DIFF], set()
    if repo is None or sha is None:
        raise Invalid("Give a repo and a sha, or a diff")
    _, commit_id, found = find_commit(store, repo, sha)
    try:
        patch = get_patch(store, repo, found["sha"])["patch_text"]
    except NotFound:
        patch = ""
    return commit_id, patch, {entry["path"] for entry in found["changed_files"]}


def _words(parts: list[FileDiff]) -> Counter[str]:
    counted: Counter[str] = Counter()
    for part in parts:
        for _, line in (*part.added, *part.removed):
            counted.update(word.lower() for word in _WORD.findall(line) if not word.isdigit())
    return counted


def _rare_words(
    store: HistoryStore, words: Counter[str], chosen: list[Repo], own: int | None
) -> dict[str, tuple[float, list[int]]]:
    """The words that tell most: how rare each is, and the other commits that changed it."""
    weighed = sorted(words, key=lambda word: (-(1 + math.log(words[word])) * len(word), word))
    condition, numbers = among(chosen)
    commits = sum(store.commit_count(repo.repo_id) for repo in chosen)
    found: dict[str, tuple[float, list[int]]] = {}
    for word in weighed[:_WEIGHED]:
        rows = store.connection.execute(
            "SELECT c.id FROM search_fts s CROSS JOIN commit_rows c ON c.id = s.rowid"  # noqa: S608
            f" WHERE search_fts MATCH ? AND {condition} AND {COUNTED} LIMIT ?",
            (f'{{added removed}} : "{word}"', numbers, _COMMON + 1),
        ).fetchall()
        others = [row[0] for row in rows if row[0] != own]
        if others and len(rows) <= _COMMON:
            found[word] = (math.log(1 + commits / len(rows)), others)
    rank = {word: (1 + math.log(words[word])) * found[word][0] for word in found}
    best = sorted(found, key=lambda word: (-rank[word], word))[:_CHOSEN]
    return {word: found[word] for word in best}


def _neighbours(store: HistoryStore, paths: set[str], chosen: list[Repo]) -> list[int]:
    """The newest commits that touched the same paths."""
    condition, numbers = among(chosen)
    rows = store.connection.execute(
        "SELECT DISTINCT c.id FROM json_each(?) w JOIN paths p ON p.path = w.value"  # noqa: S608
        " CROSS JOIN file_rows f ON f.path_id = p.path_id"
        " CROSS JOIN commit_rows c ON c.id = f.commit_id"
        f" WHERE {condition} AND {COUNTED} ORDER BY c.id DESC LIMIT ?",
        (json_list(sorted(paths)[:_MOST_PATHS]), numbers, _NEIGHBOURS),
    )
    return [row[0] for row in rows]


def _scores(
    postings: dict[str, tuple[float, list[int]]],
) -> tuple[dict[int, float], dict[int, list[str]]]:
    """How much of the words' weight each commit shares, and which words."""
    whole = sum(rarity for rarity, _ in postings.values()) or 1.0
    scores: dict[int, float] = defaultdict(float)
    shared: dict[int, list[str]] = defaultdict(list)
    for word, (rarity, ids) in postings.items():
        for commit_id in ids:
            scores[commit_id] += rarity / whole
            shared[commit_id].append(word)
    return scores, shared
