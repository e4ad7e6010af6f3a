"""What the newest commits say of files: how often each changes, after which words, beside which others."""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Container, Mapping
from dataclasses import dataclass
from functools import cached_property

from clew.history.model import Repo
from clew.history.repo_git import repo_git
from clew.history.search.pathkind import path_kind
from clew.kit.errors import ClewError

_MOST_COMMITS = 2000
_NEWEST = 400
_ENOUGH = 100  # fewer commits say little
_BULK = 20  # a commit of more files is an import or a reformatting
_LONGEST_MESSAGE = 1500
_FADING = 1000  # after so many commits one counts half
_NEAREST = 12
_FEW = 2  # commits that say as much as nothing of what goes together
_CASES = re.compile(r"([a-z])([A-Z])")
_WORD = re.compile(r"[a-z]{3,}")
_ENDINGS = ("ing", "ed", "es", "s")
_LEAST_STEM = 4


@dataclass(frozen=True)
class Past:
    """The words and the files of the newest commits, newest first."""

    changes: tuple[tuple[frozenset[str], tuple[str, ...]], ...]

    def usual(self) -> dict[str, float]:
        """The share of the newest commits that touched each file."""
        newest = self.changes[:_NEWEST]
        counts = Counter(path for _, files in newest for path in files)
        return {path: count / max(_ENOUGH, len(newest)) for path, count in counts.items()}

    def rates(self) -> dict[str, float]:
        """The share of the newest commits that touched each kind of file, and how many files one had."""
        newest = [files for _, files in self.changes[:_NEWEST]]
        kinds = Counter(kind for files in newest for kind in set(map(path_kind, files)))
        many = max(1, len(newest))
        return {
            **{kind: count / many for kind, count in kinds.items()},
            "files": sum(map(len, newest)) / many,
        }

    def beside(self, path: str) -> dict[str, float]:
        """The share of the commits of a file that touched each other one."""
        own = [files for files in self._touching.get(path, ()) if len(files) > 1]
        counts = Counter(other for files in own for other in files if other != path)
        many = len(self._touching.get(path, ())) + _FEW
        return {other: count / many for other, count in counts.items()}

    @cached_property
    def _touching(self) -> Mapping[str, list[tuple[str, ...]]]:
        found: dict[str, list[tuple[str, ...]]] = defaultdict(list)
        for _, files in self.changes:
            for path in files:
                found[path].append(files)
        return found

    @cached_property
    def _weights(self) -> Mapping[str, float]:
        counts = Counter(word for words, _ in self.changes for word in words)
        return {word: math.log(1 + len(self.changes) / n) for word, n in counts.items()}

    def nearest(self, text: str) -> dict[str, float]:
        """How much the commits whose words are most like those of a text touched each file."""
        wanted = words_in(text)
        own = math.sqrt(sum(self._weights.get(word, 0.0) ** 2 for word in wanted)) or 1.0
        scored = []
        for number, (words, files) in enumerate(self.changes):
            shared = wanted & words
            if shared:
                norm = math.sqrt(sum(self._weights[word] ** 2 for word in words))
                likeness = sum(self._weights[word] ** 2 for word in shared) / norm / own
                scored.append((likeness / (1 + number / _FADING), -number, files))
        found: dict[str, float] = defaultdict(float)
        for likeness, _, files in sorted(scored, reverse=True)[:_NEAREST]:
            for path in files:
                found[path] += likeness / math.sqrt(len(files))
        return found

    def touched_after(self, text: str) -> dict[str, float]:
        """How often each file was touched by commits that have the words of a text, by weight."""
        wanted = words_in(text)
        having: dict[str, float] = defaultdict(float)
        touched: dict[str, dict[str, float]] = defaultdict(lambda: defaultdict(float))
        for number, (words, files) in enumerate(self.changes):
            fresh = 1 / (1 + number / _FADING)
            for word in wanted & words:
                having[word] += fresh
                for path in files:
                    touched[word][path] += fresh / math.sqrt(len(files))
        found: dict[str, float] = defaultdict(float)
        whole = 0.0
        for word, paths in touched.items():
            weight = math.log(1 + len(self.changes) / (having[word] + 0.5))
            whole += weight
            for path, count in paths.items():
                found[path] += weight * count / (having[word] + 1)
        whole *= max(1.0, _ENOUGH / max(1, len(self.changes)))
        return {path: value / whole for path, value in found.items()}


def read_past(repo: Repo, known: Container[str]) -> Past:
    """The newest commits of HEAD that touched known files."""
    asked = ("log", "-n", str(_MOST_COMMITS), "--no-merges", "--name-only", "--no-renames")
    try:
        out = repo_git(repo, *asked, "-z", "--format=%x01%B%x02", "HEAD", "--")
    except ClewError:
        return Past(())
    changes = []
    for entry in out.decode("utf-8", "surrogateescape").split("\1")[1:]:
        message, _, names = entry.partition("\2")
        files = tuple(name for name in names.strip("\0\n").split("\0") if name in known)
        if 0 < len(files) <= _BULK:
            changes.append((words_in(message[:_LONGEST_MESSAGE]), files))
    return Past(tuple(changes))


def words_in(text: str) -> frozenset[str]:
    """The words of a text, parts of names too, without their endings."""
    return frozenset(map(_stem, _WORD.findall(_CASES.sub(r"\1 \2", text).lower())))


def _stem(word: str) -> str:
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= _LEAST_STEM:
            return word[: -len(ending)]
    return word
