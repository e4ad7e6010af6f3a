"""The original systems' ways to answer, written plainly: what ours is compared with.

Each does what the system's sources do, on the same data and with the same parsers and SQLite as
ours; where those are needlessly slow (a list searched for every dependency, a query for every
excerpt), the quicker ordinary way is taken.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from clew.history.model import IndexedCommit
from clew.specs.files.parse import make_spec, read_file
from clew.specs.model import Spec

READ_ALL = "reading every file"
LIKE = "LIKE over every path"
NEWEST = "MATCH, newest first"
SHA_LIKE = "LIKE over every SHA"
_PREVIEW = 500
_SCHEMA = """
CREATE TABLE repos (repo_id INTEGER PRIMARY KEY, name TEXT UNIQUE);
CREATE TABLE commits (
    repo_id INTEGER, sha TEXT, author_name TEXT, author_email TEXT, committer_name TEXT,
    committer_email TEXT, author_time INTEGER, commit_time INTEGER, subject TEXT, body TEXT,
    parent_count INTEGER, patch_preview TEXT, PRIMARY KEY (repo_id, sha)
);
CREATE TABLE commit_files (repo_id INTEGER, sha TEXT, path TEXT, status TEXT, old_path TEXT);
CREATE INDEX files_of_commit ON commit_files (repo_id, sha);
CREATE INDEX files_by_path ON commit_files (path);
CREATE VIRTUAL TABLE commits_fts USING fts5 (
    subject, body, patch_preview, content = 'commits', content_rowid = 'rowid'
);
"""


def list_specs(project: Path, limit: int = 50) -> list[dict[str, Any]]:
    """A page of all specs; every call reads and parses every file."""
    return [_row(spec) for spec in _read_all(project)[:limit]]


def ready_specs(project: Path, limit: int = 50) -> list[dict[str, Any]]:
    """A page of the pending specs whose dependencies are completed, found the same way."""
    specs = _read_all(project)
    statuses = {spec.head.id: spec.head.status for spec in specs}
    able = [
        spec
        for spec in specs
        if spec.head.status == "pending"
        and all(statuses.get(one) == "completed" for one in spec.head.depends_on or ())
    ]
    return [_row(spec) for spec in able[:limit]]


def _read_all(project: Path) -> list[Spec]:
    specs = []
    for path in sorted((project / ".chant" / "specs").glob("*.md")):
        raw, identity = read_file(str(path), now_ns=0)
        specs.append(make_spec(raw, path.name, identity, archived=False))
    return specs


def _row(spec: Spec) -> dict[str, Any]:
    head = spec.head
    return {
        "id": head.id,
        "title": head.title,
        "type": head.type,
        "status": head.status,
        "labels": list(head.labels),
        "depends_on": list(head.depends_on or ()),
    }


class OriginalIndex:
    """The original's tables of commits, and its three questions to them.

    Its full text holds messages and the first 500 bytes of a patch, where ours holds all of it.
    """

    def __init__(self, path: Path) -> None:
        self.connection = sqlite3.connect(path)
        self.connection.executescript(_SCHEMA)
        self.connection.execute("INSERT INTO repos VALUES (1, 'grown')")

    def close(self) -> None:
        """Close the file."""
        self.connection.close()

    def add(self, commits: Iterable[IndexedCommit]) -> None:
        """Write commits, in one transaction, which is kinder than one for every statement."""
        with self.connection:
            for commit in commits:
                self._add_one(commit)

    def _add_one(self, commit: IndexedCommit) -> None:
        meta, preview = commit.meta, commit.preview[:_PREVIEW]
        row = self.connection.execute(
            "INSERT INTO commits VALUES (1, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                *(meta.sha, meta.author_name, meta.author_email, meta.committer_name),
                *(meta.committer_email, meta.author_time, meta.commit_time, meta.subject),
                *(meta.body, len(meta.parents), preview),
            ),
        ).lastrowid
        self.connection.execute(
            "INSERT INTO commits_fts (rowid, subject, body, patch_preview) VALUES (?, ?, ?, ?)",
            (row, meta.subject, meta.body, preview),
        )
        self.connection.executemany(
            "INSERT INTO commit_files VALUES (1, ?, ?, ?, NULL)",
            [(meta.sha, file.path, file.status) for file in commit.files],
        )

    def search(self, query: str, limit: int = 20) -> list[dict[str, Any]]:
        """All that match, sorted by time, and a query for the paths of each that is shown."""
        found = self.connection.execute(
            "SELECT r.name, c.repo_id, c.sha, c.subject, c.author_name, c.author_time,"
            " c.patch_preview FROM commits_fts f JOIN commits c ON c.rowid = f.rowid"
            " JOIN repos r ON r.repo_id = c.repo_id WHERE commits_fts MATCH ?"
            " ORDER BY c.author_time DESC LIMIT ?",
            (query, limit),
        ).fetchall()
        return [
            {
                "repo": name,
                "sha": sha,
                "subject": subject,
                "author": author,
                "date": date,
                "matched_paths": [path for path, _ in self._files(repo_id, sha)],
                "patch_excerpt": preview[:300],
            }
            for name, repo_id, sha, subject, author, date, preview in found
        ]

    def touches(self, fragment: str, limit: int = 50) -> list[dict[str, Any]]:
        """Rows of files whose path has the fragment anywhere, the newest first."""
        found = self.connection.execute(
            "SELECT r.name, c.sha, c.subject, c.author_time, f.path, f.status FROM commit_files f"
            " JOIN commits c ON c.repo_id = f.repo_id AND c.sha = f.sha"
            " JOIN repos r ON r.repo_id = c.repo_id WHERE f.path LIKE ?"
            " ORDER BY c.author_time DESC LIMIT ?",
            (f"%{fragment}%", limit),
        )
        names = ("repo", "sha", "subject", "date", "path", "status")
        return [dict(zip(names, row, strict=True)) for row in found]

    def get_commit(self, sha: str) -> dict[str, Any] | None:
        """The newest commit whose SHA begins so, with its files."""
        found = self.connection.execute(
            "SELECT c.repo_id, c.sha, c.subject, c.body, c.author_name, c.author_time"
            " FROM commits c JOIN repos r ON r.repo_id = c.repo_id"
            " WHERE r.name = 'grown' AND c.sha LIKE ? ORDER BY c.author_time DESC LIMIT 1",
            (f"{sha}%",),
        ).fetchone()
        if found is None:
            return None
        repo_id, whole, subject, body, author, date = found
        files = [{"path": path, "status": status} for path, status in self._files(repo_id, whole)]
        told = {"sha": whole, "subject": subject, "body": body, "author": author, "date": date}
        return {**told, "changed_files": files}

    def _files(self, repo_id: int, sha: str) -> list[tuple[str, str]]:
        return self.connection.execute(
            "SELECT path, status FROM commit_files WHERE repo_id = ? AND sha = ? ORDER BY path",
            (repo_id, sha),
        ).fetchall()
