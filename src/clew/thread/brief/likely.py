"""Which files a task will touch.

Those it names, those that define its symbols, those that similar commits touched, those whose path
has its words, and those that change along with them. Only files of the current tree count, and none that a program writes. How much each sign counts, and
from which score on a file is named at all, was fitted on real histories
(`benchmarks/rooms/brief_files.py`); it is better to name no file than a wrong one.
"""

from __future__ import annotations

import math
import os
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

from clew.history.model import Repo
from clew.history.repo_git import repo_git
from clew.history.search.pathkind import path_kind
from clew.kit.errors import ClewError
from clew.kit.text.tokens import telling_words
from clew.symbols.tree import Place, TreeSymbols

# Log-odds, fitted by logistic regression; a file is named from a probability of one in ten on:
# with more, plain full-text search would name more of the needed files.
_WEIGHTS = {
    "named": 5.0, "defines": 4.2, "has": 1.2, "path": 4.0, "similar": 4.0, "along": 1.3,
}  # fmt: skip
_FLOOR = 2.5
MOST_FILES = 6
_LEADING = 3
_MOST_NAMES = 12
_MOST_WORDS = 16
_MOST_LINES = 40
_LONG = 8000
_COMMON = 0.2  # a word in this share of all paths says nothing
_BOOKKEEPING = ".chant/"
_PATH = re.compile(r"(?<![\w/.-])(?:[\w.-]+/)*[\w-]+\.[A-Za-z][A-Za-z0-9]{0,7}(?![\w/])")
_NAME = re.compile(
    r"`([A-Za-z_][\w.:]*)(?:\(\))?`|\b([A-Za-z_]\w*(?:[._]\w+)+)\b|\b([A-Za-z_]\w*)\(\)"
    r"|\b([A-Z][a-z0-9]+(?:[A-Z][a-z0-9]*)+|[a-z]+(?:[A-Z][a-z0-9]+)+)\b"
)
_WORDS_IN_PATH = re.compile(r"[a-z]+|\d+")


class Change(NamedTuple):
    """A past commit that has to do with the task: how much, and which files it touched."""

    score: float
    files: tuple[str, ...]


class Likely(NamedTuple):
    """A file that the task will probably touch, and by which signs."""

    path: str
    score: float
    signs: dict[str, float]


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
            if b" blob " in head and is_work(path):
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

    def occurrences(self, words: Sequence[str]) -> dict[str, Counter[str]]:
        """How often each file has each of these words."""
        found: dict[str, Counter[str]] = defaultdict(Counter)
        if not words:
            return found
        patterns = [part for word in words for part in ("-e", word)]
        asked = ("grep", "-o", "-z", "-I", "-w", "-F", "-m", str(_MOST_LINES))
        try:
            out = repo_git(self.repo, *asked, *patterns, "HEAD", "--")
        except ClewError:
            return found
        for line, count in Counter(out.split(b"\n")).items():
            path, _, word = line.partition(b"\0")
            name = os.fsdecode(path).removeprefix("HEAD:")
            if name in self.sizes:
                found[word.decode("utf-8", "replace")][name] += count
        return found


def is_work(path: str) -> bool:
    """Whether people write this file: no lock file, no bookkeeping."""
    return path_kind(path) != "generated" and not path.startswith(_BOOKKEEPING)


def names_in(text: str) -> list[str]:
    """The words of a text that look like names of code."""
    found = ("".join(groups) for groups in _NAME.findall(text))
    return [one for one in dict.fromkeys(found) if len(one) > 2][:_MOST_NAMES]


def likely_files(
    tree: Tree,
    text: str,
    similar: Sequence[Change],
    along: Callable[[str], Mapping[str, float]] | None = None,
    *,
    targets: Sequence[str] = (),
) -> list[Likely]:
    """The files that a task will probably touch, the likeliest first; none rather than noise.

    `along` tells which files change along with one, and how often; `targets` are listed already.
    """
    signs = signs_of(tree, text, similar)
    for path in targets:
        signs[path]["named"] = 1.0
    best = sorted(signs, key=lambda path: (-score_of(signs[path]), path))[:_LEADING]
    for path in best if along else ():
        for other, share in along(path).items() if along else ():
            if other in tree.sizes:
                signs[other]["along"] = max(share, signs[other].get("along", 0.0))
    scored = [Likely(path, score_of(found), found) for path, found in signs.items()]
    scored.sort(key=lambda one: (-one.score, one.path))
    return [one for one in scored[:MOST_FILES] if one.score >= _FLOOR]


def score_of(signs: Mapping[str, float]) -> float:
    """What the signs of a file amount to."""
    return sum(_WEIGHTS[sign] * value for sign, value in signs.items())


def signs_of(tree: Tree, text: str, similar: Sequence[Change]) -> dict[str, dict[str, float]]:
    """What speaks for each file, each sign between 0 and 1."""
    signs: dict[str, dict[str, float]] = defaultdict(dict)
    for path in tree.named_in(text):
        signs[path]["named"] = 1.0
    defined = tree.definitions(text)
    for places in defined.values():
        files = {one.path for one in places}
        for path in files:
            before = signs[path].get("defines", 0.0)
            signs[path]["defines"] = min(1.0, before + 1 / len(files))
    names = [re.split(r"\.|::", name)[-1] for name in names_in(text)]
    for path, value in _by_content(tree, list(dict.fromkeys(names))).items():
        signs[path]["has"] = value
    for path, value in _by_path(tree.paths, text).items():
        signs[path]["path"] = value
    for path, value in _by_history(tree.paths, similar).items():
        signs[path]["similar"] = value
    return signs


def _by_content(tree: Tree, words: Sequence[str]) -> dict[str, float]:
    """The share of the words, by weight, that each file has; large files have many by chance."""
    having = tree.occurrences(words)
    weights = {w: math.log(1 + len(tree.paths) / len(files)) for w, files in having.items()}
    found: dict[str, float] = defaultdict(float)
    for word, files in having.items():
        for path, count in files.items():
            found[path] += weights[word] * count / (count + 0.5 + tree.sizes[path] / _LONG)
    whole = sum(weights.values()) or 1.0
    return {path: value / whole for path, value in found.items()}


def _by_path(paths: Sequence[str], text: str) -> dict[str, float]:
    """The share of the text's words, by weight, that a path has; in the name they count most."""
    words = {_stem(word) for word in telling_words(text, _MOST_WORDS, shortest=3)}
    having: dict[str, list[str]] = defaultdict(list)
    for path in paths:
        for word in words.intersection(map(_stem, _WORDS_IN_PATH.findall(path.lower()))):
            having[word].append(path)
    found: dict[str, float] = defaultdict(float)
    for word, some in having.items():
        if len(some) <= max(3.0, _COMMON * len(paths)):
            weight = math.log(len(paths) / len(some) + 1) / math.log(len(paths) + 2)
            for path in some:
                in_name = word in map(
                    _stem, _WORDS_IN_PATH.findall(path.rpartition("/")[2].lower())
                )
                found[path] += weight if in_name else weight / 2
    return {path: min(1.0, value / 2) for path, value in found.items()}


def _by_history(paths: Sequence[str], similar: Sequence[Change]) -> dict[str, float]:
    """How much the similar commits touched each file; many files at once say little of each."""
    known = set(paths)
    found: dict[str, float] = defaultdict(float)
    for change in similar:
        files = [path for path in change.files if path in known]
        for path in files:
            found[path] += change.score / math.sqrt(len(files))
    return {path: min(1.0, value) for path, value in found.items()}


def _stem(word: str) -> str:
    return word[:-1] if len(word) > 3 and word.endswith("s") else word
