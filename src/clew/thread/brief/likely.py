"""Which files a task will touch.

Those it names, those that define its symbols or names of its words, those that similar commits touched, those whose path
has its words or whose past messages have them, and the tests that belong to them. Only files of the
current tree count, and none that a program writes. How much each sign counts, and from which
probability on a file is named at all, was fitted on real histories
(`benchmarks/rooms/brief_files.py`); it is better to name no file than a wrong one.
"""

from __future__ import annotations

import math
import os
import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import NamedTuple

from clew.history.lookup import is_askable
from clew.history.model import Repo
from clew.history.repo_git import repo_git
from clew.history.search.pathkind import path_kind
from clew.kit.errors import ClewError
from clew.kit.text.tokens import telling_words
from clew.symbols.tree import Place, TreeSymbols
from clew.thread.brief.past import Past, read_past, words_in

# Log-odds, fitted by logistic regression on the changes of six projects: first each file by itself,
# then beside the others that are likely for the same task.
_ALONE = {
    "named": 2.698, "defines": 2.406, "has": 0.837, "path": 3.14, "similar": -0.137, "place": 0.82,
    "usual": 1.344, "words": -9.429, "title": 8.264, "root words": 6.71, "root similar": 2.018,
    "test": 0.33, "prose": 0.198,
}  # fmt: skip
_ALONE_BIAS = -5.544
_BESIDE = {
    "alone": 0.617, "pair": 1.867, "share": 0.947, "rank": 0.452, "defined": 0.846, "together": 1.52,
}  # fmt: skip
_BESIDE_BIAS = -1.79
_FLOOR = 0.15
MOST_FILES = 6
_LEADING = 8
_MOST_READ = 40
_ENOUGH_WORDS = 4  # of a task in one name
_MOST_BY_WORDS = 15
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
_TEST_PART = re.compile(r"^tests?[_-]|[_.-](?:tests?|spec)$|^test(?=[A-Z])|Tests?$")
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
        kind, name = path_kind(path), _bare_name(path)
        if kind == "prose" or not name:
            return []
        other = "code" if kind == "test" else "test"
        return [one for one in self._by_name[name] if path_kind(one) == other]

    @cached_property
    def _by_name(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = defaultdict(list)
        for path in self.paths:
            found[_bare_name(path)].append(path)
        return found

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
    tree: Tree, text: str, similar: Sequence[Change], *, targets: Sequence[str] = ()
) -> list[Likely]:
    """The files that a task will probably touch, the likeliest first; none rather than noise.

    `targets` are listed already.
    """
    signs = signs_of(tree, text, similar)
    for path in targets:
        signs[path]["named"] = 1.0
    alone = {path: _alone(path, found) for path, found in signs.items()}
    leading = sorted(alone, key=lambda path: (-alone[path], path))[:_LEADING]
    for first in leading:
        for path in tree.counterparts(first):
            if path not in alone:
                alone[path] = _alone(path, signs[path])
            signs[path]["pair"] = max(alone[first], signs[path].get("pair", 0.0))
    _add_defined(tree, alone, signs, text)
    scored = _beside(alone, signs)
    return [one for one in scored[:MOST_FILES] if one.score >= _FLOOR]


def _add_defined(
    tree: Tree, alone: Mapping[str, float], signs: Mapping[str, dict[str, float]], text: str
) -> None:
    """How many of the task's plain words stand together in a name that a leading file defines."""
    wanted = words_in(text.split("\n", 1)[0])
    leading = sorted(alone, key=lambda path: (-alone[path], path))[:_MOST_READ]
    outlines = tree.symbols.outlines(leading)
    named = {
        path: [wanted & words_in(one.full_name.replace("_", " ")) for one in outline.definitions]
        for path, outline in outlines.items()
    }
    having = Counter(word for names in named.values() for word in frozenset().union(*names))
    weights = {word: math.log(1 + len(named) / count) for word, count in having.items()}
    whole = sum(weights.values()) or 1.0
    for path, names in named.items():
        best = max((sum(weights[word] for word in words) for words in names), default=0.0)
        signs[path]["defined"] = best / whole
        count = max(map(len, names), default=0)
        signs[path]["together"] = min(count, _ENOUGH_WORDS) / _ENOUGH_WORDS


def _alone(path: str, signs: Mapping[str, float]) -> float:
    """How probable a file is by its own signs."""
    kind = path_kind(path)
    values = {
        **signs,
        "root words": math.sqrt(signs.get("words", 0.0)),
        "root similar": math.sqrt(signs.get("similar", 0.0)),
        kind: 1.0,
    }
    return _probability(_ALONE_BIAS, _ALONE, values)


def _beside(alone: Mapping[str, float], signs: Mapping[str, dict[str, float]]) -> list[Likely]:
    """How probable each file is beside the others."""
    order = sorted(alone, key=lambda path: (-alone[path], path))
    scored = []
    for number, path in enumerate(order):
        values = {
            "alone": math.log(alone[path] / (1 - alone[path])),
            "pair": signs[path].get("pair", 0.0),
            "defined": signs[path].get("defined", 0.0),
            "together": signs[path].get("together", 0.0),
            "share": alone[path] / alone[order[0]],
            "rank": 1 / (1 + number),
        }
        score = _probability(_BESIDE_BIAS, _BESIDE, values)
        scored.append(Likely(path, score, signs[path]))
    return sorted(scored, key=lambda one: (-one.score, one.path))


def _probability(bias: float, weights: Mapping[str, float], values: Mapping[str, float]) -> float:
    total = bias + sum(weight * values.get(name, 0.0) for name, weight in weights.items())
    return 1 / (1 + math.exp(-total))


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
    for number, change in enumerate(similar):
        for path in change.files:
            if path in tree.sizes:
                signs[path].setdefault("place", 1 / (1 + number))
    _add_past(signs, read_past(tree.repo, tree.sizes), text)
    return signs


def _add_past(signs: dict[str, dict[str, float]], past: Past, text: str) -> None:
    """What the newest commits say of the files; those with the task's words become candidates."""
    by_words = past.touched_after(text)
    by_title = past.touched_after(text.split("\n", 1)[0])
    for path in sorted(by_words, key=lambda one: (-by_words[one], one))[:_MOST_BY_WORDS]:
        signs[path]["words"] = by_words[path]
    usual = past.usual()
    for path, found in signs.items():
        found["words"] = by_words.get(path, 0.0)
        found["title"] = by_title.get(path, 0.0)
        found["usual"] = usual.get(path, 0.0)


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


def _bare_name(path: str) -> str:
    """A file's name without what makes it a test, and without its ending."""
    return _TEST_PART.sub("", path.rpartition("/")[2].split(".")[0]).lower()


def _stem(word: str) -> str:
    return word[:-1] if len(word) > 3 and word.endswith("s") else word
