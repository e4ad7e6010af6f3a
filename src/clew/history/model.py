"""What history is made of. Frozen types, no I/O."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

DEFAULT_IGNORED = ("node_modules/", "vendor/", "dist/", ".git/")
LARGEST_PATCH = 1024 * 1024
KEPT_END = 256 * 1024  # of a larger patch, at its beginning and at its end
PREVIEW_CHARACTERS = 500
EXCERPT_CHARACTERS = 300

# A commit's id is its repository's number and its place in that repository's history, so that
# each repository's commits lie together and in order, in every table and in the text index.
PLACE_BITS = 32
LAST_PLACE = (1 << PLACE_BITS) - 1


def first_id(repo_id: int) -> int:
    """The smallest id that a commit of this repository can have."""
    return repo_id << PLACE_BITS


def last_id(repo_id: int) -> int:
    """The largest id that a commit of this repository can have."""
    return first_id(repo_id) | LAST_PLACE


class Answers(Protocol):
    """What git said before."""

    def ask(self, words: tuple[str, ...], given: bytes, run: Callable[[], bytes]) -> bytes:
        """What git says to these words."""

    def made(self, name: str, given: bytes, make: Callable[[], bytes]) -> bytes:
        """What was made of answers, kept instead of them."""


@dataclass(frozen=True)
class Repo:
    """A registered repository."""

    repo_id: int
    name: str
    local_path: str
    remote_url: str | None = None
    default_branch: str | None = None
    all_refs: bool = False
    exclude_prefixes: tuple[str, ...] = ()
    author_filter: str | None = None
    managed_clone: bool = False
    answers: Answers | None = field(default=None, compare=False, repr=False)

    @property
    def ignored(self) -> tuple[str, ...]:
        """The path prefixes that stay out of the index."""
        return (*DEFAULT_IGNORED, *self.exclude_prefixes)


@dataclass(frozen=True)
class CommitMeta:
    """A commit as its header and message have it."""

    sha: str
    parents: tuple[str, ...]
    author_name: str
    author_email: str
    author_time: int
    author_zone: str
    committer_name: str
    committer_email: str
    commit_time: int
    subject: str
    body: str | None
    tree: str = field(default="", compare=False)  # not kept; two commits may have the same


@dataclass(frozen=True)
class FileChange:
    """One file of one commit."""

    path: str
    status: str
    old_path: str | None = None
    added: int = 0
    removed: int = 0


@dataclass(frozen=True)
class IndexedCommit:
    """Everything the index keeps of one commit, ready to be written."""

    meta: CommitMeta
    files: tuple[FileChange, ...] = ()
    patch_digest: bytes | None = None
    patch_size: int = 0
    patch_blob: bytes | None = None
    preview: str = ""
    added_text: str = ""
    removed_text: str = ""
    context_text: str = ""
    problem: str | None = None
    redactions: tuple[tuple[str, str], ...] = field(default=())
