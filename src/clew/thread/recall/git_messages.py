"""The messages of a repository that no index knows, found and read by git."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from clew.history.model import Repo
from clew.history.repo_git import repo_git
from clew.kit.errors import ClewError
from clew.kit.git import seconds_of
from clew.specs.index.text_index import Text

_FIELDS = "%H%x00%at%x00%aN%x00%s%x00%b"
_MOST_READ = 20_000
_LONGEST_BODY = 2000
_WORD = re.compile(r'"([^"]+)"')


@dataclass(frozen=True)
class Message:
    """A commit's message, who wrote it and when."""

    repo: str
    sha: str
    date: int
    author: str
    subject: str
    body: str

    @property
    def source(self) -> str:
        """The commit as statements name it."""
        return f"commit:{self.repo}@{self.sha[:12]}"


@dataclass
class GitMessages:
    """The newest messages of a repository as texts, numbered from the oldest."""

    repo: Repo
    since: int | None = None
    until: int | None = None
    commits: dict[int, Message] = field(init=False)

    def __post_init__(self) -> None:
        found = newest_messages(self.repo, _MOST_READ)
        kept = [one for one in found if _fits(one.date, self.since, self.until)]
        self.commits = dict(enumerate(reversed(kept)))
        self._lowered = {n: f"{c.subject}\n{c.body}".lower() for n, c in self.commits.items()}

    @property
    def size(self) -> int:
        """How many there are."""
        return len(self.commits)

    def having(self, expression: str, most: int, *, in_message: bool) -> list[int]:
        """Messages that match, the newest first."""
        if not in_message:
            return []
        groups = [_WORD.findall(group) for group in expression.split(" AND ")]
        patterns = [re.compile(rf"(?<![^\W_])(?:{'|'.join(group)})(?![^\W_])") for group in groups]
        found = (
            number
            for number in reversed(self._lowered)
            if all(pattern.search(self._lowered[number]) for pattern in patterns)
        )
        return [number for number, _ in zip(found, range(most), strict=False)]

    def newer(self, number: int) -> int:
        """How many messages are as new as this one."""
        return self.size - number

    def read(self, numbers: Sequence[int]) -> dict[int, Text]:
        """The texts of these numbers."""
        return {n: Text(self.commits[n].subject, self.commits[n].body) for n in numbers}


def newest_messages(repo: Repo, most: int, *, paths: Sequence[str] = ()) -> list[Message]:
    """The newest commits of HEAD, or of paths in it, merges left out, newest first."""
    found = logged(repo, "--no-merges", "-n", str(most), "HEAD", "--", *paths)
    return [replace(one, body=one.body[:_LONGEST_BODY]) for one in found]


def logged(repo: Repo, *options: str) -> list[Message]:
    """The commits that `git log` lists with these options; none where it fails."""
    try:
        out = repo_git(repo, "log", "-z", "--encoding=UTF-8", f"--format={_FIELDS}", *options)
    except ClewError:
        return []
    fields = out.decode("utf-8", "replace").split("\0")
    return [
        Message(repo.name, sha, seconds_of(date), author, subject, body.strip())
        for sha, date, author, subject, body in zip(*[iter(fields)] * 5, strict=False)
    ]


def touched_files(repo: Repo, shas: Sequence[str]) -> dict[str, list[str]]:
    """The files that each of these commits touched."""
    if not shas:
        return {}
    words = ("log", "-z", "--no-walk=unsorted", "--name-only", "--no-renames", "--format=%x01%H")
    try:
        out = repo_git(repo, *words, *shas, "--")
    except ClewError:
        return {}
    entries = out.decode("utf-8", "surrogateescape").split("\1")[1:]
    fields = ([field.strip("\n") for field in entry.split("\0")] for entry in entries)
    return {sha: [name for name in names if name] for sha, *names in fields}


def _fits(date: int, since: int | None, until: int | None) -> bool:
    return (since is None or date >= since) and (until is None or date <= until)
