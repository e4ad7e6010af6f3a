"""What is known of one commit: from the index, or from git where it is not indexed."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from clew.history.lookup import get_commit
from clew.history.model import Repo
from clew.history.questions.issues import issue_refs
from clew.history.questions.links import named_commits
from clew.history.questions.repo_git import repo_git
from clew.kit.errors import ClewError
from clew.kit.git import PLAIN_DIFF, guard, run_git, seconds_of
from clew.thread.rooms import Rooms

_FIELDS = "%H%x00%aN%x00%at%x00%s%x00%b%x00"
_ASKED = (
    "log", "-1", "-z", "-M", "--name-status", *PLAIN_DIFF, "--encoding=UTF-8",
    f"--format={_FIELDS}", "--end-of-options",
)  # fmt: skip
_LETTER = re.compile(r"[ACDMRT]\d*")
_TRAILER = re.compile(r"^[A-Z][A-Za-z]+(?:-[A-Za-z]+)*: \S.*$")
# Words by which a message says what was not done, or was done no longer.
_REJECTED = re.compile(
    r"\b(?:rejected(?:\([^)]*\))?:|instead of|rather than|as opposed to|alternatives?\b|"
    r"considered\b|tried\b[^.]*\bbut\b|decided against|did ?n[o']t work|does ?n[o']t work)",
    re.IGNORECASE,
)
_SENTENCE = re.compile(r"(?<=[.!?])\s+|\n\s*\n|\n(?=\s*[-*]\s)")
_MOST_REJECTED = 3
_LONGEST_SENTENCE = 300


@dataclass(frozen=True)
class Commit:
    """A commit: who, when, what it says, and what it changed."""

    repo: str
    sha: str
    subject: str
    body: str
    author: str
    date: int
    files: tuple[tuple[str, str, str | None], ...]  # path, status, the path before
    is_indexed: bool

    @property
    def source(self) -> str:
        """The commit as statements name it."""
        return f"commit:{self.repo}@{self.sha[:12]}"

    @property
    def message(self) -> str:
        """Subject and body."""
        return f"{self.subject}\n\n{self.body}" if self.body else self.subject

    @property
    def prose(self) -> str:
        """The body without the trailers at its end."""
        lines = self.body.strip().split("\n")
        while lines and (_TRAILER.match(lines[-1]) or not lines[-1].strip()):
            lines.pop()
        return "\n".join(lines).strip()

    @property
    def issues(self) -> list[dict[str, Any]]:
        """The issues and pull requests that the message names."""
        return issue_refs(self.message)

    def named(self, kind: str) -> str | None:
        """The first commit that the message names as `reverts` or `cherry_picked_from`."""
        return next((sha for how, sha in named_commits(self.body) if how == kind), None)

    def rejected(self) -> list[str]:
        """Sentences that say what was not done, and why."""
        sentences = (" ".join(part.split()) for part in _SENTENCE.split(self.message))
        telling = [one[:_LONGEST_SENTENCE] for one in sentences if _REJECTED.search(one)]
        return telling[:_MOST_REJECTED]


def read_commit(rooms: Rooms, repo: Repo, sha: str) -> Commit | None:
    """The commit of that SHA, or None if there is none."""
    if rooms.is_indexed(repo) and rooms.history is not None:
        try:
            return _from_index(get_commit(rooms.history, repo.name, sha))
        except ClewError:
            pass  # newer than the index
    try:
        return _from_git(repo, sha)
    except ClewError:
        return None


def commit_here(root: Path, sha: str) -> Commit:
    """A commit of the repository that a directory is in, read by git."""
    return _from_log("", run_git(*_ASKED, f"{guard(sha)}^{{commit}}", "--", cwd=root))


def _from_index(found: dict[str, Any]) -> Commit:
    files = tuple((one["path"], one["status"], one["old_path"]) for one in found["changed_files"])
    return Commit(
        found["repo"], found["sha"], found["subject"], found["body"] or "", found["author"],
        found["date"], files, is_indexed=True,
    )  # fmt: skip


def _from_git(repo: Repo, sha: str) -> Commit:
    return _from_log(repo.name, repo_git(repo, *_ASKED, sha, "--"))


def _from_log(repo_name: str, out: bytes) -> Commit:
    parts = out.decode("utf-8", "surrogateescape").split("\0")
    full, author, date, subject, body = parts[:5]
    return Commit(
        repo_name, full, _plain(subject), _plain(body), _plain(author), seconds_of(date),
        tuple(_files([part.lstrip("\n") for part in parts[5:]])), is_indexed=False,
    )  # fmt: skip


def _files(parts: list[str]) -> list[tuple[str, str, str | None]]:
    found: list[tuple[str, str, str | None]] = []
    left = [part for part in parts if part]
    while left:
        letter = left.pop(0)
        if not _LETTER.fullmatch(letter) or not left:
            continue
        if letter[0] in "RC" and len(left) > 1:
            old, new = left.pop(0), left.pop(0)
            found.append((new, letter[0], old))
        else:
            found.append((left.pop(0), letter[0], None))
    return found


def _plain(text: str) -> str:
    return os.fsencode(text).decode("utf-8", "replace").strip("\n")
