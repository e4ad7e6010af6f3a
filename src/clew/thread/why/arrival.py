"""How a commit came in: its pull request or merge, the first tag that contains it, and its notes.

One walk over the commits between this one and the next tags answers both: each commit that git
prints has this one behind it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from clew.history.model import Repo
from clew.history.repo_git import repo_git
from clew.kit.errors import ClewError
from clew.kit.git import seconds_of
from clew.sessions.sharing import CLEW
from clew.thread.recall.git_messages import Message, logged

_MOST_TAGS = 30
_MOST_MERGES = 40
_MOST_NOTES = 4
_LONGEST_NOTE = 2000
_WEB = "noreply@github.com"  # who commits what is squashed on the web page
_REFS = "%(refname)%00%(objectname)%00%(*objectname)%00%(creatordate:unix)"
_SQUASHED = re.compile(r"^(.*\S)\s*\(#(\d+)\)$")
_MERGE_FORMS = (
    re.compile(r"Merge pull request (?P<ref>#\d+) from \S+\n+(?P<title>[^\n]*)"),
    re.compile(r"Merge pull request '(?P<title>[^\n]*)' \((?P<ref>#\d+)\) from "),
    re.compile(r"Merged in \S+ \(pull request (?P<ref>#\d+)\)\n+(?P<title>[^\n]*)"),
    re.compile(r"Auto merge of (?P<ref>#\d+) - [^\n]*\n+(?P<title>[^\n]*)"),
    re.compile(
        r"Merge branch [^\n]*\n+(?P<title>[^\n]*)\n(?:.*\n)*?See merge request \S*(?P<ref>!\d+)"
    ),
)
_VERSION = re.compile(r"^v?\d|\d+[._-]\d+")
_SERIES = re.compile(r"(?:.*/)?(.*?)[@/_.-]*v?\d")
# A merge of one line of development into another says nothing of a single commit.
_LINES = re.compile(
    r"Merge (?:remote-tracking )?(?:branch|tag)?e?s? ?'?(?:\w+/)?(?:main|master|trunk|develop|dev|stable\S*|maint\S*|"
    r"release\S*|v?\d[\w.]*(?:-maintenance)?)'?(?:\s|$)"
)


class Tag(NamedTuple):
    """A tag, the commit it stands for, and when it was made."""

    name: str
    sha: str
    date: int


class PullRequest(NamedTuple):
    """A pull or merge request as a message names it."""

    ref: str
    title: str


@dataclass(frozen=True)
class Arrival:
    """How a commit came in."""

    request: PullRequest | None = None
    merge: Message | None = None
    tag: Tag | None = None
    has_tags: bool = False
    notes: tuple[tuple[str, str], ...] = ()


def arrival_of(repo: Repo, sha: str, paths: Sequence[Iterable[str]] = ()) -> Arrival:
    """How a commit came in, as far as git can tell; a version is one of what has the first paths."""
    try:
        head = repo_git(repo, "log", "-1", "--format=%ct%x00%ce%x00%P%x00%B", sha, "--")
        listed = repo_git(
            repo, "for-each-ref", "--sort=creatordate", f"--format={_REFS}",
            "refs/tags", "refs/notes",
        )  # fmt: skip
    except ClewError:
        return Arrival()
    fields = head.decode("utf-8", "replace").split("\0", 3)
    refs = [line.split("\0") for line in listed.decode("utf-8", "replace").splitlines()]
    tags = [
        Tag(name.removeprefix("refs/tags/"), peeled or plain, seconds_of(date))
        for name, plain, peeled, date in refs
        if name.startswith("refs/tags/")
    ]
    tags = [tag for tag in tags if _VERSION.search(tag.name)] or tags
    noted = [one[0] for one in refs if one[0].startswith("refs/notes/") and one[0] != CLEW]
    behind = _descendants(repo, sha, tags, seconds_of(fields[0]))
    request = _own_request(fields[3].strip(), fields[1], is_merge=" " in fields[2])
    merge = None if request else _merge(repo, sha, behind)
    return Arrival(
        request or (request_in(f"{merge.subject}\n\n{merge.body}") if merge else None),
        merge,
        next(
            (tag for one in paths if (tag := _first_version(repo, sha, tags, behind, one))),
            None,
        )
        or _first_tag(repo, sha, tags, behind),
        bool(tags),
        tuple(_notes(repo, sha, noted)),
    )


def request_in(message: str) -> PullRequest | None:
    """The pull request that the message of a merge or of a squash names."""
    for form in _MERGE_FORMS:
        match = form.match(message)
        if match is not None:
            return PullRequest(match["ref"], match["title"].strip())
    squashed = _SQUASHED.match(message.split("\n", 1)[0])
    return PullRequest(f"#{squashed[2]}", squashed[1]) if squashed else None


def _own_request(message: str, committer: str, *, is_merge: bool) -> PullRequest | None:
    """The request that the commit itself is the merge or the squash of."""
    return request_in(message) if is_merge or committer == _WEB else None


def _descendants(repo: Repo, sha: str, tags: Sequence[Tag], date: int) -> dict[str, list[str]]:
    """The commits that have this one behind them, up to the next tags, with their parents."""
    later = [tag.sha for tag in tags if tag.date >= date][:_MOST_TAGS]
    ends = later if len(later) == _MOST_TAGS else [*later, "HEAD"]
    asked = "".join(f"{end}\n" for end in (f"^{sha}", *ends)).encode("ascii")
    words = ("rev-list", "--ancestry-path", "--topo-order", "--reverse", "--parents", "--stdin")
    try:
        out = repo_git(repo, *words, given=asked)
    except ClewError:
        return {}
    rows = (line.split() for line in out.decode("ascii").splitlines())
    return {own: parents for own, *parents in rows}


def _merge(repo: Repo, sha: str, behind: dict[str, list[str]]) -> Message | None:
    """The first merge that brought the commit to a branch: of a pull request, or of a topic."""
    own = {sha, *behind}
    merges = [
        merge
        for merge, parents in behind.items()
        if len(parents) > 1 and parents[0] not in own and own.intersection(parents[1:])
    ]
    later = {parent for parents in behind.values() for parent in parents}
    tips = [one for one in behind if one not in later]
    # What was made on the main line came there by no merge: others took it up from there.
    if not merges or sha in _first_parents(tips[-1:], behind):
        return None
    main = _first_parents(tips, behind)
    found = logged(repo, "--no-walk=unsorted", *merges[:_MOST_MERGES], "--")
    requests = (one for one in found if request_in(f"{one.subject}\n\n{one.body}"))
    topics = (
        one
        for one in found
        if one.sha in main and one.subject.startswith("Merge ") and not _LINES.match(one.subject)
    )
    return next(requests, None) or next(topics, None)


def _first_parents(tips: Sequence[str], behind: dict[str, list[str]]) -> set[str]:
    """The main lines that end in these commits, down to the one that all others have behind them."""
    found: set[str] = set()
    for tip in tips:
        one = tip
        while one in behind and one not in found:
            found.add(one)
            one = behind[one][0]
        found.add(one)
    return found


def _first_version(
    repo: Repo, sha: str, tags: Sequence[Tag], behind: dict[str, list[str]], paths: Iterable[str]
) -> Tag | None:
    """The oldest tag with the commit that is no version of another package; None where all are."""
    own = {part for path in paths for part in path.split("/")[:-1]}
    found = _first_tag(repo, sha, tags, behind)
    while found is not None:
        series = _series(found)
        if not series or series in own or not _is_directory(repo, series, found.sha):
            return found
        tags = [tag for tag in tags if _series(tag) != series]
        found = _first_tag(repo, sha, tags, behind)
    return None


def _series(tag: Tag) -> str:
    """What a tag names before its number: nothing, or a package."""
    named = _SERIES.match(tag.name)
    return named[1] if named else ""


def _is_directory(repo: Repo, name: str, commit: str) -> bool:
    try:
        out = repo_git(repo, "ls-tree", "-r", "-d", "-z", "--name-only", commit)
    except ClewError:
        return False
    return any(f"/{one}".endswith(f"/{name}") for one in os.fsdecode(out).split("\0"))


def _first_tag(
    repo: Repo, sha: str, tags: Sequence[Tag], behind: dict[str, list[str]]
) -> Tag | None:
    """The oldest tag that contains the commit."""
    own = {sha, *behind}
    found = next((tag for tag in tags if tag.sha in own), None)
    if found is not None or not tags:
        return found
    asked = ("for-each-ref", f"--contains={sha}", "--format=%(refname:strip=2)", "refs/tags")
    try:
        names = set(repo_git(repo, *asked).decode("utf-8", "replace").splitlines())
    except ClewError:
        return None
    return next((tag for tag in tags if tag.name in names), None)


def _notes(repo: Repo, sha: str, refs: Sequence[str]) -> list[tuple[str, str]]:
    found = []
    for ref in refs[:_MOST_NOTES]:
        try:
            text = repo_git(repo, "notes", f"--ref={ref}", "show", sha)
        except ClewError:
            continue
        words = text.decode("utf-8", "replace").strip()[:_LONGEST_NOTE]
        found.append((ref.removeprefix("refs/notes/"), words))
    return found
