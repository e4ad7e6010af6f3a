"""Handlers of the further tools. They only read; those that start git say so in the catalogue."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from clew.history.tools import reading_store
from clew.kit.answer import Answer

if TYPE_CHECKING:
    from clew.kit.call import Call


def _given(arguments: dict[str, Any], *names: str) -> dict[str, Any]:
    return {name: arguments[name] for name in names if name in arguments}


def repos(arguments: dict[str, Any], call: Call) -> Answer:
    """The registered repositories."""
    from clew.history.listing import list_repos

    return Answer.of(list_repos(reading_store(call), **_given(arguments, "limit")))


def pickaxe(arguments: dict[str, Any], call: Call) -> Answer:
    """When a text came in or went out."""
    from clew.history.pickaxe import find_changes

    options = _given(arguments, "regex", "direction", "repos", "paths", "since", "limit")
    return Answer.of(find_changes(reading_store(call), arguments["text"], **options))


def file_history(arguments: dict[str, Any], call: Call) -> Answer:
    """The history of a path."""
    from clew.history.filehistory import file_history as find

    options = _given(arguments, "since", "limit")
    return Answer.of(find(reading_store(call), arguments["repo"], arguments["path"], **options))


def blame(arguments: dict[str, Any], call: Call) -> Answer:
    """Who last touched lines."""
    from clew.history.blame import blame as find

    options = _given(arguments, "start", "end", "rev", "limit")
    return Answer.of(find(reading_store(call), arguments["repo"], arguments["path"], **options))


def line_history(arguments: dict[str, Any], call: Call) -> Answer:
    """The commits that changed lines."""
    from clew.history.blame import line_history as find

    options = _given(arguments, "start", "end", "rev", "limit")
    return Answer.of(find(reading_store(call), arguments["repo"], arguments["path"], **options))


def owners(arguments: dict[str, Any], call: Call) -> Answer:
    """Who knows a path."""
    from clew.history.owners import owners as find

    options = _given(arguments, "path", "since", "limit")
    return Answer.of(find(reading_store(call), arguments["repo"], **options))


def co_change(arguments: dict[str, Any], call: Call) -> Answer:
    """What changes together with a path."""
    from clew.history.cochange import co_change as find

    options = _given(arguments, "since", "min_support", "limit")
    return Answer.of(find(reading_store(call), arguments["repo"], arguments["path"], **options))


def hotspots(arguments: dict[str, Any], call: Call) -> Answer:
    """What changes most."""
    from clew.history.hotspots import hotspots as find

    options = _given(arguments, "repos", "paths", "since", "until", "limit")
    return Answer.of(find(reading_store(call), **options))


def similar(arguments: dict[str, Any], call: Call) -> Answer:
    """Commits like this one."""
    from clew.history.similar import similar as find

    options = _given(arguments, "repo", "sha", "diff", "repos", "limit")
    return Answer.of(find(reading_store(call), **options))


def links(arguments: dict[str, Any], call: Call) -> Answer:
    """How a commit is linked to others."""
    from clew.history.links import commit_links

    options = _given(arguments, "limit")
    found = commit_links(reading_store(call), arguments["repo"], arguments["sha"], **options)
    return Answer.of(found)


def by_issue(arguments: dict[str, Any], call: Call) -> Answer:
    """Commits that name an issue."""
    from clew.history.issues import by_issue as find

    options = _given(arguments, "repos", "limit")
    return Answer.of(find(reading_store(call), arguments["issue"], **options))


def contains(arguments: dict[str, Any], call: Call) -> Answer:
    """Which refs contain a commit."""
    from clew.history.contains import contains as find

    options = _given(arguments, "limit")
    return Answer.of(find(reading_store(call), arguments["repo"], arguments["sha"], **options))
