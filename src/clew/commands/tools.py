"""The commands' tools. Among the tools of other rooms they carry the face's name (`climpt_search`)."""

from __future__ import annotations

import os

from clew.catalog.model import (
    NUMBER,
    READS,
    SETS,
    STRING,
    Tool,
    boolean,
    integer,
    list_schema,
    object_schema,
    string,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeVar

    from clew.catalog.model import Handler
    from clew.commands.render.execute import Request
    from clew.kit.answer import Answer
    from clew.kit.call import Call
    from clew.kit.jsontext import JsonObject

    T = TypeVar("T")

PATIENCE_SECONDS = 30.0
REDACTED = "[redacted]"
_CLIMPT = "climpt"


def _answered(find: Callable[[JsonObject, Call], Any], member: str = "") -> Handler:
    """A handler that answers what was found, and failures of commands as documented objects.

    A list is sent bare, or as that member of an object with the agent beside it, which clients of
    the shipped original expect and `CLIMPT_RESULTS=wrapped` asks for.
    """

    def handler(arguments: JsonObject, call: Call) -> Answer:
        from clew.commands.files.errors import CommandFailure
        from clew.kit import jsontext
        from clew.kit.answer import Answer

        try:
            found = find(arguments, call)
        except CommandFailure as failure:
            return Answer.error(jsontext.dumps(failure.body))
        if isinstance(found, Answer):
            return found
        if member and os.environ.get("CLIMPT_RESULTS") == "wrapped":
            wrapped = {member: found, "agent": _agent(arguments)}
            return Answer(jsontext.dumps(wrapped), data=found)
        return Answer.of(found)

    return handler


def _search(arguments: JsonObject, call: Call) -> list[dict[str, Any]]:
    from clew.commands.search.search import search

    how = {key: arguments[key] for key in ("algorithm",) if key in arguments}
    return search(arguments["query"], _agent(arguments), call.settings, **how)


def _match(arguments: JsonObject, call: Call) -> list[dict[str, Any]]:
    from clew.commands.search.search import search
    from clew.kit.errors import Invalid

    if not any(arguments.get(key, "").strip() for key in ("query", "action", "target")):
        raise Invalid("Nothing to search for", "Give a query, or an action and a target.")
    how = {key: value for key, value in arguments.items() if key in _MATCH and key != "agent"}
    settings = {**call.settings, "layer": how.pop("layer", "")}
    return search(how.pop("query", ""), _agent(arguments), settings, **how)


def _describe(arguments: JsonObject, call: Call) -> list[dict[str, Any]]:
    from clew.commands.render.describe import describe

    address = (arguments["c1"], arguments["c2"], arguments["c3"])
    return describe(address, _agent(arguments), call.settings)


def _execute(arguments: JsonObject, call: Call) -> Answer:
    from clew.commands.files.errors import ExecutionFailure
    from clew.commands.files.layers import configured_label, project_root
    from clew.commands.render.arguments import request_from_arguments
    from clew.commands.render.execute import execute
    from clew.kit.answer import Answer
    from clew.kit.errors import ClewError

    address = (arguments["c1"], arguments["c2"], arguments["c3"])
    label = configured_label(_agent(arguments), address)
    try:
        request = request_from_arguments(arguments)
        request.base = project_root(call.settings)
    except ClewError as error:
        raise ExecutionFailure(label, error.message, error.hint) from error
    call.log("debug", {"command": label, "uv": redacted(request)})
    result = within(PATIENCE_SECONDS, label, lambda: execute(request, call.settings))
    return Answer(result.prompt, data={"prompt": result.prompt, **result.report()})


def redacted(request: Request) -> dict[str, str]:
    """The given variables as a log may show them."""
    from clew.commands.files.declarations import is_secret_name

    return {
        name: REDACTED if is_secret_name(name) else value[:80]
        for name, value in request.variables.items()
    }


def within(seconds: float, label: str, work: Callable[[], T]) -> T:
    """What the work returns; a failure when it takes longer than the time."""
    import threading

    from clew.commands.files.errors import ExecutionFailure

    found: list[T] = []
    failed: list[BaseException] = []

    def run() -> None:
        try:
            found.append(work())
        except BaseException as error:  # noqa: BLE001 - handed on to the caller's thread
            failed.append(error)

    worker = threading.Thread(target=run, daemon=True)
    worker.start()
    worker.join(seconds)
    if failed:
        raise failed[0]
    if not found:
        hint = "Check the disk that holds the prompts, then try again."
        raise ExecutionFailure(label, f"Timed out after {seconds:.0f} s", hint)
    return found[0]


def _reload(arguments: JsonObject, call: Call) -> dict[str, Any]:
    from clew.commands.registry.registry import known_agents, reload
    from clew.commands.search.search import ALL_AGENTS

    agent = _agent(arguments)
    if agent != ALL_AGENTS:
        return reload(agent, call.settings)
    agents = [_reloaded(name, call) for name in known_agents(call.settings)]
    total = sum(one["commandCount"] for one in agents)
    message = f"Reloaded {len(agents)} agents with {total} total commands"
    return {"success": True, "reloadedAgents": agents, "totalCommands": total, "message": message}


def _reloaded(agent: str, call: Call) -> dict[str, Any]:
    from clew.commands.files.errors import RegistryFailure
    from clew.commands.registry.registry import reload

    try:
        return reload(agent, call.settings)
    except RegistryFailure as failure:
        return {"success": False, "agent": agent, "commandCount": 0, "message": failure.message}


def _agent(arguments: JsonObject) -> str:
    return arguments.get("agent") or _CLIMPT


_AGENT: JsonObject = {**string("Agent name"), "default": _CLIMPT}
_ADDRESS: JsonObject = {
    "c1": string("Domain identifier"),
    "c2": string("Action identifier"),
    "c3": string("Target identifier"),
}
_ALGORITHM: JsonObject = {
    **string("ranked by default"),
    "enum": ["ranked", "cosine", "tfidf", "bm25"],
}
_MATCH: JsonObject = {
    "query": string("Search query"),
    "action": string("Verbs, like c2"),
    "target": string("Nouns, like c3"),
    "agent": string("Agent name, or * for all"),
    "c1": string("Only this domain"),
    "layer": {**string("Only this layer"), "enum": ["project", "user", "packaged"]},
    "limit": {**integer("Maximum number of results"), "minimum": 1, "maximum": 100},
    "algorithm": _ALGORITHM,
    "explain": boolean("Explain each result"),
}
_COMMAND: JsonObject = {"c1": STRING, "c2": STRING, "c3": STRING, "description": STRING}
_HITS = list_schema(object_schema({**_COMMAND, "score": NUMBER}, *_COMMAND, "score"))


def _tool(
    name: str,
    description: str,
    find: Callable[[JsonObject, Call], Any],
    member: str = "",
    **settings: Any,
) -> Tool:
    return Tool(
        name,
        description,
        face=_CLIMPT,
        toolset="commands",
        prefixed_name=f"{_CLIMPT}_{name}",
        handler=_answered(find, member),
        **settings,
    )


COMMANDS_TOOLS = (
    _tool(
        "search",
        "Searches for similar commands from natural language query.",
        _search,
        "results",
        title="Search commands",
        effect=READS,
        core=True,
        properties={"query": string("Search query"), "agent": _AGENT, "algorithm": _ALGORITHM},
        required=("query",),
        output=_HITS,
    ),
    _tool(
        "match",
        "Search commands by action and target, explained.",
        _match,
        title="Match commands",
        effect=READS,
        original=False,
        properties=_MATCH,
        output=_HITS,
    ),
    _tool(
        "describe",
        "Retrieves detailed command information from C3L identifiers.",
        _describe,
        "commands",
        title="Describe a command",
        effect=READS,
        properties={"agent": _AGENT, **_ADDRESS},
        required=("c1", "c2", "c3"),
        output=list_schema(
            object_schema({**_COMMAND, "usage": STRING, "options": {"type": "object"}}, *_COMMAND)
        ),
    ),
    _tool(
        "execute",
        "Executes a command and retrieves the instruction prompt.",
        _execute,
        title="Render a command",
        effect=READS,
        core=True,
        properties={
            "agent": string('Agent name ("climpt")'),
            "c1": string('Domain identifier (e.g., "git", "meta")'),
            "c2": _ADDRESS["c2"],
            "c3": _ADDRESS["c3"],
            "options": {"type": "object", "description": "Command options", "default": {}},
        },
        also_accepts={"options": {"type": ["object", "array"], "items": STRING}},
        required=("agent", "c1", "c2", "c3"),
        output=object_schema({"prompt": STRING}, "prompt"),
    ),
    _tool(
        "reload",
        "Reloads the registry cache.",
        _reload,
        title="Reload commands",
        effect=SETS,
        properties={"agent": _AGENT},
        output={"type": "object"},
    ),
)
