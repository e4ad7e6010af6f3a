"""What is compared: each door of the history, and plain BM25, asked the same question."""

from __future__ import annotations

from collections.abc import Callable

from benchmarks.finding.questions import Asked
from clew.history.search.filters import Filters
from clew.history.search.search import SearchRequest, find
from clew.history.semantic.search import search_semantic
from clew.history.store.base import COUNTED
from clew.history.store.interface import ALWAYS, any_phrase
from clew.history.store.sqlite import SqliteHistory
from clew.kit.errors import Invalid
from clew.kit.text.tokens import telling_words
from clew.thread.recall.commit_search import Search

_LIMIT = 30
_MOST_WORDS = 64

System = Callable[[SqliteHistory, Asked], list[int]]


def plain(store: SqliteHistory, asked: Asked) -> list[int]:
    """Any of the words, by BM25 as SQLite has it."""
    expression = any_phrase(telling_words(asked.text, _MOST_WORDS))
    rows = store.connection.execute(
        "SELECT c.id FROM search_fts s CROSS JOIN commit_rows c ON c.id = s.rowid"
        f" WHERE search_fts MATCH ? AND {COUNTED} AND c.author_time <= ? ORDER BY rank LIMIT ?",
        (expression, ALWAYS if asked.until is None else asked.until, _LIMIT),
    )
    return [row[0] for row in rows]


def searched(store: SqliteHistory, asked: Asked) -> list[int]:
    """`search`: all words in the documented order, or else any."""
    return _matching(store, asked, is_learned=False)


def found(store: SqliteHistory, asked: Asked) -> list[int]:
    """`find` and the board: all words as the ranking has them, or else any."""
    return _matching(store, asked, is_learned=True)


def by_words(store: SqliteHistory, asked: Asked) -> list[int]:
    """The ranking without vectors."""
    return _semantic(store, asked, "words")


def hybrid(store: SqliteHistory, asked: Asked) -> list[int]:
    """The ranking with vectors."""
    return _semantic(store, asked, "hybrid")


def recalled(store: SqliteHistory, asked: Asked) -> list[int]:
    """The commits of `recall`, which are those that `brief` chooses from."""
    found = Search(store, store.repos(), until=asked.until).related(asked.text, _LIMIT)
    return [one.commit_id for one in found]


SYSTEMS: dict[str, System] = {
    "plain bm25": plain,
    "search": searched,
    "find": found,
    "words": by_words,
    "hybrid": hybrid,
    "recall, brief": recalled,
}


def places(system: System, store: SqliteHistory, asked: Asked) -> int | None:
    """The place of the first wanted commit among the first ten, from 0."""
    try:
        answer = [one for one in system(store, asked) if one not in asked.excluded]
    except Invalid:  # nothing to look for
        return None
    return next((n for n, one in enumerate(answer[:10]) if one in asked.wanted), None)


def _matching(store: SqliteHistory, asked: Asked, *, is_learned: bool) -> list[int]:
    filters = Filters(until=asked.until, by_author_date=True)
    request = SearchRequest(asked.text, filters, is_learned=is_learned)
    return find(store, request, limit=_LIMIT).page.ids


def _semantic(store: SqliteHistory, asked: Asked, mode: str) -> list[int]:
    found = search_semantic(store, asked.text, mode=mode, until=asked.until, limit=_LIMIT)
    repo = store.repos()[0].repo_id
    numbers = store.known(repo, [one["sha"] for one in found["commits"]])
    return [numbers[one["sha"]] for one in found["commits"]]
