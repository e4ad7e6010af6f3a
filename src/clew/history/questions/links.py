"""How commits refer to each other: reverts, cherry-picks, fix-ups, fixes, both ways."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from clew.history.questions.issues import issue_refs
from clew.history.store.scope import bounded, briefs, find_commit, span
from clew.kit.text.tokens import WORD

if TYPE_CHECKING:
    import sqlite3

    from clew.history.model import Repo
    from clew.history.store.store import HistoryStore

_BY_SHA = (
    ("reverts", re.compile(r"\bThis reverts commit\s+([0-9a-f]{7,40})\b", re.IGNORECASE)),
    ("cherry_picked_from", re.compile(r"\(cherry picked from commit ([0-9a-f]{7,40})\)")),
    ("fixes", re.compile(r"^Fixes:\s+([0-9a-f]{7,40})\b", re.IGNORECASE | re.MULTILINE)),
)
_BY_SUBJECT = (
    ("reverts", re.compile(r'Revert "(.+)"')),
    ("fixup_of", re.compile(r"(?:(?:fixup|amend)! )+(.+)")),
    ("squash_of", re.compile(r"(?:squash! )+(.+)")),
)
_BACK = {
    "reverts": "reverted_by",
    "cherry_picked_from": "cherry_picked_to",
    "fixes": "fixed_by",
    "fixup_of": "fixup",
    "squash_of": "squash",
}
_SHORTEST_SHA = 7
_MOST_CANDIDATES = 500


def commit_links(
    store: HistoryStore, repo_name: str, sha: str, *, limit: int = 50
) -> dict[str, Any]:
    """The commits that one refers to or that refer to it, and the issues it names."""
    repo, commit_id, found = find_commit(store, repo_name, sha)
    out = _outgoing(store, repo, commit_id, found["subject"], found["body"])
    back = _incoming(store, repo, commit_id, found)
    links = [*out, *back]
    return {
        "repo": repo_name,
        "sha": found["sha"],
        "subject": found["subject"],
        "issues": issue_refs(f"{found['subject']}\n{found['body'] or ''}"),
        "total": len(links),
        "limit": bounded(limit),
        "links": [_shown(store, *link) for link in links[: bounded(limit)]],
    }


def _shown(store: HistoryStore, kind: str, target: int | None, name: str) -> dict[str, Any]:
    """A link; one that leads out of the index keeps the name that the message has."""
    if target is None:
        return {"kind": kind, "sha": name, "subject": None, "date": None}
    head = briefs(store, [target])[0]
    return {"kind": kind, "sha": head["sha"], "subject": head["subject"], "date": head["date"]}


def _outgoing(
    store: HistoryStore, repo: Repo, commit_id: int, subject: str, body: str | None
) -> list[tuple[str, int | None, str]]:
    """Kind, commit and name of everything that a message refers to."""
    found: list[tuple[str, int | None, str]] = []
    for kind, pattern in _BY_SHA:
        shas = dict.fromkeys(sha.lower() for sha in pattern.findall(body or ""))
        found += [(kind, _by_sha(store, repo, sha), sha) for sha in shas]
    for kind, pattern in _BY_SUBJECT:
        match = pattern.fullmatch(subject)
        if match is None or any(link[0] == kind for link in found):
            continue
        target = _by_subject(store, repo, match[1], commit_id)
        if target is None and re.fullmatch(r"[0-9a-f]{7,40}", match[1]):
            target = _by_sha(store, repo, match[1])
        if target is not None:
            found.append((kind, target, match[1]))
    return found


def _incoming(
    store: HistoryStore, repo: Repo, commit_id: int, found: dict[str, Any]
) -> list[tuple[str, int | None, str]]:
    back: list[tuple[str, int | None, str]] = []
    for row in _mentions(store, repo, found["sha"], found["subject"]):
        if row["id"] == commit_id:
            continue
        links = _outgoing(store, repo, row["id"], row["subject"], row["body"])
        kinds = dict.fromkeys(kind for kind, target, _ in links if target == commit_id)
        back += [(_BACK[kind], row["id"], "") for kind in kinds]
    return back


def _mentions(store: HistoryStore, repo: Repo, sha: str, subject: str) -> list[sqlite3.Row]:
    """Commits whose message has the SHA, whole or shortened, or repeats the subject."""
    shortened = " OR ".join(f'"{sha[:length]}"' for length in range(_SHORTEST_SHA, len(sha) + 1))
    words = " ".join(WORD.findall(subject))
    expression = f"{{subject body}} : ({shortened})"
    if words:
        expression += f' OR subject : "{words}"'
    return store.connection.execute(
        "SELECT c.id, c.subject, c.body FROM search_fts s"
        " CROSS JOIN commit_rows c ON c.id = s.rowid"
        " WHERE search_fts MATCH ? AND s.rowid BETWEEN ? AND ? AND c.reachable"
        " ORDER BY s.rowid LIMIT ?",
        (expression, *span(repo), _MOST_CANDIDATES),
    ).fetchall()


def _by_sha(store: HistoryStore, repo: Repo, sha: str) -> int | None:
    """The one commit whose SHA begins so."""
    rows = store.connection.execute(
        "SELECT id FROM commit_rows INDEXED BY commit_sha"
        " WHERE sha BETWEEN ? AND ? AND id BETWEEN ? AND ? AND reachable LIMIT 2",
        (bytes.fromhex(sha.ljust(40, "0")), bytes.fromhex(sha.ljust(40, "f")), *span(repo)),
    ).fetchall()
    return rows[0][0] if len(rows) == 1 else None


def _by_subject(store: HistoryStore, repo: Repo, subject: str, before: int) -> int | None:
    """The newest commit before another that has this subject."""
    words = " ".join(WORD.findall(subject))
    if not words:
        return None
    row = store.connection.execute(
        "SELECT c.id FROM search_fts s CROSS JOIN commit_rows c ON c.id = s.rowid"
        " WHERE search_fts MATCH ? AND s.rowid BETWEEN ? AND ? AND c.reachable"
        " AND c.subject = ? ORDER BY s.rowid DESC LIMIT 1",
        (f'subject : "{words}"', span(repo)[0], before - 1, subject),
    ).fetchone()
    return None if row is None else int(row[0])
