"""Patches: what a diff says, taken apart without changing a byte of what is kept."""

from __future__ import annotations

import re
from itertools import islice
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    RawChange = tuple[str, str, str | None, bytes, bytes]

_SECTION = b"diff --git "
_ESCAPES = {"a": 7, "b": 8, "t": 9, "n": 10, "v": 11, "f": 12, "r": 13, '"': 34, "\\": 92}
_ESCAPED = re.compile(rb'\\([abtnvfr"\\]|[0-7]{3})')


def unquote(name: bytes) -> str:
    """A path as git prints it, as text; one that is no UTF-8 stays in git's quotes."""
    raw = name
    if name[:1] == b'"' and name[-1:] == b'"':
        raw = _ESCAPED.sub(_unescape, name[1:-1])
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        return name.decode("ascii", "backslashreplace")


def _unescape(match: re.Match[bytes]) -> bytes:
    code = match.group(1)
    return bytes([_ESCAPES[code.decode()] if len(code) == 1 else int(code, 8) & 0xFF])


def parse_raw(lines: list[bytes]) -> list[RawChange]:
    """The raw lines of a diff: status, path, old path, old and new object."""
    changes: list[RawChange] = []
    for line in lines:
        header, *names = line.split(b"\t")
        _, _, old_object, new_object, status = header.split(b" ")
        letter = status[:1].decode()
        if letter in ("R", "C"):
            changes.append((letter, unquote(names[1]), unquote(names[0]), old_object, new_object))
        else:
            changes.append((letter, unquote(names[0]), None, old_object, new_object))
    return _with_exact_copies(changes)


def _with_exact_copies(changes: list[RawChange]) -> list[RawChange]:
    """Added files that are exact copies of another file of the same commit become copies."""
    if not any(change[0] == "A" for change in changes):
        return changes
    sources = {old: path for letter, path, _, old, _ in changes if letter == "M"}
    return [
        ("C", path, sources[new], old, new)
        if letter == "A" and new in sources
        else (letter, path, old_path, old, new)
        for letter, path, old_path, old, new in changes
    ]


def sections(patch: bytes) -> Iterator[bytes]:
    """The patch file by file."""
    start = 0
    while start < len(patch):
        end = patch.find(b"\n" + _SECTION, start)
        if end < 0:
            yield patch[start:]
            return
        yield patch[start : end + 1]
        start = end + 1


def paired_sections(changes: list[RawChange], patch: bytes) -> list[bytes]:
    """Each change's part of the patch; all empty when they do not fit, as in one that was cut."""
    parts = list(sections(patch))
    if len(parts) != len(changes):
        # A file that became a symbolic link, or the like, is shown as removed and as added.
        rest = iter(parts)
        parts = [b"".join(islice(rest, 2 if change[0] == "T" else 1)) for change in changes]
        if next(rest, None) is not None or not all(parts):
            return [b""] * len(changes)
    return parts


def without_ignored(
    changes: list[RawChange], parts: list[bytes], ignored: tuple[str, ...]
) -> tuple[list[RawChange], list[bytes]]:
    """The changes outside of the ignored paths; a file that moved there was removed."""
    kept: list[tuple[RawChange, bytes]] = []
    for change, part in zip(changes, parts, strict=True):
        letter, path, old_path, old, new = change
        if not path.startswith(ignored):
            kept.append((change, part))
        elif letter == "R" and old_path is not None and not old_path.startswith(ignored):
            kept.append((("D", old_path, None, old, new), b""))
    return [change for change, _ in kept], [part for _, part in kept]


def is_binary_only(patch: bytes) -> bool:
    """Whether a patch shows nothing but that binary files differ."""
    if b"\nBinary files " not in patch:
        return False
    return all(b"\n@@ " not in part and b"\nBinary files " in part for part in sections(patch))


def changed_lines(patch: bytes) -> tuple[str, str, str]:
    """Added text, removed text, and the context that hunk headers name."""
    added: list[bytes] = []
    removed: list[bytes] = []
    context: list[bytes] = []
    in_hunk = False
    for line in patch.split(b"\n"):
        first = line[:1]
        if first == b"+":
            if in_hunk:
                added.append(line[1:])
        elif first == b"-":
            if in_hunk:
                removed.append(line[1:])
        elif first == b"d":
            in_hunk = False
        elif first == b"@":
            in_hunk = True
            end = line.find(b"@@", 2)
            if 0 < end < len(line) - 3:
                context.append(line[end + 3 :])
    return _text(added), _text(removed), _text(list(dict.fromkeys(context)))


def indexed_texts(patch: bytes | None, parent_count: int) -> tuple[str, str, str]:
    """What the text index holds of a patch; of a merge nothing, its commits say it already."""
    return changed_lines(patch) if patch and parent_count < 2 else ("", "", "")


def count_lines(section: bytes) -> tuple[int, int]:
    """How many lines a file's section adds and removes."""
    start = section.find(b"\n@@ ")
    if start < 0:
        return 0, 0
    body = section[start:]
    following = body.find(b"\n" + _SECTION)
    more = count_lines(body[following + 1 :]) if following >= 0 else (0, 0)
    body = body[:following] if following >= 0 else body
    return body.count(b"\n+") + more[0], body.count(b"\n-") + more[1]


def _text(lines: list[bytes]) -> str:
    return b"\n".join(lines).decode("utf-8", "replace")
