"""The files of the current tree, and what a text says of them."""

from __future__ import annotations

import os
import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial

from clew.history.lookup import is_askable
from clew.history.model import Repo
from clew.history.repo_git import repo_git
from clew.history.search.pathkind import path_kind
from clew.kit.errors import ClewError
from clew.symbols.tree import Place, TreeSymbols

_MOST_NAMES = 12
_MOST_LINES = 40
_BOOKKEEPING = ".chant/"
_LOG = re.compile(
    r"(^|/)(changelog|changes|news|history|release[-_]?notes)(\.(md|rst|txt|adoc|org))?$"
    r"|(^|/)(changelog|changes|news|unreleased|\.changeset)(\.d)?/",
    re.IGNORECASE,
)
_PATH = re.compile(r"(?<![\w/.-])(?:[\w.-]+/)*[\w-]+\.[A-Za-z][A-Za-z0-9]{0,7}(?![\w/])")
_NAME = re.compile(
    r"`([A-Za-z_][\w.:]*)(?:\(\))?`|\b([A-Za-z_]\w*(?:[._]\w+)+)\b|\b([A-Za-z_]\w*)\(\)"
    r"|\b([A-Z][a-z0-9]+(?:[A-Z][a-z0-9]*)+|[a-z]+(?:[A-Z][a-z0-9]+)+)\b"
)
_TEST_PART = re.compile(r"^tests?[_-]|[_.-](?:tests?|spec)$|^test(?=[A-Z])|Tests?$")


@dataclass
class Tree:
    """The files of the current tree, and what a text says of them."""

    repo: Repo
    sizes: dict[str, int] = field(init=False)
    paths: tuple[str, ...] = field(init=False)
    symbols: TreeSymbols = field(init=False)

    def __post_init__(self) -> None:
        try:
            out = repo_git(self.repo, "ls-tree", "-r", "-z", "-l", "HEAD")
        except ClewError:
            out = b""
        self.sizes = {}
        for entry in out.split(b"\0"):
            head, _, name = entry.partition(b"\t")
            path = os.fsdecode(name)
            if b" blob " in head and is_askable(path) and is_work(path):
                size = head.split()[3]  # of what a partial clone lacks, git says BAD
                self.sizes[path] = int(size) if size.isdigit() else 0
        self.paths = tuple(self.sizes)
        self.symbols = TreeSymbols(partial(repo_git, self.repo))

    def named_in(self, text: str) -> list[str]:
        """The files that a text names, by their path or by the end of it."""
        known = set(self.paths)
        found = []
        for name in dict.fromkeys(_PATH.findall(text)):
            ending = [one for one in self.paths if one.endswith(f"/{name}")]
            if name in known:
                found.append(name)
            elif len(ending) <= 3:
                found += ending
        return found

    def definitions(self, text: str) -> dict[str, list[Place]]:
        """The names in a text that look like code, with what the tree defines by them."""
        parts = {name: re.split(r"\.|::", name)[-1] for name in names_in(text)}
        found = self.symbols.definitions(parts.values()) if parts else {}
        places = {}
        for name, last in parts.items():
            exact = [one for one in found[last] if one.answers_to(re.split(r"\.|::", name))]
            places[name] = exact or found[last]
        return {name: some for name, some in places.items() if some}

    def counterparts(self, path: str) -> list[str]:
        """The tests of a program's file, or the program's file of a test, by their names."""
        kind, name = path_kind(path), bare_name(path)
        if kind == "prose" or not name:
            return []
        other = "code" if kind == "test" else "test"
        return [one for one in self._by_name[name] if path_kind(one) == other]

    @cached_property
    def _by_name(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = defaultdict(list)
        for path in self.paths:
            found[bare_name(path)].append(path)
        return found

    def occurrences(self, words: Sequence[str], *how: str) -> dict[str, Counter[str]]:
        """How often each file has each of these words, compared as git's options say."""
        found: dict[str, Counter[str]] = defaultdict(Counter)
        if not words:
            return found
        patterns = [part for word in words for part in ("-e", word)]
        asked = ("grep", "-o", "-z", "-I", *how, "-F", "-m", str(_MOST_LINES))
        try:
            out = repo_git(self.repo, *asked, *patterns, "HEAD", "--")
        except ClewError:
            return found
        for line, count in Counter(out.split(b"\n")).items():
            path, _, word = line.partition(b"\0")
            name = os.fsdecode(path).removeprefix("HEAD:")
            if name in self.sizes:
                found[word.decode("utf-8", "replace").lower()][name] += count
        return found


def is_work(path: str) -> bool:
    """Whether people write this file: no lock file, no bookkeeping."""
    return path_kind(path) != "generated" and not path.startswith(_BOOKKEEPING)


def is_log(path: str) -> bool:
    """Whether a file tells the changes one after the other: nearly every change adds to it."""
    return bool(_LOG.search(path))


def names_in(text: str) -> list[str]:
    """The words of a text that look like names of code."""
    found = ("".join(groups) for groups in _NAME.findall(text))
    return [one for one in dict.fromkeys(found) if len(one) > 2][:_MOST_NAMES]


def bare_name(path: str) -> str:
    """A file's name without what makes it a test, and without its ending."""
    return _TEST_PART.sub("", path.rpartition("/")[2].split(".")[0]).lower()
