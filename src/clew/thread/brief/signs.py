"""What speaks for each file that a task may touch: numbers, about between 0 and 1.

Files that the task names, those that define its symbols or have its words, those that similar commits
touched, those whose path has its words or whose past messages have them.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from clew.history.search.pathkind import path_kind
from clew.kit.text.tokens import telling_words
from clew.thread.brief.past import Past, words_in
from clew.thread.brief.tree import Tree, bare_name, is_log, names_in

Signs = dict[str, dict[str, float]]
_MOST_BY_WORDS = 15
_MOST_WORDS = 16
_MOST_PLAIN = 10
_LONG = 8000
_COMMON = 0.2  # a word in this share of all paths says nothing
_WORDS_IN_PATH = re.compile(r"[a-z]+|\d+")
_SCOPE = re.compile(r"^(?:\[?[\w./,+-]+(?:\([\w./, +-]+\))?\]?!?: ?|\[[\w./,+ -]+\] )+")
_NO_SCOPE = re.compile(r"fix|feat|chore|docs?|refactor|perf|ci|build|style|tests?")
_TESTS = re.compile(r"\b(?:tests?|testing|tested|spec|coverage|benchmarks?)\b", re.IGNORECASE)
_PROSE = re.compile(r"\b(?:docs?|documentation|readme|typos?|examples?|comment)\b", re.IGNORECASE)
_RELATIVE = ("path", "words", "title", "nearest", "similar", "plain", "has")


class Change(NamedTuple):
    """A past commit that has to do with the task: how much, and which files it touched."""

    score: float
    files: tuple[str, ...]


def signs_of(
    tree: Tree, past: Past, text: str, similar: Sequence[Change], targets: Sequence[str]
) -> Signs:
    """What speaks for each file by itself; targets are as good as named."""
    title = text.split("\n", 1)[0]
    found: Signs = defaultdict(dict)
    for path in (*tree.named_in(text), *targets):
        found[path]["named"] = 1.0
    for places in tree.definitions(text).values():
        files = {one.path for one in places}
        for path in files:
            before = found[path].get("defines", 0.0)
            found[path]["defines"] = min(1.0, before + 1 / len(files))
    names = list(dict.fromkeys(re.split(r"\.|::", name)[-1] for name in names_in(text)))
    _add(found, "has", _by_content(tree, names, "-w"))
    _add(found, "path", _by_path(tree.paths, text))
    _add(found, "similar", _by_history(tree.sizes, similar))
    for number, change in enumerate(similar):
        for path in change.files:
            if path in tree.sizes:
                found[path].setdefault("place", 1 / (1 + number))
    _add(found, "words", past.touched_after(text), _MOST_BY_WORDS)
    _add(found, "title", past.touched_after(title), _MOST_BY_WORDS)
    _add(found, "nearest", past.nearest(text), _MOST_BY_WORDS)
    _add(found, "near title", past.nearest(title), _MOST_BY_WORDS)
    plain = sorted(words_in(title), key=lambda word: (-len(word), word))[:_MOST_PLAIN]
    loose = [word for word in plain if len(word) > 3 and word in words_in(_telling(title))]
    _add(found, "plain", _by_content(tree, loose, "-i"), _MOST_BY_WORDS)
    for path in [one for one in found if is_log(one) and "named" not in found[one]]:
        del found[path]
    add_kinds(found, past, text)
    _add_relative(found)
    return found


def _telling(text: str) -> str:
    return " ".join(telling_words(text, 99, shortest=3))


def _add(found: Signs, sign: str, values: Mapping[str, float], most: int = 0) -> None:
    """A sign for the files that are known, and for so many that are not, too; for all if none is said."""
    ordered = sorted(values, key=lambda path: (-values[path], path))
    for path in {*(ordered[:most] if most else ordered), *found}:
        if path in values:
            found[path][sign] = values[path]


def add_kinds(found: Signs, past: Past, text: str) -> None:
    """What sort of file each is, which sorts such commits have, and whether the task speaks of one."""
    title = text.split("\n", 1)[0]
    usual, rates = past.usual(), past.rates()
    scope = _scope(title)
    tests, docs = float(bool(_TESTS.search(title))), float(bool(_PROSE.search(title)))
    words = words_in(title)
    for path, signs in found.items():
        kind = path_kind(path)
        own = words_in(bare_name(path).replace("_", " "))
        parts = frozenset(_WORDS_IN_PATH.findall(path.lower()))
        signs |= {
            kind: 1.0,
            "usual": usual.get(path, 0.0),
            "rate": rates.get(kind, 0.0),
            "tests": tests,
            "docs": docs,
            "name": len(own & words) / len(own) if own else 0.0,
            "scope": sum(part in parts for part in scope) / len(scope) if scope else -1.0,
            "per commit": rates["files"] / 8,
        }


def _scope(title: str) -> list[str]:
    """The words before a title's colon, without those that tell only the kind of work."""
    match = _SCOPE.match(title)
    words = _WORDS_IN_PATH.findall(match[0].lower()) if match else []
    return [word for word in words if not _NO_SCOPE.fullmatch(word)]


def _add_relative(found: Signs) -> None:
    """How strong some signs are beside the strongest of the task."""
    for sign in _RELATIVE:
        most = max((signs.get(sign, 0.0) for signs in found.values()), default=0.0)
        for signs in found.values():
            signs[f"{sign} of best"] = signs.get(sign, 0.0) / most if most else 0.0


def _by_content(tree: Tree, words: Sequence[str], *how: str) -> dict[str, float]:
    """The share of the words, by weight, that each file has; large files have many by chance."""
    having = tree.occurrences(words, *how)
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


def _by_history(known: Iterable[str], similar: Sequence[Change]) -> dict[str, float]:
    """How much the similar commits touched each file; many files at once say little of each."""
    there = frozenset(known)
    found: dict[str, float] = defaultdict(float)
    for change in similar:
        files = [path for path in change.files if path in there]
        for path in files:
            found[path] += change.score / math.sqrt(len(files))
    return {path: min(1.0, value) for path, value in found.items()}


def _stem(word: str) -> str:
    return word[:-1] if len(word) > 3 and word.endswith("s") else word
