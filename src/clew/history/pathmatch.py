"""Which stored paths a pattern means: a part of a path, or a glob when it has its signs."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from clew.history.store import HistoryStore

_SHORTEST_TRIGRAM = 3


def matching_paths(store: HistoryStore, patterns: Iterable[str]) -> dict[int, str]:
    """The paths that match any of the patterns, by number."""
    found: dict[int, str] = {}
    for pattern in patterns:
        found |= _matching(store, pattern)
    return found


def _matching(store: HistoryStore, pattern: str) -> dict[int, str]:
    if "*" in pattern or "?" in pattern:
        return _by_glob(store, pattern)
    if len(pattern) >= _SHORTEST_TRIGRAM:
        quoted = pattern.replace('"', '""')
        rows = store.connection.execute(
            "SELECT rowid, path FROM paths_fts WHERE paths_fts MATCH ?", (f'"{quoted}"',)
        )
    else:
        rows = store.connection.execute(
            "SELECT path_id, path FROM paths WHERE instr(lower(path), lower(?))", (pattern,)
        )
    return {row[0]: row[1] for row in rows}


def _by_glob(store: HistoryStore, pattern: str) -> dict[int, str]:
    matches = re.compile(glob_pattern(pattern), re.IGNORECASE).fullmatch
    rows = store.connection.execute("SELECT path_id, path FROM paths")
    return {row[0]: row[1] for row in rows if matches(row[1])}


def glob_pattern(glob: str) -> str:
    """A glob as a regular expression: `**` crosses directories, `*` and `?` do not."""
    parts = re.split(r"(\*\*/|\*\*|\*|\?)", glob)
    signs = {"**/": r"(?:.*/)?", "**": r".*", "*": r"[^/]*", "?": r"[^/]"}
    anchored = "".join(signs.get(part, re.escape(part)) for part in parts)
    return anchored if "/" in glob else rf"(?:.*/)?{anchored}"
