"""The commands room's tool handlers."""

from __future__ import annotations

import threading
from functools import wraps
from typing import TYPE_CHECKING, Any, TypeVar

from clew.commands.files.declarations import is_secret_name
from clew.commands.files.errors import CommandFailure, ExecutionFailure
from clew.commands.files.layers import DEFAULT_AGENT, configured_label, project_root
from clew.commands.registry import registry
from clew.commands.registry.registry import known_agents
from clew.commands.render import describe as describing
from clew.commands.render.arguments import request_from_arguments
from clew.commands.render.execute import execute as render_command
from clew.commands.search import search as searching
from clew.commands.search.ranking import DEFAULT_LIMIT, RANKED
from clew.kit import jsontext
from clew.kit.answer import Answer
from clew.kit.errors import ClewError, Invalid

if TYPE_CHECKING:
    from collections.abc import Callable

    from clew.commands.render.execute import Request
    from clew.kit.call import Call

    Handler = Callable[[dict[str, Any], Call], Answer]

T = TypeVar("T")
PATIENCE_SECONDS = 30.0
REDACTED = "[redacted]"


def _with_failures(handler: Handler) -> Handler:
    """The handler, with failures of commands answered as the documented objects."""

    @wraps(handler)
    def answering(arguments: dict[str, Any], call: Call) -> Answer:
        try:
            return handler(arguments, call)
        except CommandFailure as failure:
            return Answer.error(jsontext.dumps(failure.body))

    return answering


@_with_failures
def search(arguments: dict[str, Any], call: Call) -> Answer:
    """Commands like a query."""
    algorithm = arguments.get("algorithm", RANKED)
    return Answer.of(
        searching.search(arguments["query"], _agent(arguments), call.settings, algorithm=algorithm)
    )


@_with_failures
def match(arguments: dict[str, Any], call: Call) -> Answer:
    """Commands like a query or a pair of words, with more say about how."""
    query, action, target = (arguments.get(key, "") for key in ("query", "action", "target"))
    if not f"{query}{action}{target}".strip():
        raise Invalid("Nothing to search for", "Give a query, or an action and a target.")
    return Answer.of(
        searching.search(
            query,
            _agent(arguments),
            call.settings,
            limit=arguments.get("limit", DEFAULT_LIMIT),
            algorithm=arguments.get("algorithm", RANKED),
            c1=arguments.get("c1"),
            action=action,
            target=target,
            explain=arguments.get("explain", False),
        )
    )


@_with_failures
def describe(arguments: dict[str, Any], call: Call) -> Answer:
    """Every record of one command."""
    address = (arguments["c1"], arguments["c2"], arguments["c3"])
    return Answer.of(describing.describe(address, _agent(arguments), call.settings))


@_with_failures
def execute(arguments: dict[str, Any], call: Call) -> Answer:
    """The prompt of a command."""
    address = (arguments["c1"], arguments["c2"], arguments["c3"])
    label = configured_label(arguments["agent"] or DEFAULT_AGENT, address)
    try:
        request = request_from_arguments(arguments)
        request.base = project_root(call.settings)
    except ClewError as error:
        raise ExecutionFailure(label, error.message, error.hint) from error
    call.log("debug", {"command": label, "uv": redacted(request)})
    result = within(PATIENCE_SECONDS, label, lambda: render_command(request, call.settings))
    return Answer(result.prompt, data={"prompt": result.prompt, **result.report()})


def redacted(request: Request) -> dict[str, str]:
    """The given variables as a log may show them."""
    return {
        name: REDACTED if is_secret_name(name) else value[:80]
        for name, value in request.variables.items()
    }


def within(seconds: float, label: str, work: Callable[[], T]) -> T:
    """What the work returns; a failure when its source does not come within the time."""
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
        hint = "Look at the disk that holds the prompts, then try again."
        raise ExecutionFailure(label, f"Timed out after {seconds:.0f} s", hint)
    return found[0]


@_with_failures
def reload(arguments: dict[str, Any], call: Call) -> Answer:
    """Read the registries anew."""
    agent = _agent(arguments)
    if agent != searching.ALL_AGENTS:
        return Answer.of(registry.reload(agent, call.settings))
    agents = [registry.reload(name, call.settings) for name in known_agents(call.settings)]
    total = sum(one["commandCount"] for one in agents)
    message = f"Reloaded {len(agents)} agents with {total} total commands"
    found = {"success": True, "reloadedAgents": agents, "totalCommands": total, "message": message}
    return Answer.of(found)


def _agent(arguments: dict[str, Any]) -> str:
    return arguments.get("agent") or DEFAULT_AGENT
