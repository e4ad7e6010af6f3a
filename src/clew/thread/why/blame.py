"""The commit behind each line: spaces ignored, moves and copies followed, reformattings skipped.

`commitmux blame` asks as of a commit. Here lines are counted as in the checkout's file,
commits that `.git-blame-ignore-revs` lists are looked through, and lines that no commit has are
told as such. The checkout's file is compared by us: git would run the filters that a repository's
configuration names.
"""

from __future__ import annotations

import re
import stat
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from pathlib import Path

from clew.history.git.ref_files import git_directory
from clew.history.model import Repo
from clew.history.questions.blame import porcelain
from clew.history.repo_git import repo_git
from clew.kit.errors import NotFound
from clew.kit.files import open_regular
from clew.kit.git import GitError, guard

IGNORED = ".git-blame-ignore-revs"
_LARGEST = 4 * 1024 * 1024
_MOST_COMPARED = 20_000
_FOLLOW = ("-w", "-M", "-C", "-C")


@dataclass(frozen=True)
class Blamed:
    """Neighbouring lines of one commit: here, and where they stood in that commit."""

    start: int
    end: int
    sha: str
    path: str
    line: int
    text: str


@dataclass(frozen=True)
class Blame:
    """The commits behind lines, oldest number first, and the lines that no commit has."""

    entries: tuple[Blamed, ...]
    uncommitted: tuple[int, ...]


def blame_lines(repo: Repo, path: str, start: int, end: int) -> Blame:
    """Who wrote the lines from one number to another, as the checkout counts them."""
    # Most files are as they were committed, so git may begin before that is known.
    with ThreadPoolExecutor(max_workers=1) as pool:
        reading = pool.submit(_content, repo, path)
        early = _blame_or_none(repo, path, start, end)
        committed = reading.result()
    here = _checkout_lines(repo, path)
    if here is None or here == committed:
        _check_range(path, start, end, len(committed))
        return Blame(tuple(early or _blame(repo, path, start, end)), ())
    _check_range(path, start, end, len(here))
    mapped = _line_map(here, committed)
    asked = range(start, end + 1)
    uncommitted = tuple(number for number in asked if number not in mapped)
    places = {mapped[number]: number for number in asked if number in mapped}
    if not places:
        return Blame((), uncommitted)
    found = _blame(repo, path, min(places), max(places))
    return Blame(tuple(_in_checkout(found, places)), uncommitted)


def _blame_or_none(repo: Repo, path: str, start: int, end: int) -> list[Blamed] | None:
    try:
        return _blame(repo, path, start, end)
    except GitError:
        return None


def _in_checkout(found: list[Blamed], places: dict[int, int]) -> list[Blamed]:
    """The lines that were asked for, by their numbers in the checkout."""
    shown: list[Blamed] = []
    for one in found:
        for offset in range(one.end - one.start + 1):
            number = places.get(one.start + offset)
            if number is not None:
                line = replace(one, start=number, end=number, line=one.line + offset)
                _join(shown, line)
    return shown


def _check_range(path: str, start: int, end: int, count: int) -> None:
    if end > count:
        asked = f"line {start}" if start == end else f"lines {start} to {end}"
        raise NotFound(f"{path} has {count} lines, so no {asked}", "Lines count from 1.")


def _blame(repo: Repo, path: str, start: int, end: int) -> list[Blamed]:
    words = ["blame", *_FOLLOW, "--porcelain", "--no-textconv", "-L", f"{start},{end}"]
    ending = ["HEAD", "--", guard(path)]
    quiet = ["-c", "blame.ignoreRevsFile="]
    listed = _ignored_file(repo)
    if listed is not None:
        try:
            found = repo_git(repo, *quiet, *words, "--ignore-revs-file", str(listed), *ending)
            return _entries(found)
        except GitError as error:
            if "object name" not in error.message:
                raise
    return _entries(repo_git(repo, *quiet, *words, *ending))


def _ignored_file(repo: Repo) -> Path | None:
    file = Path(repo.local_path) / IGNORED
    try:
        return file if stat.S_ISREG(file.lstat().st_mode) else None
    except OSError:
        return None


def ignored_revisions(repo: Repo) -> frozenset[str]:
    """The commits that the repository says are only about form."""
    file = _ignored_file(repo)
    try:
        text = file.read_text(encoding="utf-8", errors="replace") if file else ""
    except OSError:
        text = ""
    return frozenset(re.findall(r"^[ \t]*([0-9a-f]{40,64})\b", text[:_LARGEST], re.MULTILINE))


def cut_off_at(repo: Repo) -> frozenset[str]:
    """The commits at which a shallow clone ends: what is older was not fetched."""
    try:
        text = (git_directory(Path(repo.local_path)) / "shallow").read_text(encoding="ascii")
    except (OSError, ValueError):
        return frozenset()
    return frozenset(text.split())


def _content(repo: Repo, path: str) -> list[str]:
    """The file's lines at HEAD."""
    try:
        raw = repo_git(repo, "cat-file", "blob", f"HEAD:{guard(path)}")
    except GitError:
        raise NotFound(
            f"{repo.name} has no file {path} at HEAD",
            "Give the path from the repository's root. What was never committed has no history.",
        ) from None
    return _lines(raw)


def _checkout_lines(repo: Repo, path: str) -> list[str] | None:
    """The file's lines in the checkout; None without one, or where a link leads elsewhere."""
    root = Path(repo.local_path)
    file = root / path
    try:
        if not file.parent.resolve().is_relative_to(root.resolve()):
            return None
        with open(open_regular(file), "rb") as stream:
            raw = stream.read(_LARGEST + 1)
    except OSError:
        return None
    return _lines(raw) if len(raw) <= _LARGEST else None


def _lines(raw: bytes) -> list[str]:
    text = raw.decode("utf-8", "replace").replace("\r\n", "\n")
    return text.removesuffix("\n").split("\n") if text else []


def _line_map(here: list[str], committed: list[str]) -> dict[int, int]:
    """Which line at HEAD each unchanged line of the checkout is."""
    same = 0
    shorter = min(len(here), len(committed))
    while same < shorter and here[same] == committed[same]:
        same += 1
    tail = 0
    while tail < shorter - same and here[-1 - tail] == committed[-1 - tail]:
        tail += 1
    mapped = {n + 1: n + 1 for n in range(same)}
    mapped |= {len(here) - n: len(committed) - n for n in range(tail)}
    middle, other = here[same : len(here) - tail], committed[same : len(committed) - tail]
    if len(middle) * len(other) <= _MOST_COMPARED**2 // 4:
        for block in SequenceMatcher(None, middle, other, autojunk=False).get_matching_blocks():
            mapped |= {same + block.a + n + 1: same + block.b + n + 1 for n in range(block.size)}
    return mapped


def _entries(output: bytes) -> list[Blamed]:
    """Git's porcelain, with neighbouring lines of a commit joined."""
    found: list[Blamed] = []
    for line in porcelain(output):
        path = line.facts.get("filename", "")
        _join(found, Blamed(line.new, line.new, line.sha, path, line.old, line.text))
    return found


def _join(found: list[Blamed], entry: Blamed) -> None:
    last = found[-1] if found else None
    here = (entry.sha, entry.path, entry.start)
    if last is not None and (last.sha, last.path, last.end + 1) == here:
        found[-1] = replace(last, end=entry.end)
    else:
        found.append(entry)
