"""Search by meaning and by any of the words: the one ranking, with vectors where there are any."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from clew.history.lookup import bounded, briefs
from clew.history.model import Repo
from clew.history.ranking.ranking import Ranker
from clew.history.search.filters import Filters, resolve_filters
from clew.history.semantic.nearest import by_meaning, vectors_of
from clew.history.store.interface import HistoryStore, any_phrase
from clew.kit.errors import ClewError, Invalid
from clew.kit.text.tokens import WORD, telling_words

MODES = ("hybrid", "semantic", "words")
WORD_SHARE = 1.5
MEANING_SHARE = 1.0
_POOL = 100
_FLATNESS = 10  # how little the first places of a list count for more than the next
_LONGEST_QUERY = 4000
_MOST_WORDS = 32


def search_semantic(
    store: HistoryStore,
    query: str,
    *,
    mode: str = "hybrid",
    repos: Sequence[str] | None = None,
    paths: Sequence[str] | None = None,
    since: int | None = None,
    until: int | None = None,
    limit: int = 10,
) -> dict[str, Any]:
    """Commits nearest to a description, best first, and by what each was found."""
    text = checked_query(query, mode)
    with store.snapshot():
        wanted = resolve_filters(
            store, Filters(repos, paths, since=since, until=until, by_author_date=True)
        )
        nearest = None if mode == "words" else by_meaning
        ranker = Ranker(store, wanted, nearest, with_words=mode != "semantic")
        model, waiting = (None, 0) if nearest is None else _model(store, wanted.repos, ranker, mode)
        ranked = [] if wanted.is_empty else ranker.rank(text, _POOL)
        shown = ranked[: bounded(limit)]
        heads = briefs(store, [one.id for one in shown])
    if waiting:
        ranker.skipped.append(
            f"meaning: {waiting} commits have no vector yet; run 'commitmux embed'"
        )
    return {
        "total": len(ranked),
        "limit": bounded(limit),
        "mode": mode if model or mode == "words" else "words",
        "model": model,
        "skipped": ranker.skipped,
        "commits": [
            {**head, "score": round(one.score, 4), "found_by": sorted(one.found_by)}
            for head, one in zip(heads, shown, strict=True)
        ],
    }


def _model(
    store: HistoryStore, repos: Sequence[Repo], ranker: Ranker, mode: str
) -> tuple[str | None, int]:
    """The model whose vectors can be used, and how many commits have none; else why not."""
    try:
        name, known = vectors_of(store)
    except ClewError as error:
        if mode == "semantic":
            raise
        ranker.skipped.append(f"meaning: {error.message}. {error.hint or ''}".strip())
        ranker.nearest = None
        return None, 0
    return name, sum(
        1 for repo in repos for _ in store.counted_commits(repo.repo_id, known.get(repo.repo_id, 0))
    )


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
