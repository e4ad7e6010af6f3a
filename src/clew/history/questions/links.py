"""How commits refer to each other: reverts, cherry-picks, fix-ups, fixes, both ways."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from clew.history.lookup import bounded, find_commit
from clew.history.model import Repo
from clew.history.questions.issues import issue_refs
from clew.history.store.interface import CommitRecord, HistoryStore, any_phrase
from clew.kit.text.display import clipped
from clew.kit.text.tokens import WORD

# A SHA as messages write it; letters alone are a word, digits alone a number.
_NAMED = (
    r"(?:commits?\s+)?[\[(`\"']?([0-9a-f]{40}(?:[0-9a-f]{24})?|(?=[a-f]*[0-9])[0-9a-f]{7,39})\b"
)
_ALONE = r"(?<![\w./:@#=-])(?=[0-9]*[a-f])(?=[a-f]*[0-9])([0-9a-f]{7,64})(?![\w@=]|[./-]\w)"
# What `git log` prints of a merge, pasted into a message, names its parents and says nothing of them.
_PASTED = re.compile(r"^\s*Merge: [0-9a-f]{7,40}(?: [0-9a-f]{7,40})+$", re.MULTILINE)
_FAULT = r"\b(?:regress\w*|(?:bug|introduced|caused|broken?|broke))\s+(?:(?!fix|solv|revert|remov)\w+\s+){0,2}?"
_BY_SHA = tuple(
    (kind, re.compile(pattern, re.IGNORECASE | re.MULTILINE))
    for kind, pattern in (
        ("reverts", rf"\bThis reverts\s+{_NAMED}"),
        ("partly_reverts", rf"\bpartial(?:ly)?\s+revert(?:s|ed|ing)?\s+(?:of\s+)?{_NAMED}"),
        ("reverts", rf"^(?:Revert(?:s|ed)?)\s+(?!\")(?:of\s+)?{_NAMED}"),
        ("cherry_picked_from", rf"\(cherry picked from\s+{_NAMED}"),
        ("cherry_picked_from", rf"^Backport(?:ed)?\s+(?:of|from)\s+{_NAMED}"),
        ("fixes", rf"^Fixes:\s+{_NAMED}"),
        ("fixes_regression_in", rf"{_FAULT}(?:in|from|since|by|with|after|as part of)\s+{_NAMED}"),
        ("follow_up_to", rf"\bfollow(?:s|ing|[- ]?up)?\s+(?:to|of|on|from|for)\s+{_NAMED}"),
        ("mentions", rf"\b(?:refs?|see|cf|since|in|from|after|by|to|of|with|and)[.:]?\s+{_NAMED}"),
        ("mentions", _ALONE),
    )
)
# What tools and conventions write; other mentions are links only where the commit is known.
DECLARED = ("reverts", "cherry_picked_from", "fixes")
_BY_SUBJECT = (
    ("reverts", re.compile(r'Revert "(.+)"')),
    ("fixup_of", re.compile(r"(?:(?:fixup|amend)! )+(.+)")),
    ("squash_of", re.compile(r"(?:squash! )+(.+)")),
)
BACK = {
    "reverts": "reverted_by",
    "partly_reverts": "partly_reverted_by",
    "cherry_picked_from": "cherry_picked_to",
    "fixes": "fixed_by",
    "fixes_regression_in": "regression_named_by",
    "follow_up_to": "followed_up_by",
    "mentions": "mentioned_by",
    "fixup_of": "fixup",
    "squash_of": "squash",
}
_MOST_WORDS = 200
_SENTENCE_END = re.compile(r"\n\s*\n|[.!?](?=\s)\s|\n(?=\s*[-*] )|\n(?=[A-Z][\w-]+: )")
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
        "links": [_as_data(store, link) for link in links[: bounded(limit)]],
    }


class Named(NamedTuple):
    """A commit that a message names: how, by which SHA, and in which words."""

    kind: str
    sha: str
    words: str


def named_commits(message: str) -> list[Named]:
    """The commits that a message names by SHA, each by what says most."""
    found: dict[str, Named] = {}
    message = _PASTED.sub("", message)
    for kind, pattern in _BY_SHA:
        for match in pattern.finditer(message):
            sha = match[1].lower()
            if sha not in found:
                found[sha] = Named(kind, sha, _words_around(message, match.start(1)))
    return list(found.values())


def _words_around(message: str, at: int) -> str:
    """The sentence that a message has there, in one line."""
    starts = (match.end() for match in _SENTENCE_END.finditer(message, 0, at))
    start = max(starts, default=0)
    end = _SENTENCE_END.search(message, at)
    end_at = end.start() + 1 if end else len(message)
    return clipped(" ".join(message[start:end_at].split()), _MOST_WORDS)


def _as_data(store: HistoryStore, link: _Found) -> dict[str, Any]:
    """A link; one that leads out of the index keeps the name that the message has."""
    kind, target, name, words = link
    if target is None:
        return {"kind": kind, "sha": name, "subject": None, "date": None, "words": words}
    found = store.commits([target])[target]
    return {
        "kind": kind, "sha": found.sha, "subject": found.subject, "date": found.date, "words": words
    }  # fmt: skip


# Kind, commit where it is known, the name that the message has, and the words around it.
_Found = tuple[str, int | None, str, str]


def _outgoing(store: HistoryStore, repo: Repo, commit: CommitRecord) -> list[_Found]:
    """Everything that a message refers to."""
    message = f"{commit.subject}\n\n{commit.body or ''}"
    named = [
        (kind, _by_sha(store, repo, sha), sha, words) for kind, sha, words in named_commits(message)
    ]
    found: list[_Found] = [
        link
        for link in named
        if link[1] != commit.id and (link[1] is not None or link[0] in DECLARED)
    ]
    for kind, pattern in _BY_SUBJECT:
        match = pattern.fullmatch(commit.subject)
        if match is None or any(link[0] == kind for link in found):
            continue
        target = store.latest_with_subject(repo.repo_id, match[1], commit.id)
        if target is None and re.fullmatch(r"[0-9a-f]{7,40}", match[1]):
            target = _by_sha(store, repo, match[1])
        if target is not None:
            found.append((kind, target, match[1], commit.subject))
    return found


def _incoming(store: HistoryStore, repo: Repo, commit: CommitRecord) -> list[_Found]:
    back: list[_Found] = []
    for other in _mentions(store, repo, commit):
        if other.id == commit.id:
            continue
        links = _outgoing(store, repo, other)
        kinds = {kind: words for kind, target, _, words in links if target == commit.id}
        back += [(BACK[kind], other.id, "", words) for kind, words in kinds.items()]
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
