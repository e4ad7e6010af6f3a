"""The two ends of a patch that is too long to keep: each a patch of its own, with true line numbers."""

from __future__ import annotations

import re

_RANGES = re.compile(rb"@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@(.*)")
_SECTION, _HUNK = b"\ndiff --", b"\n@@ "


def both_ends(patch: bytes, size: int) -> bytes:
    """The first and the last part of a patch, about so long each, cut between lines if they are short."""
    return _head(patch, size) + _tail(patch, len(patch) - size)


def _head(patch: bytes, size: int) -> bytes:
    end = patch.rfind(b"\n", 0, size) + 1
    if end <= size // 2:  # a line that is longer than all that is kept
        end = size
    hunk = patch.rfind(_HUNK, 0, end) + 1
    if not hunk or patch.rfind(_SECTION, 0, end) >= hunk:
        return _ended(patch[:end])
    body = patch.find(b"\n", hunk) + 1
    if not 0 < body < end:
        return patch[:hunk]
    return patch[:hunk] + _renumbered(patch, hunk, body, end) + _ended(patch[body:end])


def _tail(patch: bytes, least: int) -> bytes:
    start = patch.find(b"\n", least) + 1
    line = start
    if not 0 < start < (least + len(patch)) // 2:
        line, start = patch.rfind(b"\n", 0, least) + 1, least
    section = patch.rfind(_SECTION, 0, start) + 1
    first = patch.find(_HUNK, section) + 1
    if patch.startswith(_SECTION[1:], start):
        return patch[start:]
    if not 0 < first < start:  # still in what is said of the file before its lines
        return patch[section:]
    header = patch[section:first]
    if patch.startswith(_HUNK[1:], start):
        return header + patch[start:]
    hunk = patch.rfind(_HUNK, 0, start) + 1
    ends = [at for at in (patch.find(_HUNK, line), patch.find(_SECTION, line)) if at >= 0]
    numbers = _renumbered(patch, hunk, line, min(ends, default=len(patch)))
    sign = b"" if line == start else patch[line : line + 1]
    return header + numbers + sign + patch[start:]


def _renumbered(patch: bytes, hunk: int, start: int, end: int) -> bytes:
    """The header that a hunk has when only its lines between two places are kept."""
    found = _RANGES.match(patch, hunk)
    if found is None:
        return patch[hunk : patch.find(b"\n", hunk) + 1]
    body = patch.find(b"\n", hunk) + 1
    old_before, new_before = _sides(patch, body, start)
    old, new = _sides(patch, start, end)
    old_start, new_start = int(found[1]) + old_before, int(found[2]) + new_before
    return b"@@ -%d,%d +%d,%d @@%s\n" % (old_start, old, new_start, new, found[3])


def _sides(patch: bytes, start: int, end: int) -> tuple[int, int]:
    """How many lines of the old and of the new file begin between two places, the first at a line's."""
    if start >= end:
        return 0, 0
    signs = {sign: patch.count(b"\n" + sign, start - 1, end) for sign in (b"+", b"-", b"\\", b"")}
    if patch[end - 1 : end] == b"\n":
        signs[b""] -= 1
    lines = signs[b""] - signs[b"\\"]
    return lines - signs[b"+"], lines - signs[b"-"]


def _ended(text: bytes) -> bytes:
    return text if text.endswith(b"\n") else text + b"\n"
