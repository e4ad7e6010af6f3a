"""A commit's page: its message, its diff, and what it is linked to."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from starlette.responses import RedirectResponse

from clew.kit.errors import ClewError, NotFound
from clew.kit.git import PLAIN_DIFF, GitError, run_git
from clew.kit.text.display import clipped, shown_text
from clew.web.site import page, path_part, site_of
from clew.web.views.agent_requests import Requests, is_own, requests_of
from clew.web.views.diffs import DiffView, read_diff

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from starlette.requests import Request
    from starlette.responses import Response

    from clew.history.store.interface import HistoryStore
    from clew.web.site import Site

_MOST_BYTES = 1 << 20
_SHA = re.compile(r"[0-9a-f]{4,64}")


def show(request: Request) -> Response:
    """One commit."""
    from clew.history.lookup import get_commit, get_patch

    store = site_of(request).history()
    repo, sha = request.path_params["repo"], request.path_params["sha"]
    commit = get_commit(store, repo, sha)
    try:
        patch = get_patch(store, repo, commit["sha"], _MOST_BYTES)["patch_text"]
        diff = read_diff(patch)
    except NotFound:  # a merge repeats no lines
        diff = DiffView()
    site = site_of(request)
    is_here = is_own(store.find_repo(repo).local_path, site.root)
    reads = is_here and site.shows_machine()
    asked = requests_of(site.root, commit["sha"]) if reads else Requests()
    return _page(request, commit, diff, _links(store, repo, commit["sha"]), asked)


def _page(
    request: Request,
    commit: dict[str, Any],
    diff: DiffView,
    links: Sequence[dict[str, Any]],
    requests: Requests,
) -> Response:
    spec = _spec_of(site_of(request), commit["subject"])
    return page(
        request,
        "commit.html",
        here="history",
        commit=commit,
        diff=diff,
        spec=spec,
        links=links,
        requests=requests,
    )


def _spec_of(site: Site, subject: str) -> Any:
    """The spec that the subject names, if this project has it."""
    from clew.thread.why.links import specs_in_message

    found = specs_in_message(subject) if site.shows_project() else []
    try:
        return site.specs().load(found[0].id).head if found else None
    except ClewError:
        return None


def _links(store: HistoryStore, repo: str, sha: str) -> list[dict[str, Any]]:
    """The commits that this one is linked to, each once, in the words of `why`."""
    from clew.history.questions.links import commit_links
    from clew.thread.why.builder import RELATIONS

    try:
        found = commit_links(store, repo, sha)["links"]
    except ClewError:
        return []
    each = {one["sha"]: one for one in reversed(found)}
    return [{**one, "words": RELATIONS.get(one["kind"], "")} for one in reversed(each.values())]


def here(request: Request) -> Response:
    """A commit of this project: from the index if it is there, else from git itself."""
    site, sha = site_of(request), request.path_params["sha"]
    name = _indexed_as(site, sha)
    if name is not None:
        return RedirectResponse(f"/commits/{path_part(sha)}/in/{path_part(name)}", 307)
    commit, patch = _from_git(site.root, sha)
    asked = requests_of(site.root, commit["sha"]) if site.shows_machine() else Requests()
    return _page(request, commit, read_diff(patch), [], asked)


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
        found = commit_here(root, sha)
        patch = run_git(
            "log", "-1", "-p", "-M", *PLAIN_DIFF, "--format=", found.sha, "--", cwd=root
        )
    except GitError:
        raise NotFound(f"There is no commit {sha} in this project") from None
    return {
        "repo": "",
        "sha": found.sha,
        "author": found.author,
        "date": found.date,
        "subject": found.subject,
        "body": found.body,
        "changed_files": [
            {"path": path, "status": status, "old_path": old} for path, status, old in found.files
        ],
    }, patch[:_MOST_BYTES].decode("utf-8", "replace")
