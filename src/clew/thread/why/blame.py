"""The commit behind each line: spaces ignored, moves followed, reformattings looked through.

`commitmux blame` asks as of a commit. Here lines are counted as in the checkout's file,
commits that `.git-blame-ignore-revs` lists are looked through, and lines that no commit has are
told as such. The checkout's file is compared by us: git would run the filters that a repository's
configuration names.
"""

from __future__ import annotations

import re
import stat
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from pathlib import Path

from clew.history.git.ref_files import git_directory
from clew.history.model import Repo
from clew.history.questions.blame import porcelain
from clew.history.repo_git import no_file, repo_git
from clew.kit import jsontext
from clew.kit.errors import NotFound
from clew.kit.files import open_regular
from clew.kit.git import PLAIN_DIFF, GitError, guard
from clew.thread.why.commits import Commit
from clew.thread.why.relocation import Relocations

IGNORED = ".git-blame-ignore-revs"
_LARGEST = 4 * 1024 * 1024
_MOST_COMPARED = 20_000
_MOST_STEPS = 12
_FEW = 20  # as a share of all lines
_MOST_CHANGED = 300


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


def blame_lines(
    repo: Repo, path: str, start: int, end: int, read: Callable[[str], Commit | None]
) -> Blame:
    """Who wrote the lines from one number to another, as the checkout counts them."""
    found = _blame_checkout(repo, path, start, end)
    if repo.answers is None:
        followed = _followed(repo, found.entries, read)
    else:
        lines = _packed(found.entries)
        made = repo.answers.made(
            "followed", lines, lambda: _packed(_followed(repo, found.entries, read))
        )
        rows = jsontext.loads(made.decode("utf-8", "surrogateescape"))
        followed = [Blamed(*row) for row in rows]
    return replace(found, entries=tuple(_joined(followed)))


def _packed(entries: Sequence[Blamed]) -> bytes:
    rows = jsontext.dumps([[*vars(entry).values()] for entry in entries])
    return rows.encode("utf-8", "surrogateescape")


def _blame_checkout(repo: Repo, path: str, start: int, end: int) -> Blame:
    """Who changed the lines last, spaces and listed commits apart."""
    # Most files are as they were committed, so git may begin before that is known.
    with ThreadPoolExecutor(max_workers=1) as pool:
        reading = pool.submit(_content, repo, path)
        early = _blame_or_none(repo, path, start, end)
        committed = reading.result()
    here = _checkout_lines(repo, path)
    if here is None or here == committed:
        _check_range(path, start, end, len(committed))
        return Blame(tuple(early or _blame(repo, path, [(start, end)])), ())
    _check_range(path, start, end, len(here))
    mapped = _line_map(here, committed)
    asked = range(start, end + 1)
    uncommitted = tuple(number for number in asked if number not in mapped)
    places = {mapped[number]: number for number in asked if number in mapped}
    if not places:
        return Blame((), uncommitted)
    found = _blame(repo, path, [(min(places), max(places))])
    return Blame(tuple(_in_checkout(found, places)), uncommitted)


def _blame_or_none(repo: Repo, path: str, start: int, end: int) -> list[Blamed] | None:
    try:
        return _blame(repo, path, [(start, end)])
    except GitError:
        return None


def _followed(
    repo: Repo, entries: Sequence[Blamed], read: Callable[[str], Commit | None]
) -> list[Blamed]:
    """The same lines with the commits that wrote them, where others moved or rebroke them."""
    lines = {entry.start: entry for entry in entries}
    open_ones = set(lines)
    for _ in range(_MOST_STEPS):
        counts = Counter(lines[number].sha for number in sorted(open_ones))
        sha, count = next(iter(counts.most_common(1)), ("", 0))
        if count * _FEW <= len(entries):  # what is told of the others is their number
            break
        own = [number for number in sorted(open_ones) if lines[number].sha == sha]
        older = _step(repo, [lines[number] for number in own], read)
        lines |= older
        open_ones = open_ones.difference(own).union(older)
    return [lines[number] for number in sorted(lines)]


def _step(
    repo: Repo, lines: Sequence[Blamed], read: Callable[[str], Commit | None]
) -> dict[int, Blamed]:
    """The lines of one commit that it only moved or rebroke, with their commits before it."""
    sha = lines[0].sha
    commit = read(sha)
    taken = [path for path, status, _ in commit.files if status != "A"] if commit else []
    if not taken:  # nothing was there before
        return {}
    paths = {line.path for line in lines} if len(taken) > _MOST_CHANGED else ()
    words = ("log", "-1", "-p", "-w", "-U3", "-M", *PLAIN_DIFF, "--format=", sha, "--")
    try:
        patch = repo_git(repo, *words, *map(guard, paths)).decode("utf-8", "replace")
    except GitError:
        return {}
    relocations = Relocations(patch, {(line.path, line.line) for line in lines})
    before: dict[str, dict[int, list[Blamed]]] = defaultdict(lambda: defaultdict(list))
    for line in lines:
        place = relocations.before(line.path, line.line)
        if place is not None:
            before[place[0]][place[1]].append(line)
    found: dict[int, Blamed] = {}
    for path, places in before.items():
        spans = [(number, number) for number in sorted(places)]
        try:
            older = _blame(repo, path, spans, f"{sha}^")
        except GitError:
            continue
        for line in older:
            for was in places.get(line.start, ()):
                found[was.start] = replace(line, start=was.start, end=was.end, text=was.text)
    return found


def _in_checkout(found: list[Blamed], places: dict[int, int]) -> list[Blamed]:
    """The lines that were asked for, by their numbers in the checkout."""
    return [
        replace(one, start=places[one.start], end=places[one.start])
        for one in found
        if one.start in places
    ]


def _check_range(path: str, start: int, end: int, count: int) -> None:
    if end > count:
        asked = f"line {start}" if start == end else f"lines {start} to {end}"
        raise NotFound(f"{path} has {count} lines, so no {asked}", "Lines count from 1.")


def _blame(
    repo: Repo, path: str, spans: Sequence[tuple[int, int]], revision: str = "HEAD"
) -> list[Blamed]:
    asked = [word for start, end in spans for word in ("-L", f"{start},{end}")]
    words = ["blame", "-w", "--porcelain", "--no-textconv", *asked]
    ending = [revision, "--", guard(path)]
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
        hint = "Give the path from the repository's root. What was never committed has no history."
        raise no_file(repo, "HEAD", path, "HEAD", hint) from None
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
    return [
        Blamed(line.new, line.new, line.sha, line.facts.get("filename", ""), line.old, line.text)
        for line in porcelain(output)
    ]


def _joined(lines: Sequence[Blamed]) -> Iterator[Blamed]:
    """Neighbouring lines of a commit as one."""
    last: Blamed | None = None
    for line in lines:
        here = (line.sha, line.path, line.start)
        if last is not None and (last.sha, last.path, last.end + 1) == here:
            last = replace(last, end=line.end)
            continue
        if last is not None:
            yield last
        last = line
    if last is not None:
        yield last
