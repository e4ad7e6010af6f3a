"""A page of found commits as it is shown: the documented fields, lines that match, a budget."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from clew.history.lookup import patch_text
from clew.history.search.paging import fitting
from clew.history.search.search import documented, find
from clew.history.search.snippets import snippets
from clew.kit.jsontext import dumps

if TYPE_CHECKING:
    from clew.history.search.search import Found, SearchRequest
    from clew.history.store.interface import HistoryStore

MAX_CHARACTERS = 20_000
SNIPPETS = 3
_MOST_SNIPPETS = 50
_MOST_COMMITS = 500


def page_of_commits(
    store: HistoryStore,
    asked: SearchRequest,
    *,
    limit: int = 20,
    cursor: str | None = None,
    lines: int = SNIPPETS,
    max_chars: int | None = None,
) -> dict[str, Any]:
    """Commits with the lines that match, as many as fit, and where the next page begins."""
    most = min(limit, _MOST_COMMITS)
    found = find(store, asked, limit=most, cursor=cursor)
    commits = documented(store, found)
    for commit_id, commit in zip(found.page.ids, commits, strict=True):
        commit["snippets"] = _snippets(store, commit_id, found, min(lines, _MOST_SNIPPETS))
    shown, left_out = _fit(commits, max_chars)
    answer: dict[str, Any] = {
        "commits": shown,
        "total": found.page.total,
        "next_cursor": found.page.next_cursor(len(shown)),
        "left_out": left_out,
    }
    return {**answer, "index_changed": True} if found.is_changed else answer


def _fit(
    commits: list[dict[str, Any]], max_chars: int | None
) -> tuple[list[dict[str, Any]], dict[str, int]]:
    """As much as fits: lines go first, then commits; and how much was left out."""
    if max_chars is None:
        return commits, {"commits": 0, "snippets": 0}
    sizes = [(len(dumps({**c, "snippets": []})), len(dumps(c))) for c in commits]
    count, bare = fitting(sizes, max_chars)
    shown = [{**c, "snippets": []} if n in bare else c for n, c in enumerate(commits[:count])]
    lines = sum(len(commits[number]["snippets"]) for number in bare)
    return shown, {"commits": len(commits) - count, "snippets": lines}


def _snippets(store: HistoryStore, commit_id: int, found: Found, most: int) -> list[dict[str, Any]]:
    if found.query is None or most <= 0:
        return []
    patch = patch_text(store, commit_id)
    if patch is None:
        return []
    wanted = None if found.wanted.paths is None else frozenset(found.wanted.paths.values())
    return snippets(
        patch, found.query, most=most, shows_path=lambda path: wanted is None or path in wanted
    )
