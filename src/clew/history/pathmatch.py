"""Which stored paths a pattern means: a part of a path, or a glob when it has its signs."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from clew.kit.errors import Invalid

if TYPE_CHECKING:
    from collections.abc import Iterable

    from clew.history.store import HistoryStore

_SHORTEST_TRIGRAM = 3
_LONGEST = 10_000
_UNUSABLE = re.compile(r"[\x00\ud800-\udfff]")
_CROSSING = re.compile(r"\*{2,}(/?)")
_MOST_CROSSING = 3


def matching_paths(store: HistoryStore, patterns: Iterable[str]) -> dict[int, str]:
    """The paths that match any of the patterns, by number."""
    found: dict[int, str] = {}
    for pattern in patterns:
        found |= _matching(store, pattern)
    return found


def _matching(store: HistoryStore, pattern: str) -> dict[int, str]:
    if len(pattern) > _LONGEST or _UNUSABLE.search(pattern):
        return {}
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
    if len(_CROSSING.findall(pattern)) > _MOST_CROSSING:
        raise Invalid(f"More than {_MOST_CROSSING} ** in a path", "Use fewer.")
    matches = re.compile(glob_pattern(pattern), re.IGNORECASE | re.DOTALL).fullmatch
    rows = store.connection.execute("SELECT path_id, path FROM paths")
    return {row[0]: row[1] for row in rows if matches(row[1])}


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
