"""The files that a commit changed, as git's raw lines name them, and their parts of its patch."""

from __future__ import annotations

from itertools import islice

from clew.kit.text.diff import changed_texts, sections, unquote

RawChange = tuple[str, str, str | None, bytes, bytes]


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


def indexed_texts(patch: bytes | None, parent_count: int) -> tuple[str, str, str]:
    """What the text index holds of a patch; of a merge nothing, its commits say it already."""
    return changed_texts(patch) if patch and parent_count < 2 else ("", "", "")
