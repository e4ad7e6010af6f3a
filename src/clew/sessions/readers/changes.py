"""Changes of files in the forms that programs write them: texts, unified diffs, patches, blocks."""

from __future__ import annotations

import re
from collections.abc import Iterator
from difflib import SequenceMatcher

from clew.sessions.model import Edit

_MOST_COMPARED = 4_000_000  # lines times lines
_FILE = re.compile(r"\*\*\* (Add|Update|Delete) File: (.+)")
_MOVED = "*** Move to: "


def edit_of_texts(call: str, time: float, path: str, old: str | None, new: str) -> Edit:
    """An edit by the text before and after; without the one before, the whole file is written."""
    after = new.splitlines()
    if old is None:
        return Edit(call, time, path, tuple((line, True) for line in after), is_blind=True)
    return _compared(call, time, path, old.splitlines(), after)


def _compared(call: str, time: float, path: str, before: list[str], after: list[str]) -> Edit:
    """An edit by the lines before and after; what stayed is not new."""
    if len(before) * len(after) > _MOST_COMPARED:
        known = set(before)
        kept = set(after)
        lines = tuple((line, line not in known) for line in after)
        return Edit(call, time, path, lines, tuple(line for line in before if line not in kept))
    flags = [True] * len(after)
    gone = [True] * len(before)
    for block in SequenceMatcher(None, before, after, autojunk=False).get_matching_blocks():
        flags[block.b : block.b + block.size] = [False] * block.size
        gone[block.a : block.a + block.size] = [False] * block.size
    removed = tuple(line for line, is_gone in zip(before, gone, strict=True) if is_gone)
    return Edit(call, time, path, tuple(zip(after, flags, strict=True)), removed)


def edits_of_diff(call: str, time: float, path: str, diff: str) -> Iterator[Edit]:
    """The hunks of a unified diff of one file."""
    for hunk in re.split(r"^@@.*\n", diff, flags=re.MULTILINE)[1:]:
        yield from edits_of_hunk(call, time, path, hunk.split("\n"))


def edits_of_hunk(call: str, time: float, path: str, hunk: list[str]) -> Iterator[Edit]:
    """One hunk by its lines, each with its sign before it.

    Agents take away whole functions and put them back changed; what comes back as it was is not new.
    """
    texts = [(line[:1], line[1:].removesuffix("\r")) for line in hunk]
    before = [text for sign, text in texts if sign in (" ", "-")]
    after = [text for sign, text in texts if sign in (" ", "+")]
    if before != after:
        yield _compared(call, time, path, before, after)


def edits_of_patch(call: str, time: float, patch: str) -> Iterator[Edit]:
    """What a patch between `*** Begin Patch` and `*** End Patch` does to each file."""
    for kind, path, body in _files_of(patch):
        if kind == "Add":
            lines = tuple((line[1:], True) for line in body if line.startswith("+"))
            yield Edit(call, time, path, lines)
            continue
        hunk: list[str] = []
        for line in [*body, "@@"]:
            if line.startswith("@@"):
                yield from edits_of_hunk(call, time, path, hunk)
                hunk = []
            else:
                hunk.append(line)


def _files_of(patch: str) -> Iterator[tuple[str, str, list[str]]]:
    kind = path = ""
    body: list[str] = []
    for line in [*patch.splitlines(), "*** End Patch"]:
        found = _FILE.match(line)
        if found or line.startswith("*** End Patch"):
            if path:
                yield kind, path, body
            kind, path, body = (found[1], found[2].strip(), []) if found else ("", "", [])
        elif line.startswith(_MOVED):
            path = line.removeprefix(_MOVED).strip()
        else:
            body.append(line)
