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
from clew.history.repo_git import repo_git
from clew.kit.errors import ClewError
from clew.kit.git import PLAIN_DIFF, guard, run_git, seconds_of
from clew.thread.rooms import Rooms

_FIELDS = "%H%x00%aN%x00%at%x00%s%x00%b%x00"
_ASKED = (
    "log", "-1", "-z", "-M", "--name-status", *PLAIN_DIFF, "--encoding=UTF-8",
    f"--format={_FIELDS}", "--end-of-options",
)  # fmt: skip
_LETTER = re.compile(r"[ACDMRT]\d*")
# A word alone before a colon may be prose, unless it is one that trackers and mails know.
_TRAILER = re.compile(
    r"^([A-Z][A-Za-z]*(?:-[A-Za-z]+)+|Fixes|Closes|Refs?|Link|Bug|Cc|Spec|Issue|git-svn-id): (\S.*)$"
)
_PICKED = re.compile(r"^\(cherry picked from commit [0-9a-f]+\)$")
_SVN = re.compile(r"^git-svn-id: (\S+)@(\d+) \S+$", re.MULTILINE)
_REJECTED = re.compile(r"^Rejected(?:\([^)\n]*\))?: *(\S.*)$", re.MULTILINE)
_ROLES = {
    "co-authored-by": "co-authored by",
    "reviewed-by": "reviewed by",
    "acked-by": "acknowledged by",
    "tested-by": "tested by",
    "reported-by": "reported by",
    "suggested-by": "suggested by",
    "helped-by": "helped by",
    "mentored-by": "mentored by",
}
_ADDRESS = re.compile(r"\s*<[^<>]*>")
_MOST_REJECTED = 3
_LONGEST_LINE = 300


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
        return without_trailers(self.body)

    @property
    def people(self) -> list[str]:
        """Who else had a part in it, by role, as the trailers say."""
        last = self.body.strip().split("\n\n")[-1]
        named: dict[str, list[str]] = {}
        for line in last.split("\n"):
            trailer = _TRAILER.match(line)
            role = _ROLES.get(trailer[1].lower()) if trailer else None
            if trailer and role:
                name = _ADDRESS.sub("", trailer[2]).strip() or trailer[2]
                if name != self.author:
                    named.setdefault(role, []).append(name)
        return [f"{role} {', '.join(dict.fromkeys(names))}" for role, names in named.items()]

    @property
    def subversion(self) -> str:
        """The Subversion revision that the commit was made from, or nothing."""
        found = _SVN.search(self.body)
        return f"revision {found[2]} of {found[1]}" if found else ""

    @property
    def issues(self) -> list[dict[str, Any]]:
        """The issues and pull requests that the message names."""
        return issue_refs(self.message)

    def named(self, kind: str) -> str | None:
        """The first commit that the message names as `reverts` or `cherry_picked_from`."""
        return next((one.sha for one in named_commits(self.body) if one.kind == kind), None)

    def rejected(self) -> list[str]:
        """What the message lists as rejected, in lines that begin so."""
        return [one[:_LONGEST_LINE] for one in _REJECTED.findall(self.body)][:_MOST_REJECTED]


def without_trailers(text: str) -> str:
    """A text without the trailers at its end."""
    lines = text.strip().split("\n")
    while lines and (_is_trailer(lines[-1]) or not lines[-1].strip()):
        lines.pop()
    return "\n".join(lines).strip()


def _is_trailer(line: str) -> bool:
    return bool(_TRAILER.match(line) or _PICKED.match(line))


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


def is_behind(repo: Repo, sha: str, later: str) -> bool:
    """Whether a commit is behind another one in the history."""
    try:
        repo_git(repo, "merge-base", "--is-ancestor", sha, later)
    except ClewError:
        return False
    return True


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
