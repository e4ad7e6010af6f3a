"""Search by meaning and by any of the words, and both fused.

The modes were measured on real histories, by the commits that later commits name; see
`benchmarks/retrieval.py`. Matching any word instead of all is most of the gain. Fusing meaning in
helps with descriptions of several lines and makes little difference to short ones; meaning alone
finds less than words. So both are fused, and the words count for more.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Any

from clew.history.search.pathmatch import matching_paths
from clew.history.store.scope import (
    COUNTED,
    among,
    bounded,
    briefs,
    chosen_repos,
    lower_bound,
    snapshot,
    span,
)
from clew.kit.errors import ClewError, Invalid
from clew.kit.sqlite import json_list
from clew.kit.text.tokens import WORD, telling_words
from clew.models.embedding import load_embedder

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from clew.history.model import Repo
    from clew.history.semantic.vectors import CommitVectors
    from clew.history.store.store import HistoryStore

MODES = ("hybrid", "semantic", "words")
WORD_SHARE = 1.5
MEANING_SHARE = 1.0
_POOL = 100
_FLATNESS = 10  # how little the first places of a list count for more than the next
_LONGEST_QUERY = 4000
_MOST_WORDS = 32
# How much a match weighs in subject, body, added, removed and context lines, and paths.
_WEIGHTS = "10.0, 4.0, 1.0, 0.6, 0.8, 3.0"


@dataclass
class Asked:
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
    with snapshot(store):
        touched = None if paths is None else _touching(store, paths)
        asked = Asked(text, chosen_repos(store, repos), lower_bound(since), touched)
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


def _lists(store: HistoryStore, asked: Asked, mode: str) -> dict[str, list[int]]:
    lists: dict[str, list[int]] = {}
    if mode != "words":
        lists["meaning"] = _if_possible(asked, mode, store)
    if mode != "semantic":
        lists["words"] = list(islice(_by_words(store, asked), _POOL))
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
    return " OR ".join(f'"{word}"' for word in telling_words(text, _MOST_WORDS))


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


def _touching(store: HistoryStore, paths: Sequence[str]) -> set[int]:
    rows = store.connection.execute(
        "SELECT DISTINCT f.commit_id FROM json_each(?) w"
        " CROSS JOIN file_rows f ON f.path_id = w.value",
        (json_list(matching_paths(store, paths)),),
    )
    return {row[0] for row in rows}


def _by_words(store: HistoryStore, asked: Asked) -> Iterator[int]:
    """Commits that have any of the words, best first; read only as far as they are wanted."""
    condition, numbers = among(asked.repos)
    rows = store.connection.execute(
        "SELECT c.id FROM search_fts s CROSS JOIN commit_rows c ON c.id = s.rowid"  # noqa: S608
        f" WHERE search_fts MATCH ? AND rank MATCH 'bm25({_WEIGHTS})' AND {condition}"
        f" AND {COUNTED} AND c.author_time >= ? ORDER BY rank",
        (any_word(asked.text), numbers, asked.since),
    )
    return (row[0] for row in rows if asked.touched is None or row[0] in asked.touched)


def _if_possible(asked: Asked, mode: str, store: HistoryStore) -> list[int]:
    """The commits by meaning; where that cannot be, words alone must do, unless told otherwise."""
    try:
        return _by_meaning(store, asked)
    except ClewError as error:
        if mode == "semantic":
            raise
        asked.skipped.append(f"meaning: {error.message}. {error.hint or ''}".strip())
        return []


def _by_meaning(store: HistoryStore, asked: Asked) -> list[int]:
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
    shas = _reachable(store, [commit_id for commit_id, _, _ in near])
    sure = [one for one, mark, _ in near if one in shas and is_marked(shas[one], mark)]
    return sure[:_POOL]


def _reachable(store: HistoryStore, ids: Sequence[int]) -> dict[int, bytes]:
    rows = store.connection.execute(
        "SELECT c.id, c.sha FROM json_each(?) w CROSS JOIN commit_rows c ON c.id = w.value"
        " WHERE c.reachable",
        (json_list(ids),),
    )
    return {row["id"]: row["sha"] for row in rows}


def _without_vector(store: HistoryStore, repos: Sequence[Repo], vectors: CommitVectors) -> int:
    """How many commits came after the last that has a vector."""
    known = vectors.last_ids()
    waiting = 0
    for repo in repos:
        first, last = span(repo)
        row = store.connection.execute(
            f"SELECT count(*) FROM commit_rows c WHERE c.id > ? AND c.id <= ? AND {COUNTED}",  # noqa: S608
            (known.get(repo.repo_id, first), last),
        ).fetchone()
        waiting += row[0]
    return waiting
