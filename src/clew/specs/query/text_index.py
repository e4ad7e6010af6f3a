"""Which specs contain a text, any part of any word, without reading their files again.

The words of all bodies are kept once each, with the specs that have them; a text is looked for
among the words, which are few, and not among the bodies, which are long. Specs that changed since
are kept beside that and looked through. What is on disk only saves time: every entry counts as
long as its file has the same size and time, and a damaged file is built anew.
"""

from __future__ import annotations

import re
import threading
import time
from array import array
from binascii import crc32
from bisect import bisect_right
from functools import cached_property
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, NamedTuple

from clew.kit.files import write_atomic
from clew.kit.jsontext import JsonError, dumps_bytes, loads_bytes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path

    from clew.specs.model import Head

_FORMAT = 1
_WORD = re.compile(r"\w+")
_SHORTEST = 3
_MOST_BESIDE = 500
_MOST_REMEMBERED = 200
_SETTLED_NS = 2_000_000_000


class DamagedIndex(Exception):
    """What is on disk is not what was written."""


class _Version(NamedTuple):
    mtime_ns: int
    size: int


class TextBase:
    """The words of many texts; made once and never changed."""

    def __init__(self, parts: Sequence[bytes], blob_sum: int) -> None:
        self._parts = parts
        self._blob_sum = blob_sum
        self._blob_checked = False
        self.paths = parts[0].decode().split("\n") if parts[0] else []
        self.mtimes, self.sizes = _numbers(parts[1]), _numbers(parts[2])
        self._words = parts[3]
        self._starts, self._word_starts, self._post_starts, self._posts = map(_numbers, parts[4:8])

    @classmethod
    def build(cls, texts: Iterable[tuple[str, _Version, bytes]]) -> TextBase:
        """Of lower-case texts, each with its path and version."""
        paths: list[str] = []
        versions: list[_Version] = []
        bodies: list[bytes] = []
        found: dict[str, list[int]] = {}
        for number, (path, version, text) in enumerate(texts):
            paths.append(path)
            versions.append(version)
            bodies.append(text)
            for word in set(_WORD.findall(text.decode())):
                found.setdefault(word, []).append(number)
        words = sorted(found)
        lists = [found[word] for word in words]
        raw_words = [word.encode() for word in words]
        numbers = (
            _starts(bodies),
            _starts(raw_words),
            _starts(lists, 0),
            array("Q", (number for numbers in lists for number in numbers)),
        )
        blob = b"\0".join(bodies)
        parts = [
            "\n".join(paths).encode(),
            array("Q", (version.mtime_ns for version in versions)).tobytes(),
            array("Q", (version.size for version in versions)).tobytes(),
            b"\n".join(raw_words),
            *(part.tobytes() for part in numbers),
            blob,
        ]
        return cls(parts, crc32(blob))

    @cached_property
    def versions(self) -> dict[str, tuple[int, int]]:
        """What each file's time and size were."""
        return dict(zip(self.paths, zip(self.mtimes, self.sizes, strict=True), strict=True))

    def is_of(self, heads: Sequence[Head]) -> bool:
        """Whether it was made of exactly these specs."""
        return (
            len(heads) == len(self.paths)
            and [head.path for head in heads] == self.paths
            and array("Q", [head.mtime_ns for head in heads]) == self.mtimes
            and array("Q", [head.size for head in heads]) == self.sizes
        )

    @property
    def blob(self) -> bytes:
        """All texts; what comes from a disk is checked before it is used."""
        blob = self._parts[8]
        if not self._blob_checked:
            if crc32(blob) != self._blob_sum:
                raise DamagedIndex
            self._blob_checked = True
        return blob

    def find(self, text: str) -> set[int]:
        """The numbers of the texts that contain this lower-case text."""
        raw = text.encode()
        pieces = sorted((p for p in _WORD.findall(text) if len(p) >= _SHORTEST), key=len)
        if not pieces or not raw:
            return self._scan(raw)
        near: set[int] | None = None
        for piece in reversed(pieces):
            having = self._having(piece.encode())
            if having is None:
                continue  # nearly all have it
            near = having if near is None else near & having
        if near is None:
            return self._scan(raw)
        if pieces[0] == text:
            return near
        blob, starts = self.blob, self._starts
        return {n for n in near if blob.find(raw, starts[n], starts[n + 1]) >= 0}

    def text(self, number: int) -> bytes:
        """The lower-case text with this number."""
        return self.blob[self._starts[number] : self._starts[number + 1] - 1]

    def _having(self, piece: bytes) -> set[int] | None:
        """The texts with a word that contains this; None where they are too many to list."""
        numbers: set[int] = set()
        budget = 4 * len(self.paths) + 1000
        for at in _hits(self._words, piece, self._word_starts):
            begin, end = self._post_starts[at], self._post_starts[at + 1]
            budget -= end - begin
            if budget < 0:
                return None
            numbers.update(self._posts[begin:end])
        return numbers

    def _scan(self, raw: bytes) -> set[int]:
        return set(_hits(self.blob, raw, self._starts))

    def dump(self) -> bytes:
        """The form on disk."""
        known = b"".join(self._parts[:8])
        header = {
            "format": _FORMAT,
            "sizes": [len(part) for part in self._parts],
            "crc32": crc32(known),
            "blob_crc32": self._blob_sum,
        }
        return b"".join((dumps_bytes(header), b"\n", known, self._parts[8]))

    @classmethod
    def load(cls, data: bytes) -> TextBase | None:
        """From the form on disk; None where that is not whole."""
        end = data.find(b"\n")
        try:
            said = loads_bytes(data[: max(end, 0)])
            if said.get("format") != _FORMAT:
                return None
            ends = [end + 1, *accumulate(said["sizes"], initial=end + 1)][1:]
            view = memoryview(data)
            if len(ends) != 10 or ends[-1] != len(data):
                return None
            if crc32(view[ends[0] : ends[8]]) != said["crc32"]:
                return None
            parts = [data[first:last] for first, last in pairwise(ends)]
            return cls(parts, said["blob_crc32"])
        except (JsonError, AttributeError, KeyError, ValueError, TypeError):
            return None


class TextIndex:
    """The texts of one project's specs, kept as their files are."""

    def __init__(self, file: Path, read: Callable[[Head], str | None]) -> None:
        self._file = file
        self._read = read
        self._guard = threading.Lock()
        self._base: TextBase | None = None
        self._valid: set[str] = set()  # paths for which the base is right
        self._order: list[str] = []
        self._beside: dict[str, tuple[_Version, bytes]] = {}
        self._unsettled: dict[str, Head] = {}  # may change without a sign: read again
        self._found: dict[str, frozenset[str]] = {}
        self._generation: object = None

    def find(self, text: str, heads: Sequence[Head], generation: object) -> frozenset[str]:
        """The paths of the specs that contain this, whatever its case; `generation` of the heads."""
        with self._guard:
            try:
                return self._find(text, heads, generation)
            except (DamagedIndex, IndexError, OverflowError, ValueError):
                self._base, self._generation = TextBase.build(()), None
                return self._find(text, heads, None)

    def _find(self, text: str, heads: Sequence[Head], generation: object) -> frozenset[str]:
        self._bring_up_to_date(heads, generation)
        known = self._found.get(text)
        if known is None:
            if len(self._found) >= _MOST_REMEMBERED:
                self._found.clear()
            known = self._found[text] = self._look(text.lower())
        return known

    def _look(self, text: str) -> frozenset[str]:
        assert self._base is not None
        paths = self._base.paths
        found = {paths[number] for number in self._base.find(text)} & self._valid
        raw = text.encode()
        found.update(path for path, (_, body) in self._beside.items() if raw in body)
        return frozenset(found)

    def _bring_up_to_date(self, heads: Sequence[Head], generation: object) -> None:
        if self._base is None:
            self._base = self._loaded()
        changed = False
        if generation is None or generation != self._generation:
            changed = self._compare(heads, self._base)
            self._generation = generation
        for head in list(self._unsettled.values()):
            before = self._beside.get(head.path)
            self._take(head)
            changed = changed or self._beside.get(head.path) != before
        if changed:
            self._found.clear()
        settled = len(self._beside) - len(self._unsettled)
        if settled > _MOST_BESIDE + len(self._base.paths) // 8:
            self._rebuild(self._base)

    def _compare(self, heads: Sequence[Head], base: TextBase) -> bool:
        """Read what is new or different; whether anything is."""
        self._order = [head.path for head in heads]
        if not self._beside and base.is_of(heads):
            same = len(self._valid) == len(self._order)
            self._valid = set(self._order)
            return not same
        versions, beside = base.versions, self._beside
        valid: set[str] = set()
        present: dict[str, tuple[_Version, bytes]] = {}
        changed: list[Head] = []
        for head in heads:
            path = head.path
            version = (head.mtime_ns, head.size)
            if path in beside and beside[path][0] == version:
                present[path] = beside[path]
            elif versions.get(path) == version and path not in beside:
                valid.add(path)
            else:
                changed.append(head)
        same = not changed and valid == self._valid and len(present) == len(beside)
        self._valid, self._beside = valid, present
        self._unsettled = {p: h for p, h in self._unsettled.items() if p in present}
        for head in changed:
            self._take(head)
        return not same

    def _take(self, head: Head) -> None:
        now = time.time_ns()
        text = self._read(head)
        if text is None:
            self._beside.pop(head.path, None)
            return
        version = _Version(head.mtime_ns, head.size)
        self._beside[head.path] = version, text.lower().encode()
        if head.mtime_ns > now - _SETTLED_NS:
            self._unsettled[head.path] = head
        else:
            self._unsettled.pop(head.path, None)

    def _rebuild(self, base: TextBase) -> None:
        """Take what stands beside into the base; unsettled texts stay outside."""
        settled = {p: entry for p, entry in self._beside.items() if p not in self._unsettled}
        texts = dict(settled)
        for number, path in enumerate(base.paths):
            if path in self._valid:
                texts[path] = _Version(*base.versions[path]), base.text(number)
        self._base = TextBase.build((p, *texts[p]) for p in self._order if p in texts)
        self._valid |= settled.keys()
        self._beside = {p: e for p, e in self._beside.items() if p not in settled}
        try:
            write_atomic(self._file, self._base.dump())
        except OSError:
            return  # it only saves time

    def _loaded(self) -> TextBase:
        try:
            data = self._file.read_bytes()
        except OSError:
            data = b""
        return TextBase.load(data) or TextBase.build(())


def _hits(data: bytes, wanted: bytes, starts: array[int]) -> Iterable[int]:
    """The numbers of the parts that contain the wanted bytes."""
    end = starts[-1]
    at = data.find(wanted)
    while 0 <= at < end:
        number = bisect_right(starts, at) - 1
        yield number
        if starts[number + 1] <= at:  # a file that others made would keep us here for ever
            raise DamagedIndex
        at = data.find(wanted, starts[number + 1])


def _starts(parts: Sequence[Sequence[object]], gap: int = 1) -> array[int]:
    """Where each part begins when they stand one behind the other, and where all end."""
    starts = array("Q", [0])
    total = 0
    for part in parts:
        total += len(part) + gap
        starts.append(total)
    return starts


def _numbers(data: bytes) -> array[int]:
    numbers = array("Q")
    numbers.frombytes(data)
    return numbers
