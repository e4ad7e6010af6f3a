"""A file's page: its lines with who wrote them last, each leading to its why; and its history."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from clew.kit.errors import ClewError, Invalid
from clew.web.site import page, site_of

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

    from clew.history.store.interface import HistoryStore

_MOST_BYTES = 1 << 20
_MOST_LINES = 3000
_LONGEST_LINE = 1000
_BINARY_LOOK = 8000


def show(request: Request) -> Response:
    """One file of a registered repository, as its newest commit has it."""
    from clew.history.questions.cochange import co_change
    from clew.history.questions.file_history import file_history

    store = site_of(request).history()
    repo, path = request.query_params.get("repo", ""), request.query_params.get("path", "")
    text, problem = _text(store, repo, path)
    lines = text.split("\n")[:_MOST_LINES]
    blamed = _blamed(store, repo, path) if text else []
    return page(
        request,
        "file.html",
        here="history",
        repo=repo,
        file_path=path,
        rows=_rows(lines, blamed),
        problem=problem,
        is_cut=text.count("\n") >= _MOST_LINES,
        history=file_history(store, repo, path, limit=30),
        together=co_change(store, repo, path, limit=10),
    )


def _text(store: HistoryStore, repo_name: str, path: str) -> tuple[str, str]:
    """The file's text and, where it cannot be shown, why."""
    from clew.history.repo_git import repo_git, resolve, tracked

    repo = store.find_repo(repo_name)
    try:
        commit = resolve(repo, "HEAD")
        data = repo_git(repo, "cat-file", "blob", f"{commit}:{tracked(repo, commit, path)}")
    except ClewError as error:
        if isinstance(error, Invalid):
            raise
        return "", f"{error.message}. Its history is below."
    if b"\0" in data[:_BINARY_LOOK]:
        return "", "This file is not text."
    if len(data) > _MOST_BYTES:
        return data[:_MOST_BYTES].decode("utf-8", "replace"), ""
    return data.decode("utf-8", "replace").rstrip("\n"), ""


def _blamed(store: HistoryStore, repo: str, path: str) -> list[dict[str, Any]]:
    from clew.history.questions.blame import blame

    try:
        found: list[dict[str, Any]] = blame(store, repo, path, limit=_MOST_LINES)["lines"]
    except ClewError:
        return []
    return found


def _rows(lines: list[str], blamed: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Each line with its number; the first of those that one commit wrote together names it."""
    first = {entry["start"]: entry for entry in blamed}
    rows = []
    shade = False
    for number, text in enumerate(lines, start=1):
        entry = first.get(number)
        shade = not shade if entry else shade
        rows.append({"number": number, "text": text[:_LONGEST_LINE], "by": entry, "shade": shade})
    return rows
