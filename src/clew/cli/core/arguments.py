"""Words of a command line as the arguments they stand for: a repository, a path with lines, a commit."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from clew.cli.core.surroundings import Surroundings
from clew.kit.errors import ClewError


def placed_words(
    words: list[Any],
    by_place: Mapping[str, str],
    options: Mapping[str, Any],
    settings: Mapping[str, str],
) -> dict[str, Any]:
    """The arguments by name. The first word is a repository where more are given than needed."""
    here, names = Surroundings(settings), [name for name in by_place if name != "repo"]
    found: dict[str, Any] = {}
    if "start" in names and len(words) > 1 and words[-1].isdecimal():
        found["start"] = int(words.pop())
    if options.get("repo"):
        found["repo"] = options["repo"]
    elif _begins_with_repository(here, words, by_place):
        found["repo"] = words.pop(0)
    free = [name for name in names if name not in found]
    if free and by_place[free[-1]].endswith("..."):
        words[len(free) - 1 :] = [tuple(words[len(free) - 1 :])] if len(words) >= len(free) else []
    found |= dict(zip(free, words, strict=False))
    if len(words) > len(free):
        raise click.UsageError(f"Got an unexpected word: {words[len(free)]}")
    if "path" in found and "repo" not in found:
        found |= _lines_of(here, found["path"])
    for name in names:
        if name not in found and not by_place[name].startswith("["):
            raise click.UsageError(f"Missing argument '{name.upper()}'.")
    may_be_any = by_place["repo"].startswith("[") and not (here.is_door and here.root)
    if "repo" not in found and (found or not may_be_any):
        here.scope(())
        found["repo"] = here.name()
    return found


def _begins_with_repository(
    here: Surroundings, words: list[str], by_place: Mapping[str, str]
) -> bool:
    """Whether the first word is a repository: with all words there, or where it can be nothing else."""
    others = {name: word for name, word in by_place.items() if name not in ("repo", "start")}
    if len(words) > len(others) and any(word.endswith("...") for word in others.values()):
        return _is_registered(here, words[0])
    if len(words) != 1 or any(not word.startswith("[") for word in others.values()):
        return len(words) > len(others)
    return _is_registered(here, words[0])


def _is_registered(here: Surroundings, word: str) -> bool:
    """Whether a word is the name of a repository and no path here."""
    checkout = here.checkout()
    if checkout is not None and ((Path.cwd() / word).exists() or (checkout / word).exists()):
        return False
    from clew.history.reader import reading_store
    from clew.kit.call import Call

    try:
        store = reading_store(Call(settings=here.settings))
    except ClewError:
        return False
    return any(repo.name == word for repo in store.repos())


def _lines_of(here: Surroundings, text: str) -> dict[str, Any]:
    """The path from the root on, and the lines that PATH:LINE, a trace or a symbol names."""
    from clew.history.locations import find_location

    root = here.checkout()
    if root is None:
        return {}
    place = find_location(root, text)
    if place is None:
        return _symbol_lines(here, text)
    return {"path": place.path, **_span(place.start, place.end)}


def _symbol_lines(here: Surroundings, word: str) -> dict[str, Any]:
    """Where a symbol is defined; nothing where the word is a path that is gone."""
    from clew.thread.rooms import open_rooms
    from clew.thread.why.target import find_target

    try:
        target = find_target(open_rooms({**here.settings, "index": "no"}), word)
    except ClewError:
        return {}
    return {} if not target.path else {"path": target.path, **_span(target.start, target.end)}


def _span(start: int | None, end: int | None) -> dict[str, int]:
    return {name: line for name, line in (("start", start), ("end", end)) if line}
