"""Which stored paths a pattern means: a part of a path, or a glob when it has its signs."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import partial

from clew.history.store.interface import HistoryStore
from clew.kit.errors import Invalid

_SHORTEST_PART = 3
_LONGEST = 10_000
_UNUSABLE = re.compile(r"[\x00\ud800-\udfff]")
_CROSSING = re.compile(r"\*{2,}(/?)")
_MOST_CROSSING = 3
_MOST_PARTS = 8


def matching_paths(store: HistoryStore, patterns: Iterable[str]) -> dict[int, str]:
    """The paths that match any of the patterns, by number."""
    found: dict[int, str] = {}
    for pattern in patterns:
        found |= store.remembered(("paths", pattern), partial(_matching, store, pattern))
    return found


def _matching(store: HistoryStore, pattern: str) -> dict[int, str]:
    if len(pattern) > _LONGEST or _UNUSABLE.search(pattern):
        return {}
    if "*" not in pattern and "?" not in pattern:
        return dict(store.paths_with([pattern]))
    if len(_CROSSING.findall(pattern)) > _MOST_CROSSING:
        raise Invalid(f"More than {_MOST_CROSSING} ** in a path", "Use fewer.")
    matches = re.compile(glob_pattern(pattern), re.IGNORECASE | re.DOTALL).fullmatch
    return {
        number: path for number, path in store.paths_with(_plain_parts(pattern)) if matches(path)
    }


def _plain_parts(glob: str) -> list[str]:
    """What every path that matches has, as far as a text index can tell."""
    parts = [part for part in re.findall(r"[^*?]+", glob) if len(part) >= _SHORTEST_PART]
    return parts[:_MOST_PARTS] if glob.isascii() else []


def glob_pattern(glob: str) -> str:
    """A glob as a regular expression: `*` and `?` cross directories, as in git."""
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
        "".join("." if sign == "?" else re.escape(sign) for sign in text)
        for text in re.sub(r"\*+", "*", glob).split("*")
    ]
    if not others:
        return first
    *middle, last = others
    return first + "".join(f"(?>.*?{text})" for text in middle) + f".*{last}"
