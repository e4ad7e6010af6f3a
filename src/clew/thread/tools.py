"""The handlers of the thread's tools. They only read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from clew.kit.answer import Answer
from clew.thread.budget import pack_data, pack_text
from clew.thread.rooms import open_rooms

if TYPE_CHECKING:
    from clew.kit.call import Call
    from clew.thread.model import Pack
    from clew.thread.rooms import Rooms


def _rooms(arguments: dict[str, Any], call: Call) -> Rooms:
    return open_rooms(call.settings, arguments.get("project"))


def _packed(pack: Pack) -> Answer:
    return Answer(pack_text(pack), data=pack_data(pack))


def why(arguments: dict[str, Any], call: Call) -> Answer:
    """Why a line, a file, a symbol or a commit is there."""
    from clew.thread.why.why import BUDGET
    from clew.thread.why.why import why as follow

    pack = follow(
        _rooms(arguments, call),
        arguments["target"],
        repo=arguments.get("repo"),
        budget=arguments.get("budget", BUDGET),
    )
    return _packed(pack)


def brief(arguments: dict[str, Any], call: Call) -> Answer:
    """What to know before starting."""
    from clew.thread.brief.brief import BUDGET
    from clew.thread.brief.brief import brief as pack

    rooms = _rooms(arguments, call)
    return _packed(pack(rooms, arguments["task"], budget=arguments.get("budget", BUDGET)))


def recall(arguments: dict[str, Any], call: Call) -> Answer:
    """Where something was done before."""
    from clew.history.search.dates import moment
    from clew.thread.recall.recall import KINDS, LIMIT, Asked, recalled_text
    from clew.thread.recall.recall import recall as find

    asked = Asked(
        arguments["query"],
        kinds=tuple(arguments.get("kinds") or KINDS),
        repos=tuple(arguments.get("repos") or ()),
        since=moment(arguments.get("since")),
        until=moment(arguments.get("until")),
        limit=arguments.get("limit", LIMIT),
    )
    found = find(_rooms(arguments, call), asked)
    return Answer(recalled_text(found), data=found.as_data())


def trace(arguments: dict[str, Any], call: Call) -> Answer:
    """The matrix from objective to commit, with its gaps."""
    from clew.thread.trace.trace import RECENT
    from clew.thread.trace.trace import trace as follow

    made = follow(_rooms(arguments, call), recent=arguments.get("recent", RECENT))
    return Answer.of(made.as_data())
