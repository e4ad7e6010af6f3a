"""What each method does. One table says which era and which feature a method belongs to."""

from __future__ import annotations

from clew.kit.answer import Answer
from clew.kit.errors import Cancelled, ClewError, Invalid, NotFound
from clew.protocol.errors import RpcError, invalid_params, missing_capability
from clew.protocol.kernel import dialect
from clew.protocol.kernel.asking import run_with_answers
from clew.protocol.kernel.exchange import Result
from clew.protocol.service import UnknownTool
from clew.protocol.versions import (
    INVALID_PARAMS,
    LEGACY_VERSIONS,
    LOG_LEVELS,
    MODERN_VERSIONS,
    NEWEST_LEGACY,
    OLDEST,
    RESOURCE_NOT_FOUND,
    TASKS_EXTENSION,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from clew.kit.jsontext import JsonObject
    from clew.protocol.kernel.connection import Connection
    from clew.protocol.kernel.exchange import Exchange, Request
    from clew.protocol.kernel.kernel import Kernel
    from clew.protocol.service import Service

    Serve = Callable[[Exchange, Kernel], None]


class Method:
    """How a method is served: by whom, in which era, and by which thread.

    A quick method is served where it is read, a brief one by a thread that runs no tool.
    """

    __slots__ = ("brief", "eras", "feature", "quick", "serve")

    def __init__(
        self,
        serve: Serve,
        *,
        eras: str = "legacy modern",
        feature: str = "",
        quick: bool = False,
        brief: bool = False,
    ) -> None:
        self.serve = serve
        self.eras = eras
        self.feature = feature
        self.quick = quick
        self.brief = brief


def find_method(request: Request, kernel: Kernel) -> Method | None:
    """The method, if this era has it and the service offers its feature."""
    method = METHODS.get(request.method)
    if method is None or ("modern" if request.modern else "legacy") not in method.eras:
        return None
    if method.feature == "tasks":
        return method if kernel.has_tasks else None
    return method if not method.feature or method.feature in kernel.service.features else None


def take_notification(message: JsonObject, connection: Connection) -> None:
    """Notifications are never answered; the one that matters is cancellation."""
    params = message.get("params")
    if message["method"] == "notifications/cancelled" and isinstance(params, dict):
        connection.cancel(params.get("requestId"))


def initialize(exchange: Exchange, kernel: Kernel) -> None:
    """The legacy handshake: agree on a version, remember what the client can do."""
    params, connection = exchange.request.params, exchange.connection
    wanted = params.get("protocolVersion")
    if wanted is None:
        connection.version = OLDEST
    else:
        connection.version = wanted if wanted in LEGACY_VERSIONS else NEWEST_LEGACY
    capabilities = params.get("capabilities")
    connection.capabilities = capabilities if isinstance(capabilities, dict) else {}
    connection.initialized = True
    kernel.subscriptions.welcome(connection)
    service = kernel.service
    result: JsonObject = {
        "protocolVersion": connection.version,
        "capabilities": _capabilities(kernel),
        "serverInfo": {"name": service.name, "version": service.version},
    }
    if service.instructions:
        result["instructions"] = service.instructions
    exchange.reply(result)


def discover(exchange: Exchange, kernel: Kernel) -> None:
    """What a modern client asks first; answered in full to older ones too."""
    service = kernel.service
    capabilities = _capabilities(kernel)
    if kernel.has_tasks:
        capabilities["extensions"] = {TASKS_EXTENSION: {}}
    result: JsonObject = {
        "supportedVersions": list(MODERN_VERSIONS),
        "capabilities": capabilities,
        "ttlMs": service.list_ttl_ms,
        "cacheScope": "public",
    }
    if service.instructions:
        result["instructions"] = service.instructions
    exchange.request.modern = True
    exchange.reply(result)


def _capabilities(kernel: Kernel) -> JsonObject:
    features = kernel.service.features
    changes = {"listChanged": True} if "listChanged" in features else {}
    capabilities: JsonObject = {
        name: dict(changes) for name in ("tools", "prompts", "resources") if name in features
    }
    if "subscribe" in features:
        capabilities["resources"]["subscribe"] = True
    return capabilities | {name: {} for name in ("completions", "logging") if name in features}


def ping(exchange: Exchange, kernel: Kernel) -> None:
    """I am here."""
    exchange.reply({})


def set_level(exchange: Exchange, kernel: Kernel) -> None:
    """From which level on a legacy client wants log lines."""
    level = exchange.request.params.get("level")
    if level not in LOG_LEVELS:
        raise invalid_params(f"Invalid params: level must be one of {', '.join(LOG_LEVELS)}")
    exchange.connection.log_level = level
    exchange.reply({})


def call_tool(exchange: Exchange, kernel: Kernel) -> None:
    """Run a tool, at once or as a task."""
    params = exchange.request.params
    name, arguments = params.get("name"), params.get("arguments")
    if not isinstance(name, str) or not name:
        _refuse_call(exchange, "Missing tool name")
        return
    if arguments is not None and not isinstance(arguments, dict):
        exchange.reply(_error_result("Invalid parameter: arguments must be an object"))
        return
    try:
        result = run_with_answers(
            exchange, kernel.seal, lambda: _run_tool(exchange, kernel, name, arguments)
        )
    except UnknownTool as error:
        _refuse_call(exchange, error.message)
    except Cancelled:
        exchange.drop()
    except ClewError as error:
        exchange.reply(_error_result(error.full_text()))
    else:
        if result is not None:
            exchange.reply(result)


def _run_tool(
    exchange: Exchange, kernel: Kernel, name: str, arguments: JsonObject | None
) -> JsonObject | None:
    """The tool's result; None when a task was created and answered for instead."""
    service, call = kernel.service, exchange.call
    try:
        checked = service.check_call(name, arguments or {}, call)
    except Invalid:
        if arguments is None:
            raise Invalid("Missing arguments") from None
        raise
    if _becomes_task(exchange, kernel, name):
        kernel.tasks().create(exchange, name, checked)
        return None
    return tool_result(service.call_tool(name, checked, call))


def _refuse_call(exchange: Exchange, reason: str) -> None:
    """The oldest version, spoken without a handshake, has these as tool results."""
    if exchange.request.version == OLDEST:
        exchange.reply(_error_result(reason))
    else:
        exchange.fail(invalid_params(reason))


def _becomes_task(exchange: Exchange, kernel: Kernel, name: str) -> bool:
    support = kernel.service.task_support(name)
    if support == "never" or not exchange.request.modern or not kernel.has_tasks:
        return False
    if not _declares_tasks(exchange):
        if support == "must":
            raise missing_capability({"extensions": {TASKS_EXTENSION: {}}})
        return False
    return True


def tool_result(answer: Answer) -> Result:
    """A tool's answer as a result: content for models, structured content for programs."""
    content = answer.content
    if content is None:
        content = [{"type": "text", "text": answer.text}]
    result = Result(content=content, isError=answer.is_error)
    structured = answer.structured()
    if structured is not None and not answer.is_error:
        result["structuredContent"] = structured
        result.known_json = answer.known_json
    return result


def _error_result(text: str) -> JsonObject:
    return tool_result(Answer.error(text))


def get_prompt(exchange: Exchange, kernel: Kernel) -> None:
    """A prompt's messages."""
    name, arguments = exchange.request.text("name"), exchange.request.mapping("arguments")
    _serve_asking(
        exchange, kernel, lambda: kernel.service.get_prompt(name, arguments, exchange.call)
    )


def read_resource(exchange: Exchange, kernel: Kernel) -> None:
    """A resource's contents."""
    uri = exchange.request.text("uri")

    def handler() -> JsonObject:
        contents = kernel.service.read_resource(uri, exchange.call)
        hints = {"ttlMs": 0, "cacheScope": "private"} if exchange.request.modern else {}
        return {"contents": contents, **hints}

    try:
        _serve_asking(exchange, kernel, handler)
    except RpcError as error:
        if error.code == INVALID_PARAMS and isinstance(error.__cause__, NotFound):
            code = INVALID_PARAMS if exchange.request.modern else RESOURCE_NOT_FOUND
            raise RpcError(code, error.message, {"uri": uri}) from None
        raise


def _serve_asking(exchange: Exchange, kernel: Kernel, handler: Callable[[], JsonObject]) -> None:
    try:
        result = run_with_answers(exchange, kernel.seal, handler)
    except Cancelled:
        exchange.drop()
    except ClewError as error:
        raise invalid_params(error.full_text()) from error
    else:
        if result is not None:
            exchange.reply(result)


def complete(exchange: Exchange, kernel: Kernel) -> None:
    """Suggestions while an argument is typed."""
    argument = exchange.request.mapping("argument")
    reference = exchange.request.mapping("ref")
    name, value = argument.get("name"), argument.get("value")
    if not isinstance(name, str) or not isinstance(value, str) or "type" not in reference:
        raise invalid_params("Invalid params: ref and argument {name, value} are required")
    values = kernel.service.complete(reference, name, value)
    exchange.reply(
        {
            "completion": {
                "values": values[:100],
                "total": len(values),
                "hasMore": len(values) > 100,
            }
        }
    )


def subscribe(exchange: Exchange, kernel: Kernel) -> None:
    """A legacy client wants to hear when a resource changes."""
    exchange.connection.subscribed.add(exchange.request.text("uri"))
    exchange.reply({})


def unsubscribe(exchange: Exchange, kernel: Kernel) -> None:
    """A legacy client has heard enough of a resource."""
    exchange.connection.subscribed.discard(exchange.request.text("uri"))
    exchange.reply({})


def listen(exchange: Exchange, kernel: Kernel) -> None:
    """Open a modern stream of change notifications."""
    asked = exchange.request.mapping("notifications")
    agreed: JsonObject = {}
    if "listChanged" in kernel.service.features:
        for feature in ("tools", "prompts", "resources"):
            key = f"{feature}ListChanged"
            if asked.get(key) is True and feature in kernel.service.features:
                agreed[key] = True
    uris = asked.get("resourceSubscriptions")
    if isinstance(uris, list) and "subscribe" in kernel.service.features:
        agreed["resourceSubscriptions"] = [uri for uri in uris if isinstance(uri, str)]
    if isinstance(asked.get("taskIds"), list):
        agreed["taskIds"] = _followed_tasks(exchange, kernel, asked["taskIds"])
    kernel.subscriptions.open(exchange, agreed)


def _followed_tasks(exchange: Exchange, kernel: Kernel, task_ids: list[object]) -> list[str]:
    require_tasks_extension(exchange)
    if not kernel.has_tasks:
        return []
    owner = exchange.connection.owner
    return [t for t in task_ids if isinstance(t, str) and kernel.tasks().exists(t, owner)]


def require_tasks_extension(exchange: Exchange) -> None:
    """Raise unless this very request declares the tasks extension."""
    if not _declares_tasks(exchange):
        raise missing_capability({"extensions": {TASKS_EXTENSION: {}}})


def _declares_tasks(exchange: Exchange) -> bool:
    extensions = exchange.request.capabilities.get("extensions")
    return isinstance(extensions, dict) and TASKS_EXTENSION in extensions


def get_task(exchange: Exchange, kernel: Kernel) -> None:
    """A task's whole state."""
    require_tasks_extension(exchange)
    exchange.reply(kernel.tasks().state(exchange.request.text("taskId"), exchange.connection.owner))


def update_task(exchange: Exchange, kernel: Kernel) -> None:
    """The client's answers to what a task asked."""
    require_tasks_extension(exchange)
    task_id, answers = exchange.request.text("taskId"), exchange.request.mapping("inputResponses")
    kernel.tasks().update(task_id, exchange.connection.owner, answers)
    exchange.reply({})


def cancel_task(exchange: Exchange, kernel: Kernel) -> None:
    """Ask a task to stop."""
    require_tasks_extension(exchange)
    kernel.tasks().cancel(exchange.request.text("taskId"), exchange.connection.owner)
    exchange.reply({})


def _listing(key: str, items: Callable[[Service], list[JsonObject]]) -> Serve:
    """What serves a list: everything on one page, in a fixed order."""

    def serve(exchange: Exchange, kernel: Kernel) -> None:
        if exchange.request.params.get("cursor") is not None:
            raise invalid_params("Invalid params: unknown cursor")
        result: JsonObject = {key: items(kernel.service)}
        if exchange.request.modern:
            result |= {"ttlMs": kernel.service.list_ttl_ms, "cacheScope": "public"}
        exchange.reply(result)

    return serve


METHODS: dict[str, Method] = {
    "initialize": Method(initialize, eras="legacy", quick=True),
    "ping": Method(ping, eras="legacy", quick=True),
    "logging/setLevel": Method(set_level, eras="legacy", feature="logging", quick=True),
    "server/discover": Method(discover, quick=True),
    "tools/list": Method(
        _listing("tools", lambda service: service.tools()), feature="tools", quick=True
    ),
    "tools/call": Method(call_tool, feature="tools"),
    "prompts/list": Method(
        _listing("prompts", lambda service: service.prompts()), feature="prompts", brief=True
    ),
    "prompts/get": Method(get_prompt, feature="prompts"),
    "resources/list": Method(
        _listing("resources", lambda service: service.resources()), feature="resources", brief=True
    ),
    "resources/templates/list": Method(
        _listing("resourceTemplates", lambda service: service.resource_templates()),
        feature="resources",
        brief=True,
    ),
    "resources/read": Method(read_resource, feature="resources"),
    "resources/subscribe": Method(subscribe, eras="legacy", feature="subscribe", quick=True),
    "resources/unsubscribe": Method(unsubscribe, eras="legacy", feature="subscribe", quick=True),
    "completion/complete": Method(complete, feature="completions"),
    "subscriptions/listen": Method(listen, eras="modern", brief=True),
    "tasks/get": Method(get_task, eras="modern", feature="tasks", brief=True),
    "tasks/update": Method(update_task, eras="modern", feature="tasks", brief=True),
    "tasks/cancel": Method(cancel_task, eras="modern", feature="tasks", brief=True),
    "list_tools": Method(dialect.list_tools, eras="legacy", feature="tools", quick=True),
    "invoke_tool": Method(dialect.invoke_tool, eras="legacy", feature="tools"),
}
