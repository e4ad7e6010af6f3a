"""Which stored paths a pattern means: a part of a path, or a glob when it has its signs."""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING

from clew.history.store.cache import remembered
from clew.kit.errors import Invalid

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable, Iterator

    from clew.history.store.store import HistoryStore

_SHORTEST_TRIGRAM = 3
_LONGEST = 10_000
_UNUSABLE = re.compile(r"[\x00\ud800-\udfff]")
_CROSSING = re.compile(r"\*{2,}(/?)")
_MOST_CROSSING = 3
_MOST_PARTS = 8


def matching_paths(store: HistoryStore, patterns: Iterable[str]) -> dict[int, str]:
    """The paths that match any of the patterns, by number."""
    found: dict[int, str] = {}
    for pattern in patterns:
        found |= remembered(store, ("paths", pattern), partial(_matching, store, pattern))
    return found


def _matching(store: HistoryStore, pattern: str) -> dict[int, str]:
    if len(pattern) > _LONGEST or _UNUSABLE.search(pattern):
        return {}
    if "*" in pattern or "?" in pattern:
        return _by_glob(store, pattern)
    if len(pattern) >= _SHORTEST_TRIGRAM:
        return dict(_having(store, [pattern]))
    asked = "SELECT path_id, path FROM paths WHERE instr(lower(path), lower(?))"
    return dict(_tuples(store).execute(asked, (pattern,)))


def _by_glob(store: HistoryStore, pattern: str) -> dict[int, str]:
    if len(_CROSSING.findall(pattern)) > _MOST_CROSSING:
        raise Invalid(f"More than {_MOST_CROSSING} ** in a path", "Use fewer.")
    matches = re.compile(glob_pattern(pattern), re.IGNORECASE | re.DOTALL).fullmatch
    return {number: path for number, path in _may_match(store, pattern) if matches(path)}


def _may_match(store: HistoryStore, glob: str) -> Iterator[tuple[int, str]]:
    """The paths that have the plain parts of a glob, as far as the text index can tell."""
    parts = [part for part in re.findall(r"[^*?]+", glob) if len(part) >= _SHORTEST_TRIGRAM]
    if not parts or not glob.isascii():
        return _tuples(store).execute("SELECT path_id, path FROM paths")
    return _having(store, parts[:_MOST_PARTS])


def _having(store: HistoryStore, parts: list[str]) -> Iterator[tuple[int, str]]:
    """The paths that have all of these parts, each of three letters or more."""
    wanted = " AND ".join('"' + part.replace('"', '""') + '"' for part in parts)
    asked = "SELECT rowid, path FROM paths_fts WHERE paths_fts MATCH ?"
    return _tuples(store).execute(asked, (wanted,))


def _tuples(store: HistoryStore) -> sqlite3.Cursor:
    """A cursor with plain rows: there may be many."""
    cursor = store.connection.cursor()
    cursor.row_factory = None
    return cursor


def glob_pattern(glob: str) -> str:
    """A glob as a regular expression: `**` crosses directories, `*` and `?` do not."""
    signs = {"/": r"(?:.*/)?", "": r".*"}
    anchored = "".join(
        signs[part] if number % 2 else _component_pattern(part)
        for number, part in enumerate(_CROSSING.split(glob))
    )
    return anchored if "/" in glob else rf"(?:.*/)?{anchored}"


def _component_pattern(glob: str) -> str:
    """Text with `*` and `?`, in time that does not explode.

    What stands behind a `*` is taken where it comes first: any later place would only leave
    less to the next one, so nothing is ever tried twice.
    """
    first, *others = [
        "".join(r"[^/]" if sign == "?" else re.escape(sign) for sign in text)
        for text in re.sub(r"\*+", "*", glob).split("*")
    ]
    if not others:
        return first
    *middle, last = others
    return first + "".join(f"(?>[^/]*?{text})" for text in middle) + f"[^/]*{last}"
