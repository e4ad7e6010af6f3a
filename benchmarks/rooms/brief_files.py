"""Which files a brief names for real changes that came later, against plain full-text search.

What is asked is the message of a change; named had to be the files that it touched and that were there before.
There are two ways to ask.

`then`: the project as it was when the work began: HEAD is the change's parent, and the index follows. A task is
a change whose message says what to do: no merge, revert, release, reformatting, update of a dependency;
at most 12 files; a word of it stands in a path of the tree or looks like a name of code. Changelogs, to which every change adds,
are neither needed nor wrong.
`fixed`: as it was measured before: one checkout and index, as old as the oldest change; any change of at most eight such files
(lock files and bookkeeping apart) with five telling words, merges, reverts and releases apart; changelogs count.

`python -m benchmarks.rooms.brief_files DIR...` takes clones without a worktree and without refs, whose HEAD is detached
and is moved, and prints precision and recall of each way.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from benchmarks.rooms.retrieval import found_by
from clew.history.store.interface import HistoryStore
from clew.history.store.sqlite import SqliteHistory
from clew.history.sync.ingest import sync_repo
from clew.history.sync.repositories import register
from clew.kit.git import run_git
from clew.kit.text.tokens import telling_words
from clew.thread.brief.brief import brief
from clew.thread.brief.tree import is_log, is_work
from clew.thread.budget import pack_data
from clew.thread.rooms import Rooms, open_rooms

SEED = 8
MOST_FILES = 12
FIXED, THEN = "fixed", "then"
_MOST_FIXED = 8
_MOST_NAMED = 8
_TRAILERS = re.compile(r"^[A-Z][\w-]+: .*$|\(cherry picked.*|^git-svn-id.*", re.MULTILINE)
_NO_TASK = re.compile(
    r"^(?:Merge|Revert|Release|Bump|Update version|\d|v\d|changelog)", re.IGNORECASE
)
_NO_WORK = re.compile(
    r"^(?:(?:chore|build|ci|fix)\(deps|(?:up(?:date|grade)|bump|pin)\b.* (?:to|from) v?\d)|\bdependabot\b|\bpre-commit\b"
    r"|\brenovate\b|\b(?:update|upgrade|bump) (?:dev )?dependenc|\breformat|\b(?:go|cargo|clang|rust)[- ]?(?:fmt|format)\b"
    r"|^(?:run |apply )?(?:black|isort|ruff|prettier|rubocop|eslint|whitespace|format)\b|\bprepar\w+ (?:for )?(?:a |the |next )?"
    r"(?:release|v?\d)|\bversion (?:to )?v?\d",
    re.IGNORECASE,
)
_NAME = re.compile(r"`\w+|\w+_\w+|[a-z][A-Z]|\w\(\)|\w\.\w|::")
_WORD = re.compile(r"[a-z]{4,}")


class Task(NamedTuple):
    """A change that came later: its message, and the files that it touched."""

    sha: str
    text: str
    files: frozenset[str]


class Subject(NamedTuple):
    """A project whose HEAD is moved, and its index."""

    root: Path
    store: SqliteHistory

    def git(self, *words: str) -> str:
        """What git prints."""
        return run_git(*words, cwd=self.root).decode("utf-8", "replace")

    def go(self, sha: str) -> None:
        """Make a commit the newest, for git and for the index."""
        self.git("update-ref", "--no-deref", "HEAD", sha)
        sync_repo(self.store, self.store.repos()[0])

    def rooms(self) -> Rooms:
        """What there is as of now."""
        return open_rooms({"project": str(self.root), "db": str(self.store.path)})


def tasks(subject: Subject, tip: str, kind: str, newest: int, count: int) -> list[Task]:
    """Some of the newest changes, oldest first."""
    log = subject.git(
        "log", "-z", "--no-merges", "--topo-order", "-n", str(newest), "--name-only",
        "--no-renames", "--format=%x01%H%x02%B%x02", tip,
    )  # fmt: skip
    changes = [entry.split("\2") for entry in log.split("\1")[1:]]
    changes.reverse()
    numbers = list(range(1, len(changes)))
    random.Random(SEED).shuffle(numbers)
    found: dict[int, Task] = {}
    for number in numbers:
        sha, message, names = changes[number]
        text = _TRAILERS.sub("", message).strip()
        touched = [one for one in names.strip("\0\n").split("\0") if one]
        if len(found) < count and _is_task(text, touched, kind):
            there = changes[0][0] if kind == FIXED else f"{sha}^"
            known = set(subject.git("ls-tree", "-r", "--name-only", there).splitlines())
            files = frozenset(one for one in touched if one in known and is_needed(one, kind))
            few = len(files) <= _MOST_FIXED or kind == THEN
            if files and few and (kind == FIXED or _speaks_of_code(text, known)):
                found[number] = Task(sha, text, files)
    return [found[number] for number in sorted(found)]


def _is_task(text: str, touched: Sequence[str], kind: str) -> bool:
    if not touched or _NO_TASK.match(text):
        return False
    if kind == FIXED:
        return len(telling_words(text, 99)) >= 5
    return len(touched) <= MOST_FILES and not _NO_WORK.search(text.split("\n", 1)[0])


def _speaks_of_code(text: str, known: set[str]) -> bool:
    words = set(telling_words(text, 99)).intersection(_WORD.findall(text.lower()))
    return bool(_NAME.search(text)) or any(
        any(word.rstrip("s") in path.lower() for path in known) for word in words
    )


def is_needed(path: str, kind: str = THEN) -> bool:
    """Whether people write a file for the change's own sake."""
    return is_work(path) and (kind == FIXED or not is_log(path))


def by_search(store: HistoryStore, there: frozenset[str]) -> Callable[[str], list[str]]:
    """Plain full-text search: the files of the first commits that it finds."""

    def find(text: str) -> list[str]:
        found = found_by(store, "words", text)[:3]
        ids = store.known(store.repos()[0].repo_id, found)
        touched = store.files(ids.values())
        files = [file.path for some in touched.values() for file in some]
        return [one for one in dict.fromkeys(files) if one in there][:_MOST_NAMED]

    return find


def measured(named: Sequence[tuple[frozenset[str], frozenset[str]]]) -> str:
    """Precision over all files named, and the mean share of the needed that was named."""
    right = sum(len(files & needed) for files, needed in named)
    whole = sum(len(files) for files, _ in named)
    recall = sum(len(files & needed) / len(needed) for files, needed in named) / len(named)
    return f"precision {right / whole if whole else 0:.2f}, recall {recall:.2f}"


def opened(root: Path, directory: str, start: str) -> Subject:
    """A project and its index as of a commit."""
    root = root.resolve()
    run_git("update-ref", "--no-deref", "HEAD", start, cwd=root)
    store = SqliteHistory.create(Path(directory) / root.name / "db.sqlite3")
    sync_repo(store, register(store, root, name="measured"))
    return Subject(root, store)


def asked(subject: Subject, found: Sequence[Task], kind: str) -> Iterator[Task]:
    """The tasks, each with the project as it was."""
    for task in found:
        if kind == THEN:
            subject.go(f"{task.sha}^")
        yield task


def rows(root: Path, newest: int, count: int, kinds: Sequence[str]) -> Iterator[str]:
    """A line for each way to ask and to find files."""
    tip = run_git("rev-parse", "HEAD", cwd=root).decode().strip()
    shas = run_git("rev-list", "--no-merges", "--topo-order", "-n", str(newest), tip, cwd=root)
    with tempfile.TemporaryDirectory(prefix="clew-brief-") as directory:
        subject = opened(root, directory, shas.decode().split()[-1])
        try:
            for kind in sorted(kinds):
                yield from _of_kind(subject, tasks(subject, tip, kind, newest, count), kind)
        finally:
            subject.store.close()
            subject.git("update-ref", "--no-deref", "HEAD", tip)


def _of_kind(subject: Subject, found: Sequence[Task], kind: str) -> Iterator[str]:
    named: dict[str, list[tuple[frozenset[str], frozenset[str]]]] = {
        "plain FTS": [], "brief": [], "brief, what it is sure of": [],
    }  # fmt: skip
    spent, before = [], os.times()
    for task in asked(subject, found, kind):
        there = frozenset(subject.git("ls-tree", "-r", "--name-only", "HEAD").splitlines())
        data = pack_data(brief(subject.rooms(), task.text, budget=1500))
        spent.append(int(data["tokens"]))
        doubted = {one["source"] for one in data["statements"] if "(perhaps" in one["text"]}
        ways = {
            "brief": data["files"],
            "brief, what it is sure of": [f for f in data["files"] if f"file:{f}" not in doubted],
            "plain FTS": by_search(subject.store, there)(task.text),
        }
        for way, files in ways.items():
            kept = frozenset(one for one in files if is_needed(one, kind))
            named[way].append((kept, task.files))
    for way, some in named.items():
        yield f"{subject.root.name}, {kind}, {len(found)} changes, {way}: {measured(some)}"
    seconds = sum(os.times()[:4]) - sum(before[:4])
    yield f"  tokens at most {max(spent)}; {seconds / len(found):.1f} s of processor for each"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("repositories", nargs="+", type=Path, metavar="DIR")
    parser.add_argument("--newest", type=int, default=600, help="commits to take changes from")
    parser.add_argument("--tasks", type=int, default=25, help="of each project")
    parser.add_argument("--kinds", nargs="+", default=[FIXED, THEN])
    options = parser.parse_args()
    for one in options.repositories:
        for row in rows(one, options.newest, options.tasks, options.kinds):
            print(row, flush=True)
