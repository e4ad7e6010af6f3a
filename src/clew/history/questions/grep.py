"""Lines of a commit's files that have a text, with the definition around each."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterator, Sequence
from itertools import chain, zip_longest
from pathlib import Path
from typing import Any, NamedTuple

from clew.history.git.ref_files import limits
from clew.history.lookup import page
from clew.history.model import Repo
from clew.history.questions.blame import porcelain
from clew.history.repo_git import LACKING, repo_git, repo_git_head, resolve
from clew.history.search.pathmatch import matching_paths
from clew.history.store.interface import HistoryStore
from clew.kit.errors import Invalid, Unavailable
from clew.kit.git import seconds_of
from clew.kit.text.display import clipped

_MOST_OF_A_FILE = 200
_MOST_FILES = 12
_LARGEST_OUTPUT = 16 * 1024 * 1024
_LONGEST_SECONDS = 30.0
_MOST_NAMED = 500  # paths that git is told; of more, its answer is sifted
_MOST_REPEATS, _LONGEST_PATTERN = 1000, 2000
_MOST_BLAMED = 8
_LONGEST_LINE = 160
_PLAIN = (
    "-n", "-z", "-I", "-m", str(_MOST_OF_A_FILE), "--no-color", "--full-name", "--no-recurse-submodules",
)  # fmt: skip
_UNASKED = {"sha": None, "date": None, "subject": None}
_IMPORT = re.compile(r"\s*(from|import|use|using|package|require|#\s*include)\b")
_NO_HEAD = re.compile(r"(if|else|try|for|while|return)\b|[\w.]+\s*=|\w+:$")
_ASIDE = ("test", "doc", "example", "vendor", "third_party", "locale", "po/", "changelog", "news")


class _Line(NamedTuple):
    number: int
    text: str
    within: str


def grep(
    store: HistoryStore,
    repo_name: str,
    texts: Sequence[str],
    *,
    paths: Sequence[str] | None = None,
    regex: bool = False,
    blame: bool = False,
    limit: int = 20,
) -> dict[str, Any]:
    """Lines that have one of the texts: files with most of the texts first, a few lines of each."""
    wanted = [text for text in texts if text]
    if not wanted or any("\n" in text or "\0" in text for text in wanted):
        raise Invalid("Not a text that a line can have", "Give one or more texts of one line.")
    repo = store.find_repo(repo_name)
    commit = resolve(repo, "HEAD")
    options = ("-E",) if regex else ("-F", "-p")
    for text in wanted if regex else ():
        _check_pattern(text)
    within = None if paths is None else set(matching_paths(store, paths).values())
    named = sorted(within) if within and len(within) <= _MOST_NAMED else ()
    output, complete = _matches(repo, commit, options, wanted, named)
    seek = [] if regex else wanted
    files = dict(_files(output, commit, seek))
    if within is not None:
        files = {path: lines for path, lines in files.items() if path in within}
    order = sorted(files, key=lambda path: _place(path, files[path], seek))
    columns = ([(path, line) for line in sorted(files[path], key=_is_import)] for path in order)
    # A few lines of each file tell more than all lines of the first, and imports tell least.
    rows = [row for row in chain(*zip_longest(*columns)) if row is not None]
    found = page("lines", rows, limit, repo=repo.name, rev=commit)
    shown = sorted(found["lines"], key=lambda row: (order.index(row[0]), row[1].number))
    wrote = _writers(repo, commit, shown) if blame else {}
    found["lines"] = [
        {"path": path, **line._asdict(), **wrote.get((path, line.number), _UNASKED)}
        for path, line in shown
    ]
    found["files"] = [{"path": path, "lines": len(files[path])} for path in order[:_MOST_FILES]]
    found["more_files"] = max(0, len(order) - _MOST_FILES)
    found["complete"] = complete
    return found


def _matches(
    repo: Repo, commit: str, options: Sequence[str], texts: Sequence[str], paths: Sequence[str]
) -> tuple[bytes, bool]:
    """What git prints, up to a limit of size and time, and whether that is all of it."""
    words = (*_PLAIN, *options, *(part for text in texts for part in ("-e", text)), commit, "--")
    output, code = repo_git_head(
        repo, "grep", *words, *paths, most=_LARGEST_OUTPUT, seconds=_LONGEST_SECONDS
    )
    if code not in (None, 0, 1):
        if limits(Path(repo.local_path)):
            raise Unavailable(f"{repo.name} is a partial clone without all contents", LACKING)
        raise Invalid("Not a pattern that git can search for", "An extended one is: a(b|c)+")
    return output, code is not None


def _check_pattern(text: str) -> None:
    """Counts within counts multiply in memory, and take all of it."""
    counts = [int(found[:9] or 1) for found in re.findall(r"\{\d*,?(\d*)", text)]
    if math.prod(counts) > _MOST_REPEATS or len(text) > _LONGEST_PATTERN:
        raise Invalid(f"The counts of a pattern may multiply to {_MOST_REPEATS}", "Use * or +.")


def _files(output: bytes, commit: str, seek: Sequence[str]) -> Iterator[tuple[str, list[_Line]]]:
    """The lines of each file. A line without any text is the head of the definition around."""
    path, lines, within = "", list[_Line](), ""
    for row in output.split(b"\n"):
        name, _, rest = row.partition(b"\0")
        number, _, said = rest.partition(b"\0")
        if not number.isdigit():
            continue
        here = os.fsdecode(name).removeprefix(f"{commit}:")
        if here != path:
            if lines:
                yield path, lines
            path, lines, within = here, [], ""
        text = said.decode("utf-8", "replace").rstrip("\r")
        if seek and not any(one in text for one in seek):
            within = clipped(text.strip(), _LONGEST_LINE) if _is_head(text) else ""
            continue
        shown = clipped(text.strip(), _LONGEST_LINE)
        lines.append(_Line(int(number), shown, "" if _is_head(text) else within))
        if _is_head(text):
            within = shown
    if lines:
        yield path, lines


def _is_head(text: str) -> bool:
    """Whether a line begins a definition: git takes every line for one that begins with a letter."""
    return (text[:1].isalpha() or text[:1] in ("_", "$")) and not (
        _NO_HEAD.match(text) or _IMPORT.match(text)
    )


def _is_import(line: _Line) -> bool:
    return bool(_IMPORT.match(line.text))


def _place(path: str, lines: Sequence[_Line], seek: Sequence[str]) -> tuple[int, bool, int, str]:
    """Files with more of the texts first, then what is no test or document, then fewer lines."""
    having = sum(any(one in line.text for line in lines) for one in seek)
    aside = all(map(_is_import, lines)) or any(part in path.lower() for part in _ASIDE)
    return -having, aside, len(lines), path


def _writers(
    repo: Repo, commit: str, rows: Sequence[tuple[str, _Line]]
) -> dict[tuple[str, int], dict[str, Any]]:
    """The commit behind each line of the first files."""
    numbers: dict[str, list[int]] = {}
    for path, line in rows:
        numbers.setdefault(path, []).append(line.number)
    found: dict[tuple[str, int], dict[str, Any]] = {}
    for path, some in list(numbers.items())[:_MOST_BLAMED]:
        spans = [part for number in some for part in ("-L", f"{number},{number}")]
        output = repo_git(
            repo, "blame", "-w", "--porcelain", "--no-textconv", *spans, commit, "--", path
        )
        for wrote in porcelain(output):
            found[path, wrote.new] = {
                "sha": wrote.sha,
                "date": seconds_of(wrote.facts.get("author-time", "")),
                "subject": wrote.facts.get("summary", ""),
            }
    return found
