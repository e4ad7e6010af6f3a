"""The thread's tools. They only read."""

from __future__ import annotations

from clew.catalog.model import (
    BOOLEAN,
    INTEGER,
    NUMBER,
    READS,
    STRING,
    STRINGS,
    Command,
    Tool,
    boolean,
    integer,
    nullable,
    numbers,
    object_schema,
    record,
    records,
    string,
    texts,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from clew.catalog.model import Handler
    from clew.kit.answer import Answer
    from clew.kit.call import Call
    from clew.kit.jsontext import JsonObject
    from clew.thread.model import Pack
    from clew.thread.rooms import Rooms


def _rooms(arguments: JsonObject, call: Call) -> Rooms:
    from clew.thread.rooms import open_rooms

    return open_rooms(call.settings, arguments.get("project"))


def _pack_answer(pack: Pack) -> Answer:
    from clew.kit.answer import Answer
    from clew.thread.budget import pack_data, pack_text

    return Answer(pack_text(pack), data=pack_data(pack))


def why(arguments: JsonObject, call: Call) -> Answer:
    """Why a line, a file, a symbol, a commit or a spec is there."""
    from clew.kit.answer import Answer
    from clew.thread.budget import is_of_lines, pack_data, pack_text, short_lines
    from clew.thread.why.why import BUDGET
    from clew.thread.why.why import why as follow

    pack = follow(
        _rooms(arguments, call),
        arguments["target"],
        repo=arguments.get("repo"),
        budget=arguments.get("budget", BUDGET),
    )
    data = pack_data(pack) | ({"full": True} if arguments.get("full") else {})
    if is_of_lines(data):
        return Answer("\n".join([*short_lines(data), "full: true tells more."]), data=data)
    return Answer(pack_text(pack), data=data)


def _in_short(found: JsonObject) -> Iterable[str]:
    from shlex import quote

    from clew.kit.outcome import Hint
    from clew.thread.budget import is_of_lines, short_lines

    if is_of_lines(found):
        yield from short_lines(found)
        yield Hint(f"Next: clew why {quote(found['title'].removeprefix('Why '))} --full")


def brief(arguments: JsonObject, call: Call) -> Answer:
    """What to know before starting."""
    from clew.thread.brief.brief import BUDGET
    from clew.thread.brief.brief import brief as pack

    rooms = _rooms(arguments, call)
    return _pack_answer(pack(rooms, arguments["task"], budget=arguments.get("budget", BUDGET)))


def recall(arguments: JsonObject, call: Call) -> Answer:
    """Where something was done before."""
    from clew.history.search.dates import moment
    from clew.kit.answer import Answer
    from clew.thread.recall.recall import KINDS, LIMIT, RecallRequest, recalled_text
    from clew.thread.recall.recall import recall as find

    asked = RecallRequest(
        arguments["query"],
        kinds=tuple(arguments.get("kinds") or KINDS),
        repos=tuple(arguments.get("repos") or ()),
        all_repos=arguments.get("all_repos", False),
        since=moment(arguments.get("since")),
        until=moment(arguments.get("until")),
        limit=arguments.get("limit", LIMIT),
    )
    found = find(_rooms(arguments, call), asked)
    return Answer(recalled_text(found), data=found.as_data())


def trace(arguments: JsonObject, call: Call) -> Answer:
    """The matrix from objective to commit, with its gaps."""
    from clew.kit.answer import Answer
    from clew.thread.trace.trace import RECENT
    from clew.thread.trace.trace import trace as follow

    made = follow(_rooms(arguments, call), recent=arguments.get("recent", RECENT))
    return Answer.of(made.as_data())


_PACK: JsonObject = {
    "title": STRING,
    **numbers("budget tokens"),
    "statements": records(texts("section text source")),
    "left_out": {"type": "object"},
}
_LINKS = records(texts("kind id title"))
_FOUND: JsonObject = {**texts("kind id title snippet"), "score": NUMBER, "call": STRING}
_HIT = object_schema(
    {**_FOUND, "time": nullable(INTEGER), "tool": nullable({"type": "object"})}, *_FOUND
)

_SETTINGS = ("project", "db")


def _tool(name: str, description: str, handler: Handler, **declared: Any) -> Tool:
    return Tool(
        f"clew_{name}",
        description,
        face="clew",
        toolset="thread",
        effect=READS,
        original=False,
        handler=handler,
        **declared,
    )


THREAD_TOOLS = (
    _tool(
        "why",
        "Why is this here: a line's commit, pull request, version, spec, run, decision, vision, later fixes; each with its source",
        why,
        title="Why is this here",
        command=Command(
            "why",
            "Show why a line, file, symbol or commit is there.",
            "Show why TARGET is there: PATH, PATH:LINE, PATH:LINE-LINE, a symbol, a SHA or a spec.\n\n"
            "From the line to its commit, pull request, version, spec, run, decision and vision;"
            " with what changed together, later fixes and reverts. Every statement names its"
            " source.",
            options={
                "repo": "--repo NAME: A registered repository (default: the current one).",
                "full": "Also in a pipe, tell all of what is known of lines.",
            },
            lines=_in_short,
            settings=_SETTINGS,
        ),
        core=True,
        properties={
            "target": string("PATH, PATH:LINE, PATH:LINE-LINE, symbol or SHA"),
            "repo": string("Registered repository (default: the project's)"),
            "full": boolean("Tell all"),
            "budget": {**integer("Tokens"), "default": 1500},
        },
        required=("target",),
        output=object_schema({**_PACK, "repo": STRING, "chain": _LINKS, "full": BOOLEAN}, *_PACK),
    ),
    _tool(
        "brief",
        "Before a task: its spec, decisions, likely files and tests, definitions, callers, similar commits",
        brief,
        title="Brief",
        command=Command(
            "brief",
            "Show what to know before starting a task.",
            "Show what to know before starting TASK: a spec id or a description.",
            arguments="TASK...",
            settings=_SETTINGS,
        ),
        core=True,
        properties={
            "task": string("Spec id, or what is to be done"),
            "budget": {**integer("Tokens"), "default": 1500},
        },
        required=("task",),
        output=object_schema(
            {**_PACK, "spec": nullable(STRING), "targets": STRINGS, "files": STRINGS}, *_PACK
        ),
    ),
    _tool(
        "recall",
        "Where was this done before: commits, specs, run logs, commands, documents, requests to agents",
        recall,
        title="Recall",
        command=Command(
            "recall",
            "Find where something was done before.",
            "Find where something was done before: in commits, specs, logs, commands, documents and"
            " what agents were asked.",
            arguments="QUERY...",
            options={
                "kinds": "--kind: Only these kinds.",
                "all_repos": "--all-repos: Commits of all indexed repositories, not just this one.",
            },
            settings=_SETTINGS,
        ),
        core=True,
        properties={
            "query": string("A question or words"),
            "kinds": {
                "type": "array",
                "items": {
                    "type": "string",
                    "enum": ["commit", "spec", "run", "command", "document", "session"],
                },
            },
            "repos": STRINGS,
            "all_repos": boolean("Not just this repository"),
            "since": string("2024-01-31, 2 weeks ago, or Unix time"),
            "until": string("Same"),
            "limit": {**INTEGER, "default": 10},
        },
        required=("query",),
        output=record(
            {"hits": {"type": "array", "items": _HIT}, "total": INTEGER, "missing": STRINGS}
        ),
    ),
    _tool(
        "trace",
        "Objective, feature, decision, spec and commit in a matrix with gaps; recent lines by origin",
        trace,
        title="Trace",
        properties={"recent": integer("Number of recent commits (default 200)")},
        output=object_schema(
            {
                "rows": {"type": "array", "items": {"type": "object"}},
                "titles": {"type": "object"},
                "gaps": {"type": "object"},
                "recent": {"type": "object"},
                "missing": STRINGS,
            },
            "rows",
            "gaps",
            "recent",
        ),
    ),
)
