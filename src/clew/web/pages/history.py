"""History: search with the lines that match, narrowed by repository, author, path and time."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from markupsafe import Markup, escape

from clew.kit.errors import ClewError, Unavailable
from clew.web.site import page, site_of

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

    from clew.history.search.query import Query
    from clew.history.search.search import SearchRequest
    from clew.history.store.interface import HistoryStore

_PAGE = 20
_SAMPLE = 200
_MOST_FACETS = 8
_NAMES = ("q", "repo", "author", "path", "since", "until", "sort")


def search(request: Request) -> Response:
    """The search, its results, and what they can be narrowed to."""
    site = site_of(request)
    given = {name: request.query_params.get(name, "").strip() for name in _NAMES}
    try:
        store = site.history()
        repos = store.repos()
    except Unavailable:
        return page(request, "no_history.html", here="history", has_index=False)
    if not repos:
        return page(request, "no_history.html", here="history", has_index=True)
    own = site.own_repo(store)
    asks_all = not request.query_params.keys().isdisjoint(("repo", "all"))
    given["repo"] = given["repo"] or ("" if asks_all else own)
    values: dict[str, Any] = {
        "own": own,
        "commits": [],
        "total": None,
        "next": None,
        "facets": {},
        "error": "",
    }
    try:
        asked = _search_request(given)
        values |= _results(store, asked, request.query_params.get("cursor"))
    except ClewError as error:
        values["error"] = error.full_text()
    return page(request, "history.html", here="history", given=given, repos=repos, **values)


def _search_request(given: dict[str, str]) -> SearchRequest:
    from clew.history.search.dates import moment
    from clew.history.search.filters import Filters
    from clew.history.search.search import SearchRequest

    filters = Filters(
        repos=[given["repo"]] if given["repo"] else None,
        paths=[given["path"]] if given["path"] else None,
        author=given["author"] or None,
        since=moment(given["since"] or None),
        until=moment(given["until"] or None),
    )
    return SearchRequest(given["q"] or None, filters, sort=given["sort"] or "relevance")


def _results(store: HistoryStore, asked: SearchRequest, cursor: str | None) -> dict[str, Any]:
    from clew.history.search.search import find, page_of_commits

    with store.snapshot():
        found = page_of_commits(store, asked, limit=_PAGE, cursor=cursor or None)
        sample = find(store, asked, limit=_SAMPLE)
        facets = _facets(store, sample.page.ids)
    for commit in found["commits"]:
        commit["lines"] = [
            {**line, "html": highlighted(line["text"], sample.query)} for line in commit["snippets"]
        ]
        commit["title"] = highlighted(commit["subject"], sample.query)
    return {
        "commits": found["commits"],
        "total": found["total"],
        "next": found["next_cursor"],
        "facets": facets,
        "sampled": len(sample.page.ids),
        "has_more": sample.page.has_more,
    }


def _facets(store: HistoryStore, ids: list[int]) -> dict[str, list[tuple[str, int]]]:
    """Who and what the first results are about, the most frequent first."""
    from clew.history.lookup import briefs

    shown = briefs(store, ids)
    touched = store.files(ids).items()
    folders = {
        (one, folder) for one, files in touched for file in files if (folder := _folder(file.path))
    }
    return {
        "repo": Counter(commit["repo"] for commit in shown).most_common(_MOST_FACETS),
        "author": Counter(commit["author"] for commit in shown).most_common(_MOST_FACETS),
        "path": Counter(folder for _, folder in folders).most_common(_MOST_FACETS),
    }


def _folder(path: str) -> str:
    parts = path.split("/")
    return "/".join(parts[: min(2, len(parts) - 1)]) + "/" if len(parts) > 1 else ""


def highlighted(text: str, query: Query | None) -> Markup:
    """The text, escaped, with the words that were looked for marked."""
    from clew.history.search.snippets import marks

    parts: list[str] = []
    at = 0
    for begin, end in marks(text, query.terms) if query else ():
        parts += [str(escape(text[at:begin])), "<mark>", str(escape(text[begin:end])), "</mark>"]
        at = end
    return Markup("".join([*parts, str(escape(text[at:]))]))  # noqa: S704 - every part is escaped
