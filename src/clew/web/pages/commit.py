"""A commit's page: its message, its diff, and what it is linked to."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from starlette.responses import RedirectResponse
from starlette.routing import Route

from clew.kit.errors import ClewError, NotFound
from clew.kit.git import PLAIN_DIFF, GitError, run_git
from clew.kit.text.display import clipped, shown_text
from clew.web.site import page, path_part, site_of
from clew.web.views.diffs import DiffView, read_diff

if TYPE_CHECKING:
    from pathlib import Path

    from starlette.requests import Request
    from starlette.responses import Response

    from clew.history.store.interface import HistoryStore
    from clew.web.site import Site

_MOST_BYTES = 1 << 20
_SHA = re.compile(r"[0-9a-f]{4,40}")
_SPEC = re.compile(r"chant\(([A-Za-z0-9][A-Za-z0-9._-]{0,199})\):")


def show(request: Request) -> Response:
    """One commit."""
    from clew.history.lookup import get_commit, get_patch

    site = site_of(request)
    store = site.history()
    repo, sha = request.path_params["repo"], request.path_params["sha"]
    commit = get_commit(store, repo, sha)
    try:
        patch = get_patch(store, repo, commit["sha"], _MOST_BYTES)["patch_text"]
        diff = read_diff(patch)
    except NotFound:  # a merge repeats no lines
        diff = DiffView()
    return page(
        request,
        "commit.html",
        here="history",
        commit=commit,
        diff=diff,
        spec=_spec_of(site, commit["subject"]),
        links=_links(store, repo, commit["sha"]),
    )


def _spec_of(site: Site, subject: str) -> Any:
    """The spec that the subject names, if this project has it."""
    found = _SPEC.match(subject)
    try:
        return site.specs().load(found[1]).head if found else None
    except ClewError:
        return None


def _links(store: HistoryStore, repo: str, sha: str) -> dict[str, Any]:
    from clew.history.questions.links import commit_links

    try:
        return commit_links(store, repo, sha)
    except ClewError:
        return {}


def here(request: Request) -> Response:
    """A commit of this project: from the index if it is there, else from git itself."""
    site, sha = site_of(request), request.path_params["sha"]
    name = _indexed_as(site, sha)
    if name is not None:
        return RedirectResponse(f"/commits/{path_part(sha)}/in/{path_part(name)}", 307)
    commit, patch = _from_git(site.root, sha)
    return page(
        request,
        "commit.html",
        here="history",
        commit=commit,
        diff=read_diff(patch),
        spec=_spec_of(site, commit["subject"]),
        links={},
    )


def _indexed_as(site: Site, sha: str) -> str | None:
    """The name of this project's repository in the index, if the commit is in it."""
    from clew.history.lookup import get_commit

    root = str(site.root.resolve())
    try:
        store = site.history()
        for repo in store.repos():
            if repo.local_path == root:
                get_commit(store, repo.name, sha)
                return repo.name
    except ClewError:
        return None
    return None


def _from_git(root: Path, sha: str) -> tuple[dict[str, Any], str]:
    if not _SHA.fullmatch(sha):
        raise NotFound(f"Not a commit: {clipped(shown_text(sha))}")
    from clew.thread.why.commits import commit_here

    try:
        told = commit_here(root, sha)
        patch = run_git("log", "-1", "-p", "-M", *PLAIN_DIFF, "--format=", told.sha, "--", cwd=root)
    except GitError:
        raise NotFound(f"There is no commit {sha} in this project") from None
    return {
        "repo": "",
        "sha": told.sha,
        "author": told.author,
        "date": told.date,
        "subject": told.subject,
        "body": told.body,
        "changed_files": [
            {"path": path, "status": status, "old_path": old} for path, status, old in told.files
        ],
    }, patch[:_MOST_BYTES].decode("utf-8", "replace")


ROUTES = [
    Route("/commits/{sha}", here),
    Route("/commits/{sha}/in/{repo:path}", show),
]
