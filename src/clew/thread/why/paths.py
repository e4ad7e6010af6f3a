"""The history of a path: the commit that it came with, and those that changed it."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from typing import NamedTuple

from clew.history.model import Repo
from clew.history.questions.file_history import path_changes
from clew.history.repo_git import repo_git
from clew.history.store.interface import Change, HistoryStore
from clew.kit.git import GitError, guard
from clew.thread.rooms import Rooms
from clew.thread.why.commits import read_commit

_MOST_READ = 100_000
_MOST_MOVES = 8


class PathHistory(NamedTuple):
    """The commits of a path, newest first; whether the last one added it, and which file it was."""

    shas: tuple[str, ...]
    is_whole: bool
    first_path: str


def file_story(rooms: Rooms, repo: Repo, path: str) -> PathHistory:
    """The commits that touched a file, under its earlier names, too."""
    if rooms.history is not None and rooms.is_indexed(repo):
        found = _indexed(rooms.history, repo, path)
        if found.shas:
            return found
    return _logged(repo, path, "--follow")


def directory_story(rooms: Rooms, repo: Repo, path: str) -> PathHistory:
    """The commits that touched files in a directory, under its earlier names, too."""
    story = _logged(repo, path)
    shas, here = list(story.shas), path
    for _ in range(_MOST_MOVES):
        before = _moved_from(rooms, repo, shas[-1], here) if shas and story.is_whole else None
        if before is None:
            break
        older = _logged(repo, before, start=f"{shas[-1]}^")
        if not older.shas:
            break
        story, here = older, before
        shas += story.shas
    return PathHistory(tuple(dict.fromkeys(shas)), story.is_whole, story.first_path)


def _moved_from(rooms: Rooms, repo: Repo, sha: str, path: str) -> str | None:
    """The directory that a commit moved here: most of what came was in it, and it is no more."""
    commit = read_commit(rooms, repo, sha)
    files = [one for one in commit.files if one[0].startswith(f"{path}/")] if commit else []
    came = Counter(
        old[: -len(new) + len(path)]
        for new, _, old in files
        if old and old.endswith(new[len(path) :]) and not old.startswith(f"{path}/")
    )
    if not came:
        return None
    best, count = came.most_common(1)[0]
    if not best or 2 * count < len(files):
        return None
    try:
        repo_git(repo, "cat-file", "-e", f"{sha}:{guard(best)}")
    except GitError:
        return best
    return None


def _indexed(history: HistoryStore, repo: Repo, path: str) -> PathHistory:
    changes = path_changes(history, repo, path)
    commits = history.commits([one.id for one in changes])
    kept: list[Change] = []
    for one in changes:
        if one.status == "D" and kept:  # what was there before it was deleted is another file
            break
        kept.append(one)
    if not kept:
        return PathHistory((), is_whole=False, first_path=path)
    shas = tuple(dict.fromkeys(commits[one.id].sha for one in kept))
    return PathHistory(shas, kept[-1].status == "A", kept[-1].path)


def _logged(repo: Repo, path: str, *options: str, start: str = "HEAD") -> PathHistory:
    words = ("log", "-z", "-M", "--name-status", "--format=%x01%H", "-n", str(_MOST_READ))
    try:
        out = repo_git(repo, *words, *options, start, "--", path)
    except GitError:
        return PathHistory((), is_whole=False, first_path=path)
    shas: list[str] = []
    added: list[str] = []
    for entry in out.decode("utf-8", "surrogateescape").split("\1")[1:]:
        sha, *fields = (field.lstrip("\n") for field in entry.split("\0"))
        changes = list(pairwise(fields))
        if shas and ("D", path) in changes:  # what was there before is another file
            break
        shas.append(sha)
        added = [name for status, name in changes if status == "A"]
    return PathHistory(tuple(shas), bool(added), added[0] if added else path)
