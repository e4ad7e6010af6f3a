"""Commits most alike to a commit or a diff: rare words of changed lines, and shared paths."""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from heapq import nlargest
from typing import Any

from clew.history.lookup import (
    bounded,
    briefs,
    chosen_repos,
    find_commit,
    patch_text,
    time_range,
)
from clew.history.model import Repo
from clew.history.ranking.candidates import Lookup
from clew.history.store.interface import EVER, CommitFilter, HistoryStore, any_phrase
from clew.kit.errors import Invalid
from clew.kit.text.diff import FileDiff, file_diffs

_WORD = re.compile(r"[^\W_]{3,40}")
_WEIGHED = 40
_CHOSEN = 16
_COMMON = 500  # a word in more commits than this says nothing of any of them
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
    compared = sorted(paths)[:_MOST_PATHS]
    for commit_id, _, _ in store.sharing(compared, chosen, time_range(None, None), _NEIGHBOURS):
        if commit_id != own:
            scores[commit_id] += 0.0
    ranked = []
    best = nlargest(_RANKED, scores, key=scores.__getitem__)
    counted = [one.id for one in store.messages(best, chosen, EVER, 0)]
    for commit_id, files in store.files(counted).items():
        touched = {file.path for file in files}
        both = touched & paths
        near = len(both) / len(touched | paths) if touched | paths else 0.0
        score = scores[commit_id] * (1 - _PATH_SHARE) + near * _PATH_SHARE
        ranked.append((score, commit_id, sorted(both)[:20]))
    ranked.sort(key=lambda one: (-one[0], -one[1]))
    shown = ranked[: bounded(limit)]
    heads = briefs(store, [one[1] for one in shown])
    return {
        "total": len(ranked),
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
    _, commit = find_commit(store, repo, sha)
    files = store.files([commit.id])[commit.id]
    return commit.id, patch_text(store, commit.id) or "", {file.path for file in files}


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
    lookup = Lookup(store, CommitFilter(chosen))
    found: dict[str, tuple[float, list[int]]] = {}
    for word in weighed[:_WEIGHED]:
        changed = lookup.saying(any_phrase([word], "added removed"), _COMMON + 1)
        others = [commit_id for commit_id in changed if commit_id != own]
        if others and len(changed) <= _COMMON:
            found[word] = (math.log(1 + lookup.size / len(changed)), others)
    rank = {word: (1 + math.log(words[word])) * found[word][0] for word in found}
    best = sorted(found, key=lambda word: (-rank[word], word))[:_CHOSEN]
    return {word: found[word] for word in best}


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
