"""Which files a brief names for real changes that came later, against plain full-text search.

A project is checked out and indexed as of a commit; the tasks are the messages of the changes that came
after it. Of the files that were there, those that a change touched had to be named.
`python -m benchmarks.rooms.brief_files DIR=INDEX=LATER ...` prints precision and recall of each.
"""

from __future__ import annotations

import random
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from benchmarks.rooms.retrieval import found_by
from clew.history.store.interface import HistoryStore
from clew.kit.git import run_git
from clew.kit.text.tokens import telling_words
from clew.thread.brief.brief import brief
from clew.thread.brief.likely import is_work
from clew.thread.budget import pack_data
from clew.thread.rooms import Rooms, open_rooms

TASKS = 25
SEED = 8
MOST_FILES = 8
_TRAILERS = re.compile(r"^[A-Z][\w-]+: .*$|\(cherry picked.*|^git-svn-id.*", re.MULTILINE)
_NO_TASK = re.compile(
    r"^(?:Merge|Revert|Release|Bump|Update version|\d|v\d|changelog)", re.IGNORECASE
)


class Task(NamedTuple):
    """A change that came later: its message, and the files that it touched."""

    sha: str
    text: str
    files: frozenset[str]


def tasks(root: Path, later: str, count: int) -> list[Task]:
    """Changes between the checkout and a later commit, whose files were there already."""
    there = set(_git(root, "ls-tree", "-r", "--name-only", "HEAD").splitlines())
    found = []
    for sha in _git(root, "rev-list", "--no-merges", f"HEAD..{later}").split():
        message = _git(root, "log", "-1", "--format=%B", sha)
        touched = _git(root, "log", "-1", "--format=", "--name-only", "--no-renames", sha).split(
            "\n"
        )
        files = frozenset(one for one in touched if one in there and is_work(one))
        text = _TRAILERS.sub("", message).strip()
        is_task = len(telling_words(text, 99)) >= 5 and not _NO_TASK.match(text)
        if is_task and 1 <= len(files) <= MOST_FILES:
            found.append(Task(sha, text, files))
    return random.Random(SEED).sample(found, min(count, len(found)))


def _git(root: Path, *words: str) -> str:
    return run_git(*words, cwd=root).decode("utf-8", "replace")


def by_search(store: HistoryStore, there: frozenset[str]) -> Callable[[str], list[str]]:
    """Plain full-text search: the files of the first commits that it finds."""

    def find(text: str) -> list[str]:
        found = found_by(store, "words", text)[:3]
        ids = store.known(store.repos()[0].repo_id, found)
        touched = store.files(ids.values())
        files = [file.path for some in touched.values() for file in some]
        return [one for one in dict.fromkeys(files) if one in there][:MOST_FILES]

    return find


def by_brief(rooms: Rooms, spent: list[int]) -> Callable[[str], list[str]]:
    """The files that a brief names."""

    def find(text: str) -> list[str]:
        data = pack_data(brief(rooms, text, budget=1500))
        spent.append(int(data["tokens"]))
        return list(data["files"])

    return find


def measured(found: Callable[[str], list[str]], asked: Sequence[Task]) -> tuple[float, float]:
    """Precision over all files named, and the mean share of the needed that was named."""
    named = right = 0
    recalls = []
    for task in asked:
        files = set(found(task.text))
        named += len(files)
        right += len(files & task.files)
        recalls.append(len(files & task.files) / len(task.files))
    return right / named if named else 0.0, sum(recalls) / len(recalls)


def rows(root: Path, index: str, later: str, count: int = TASKS) -> Iterator[str]:
    """A line for each way to find files."""
    asked = tasks(root, later, count)
    rooms = open_rooms({"project": str(root), "db": index})
    assert rooms.history is not None
    there = frozenset(_git(root, "ls-tree", "-r", "--name-only", "HEAD").splitlines())
    spent: list[int] = []
    ways = {"plain FTS": by_search(rooms.history, there), "brief": by_brief(rooms, spent)}
    for name, way in ways.items():
        precision, recall = measured(way, asked)
        yield f"{root.name}, {len(asked)} changes, {name}: precision {precision:.2f}, recall {recall:.2f}"
    yield f"{root.name}, tokens of a brief: mean {sum(spent) // len(spent)}, most {max(spent)}"


if __name__ == "__main__":
    for one in sys.argv[1:]:
        place, database, tip = one.split("=")
        for row in rows(Path(place), database, tip):
            print(row, flush=True)
