"""Where a name is defined: by parsers where there is one for the language, else by its keyword.

A qualified name means nothing but that: no method of another class is taken for it.
"""

from __future__ import annotations

import os
import re
from functools import partial
from typing import NamedTuple

from clew.history.model import Repo
from clew.history.repo_git import repo_git
from clew.history.search.pathkind import path_kind
from clew.kit.errors import NotFound
from clew.kit.git import GitError, guard
from clew.symbols.languages import language_of
from clew.symbols.tree import Place, TreeSymbols

SYMBOL = re.compile(r"[^\W\d]\w*(?:(?:\.|::|#)\w+)*")
_SPLIT = re.compile(r"\.|::|#")
_MOST_NAMED = 8
_MOST_BLOCK = 120
# Keywords before a name where it is defined, in languages without a grammar here.
_DEFINING = (
    r"(def|class|func|fn|function|struct|interface|type|enum|trait|impl|module|mod|macro_rules!|"
    r"const|static|let|var|val|sub|proc|package|namespace|union|define|object|protocol|record)"
)


class Spot(NamedTuple):
    """Lines where a name is defined or occurs, and what it is there."""

    path: str
    start: int
    end: int
    what: str

    @property
    def text(self) -> str:
        """The spot in one line."""
        return f"{self.path}:{self.start} {self.what}".rstrip()


class Spots(NamedTuple):
    """The spots that a name may mean, and other places that have it."""

    meant: tuple[Spot, ...]
    others: tuple[Spot, ...] = ()
    is_defined: bool = True


def find_spots(repo: Repo, name: str) -> Spots | None:
    """Where a name is defined, else where it occurs; None where it does not occur at all."""
    parts = _SPLIT.split(name)
    places = TreeSymbols(partial(repo_git, repo)).definitions([parts[-1]])[parts[-1]]
    asked = [one for one in places if one.answers_to(parts)]
    meant = [_spot(one) for one in (_without_constructors(asked) if len(parts) == 1 else asked)]
    if meant:
        return _without_tests(meant, len(parts))
    if places and len(parts) > 1:
        raise _not_that(repo, name, places)
    defined = _by_keyword(repo, parts[-1])
    if defined:
        return _without_tests(defined, len(parts))
    used = [Spot(path, line, line, "") for path, line in _grep(repo, _word(parts[-1]))]
    return Spots(tuple(used), is_defined=False) if used else None


def _without_constructors(places: list[Place]) -> list[Place]:
    """Of a class and what makes its objects under the same name, the class."""
    classes = {(one.path, one.definition.full_name) for one in places}
    return [
        one
        for one in places
        if one.definition.owners[-1:] != (one.definition.name,)
        or (one.path, ".".join(one.definition.owners)) not in classes
    ]


def _spot(place: Place) -> Spot:
    one = place.definition
    return Spot(place.path, one.start, one.end, f"{one.kind} {one.full_name}")


def _without_tests(spots: list[Spot], parts: int) -> Spots:
    """What is not in a test is meant, if there is such."""
    code = [one for one in spots if path_kind(one.path) != "test"]
    meant = code or spots
    return Spots(tuple(meant), tuple(one for one in spots if one not in meant))


def _not_that(repo: Repo, name: str, places: list[Place]) -> NotFound:
    spots = [_spot(one) for one in places]
    shown = "; ".join(one.text for one in spots[:_MOST_NAMED])
    more = f"; and {len(spots) - _MOST_NAMED} more" if len(spots) > _MOST_NAMED else ""
    return NotFound(f"{repo.name} defines no {name}", f"What it defines: {shown}{more}")


def _by_keyword(repo: Repo, name: str) -> list[Spot]:
    word = _word(name)
    space = "[[:space:]]"
    found = _grep(repo, rf"(^|[^[:alnum:]_]){_DEFINING}{space}+(\([^)]*\){space}*)?{word}")
    found = found or _grep(repo, rf"^{space}*{re.escape(name)}{space}*(:[^=]+)?=")
    return [
        Spot(path, line, _block_end(repo, path, line), "")
        for path, line in found
        if path_kind(path) != "prose" and language_of(path) is None
    ]


def _word(name: str) -> str:
    return rf"(^|\b){re.escape(name)}([^[:alnum:]_]|$)"


def _grep(repo: Repo, pattern: str) -> list[tuple[str, int]]:
    try:
        out = repo_git(repo, "grep", "-z", "-n", "-I", "-E", "-m", "5", "-e", pattern, "HEAD", "--")
    except GitError:  # nothing found
        return []
    found = []
    for line in out.split(b"\n"):
        fields = line.split(b"\0", 2)
        if len(fields) == 3 and fields[1].isdigit():
            path = os.fsdecode(fields[0]).removeprefix("HEAD:")
            found.append((path, int(fields[1])))
    return found


def _block_end(repo: Repo, path: str, line: int) -> int:
    """The last line of a definition: where the text is indented as little as its first line."""
    text = os.fsdecode(repo_git(repo, "cat-file", "blob", f"HEAD:{guard(path)}"))
    lines = text.split("\n")
    depth = _indent(lines[line - 1])
    end = line
    for number in range(line, min(len(lines), line + _MOST_BLOCK)):
        content = lines[number]
        if content.strip() and _indent(content) <= depth:
            return number + 1 if content.strip()[0] in "})]" else end
        if content.strip():
            end = number + 1
    return end


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())
