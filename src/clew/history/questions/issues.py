"""Issue references in commit messages, as data, and the commits that name an issue."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from clew.history.lookup import briefs, chosen_repos, page
from clew.history.model import Repo
from clew.history.store.interface import CommitRecord, HistoryStore, any_phrase
from clew.kit.errors import Invalid
from clew.kit.text.tokens import WORD

_URL = re.compile(r"https?://[^\s<>\"'`]+")
_URL_NUMBER = re.compile(r"/(?:issues?|pulls?|merge_requests|discussions)/(\d+)\b")
_URL_KEY = re.compile(r"/browse/([A-Z][A-Z0-9]+-\d+)\b")
_NUMBER = re.compile(r"(?<![\w&/#])#(\d{1,9})\b")
_GH = re.compile(r"(?<![\w-])GH-(\d{1,9})\b", re.IGNORECASE)
_KEY = re.compile(r"(?<![\w/.-])([A-Z][A-Z0-9]{1,14}-\d{1,9})\b(?!-)")
_CLOSING = re.compile(
    r"\b(?:fix(?:e[sd])?|close[sd]?|resolve[sd]?)(?:\s+issue)?:?\s+$", re.IGNORECASE
)
# Names of standards that look like keys of a tracker.
_NO_KEYS = re.compile(r"(?:UTF|SHA|ISO|RFC|CVE|MD|AES|RSA|BASE|PEP|GH|IEEE|X)-")


def issue_refs(message: str) -> list[dict[str, Any]]:
    """The issues that a message names, in its order; `closes` says whether it ends them."""
    found: dict[str, dict[str, Any]] = {}
    masked = message
    spots: list[tuple[int, str, str]] = []
    for match in _URL.finditer(message):
        url = match.group().rstrip(".,;:!?)]}")
        spots.append((match.start(), "url", url))
        masked = masked.replace(match.group(), " " * len(match.group()))
    spots += [(m.start(), "number", f"#{m[1]}") for m in _NUMBER.finditer(masked)]
    spots += [(m.start(), "number", f"#{m[1]}") for m in _GH.finditer(masked)]
    spots += [(m.start(), "key", m[1]) for m in _KEY.finditer(masked) if not _NO_KEYS.match(m[1])]
    for at, kind, ref in sorted(spots):
        closes = bool(_CLOSING.search(message[max(0, at - 24) : at]))
        entry = found.setdefault(ref, {"kind": kind, "ref": ref, "closes": closes})
        entry["closes"] |= closes
    return list(found.values())


def by_issue(
    store: HistoryStore, issue: str, *, repos: Sequence[str] | None = None, limit: int = 50
) -> dict[str, Any]:
    """Commits whose message names an issue, newest first."""
    wanted = _names(_as_reference(issue))
    hits = []
    for commit in _candidates(store, sorted(wanted), chosen_repos(store, repos)):
        refs = issue_refs(f"{commit.subject}\n{commit.body or ''}")
        named = [ref for ref in refs if wanted & _names(ref["ref"])]
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


def _names(ref: str) -> set[str]:
    """What a reference may be called elsewhere: an address holds a number or a key."""
    if not ref.startswith("http"):
        return {ref}
    numbers = {f"#{number}" for number in _URL_NUMBER.findall(ref)}
    return {ref, *numbers, *_URL_KEY.findall(ref)}


def _candidates(store: HistoryStore, refs: list[str], repos: list[Repo]) -> list[CommitRecord]:
    phrases = (" ".join(WORD.findall(ref)) for ref in refs)
    found = store.commits_saying(any_phrase(phrases, "subject body"), repos)
    return sorted(found, key=lambda commit: (commit.commit_time, commit.id), reverse=True)
