"""The index on disk: what is known of each spec file, in columns, with a checksum.

It only saves time. Each row counts as long as the file it is about has the same identity; a file
that is missing, damaged or of another version is as good as none.
"""

from __future__ import annotations

import gc
from binascii import crc32
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from operator import add
from typing import Any

from clew.kit.files import regular_bytes, write_atomic
from clew.kit.jsontext import JsonError, dumps_bytes, loads, loads_bytes
from clew.kit.paths import ProjectPaths
from clew.specs.model import Head, Problem

_VERSION = 2  # of the columns, and of how criteria are counted
_DENSE = frozenset({"id", "title", "criteria_total", "criteria_checked"})
_DERIVED = frozenset({"mtime_ns", "size", "path"})

# mtime_ns, ctime_ns, size, inode, settled; the head or the problem. Plain tuples, because there
# are many and they are made at once. `reading.Identity` names the first five.
Entry = tuple[int, int, int, int, bool, "Head | None", "Problem | None"]


def load(paths: ProjectPaths) -> dict[str, Entry]:
    """The entries by path, in the order in which they were saved; none if anything is wrong."""
    try:
        header, _, payload = regular_bytes(paths.spec_index).partition(b"\n")
        if loads_bytes(header) != {"version": _VERSION, "crc32": crc32(payload)}:
            return {}
        return _entries(loads(payload.decode()))
    except (OSError, JsonError, UnicodeDecodeError, KeyError, IndexError, ValueError, TypeError):
        return {}


def save(paths: ProjectPaths, entries: dict[str, Entry]) -> None:
    """Write the entries down; where that is not allowed, nothing is lost."""
    known = [entry for path, entry in entries.items() if path.isprintable()]
    heads = [entry[5] for entry in known if entry[5] is not None]
    files = [entry[:5] for entry in known if entry[5] is not None]
    columns: dict[str, Any] = {
        "mtime_ns": [file[0] for file in files],
        "changed_after": [file[1] - file[0] for file in files],
        "size": [file[2] for file in files],
        "inode": [file[3] for file in files],
        "settled": _packed([file[4] for file in files]),
        "directory": _packed([head.path.rpartition("/")[0] for head in heads]),
        "problems": [(entry[:5], entry[6]) for entry in known if entry[6] is not None],
    }
    for number, name in enumerate(Head._fields):
        if name not in _DERIVED:
            column = [head[number] for head in heads]
            columns[name] = column if name in _DENSE else _packed(column)
    payload = dumps_bytes(columns)
    header = dumps_bytes({"version": _VERSION, "crc32": crc32(payload)})
    try:
        paths.make_store()
        write_atomic(paths.spec_index, header + b"\n" + payload)
    except OSError:
        return


def _entries(columns: dict[str, Any]) -> dict[str, Entry]:
    ids = columns["id"]
    count = len(ids)
    for name in ("settled", "directory", *Head._fields):
        if name not in _DENSE and name not in _DERIVED:
            columns[name] = _unpacked(columns[name], count)
    directories = columns["directory"]
    paths = [f"{place}/{name}.md" for place, name in zip(directories, ids, strict=True)]
    columns["path"] = paths
    mtimes = columns["mtime_ns"]
    ctimes = list(map(add, mtimes, columns["changed_after"]))
    fields = [columns[name] for name in Head._fields]
    heads = map(partial(tuple.__new__, Head), zip(*fields, strict=True))
    files = (mtimes, ctimes, columns["size"], columns["inode"], columns["settled"])
    entries = dict(zip(paths, zip(*files, heads, [None] * count, strict=True), strict=True))
    for identity, problem in columns["problems"]:
        entries[problem[0]] = (*identity, None, Problem._make(problem))
    return entries


def _packed(column: list[Any]) -> list[Any]:
    """A column with few different values: those, and for each row which."""
    table = {value: number for number, value in enumerate(dict.fromkeys(column))}
    return [list(table), [table[value] for value in column] if len(table) > 1 else []]


def _unpacked(packed: list[Any], count: int) -> list[Any]:
    table, rows = packed
    values = [tuple(value) if isinstance(value, list) else value for value in table]
    return list(map(values.__getitem__, rows)) if rows else values * count


@contextmanager
def no_collection() -> Iterator[None]:
    """For a stretch that makes many small objects, which would make the collector look over and over."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
