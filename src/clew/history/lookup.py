"""Commits by name, in the documented shapes, and what all answers share: scope, limits, paths."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

from clew.history.model import PLACE_BITS, Repo, first_id, last_id
from clew.history.store.interface import ALWAYS, CommitRecord, HistoryStore
from clew.kit.errors import Invalid, NotFound

MOST_ANSWERS = 500
_HEX = re.compile(r"[0-9a-f]{4,40}")
_MOST_CANDIDATES = 8
_UNUSABLE = re.compile(r"^-|[\x00\n\ud800-\udfff]")
_SIGNATURE = re.compile(r"(?:[A-Z][a-z]+(?:-[a-z]+)*-by|Cc|CC|Change-Id|Message-ID): ")


def bounded(limit: int) -> int:
    """How many answers are given."""
    return max(0, min(limit, MOST_ANSWERS))


def page(items: str, found: Sequence[Any], limit: int, **beside: Any) -> dict[str, Any]:
    """The first answers under the name `items`, how many there are, and what goes with them."""
    most = bounded(limit)
    return {**beside, "total": len(found), "limit": most, items: list(found[:most])}


def lower_bound(since: int | None) -> int:
    """The earliest time that is wanted, as a number that the index can hold."""
    return -ALWAYS if since is None else max(-ALWAYS, min(since, ALWAYS))


def time_range(since: int | None, until: int | None) -> tuple[int, int]:
    """The earliest and the latest time that is wanted."""
    return lower_bound(since), lower_bound(ALWAYS if until is None else until)


def span(repo: Repo) -> tuple[int, int]:
    """The ids that commits of a repository have."""
    return first_id(repo.repo_id), last_id(repo.repo_id)


def chosen_repos(store: HistoryStore, names: Sequence[str] | None) -> list[Repo]:
    """The repositories of these names, or all; a name that is not registered is an error."""
    repos = store.repos()
    if names is None:
        return repos
    known = {repo.name: repo for repo in repos}
    unknown = [name for name in names if name not in known]
    if unknown:
        listed = ", ".join(known) or "none"
        raise NotFound(f"Repo '{unknown[0]}' not found", f"Registered: {listed}.")
    return [known[name] for name in dict.fromkeys(names)]


def is_askable(path: str) -> bool:
    """Whether a question can name this path; a repository can have others."""
    return not _UNUSABLE.search(path)


def clean_path(path: str) -> str:
    """A path as git writes it: relative, from the repository's root."""
    parts = path.removesuffix("/").split("/")
    if not is_askable(path) or not {"", ".", ".."}.isdisjoint(parts):
        raise Invalid(f"Not a path in a repository: {path!r}", "Give it from the root on: src/a.py")
    return "/".join(parts)


def find_commit(store: HistoryStore, repo_name: str, sha: str) -> tuple[Repo, CommitRecord]:
    """A commit by the beginning of its SHA, and its repository."""
    repo = store.find_repo(repo_name)
    return repo, find_record(store, repo_name, sha, f"Commit {repo_name}:{sha} not found")


def find_record(store: HistoryStore, repo_name: str, sha: str, missing: str) -> CommitRecord:
    """The commit whose SHA begins so; unreachable ones count only when named in full."""
    try:
        repo = store.find_repo(repo_name)
    except NotFound:
        raise NotFound(missing) from None
    wanted = sha.strip().lower()
    if not _HEX.fullmatch(wanted):
        raise NotFound(missing)
    found = store.commits_by_prefix(
        repo.repo_id, wanted, _MOST_CANDIDATES + 1, with_unreachable=len(wanted) == 40
    )
    if not found:
        raise NotFound(missing)
    if len(found) > 1:
        candidates = ", ".join(one.sha[:12] for one in found[:_MOST_CANDIDATES])
        raise Invalid(f"{sha} is ambiguous: {candidates}", "Give more of the SHA.")
    return found[0]


def message_lines(subject: str, body: str | None) -> list[str]:
    """A message as people read it: without the trailers that only say who looked at it."""
    lines = [line for line in (body or "").split("\n") if not _SIGNATURE.match(line)]
    return [subject, *"\n".join(lines).strip("\n").split("\n")] if any(lines) else [subject]


def reason_of(body: str, most: int = 400) -> str:
    """What a message says of why: its first paragraphs, as many as are short together."""
    kept: list[str] = []
    size = 0
    for part in re.split(r"\n\s*\n", body.strip()):
        size += len(part)
        if kept and size > most:
            return "\n".join([*kept, "[…]"])
        kept.append(part if len(part) <= most else f"{part[:most].rsplit(maxsplit=1)[0]} […]")
    return "\n".join(kept)


def get_commit(store: HistoryStore, repo_name: str, sha: str) -> dict[str, Any]:
    """A commit's metadata and files, in the documented shape."""
    found = find_record(store, repo_name, sha, f"Commit {repo_name}:{sha} not found")
    return {
        "repo": repo_name,
        "sha": found.sha,
        "subject": found.subject,
        "body": found.body,
        "author": found.author,
        "date": found.date,
        "changed_files": [
            {
                "path": file.path,
                "status": file.status,
                "old_path": file.old_path if file.status.startswith("R") else None,
            }
            for file in store.files([found.id])[found.id]
        ],
    }


def get_patch(
    store: HistoryStore, repo_name: str, sha: str, max_bytes: int | None = None
) -> dict[str, Any]:
    """A commit's patch, whole or cut at a character boundary."""
    missing = f"Patch {repo_name}:{sha} not found"
    found = find_record(store, repo_name, sha, missing)
    text = patch_text(store, found.id)
    if text is None:
        raise NotFound(missing)
    if max_bytes is not None:
        text = text.encode("utf-8")[: max(max_bytes, 0)].decode("utf-8", "ignore")
    return {"repo": repo_name, "sha": found.sha, "patch_text": text}


def patch_text(store: HistoryStore, commit_id: int, largest: int | None = None) -> str | None:
    """The text of a patch; bytes that are no UTF-8 are shown as replacement signs."""
    patch = store.patch(commit_id, largest)
    return None if patch is None else patch.decode("utf-8", "replace")


def briefs(store: HistoryStore, ids: Iterable[int]) -> list[dict[str, Any]]:
    """Commits as lists show them, in the order of their ids as given."""
    wanted = list(ids)
    names = {repo.repo_id: repo.name for repo in store.repos()}
    found = store.commits(wanted)
    return [
        {
            "repo": names[commit_id >> PLACE_BITS],
            "sha": found[commit_id].sha,
            "subject": found[commit_id].subject,
            "author": found[commit_id].author,
            "date": found[commit_id].date,
        }
        for commit_id in wanted
    ]
