"""Handlers of the further tools. They only read; those that start git say so in the catalogue."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from clew.history.tools import answered
from clew.kit.answer import Answer

if TYPE_CHECKING:
    from collections.abc import Callable

    from clew.kit.call import Call

_LINES = ("start", "end", "rev", "limit")


def repos(arguments: dict[str, Any], call: Call) -> Answer:
    """The registered repositories."""
    from clew.history.sync.freshness import list_repos

    return _found(call, arguments, list_repos, (), ("limit",))


def pickaxe(arguments: dict[str, Any], call: Call) -> Answer:
    """When a text came in or went out."""
    from clew.history.questions.pickaxe import find_changes

    options = ("regex", "direction", "repos", "paths", "since", "limit")
    return _found(call, arguments, find_changes, ("text",), options)


def file_history(arguments: dict[str, Any], call: Call) -> Answer:
    """The history of a path."""
    from clew.history.questions.file_history import file_history as find

    return _found(call, arguments, find, ("repo", "path"), ("since", "limit"))


def blame(arguments: dict[str, Any], call: Call) -> Answer:
    """Who last touched lines."""
    from clew.history.questions.blame import blame as find

    return _found(call, arguments, find, ("repo", "path"), _LINES)


def line_history(arguments: dict[str, Any], call: Call) -> Answer:
    """The commits that changed lines."""
    from clew.history.questions.blame import line_history as find

    return _found(call, arguments, find, ("repo", "path"), _LINES)


def owners(arguments: dict[str, Any], call: Call) -> Answer:
    """Who knows a path."""
    from clew.history.questions.owners import owners as find

    return _found(call, arguments, find, ("repo",), ("path", "since", "limit"))


def co_change(arguments: dict[str, Any], call: Call) -> Answer:
    """What changes together with a path."""
    from clew.history.questions.cochange import co_change as find

    return _found(call, arguments, find, ("repo", "path"), ("since", "min_support", "limit"))


def hotspots(arguments: dict[str, Any], call: Call) -> Answer:
    """What changes most."""
    from clew.history.questions.hotspots import hotspots as find

    return _found(call, arguments, find, (), ("repos", "paths", "since", "until", "limit"))


def similar(arguments: dict[str, Any], call: Call) -> Answer:
    """Commits like this one."""
    from clew.history.questions.similar import similar as find

    return _found(call, arguments, find, (), ("repo", "sha", "diff", "repos", "limit"))


def links(arguments: dict[str, Any], call: Call) -> Answer:
    """How a commit is linked to others."""
    from clew.history.questions.links import commit_links

    return _found(call, arguments, commit_links, ("repo", "sha"), ("limit",))


def by_issue(arguments: dict[str, Any], call: Call) -> Answer:
    """Commits that name an issue."""
    from clew.history.questions.issues import by_issue as find

    return _found(call, arguments, find, ("issue",), ("repos", "limit"))


def contains(arguments: dict[str, Any], call: Call) -> Answer:
    """Which refs contain a commit."""
    from clew.history.questions.contains import contains as find

    return _found(call, arguments, find, ("repo", "sha"), ("limit",))


def search_semantic(arguments: dict[str, Any], call: Call) -> Answer:
    """Commits by meaning."""
    from clew.history.semantic.search import search_semantic as find

    return _found(call, arguments, find, ("query",), ("mode", "repos", "paths", "since", "limit"))


def search_memory(arguments: dict[str, Any], call: Call) -> Answer:
    """Notes by meaning."""
    from clew.history.semantic.notes import search_memory as find

    return Answer.of(find(arguments["query"], **_given(arguments, ("mode", "project", "limit"))))


def _found(
    call: Call,
    arguments: dict[str, Any],
    find: Callable[..., object],
    needed: tuple[str, ...],
    options: tuple[str, ...],
) -> Answer:
    """What `find` answers in one state of the index, with how fresh that is."""
    named = [arguments[name] for name in needed]
    given = _given(arguments, options)
    asked = arguments.get("repos") or ([arguments["repo"]] if "repo" in arguments else None)
    return Answer.of(answered(call, lambda store: find(store, *named, **given), asked).data)


def _given(arguments: dict[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    return {name: arguments[name] for name in names if name in arguments}
