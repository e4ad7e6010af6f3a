"""Search by meaning and by any of the words, and both fused.

The modes were measured on real histories, by the commits that later commits name; see
`benchmarks/rooms/retrieval.py`. Matching any word instead of all is most of the gain. Fusing meaning in
helps with descriptions of several lines and makes little difference to short ones; meaning alone
finds less than words. So both are fused, and the words count for more.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Any

from clew.history.lookup import bounded, briefs, chosen_repos, lower_bound
from clew.history.model import Repo
from clew.history.search.pathmatch import matching_paths
from clew.history.store.interface import HistoryStore, any_phrase
from clew.kit.errors import ClewError, Invalid
from clew.kit.text.tokens import WORD, telling_words
from clew.models.embedding import load_embedder

if TYPE_CHECKING:  # needs numpy, which may not be installed
    from clew.history.semantic.vectors import CommitVectors

MODES = ("hybrid", "semantic", "words")
WORD_SHARE = 1.5
MEANING_SHARE = 1.0
_POOL = 100
_FLATNESS = 10  # how little the first places of a list count for more than the next
_LONGEST_QUERY = 4000
_MOST_WORDS = 32


@dataclass
class SemanticRequest:
    """One question: what is looked for, where, and what could not be used."""

    text: str
    repos: list[Repo]
    since: int
    touched: set[int] | None
    model: str | None = None
    skipped: list[str] = field(default_factory=list)


def search_semantic(
    store: HistoryStore,
    query: str,
    *,
    mode: str = "hybrid",
    repos: Sequence[str] | None = None,
    paths: Sequence[str] | None = None,
    since: int | None = None,
    limit: int = 10,
) -> dict[str, Any]:
    """Commits nearest to a description, best first, and by what each was found."""
    text = checked_query(query, mode)
    with store.snapshot():
        touched = (
            None if paths is None else set(store.commits_touching(matching_paths(store, paths)))
        )
        asked = SemanticRequest(text, chosen_repos(store, repos), lower_bound(since), touched)
        ranked = fused(_lists(store, asked, mode))
        shown = ranked[: bounded(limit)]
        heads = briefs(store, [commit_id for commit_id, _, _ in shown])
    return {
        "total": len(ranked),
        "limit": bounded(limit),
        "mode": mode if asked.model or mode == "words" else "words",
        "model": asked.model,
        "skipped": asked.skipped,
        "commits": [
            {**head, "score": round(score, 4), "found_by": found_by}
            for head, (_, score, found_by) in zip(heads, shown, strict=True)
        ],
    }


def _lists(store: HistoryStore, asked: SemanticRequest, mode: str) -> dict[str, list[int]]:
    lists: dict[str, list[int]] = {}
    if mode != "words":
        lists["meaning"] = _if_possible(asked, mode, store)
    if mode != "semantic":
        found = store.best_saying(any_word(asked.text), asked.repos, asked.since)
        passing = (one for one in found if asked.touched is None or one in asked.touched)
        lists["words"] = list(islice(passing, _POOL))
    return lists


def checked_query(query: str, mode: str) -> str:
    """The query as it can be used; Invalid when there is nothing to look for."""
    if mode not in MODES:
        raise Invalid(f"Unknown mode: {mode}", f"Modes: {', '.join(MODES)}.")
    text = query.replace("\x00", " ").encode("utf-8", "replace").decode("utf-8")
    if not WORD.search(text):
        raise Invalid("The query has no words to look for", "Describe what you look for.")
    return text[:_LONGEST_QUERY]


def any_word(text: str) -> str:
    """A text-index expression for any of the text's telling words."""
    return any_phrase(telling_words(text, _MOST_WORDS))


def fused(lists: Mapping[str, Sequence[int]]) -> list[tuple[int, float, list[str]]]:
    """Reciprocal rank fusion: number, score from 0 to 1, and the lists that have it."""
    shares = {"words": WORD_SHARE, "meaning": MEANING_SHARE}
    used = {name: shares[name] for name, found in lists.items() if found}
    scores: dict[int, float] = defaultdict(float)
    found_by: dict[int, list[str]] = defaultdict(list)
    for name, share in used.items():
        for rank, number in enumerate(lists[name]):
            scores[number] += share / sum(used.values()) * _FLATNESS / (_FLATNESS + rank)
            found_by[number].append(name)
    best = sorted(scores, key=lambda number: (-scores[number], -number))
    return [(number, scores[number], sorted(found_by[number])) for number in best]


def _if_possible(asked: SemanticRequest, mode: str, store: HistoryStore) -> list[int]:
    """The commits by meaning; without vectors none, unless the mode needs them."""
    try:
        return _by_meaning(store, asked)
    except ClewError as error:
        if mode == "semantic":
            raise
        asked.skipped.append(f"meaning: {error.message}. {error.hint or ''}".strip())
        return []


def _by_meaning(store: HistoryStore, asked: SemanticRequest) -> list[int]:
    embedder = load_embedder()
    import numpy as np

    from clew.history.semantic.vectors import CommitVectors, is_marked

    vectors = CommitVectors(store.path, embedder)
    try:
        wanted = None if asked.touched is None else np.fromiter(asked.touched, "<i8")
        near = vectors.nearest(
            asked.text, asked.repos, since=asked.since, among=wanted, count=2 * _POOL
        )
        waiting = _without_vector(store, asked.repos, vectors)
    finally:
        vectors.close()
    asked.model = embedder.name
    if waiting:
        asked.skipped.append(
            f"meaning: {waiting} commits have no vector yet; run 'commitmux embed'"
        )
    known = store.commits(commit_id for commit_id, _, _ in near)
    sure = [
        one
        for one, mark, _ in near
        if one in known and known[one].reachable and is_marked(bytes.fromhex(known[one].sha), mark)
    ]
    return sure[:_POOL]


def _without_vector(store: HistoryStore, repos: Sequence[Repo], vectors: CommitVectors) -> int:
    """How many commits came after the last that has a vector."""
    known = vectors.last_ids()
    return sum(
        1 for repo in repos for _ in store.counted_commits(repo.repo_id, known.get(repo.repo_id, 0))
    )
