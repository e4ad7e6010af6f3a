"""Where a line stood before a commit that only moved it, or only broke it otherwise.

Git's own search for moves and copies gives a line of a new function to whichever old one has the same
line. Here a line came from elsewhere only where the commit took it away there: a copy is new.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from functools import cached_property

from clew.kit.text.diff import FileDiff, Hunk, file_diffs

_TOKEN = re.compile(r"\w+|[^\w\s]")
_WORD = re.compile(r"\w+")
_LEADER = re.compile(r"^\s*(?://+|#+|\*+|--+|;+|%+)(?=\s|$)")
_CLOSING = frozenset(")]}>")
_END = "\x1f"
# As many letters and digits as git wants of what moved inside of a file, and to another one.
_NEAR, _FAR = 20, 40
_BROKEN = 8
_MOST_BROKEN = 16


@dataclass
class _Side:
    """One side of a hunk: the tokens of its lines, their numbers, and which of them changed."""

    path: str
    numbers: list[int] = field(default_factory=list)
    changed: list[bool] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)

    def add(self, number: int, text: str, *, is_changed: bool) -> None:
        self.numbers.append(number)
        self.changed.append(is_changed)
        tokens = _TOKEN.findall(_LEADER.sub("", text, count=1))
        self.texts.append(_END.join((*tokens, "")))

    def close(self) -> None:
        """Forget commas before what closes, on whichever line that is: formatters add them."""
        following = ""
        for at in range(len(self.texts) - 1, -1, -1):
            if "," not in self.texts[at]:
                following = self.texts[at].partition(_END)[0] or following
                continue
            tokens = self.texts[at].split(_END)[:-1]
            kept: list[str] = []
            for one in reversed(tokens):
                if one != "," or following not in _CLOSING:
                    kept.append(one)
                    following = one
            if len(kept) < len(tokens):
                self.texts[at] = "".join(f"{token}{_END}" for token in reversed(kept))

    @cached_property
    def whole(self) -> str:
        return "".join(self.texts)

    @cached_property
    def starts(self) -> dict[int, int]:
        """Where each line begins in the whole, with its place; the end, too."""
        found, at = {}, 0
        for place, text in enumerate(self.texts):
            if text:
                found[at] = place
            at += len(text)
        return {**found, at: len(self.texts)}

    def aligned(self, text: str) -> list[tuple[int, int]]:
        """The whole lines that are this text: the place of the first, and the one after the last."""
        found, at = [], self.whole.find(text)
        while at >= 0:
            end = at + len(text)
            if at in self.starts and end in self.starts:
                found.append((self.starts[at], self.starts[end]))
            at = self.whole.find(text, at + 1)
        return found


Place = tuple[_Side, int]


class Relocations:
    """What one patch says of where its lines were before."""

    def __init__(self, patch: str, asked: Collection[tuple[str, int]]) -> None:
        """Read a patch with three lines of context, as far as it can have lines that are asked for."""
        hunks = [(one, hunk) for one in file_diffs(patch) for hunk in one.hunks]
        wanted: set[str] = set()
        for one, hunk in hunks:
            end = hunk.new_start + hunk.new_count
            if any(path == one.path and hunk.new_start <= line < end for path, line in asked):
                # Nothing moves without a line that has a word.
                words = map(_WORD.findall, hunk.texts("+"))
                wanted.update(max(some, key=len) for some in words if some)
        self._pairs = [
            _pair(one, hunk)
            for one, hunk in hunks
            if not wanted.isdisjoint(_WORD.findall("\n".join(hunk.lines)))
        ]

    @cached_property
    def _removed(self) -> dict[str, list[Place]]:
        return _by_text(old for old, _ in self._pairs)

    @cached_property
    def _added(self) -> dict[str, list[Place]]:
        return _by_text(new for _, new in self._pairs)

    def before(self, path: str, line: int) -> tuple[str, int] | None:
        """Path and line before the patch of what is the same text; None for what it wrote."""
        for old, new in self._pairs:
            if new.path == path and new.numbers and new.numbers[0] <= line <= new.numbers[-1]:
                at = line - new.numbers[0]
                if not new.changed[at] or not new.texts[at]:
                    return None
                return self._moved((new, at)) or _broken(old, new, at)
        return None

    def _moved(self, place: Place) -> tuple[str, int] | None:
        side, at = place
        runs = [(_run(place, other), other) for other in self._removed.get(side.texts[at], ())]
        if not runs:
            return None
        longest = max(len(run) for run, _ in runs)
        best = [(run, other) for run, other in runs if len(run) == longest]
        near = [one for one in best if one[1][0].path == side.path]
        run, (old, there) = (near or best)[0]
        if _words("".join(run)) < (_NEAR if near else _FAR):
            return None
        twins = self._added[side.texts[at]]
        same = sum(len(_run(place, twin)) >= longest for twin in twins)
        return (old.path, old.numbers[there]) if same <= len(best) else None


def _pair(one: FileDiff, hunk: Hunk) -> tuple[_Side, _Side]:
    old, new = _Side(one.old_path), _Side(one.path)
    before, after = hunk.old_start, hunk.new_start
    for line in hunk.lines:
        sign, text = line[:1], line[1:]
        if sign in ("-", " "):
            old.add(before, text, is_changed=sign == "-")
            before += 1
        if sign in ("+", " "):
            new.add(after, text, is_changed=sign == "+")
            after += 1
    old.close()
    new.close()
    return old, new


def _by_text(sides: Iterator[_Side]) -> dict[str, list[Place]]:
    found: dict[str, list[Place]] = defaultdict(list)
    for side in sides:
        for at, text in enumerate(side.texts):
            if text and side.changed[at]:
                found[text].append((side, at))
    return found


def _run(one: Place, other: Place) -> list[str]:
    """The changed lines around two places that are the same on both, blank ones left out."""
    found = [one[0].texts[one[1]]]
    for step in (-1, 1):
        first, second = _changed_from(one, step), _changed_from(other, step)
        for mine, its in zip(first, second, strict=False):
            if mine != its:
                break
            found.append(mine)
    return found


def _changed_from(place: Place, step: int) -> Iterator[str]:
    side, at = place
    at += step
    while 0 <= at < len(side.texts) and side.changed[at]:
        if side.texts[at]:
            yield side.texts[at]
        at += step


def _broken(old: _Side, new: _Side, at: int) -> tuple[str, int] | None:
    """The line of the same hunk that has most of this one, if only the ends of lines differ."""
    if new.texts[at] not in old.whole:
        return None
    for size in range(1, min(_MOST_BROKEN, len(new.texts)) + 1):
        for start in range(max(0, at - size + 1), min(at, len(new.texts) - size) + 1):
            texts = new.texts[start : start + size]
            wanted = "".join(texts)
            if not texts[0] or not texts[-1] or wanted not in old.whole or _words(wanted) < _BROKEN:
                continue
            found = [one for one in old.aligned(wanted) if any(old.changed[slice(*one)])]
            same = [one for one in new.aligned(wanted) if any(new.changed[slice(*one)])]
            if not found or len(found) != len(same):
                continue
            ordinal = next(n for n, (first, _) in enumerate(same) if first == start)
            offset = sum(map(len, texts[: at - start]))
            return old.path, _covering(old, found[ordinal], offset, len(new.texts[at]))
    return None


def _covering(old: _Side, lines: tuple[int, int], offset: int, length: int) -> int:
    """The number of the line that has most of a stretch of these lines."""
    shares, at = {}, 0
    for place in range(*lines):
        end = at + len(old.texts[place])
        shares[place] = min(end, offset + length) - max(at, offset)
        at = end
    return old.numbers[max(shares, key=lambda place: shares[place])]


def _words(text: str) -> int:
    return sum(map(str.isalnum, text))
