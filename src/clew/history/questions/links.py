"""How commits refer to each other: reverts, cherry-picks, fix-ups, fixes, both ways."""

from __future__ import annotations

import re
from typing import Any

from clew.history.lookup import bounded, find_commit
from clew.history.model import Repo
from clew.history.questions.issues import issue_refs
from clew.history.store.interface import CommitRecord, HistoryStore, any_phrase
from clew.kit.text.tokens import WORD

# A SHA as messages write it; letters alone are a word.
_SHA = r"(?:commit\s+)?[\[(`\"']?([0-9a-f]{40}|(?=[a-f]*[0-9])[0-9a-f]{7,39})\b"
_BLAME = r"\b(?:regress\w+|broken?|broke|bug|introduced|caused)\b[^.\n]{0,40}?"
_BY_SHA = tuple(
    (kind, re.compile(before + _SHA, re.IGNORECASE | re.MULTILINE))
    for kind, before in (
        ("reverts", r"\bThis reverts\s+"),
        ("cherry_picked_from", r"\(cherry picked from\s+"),
        ("fixes", r"^Fixes:\s+"),
        ("fixes_regression_in", _BLAME + r"\s(?:in|from|since|by|with|of|after)\s+"),
        ("follow_up_to", r"\bfollow(?:s|ing|[- ]?up)?\s+(?:to|of|on|from|for)\s+"),
        ("mentions", r"\b(?:refs?|see|cf|since|in|from|after|by|to|of|with|and)[.:]?\s+"),
    )
)
# What tools and conventions write; other mentions are links only where the commit is known.
DECLARED = ("reverts", "cherry_picked_from", "fixes")
_BY_SUBJECT = (
    ("reverts", re.compile(r'Revert "(.+)"')),
    ("fixup_of", re.compile(r"(?:(?:fixup|amend)! )+(.+)")),
    ("squash_of", re.compile(r"(?:squash! )+(.+)")),
)
_BACK = {
    "reverts": "reverted_by",
    "cherry_picked_from": "cherry_picked_to",
    "fixes": "fixed_by",
    "fixes_regression_in": "fixed_by",
    "follow_up_to": "followed_up_by",
    "mentions": "mentioned_by",
    "fixup_of": "fixup",
    "squash_of": "squash",
}
_SHORTEST_SHA = 7
_MOST_CANDIDATES = 500


def commit_links(
    store: HistoryStore, repo_name: str, sha: str, *, limit: int = 50
) -> dict[str, Any]:
    """The commits that one refers to or that refer to it, and the issues it names."""
    repo, commit = find_commit(store, repo_name, sha)
    links = [*_outgoing(store, repo, commit), *_incoming(store, repo, commit)]
    return {
        "repo": repo_name,
        "sha": commit.sha,
        "subject": commit.subject,
        "issues": issue_refs(f"{commit.subject}\n{commit.body or ''}"),
        "total": len(links),
        "limit": bounded(limit),
        "links": [_as_data(store, *link) for link in links[: bounded(limit)]],
    }


def named_commits(body: str) -> list[tuple[str, str]]:
    """Kind and SHA of the commits that a message names by SHA, each by what says most."""
    kinds: dict[str, str] = {}
    for kind, pattern in _BY_SHA:
        for sha in pattern.findall(body):
            kinds.setdefault(sha.lower(), kind)
    return [(kind, sha) for sha, kind in kinds.items()]


def _as_data(store: HistoryStore, kind: str, target: int | None, name: str) -> dict[str, Any]:
    """A link; one that leads out of the index keeps the name that the message has."""
    if target is None:
        return {"kind": kind, "sha": name, "subject": None, "date": None}
    found = store.commits([target])[target]
    return {"kind": kind, "sha": found.sha, "subject": found.subject, "date": found.date}


def _outgoing(
    store: HistoryStore, repo: Repo, commit: CommitRecord
) -> list[tuple[str, int | None, str]]:
    """Kind, commit and name of everything that a message refers to."""
    named = [
        (kind, _by_sha(store, repo, sha), sha) for kind, sha in named_commits(commit.body or "")
    ]
    found = [link for link in named if link[1] is not None or link[0] in DECLARED]
    for kind, pattern in _BY_SUBJECT:
        match = pattern.fullmatch(commit.subject)
        if match is None or any(link[0] == kind for link in found):
            continue
        target = store.latest_with_subject(repo.repo_id, match[1], commit.id)
        if target is None and re.fullmatch(r"[0-9a-f]{7,40}", match[1]):
            target = _by_sha(store, repo, match[1])
        if target is not None:
            found.append((kind, target, match[1]))
    return found


def _incoming(
    store: HistoryStore, repo: Repo, commit: CommitRecord
) -> list[tuple[str, int | None, str]]:
    back: list[tuple[str, int | None, str]] = []
    for other in _mentions(store, repo, commit):
        if other.id == commit.id:
            continue
        links = _outgoing(store, repo, other)
        kinds = dict.fromkeys(kind for kind, target, _ in links if target == commit.id)
        back += [(_BACK[kind], other.id, "") for kind in kinds]
    return back


def _mentions(store: HistoryStore, repo: Repo, commit: CommitRecord) -> list[CommitRecord]:
    """Commits whose message has the SHA, whole or shortened, or repeats the subject."""
    lengths = range(_SHORTEST_SHA, len(commit.sha) + 1)
    expression = any_phrase((commit.sha[:length] for length in lengths), "subject body")
    words = " ".join(WORD.findall(commit.subject))
    if words:
        expression += f" OR {any_phrase([words], 'subject')}"
    return store.commits_saying(expression, [repo], most=_MOST_CANDIDATES)


def _by_sha(store: HistoryStore, repo: Repo, sha: str) -> int | None:
    """The one commit whose SHA begins so."""
    found = store.commits_by_prefix(repo.repo_id, sha, 2)
    return found[0].id if len(found) == 1 else None
