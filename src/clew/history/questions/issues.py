"""Issue references in commit messages, as data, and the commits that name an issue."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from clew.history.lookup import briefs, chosen_repos, page
from clew.history.model import PLACE_BITS, Repo
from clew.history.store.interface import CommitRecord, HistoryStore, any_phrase
from clew.kit.errors import Invalid
from clew.kit.text.tokens import WORD

_URL = re.compile(r"https?://[^\s<>\"'`]+")
# How trackers address an issue; the first group is the project where the address has it.
_URL_NUMBER = re.compile(
    r"://[^/]+/([^\s?#]+?)/(?:-/)?(?:issues?|pulls?|pull-requests|merge_requests|discussions)/(\d+)\b"
)
_URL_KEY = re.compile(r"/browse/([A-Z][A-Z0-9]+-\d+)\b")
_URL_OTHER = re.compile(
    r"/(?:tickets?|bugs?|\+bug)/\d+|/show_bug\.cgi\?(?:\S*&)?id=\d+|//bugs\.[^/]+/(?:issue|bug=)?\d+"
    r"|/bugreport\.cgi\?(?:\S*&)?bug=\d+|//crbug\.com/(?:\w+/)?\d+"
)
_NUMBER = re.compile(r"(?<![\w&/#])#(\d{1,9})\b(?!\.\d)")
_GH = re.compile(r"(?<![\w-])GH-(\d{1,9})\b", re.IGNORECASE)
_KEY = re.compile(r"(?<![\w/.-])([A-Z][A-Z0-9]{1,14}-\d{1,9})\b(?!-)")
_CLOSING = re.compile(
    r"\b(?:fix(?:e[sd])?|close[sd]?|resolve[sd]?)(?:\s+issue)?:?\s+$", re.IGNORECASE
)
# Names of standards that look like keys of a tracker.
_NO_KEYS = re.compile(r"(?:UTF|SHA|ISO|RFC|CVE|MD|AES|RSA|BASE|PEP|GH|IEEE|X)-")
# A number sign also counts things, names colours, and begins the lines of a backtrace.
_NO_ISSUE = re.compile(
    r"\b(?:part|step|case|item|option|attempt|take|round|version|patch|test|problem|reason|phase|"
    r"example|number|no\.|rule|point|line|page|frame|thread|colou?rs?|background)\s+$",
    re.IGNORECASE,
)
_QUOTED = re.compile(r"^(?: {4}|\t|>|[ ]*#\d+ +(?:0x|in\b|\w+ \()).*$", re.MULTILINE)


def issue_refs(message: str) -> list[dict[str, Any]]:
    """The issues that a message names, in its order; `closes` says whether it ends them.

    An address counts if it is one of a tracker. Lines that are quoted or indented count nothing
    but addresses: they are what programs printed.
    """
    found: dict[str, dict[str, Any]] = {}
    masked = _QUOTED.sub(lambda match: " " * len(match[0]), message)
    spots: list[tuple[int, str, str]] = []
    for match in _URL.finditer(message):
        url = match.group().rstrip(".,;:!?)]}")
        if any(one.search(url) for one in (_URL_NUMBER, _URL_KEY, _URL_OTHER)):
            spots.append((match.start(), "url", url))
        masked = masked[: match.start()] + " " * len(match[0]) + masked[match.end() :]
    spots += [(m.start(), "number", f"#{m[1]}") for m in _NUMBER.finditer(masked)]
    spots += [(m.start(), "number", f"#{m[1]}") for m in _GH.finditer(masked)]
    spots += [(m.start(), "key", m[1]) for m in _KEY.finditer(masked) if not _NO_KEYS.match(m[1])]
    for at, kind, ref in sorted(spots):
        before = message[max(0, at - 24) : at]
        if kind == "number" and _NO_ISSUE.search(before):
            continue
        closes = bool(_CLOSING.search(before))
        entry = found.setdefault(ref, {"kind": kind, "ref": ref, "closes": closes})
        entry["closes"] |= closes
    return list(found.values())


def by_issue(
    store: HistoryStore, issue: str, *, repos: Sequence[str] | None = None, limit: int = 50
) -> dict[str, Any]:
    """Commits whose message names an issue, newest first."""
    asked = _as_reference(issue)
    hits = []
    chosen = {repo.repo_id: repo for repo in chosen_repos(store, repos)}
    for commit in _candidates(store, sorted(_names(asked)), list(chosen.values())):
        repo = chosen[commit.id >> PLACE_BITS]
        wanted = _names(asked, repo)
        refs = issue_refs(f"{commit.subject}\n{commit.body or ''}")
        named = [ref for ref in refs if wanted & _names(ref["ref"], repo)]
        if named:
            hits.append((commit.id, named))
    found = page("commits", hits, limit, issue=issue)
    heads = briefs(store, [hit[0] for hit in found["commits"]])
    found["commits"] = [
        {**head, "closes": any(ref["closes"] for ref in refs)}
        for head, (_, refs) in zip(heads, found["commits"], strict=True)
    ]
    return found


def _as_reference(issue: str) -> str:
    text = issue.strip().encode("utf-8", "replace").decode("utf-8")
    text = f"#{text}" if text.isascii() and text.isdigit() else text
    found = issue_refs(text) or issue_refs(text.upper())
    if len(found) != 1:
        raise Invalid(f"Not an issue: {issue!r}", "Give #123, GH-123, ABC-123 or its address.")
    return str(found[0]["ref"])


def _names(ref: str, repo: Repo | None = None) -> set[str]:
    """What a reference may be called elsewhere: an address holds a number or a key.

    The number of another project's issue says nothing in this repository.
    """
    if not ref.startswith("http"):
        return {ref}
    numbers = {
        f"#{number}"
        for project, number in _URL_NUMBER.findall(ref)
        if repo is None or is_own_project(project, repo)
    }
    return {ref, *numbers, *_URL_KEY.findall(ref)}


def is_own_project(project: str, repo: Repo) -> bool:
    """Whether a project in a tracker's address is the repository, by its remote or by its name."""
    remote = (repo.remote_url or "").removesuffix("/").removesuffix(".git").lower()
    wanted = project.lower()
    if (remote and "://" in remote) or remote.startswith("git@"):
        return remote.replace(":", "/").endswith(f"/{wanted}")
    return wanted.rpartition("/")[2] == repo.name.lower()


def _candidates(store: HistoryStore, refs: list[str], repos: list[Repo]) -> list[CommitRecord]:
    phrases = (" ".join(WORD.findall(ref)) for ref in refs)
    found = store.commits_saying(any_phrase(phrases, "subject body"), repos)
    return sorted(found, key=lambda commit: (commit.commit_time, commit.id), reverse=True)
