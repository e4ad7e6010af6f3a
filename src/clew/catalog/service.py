"""The catalogue as a service: lists what a server offers and runs the handlers behind it."""

from __future__ import annotations

from clew import __version__
from clew.catalog.validate import check_arguments
from clew.protocol.service import Service, UnknownTool

RESOURCES = "clew.guide.resources"
COMMANDS = "clew.commands.mcp_prompts"
WATCHING = "clew.commands.registry.watch"
ATTENDING = "clew.work.runs.repair_on_call"

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from clew.catalog.faces import Face
    from clew.catalog.model import Tool
    from clew.kit.answer import Answer
    from clew.kit.call import Call
    from clew.kit.jsontext import JsonObject

    Handler = Callable[[JsonObject, Call], Answer]


class CatalogService(Service):
    """The tools of one face; the guide as resources, commands as prompts and resources."""

    version = __version__

    def __init__(
        self, face: Face, offered: dict[str, Tool], settings: Mapping[str, str] | None = None
    ) -> None:
        super().__init__()
        self.name = face.server_name
        self.instructions = face.instructions
        self.wrong_version = face.wrong_version or self.wrong_version
        self.settings = settings or {}
        self._offered = offered
        self._handlers: dict[str, Handler] = {}
        toolsets = {tool.toolset for tool in offered.values()}
        self._has_guide, self._has_commands = "guide" in toolsets, "commands" in toolsets
        self._watches = False
        if self._has_guide:
            self.features |= {"resources", "completions"}
        if self._has_commands:
            self.features |= {"prompts", "resources", "completions", "listChanged", "logging"}

    def tools(self) -> list[JsonObject]:
        """The offered tools in the catalogue's order."""
        return [tool.wire(name) for name, tool in self._offered.items()]

    def task_support(self, name: str) -> str:
        """A tool that is declared slow may become a task."""
        return "may" if self._offered[name].slow else "never"

    def check_call(self, name: str, arguments: JsonObject, call: Call) -> JsonObject:
        """Check arguments against what the tool accepts: what the client was shown, or more."""
        if name not in self._offered:
            raise UnknownTool(f"Unknown tool: {name}")
        return check_arguments(self._offered[name].accepted_schema, arguments)

    def call_tool(self, name: str, arguments: JsonObject, call: Call) -> Answer:
        """Run the handler, importing its room at the first call."""
        if self._offered[name].toolset == "specs":
            _load(ATTENDING, "attend")(call.settings)
        try:
            return self._handler(name)(arguments, call)
        except Exception as error:
            refused = _refusal(error)
            if refused is None:
                raise
            raise refused from error

    def _handler(self, name: str) -> Handler:
        if name not in self._handlers:
            self._handlers[name] = load_handler(self._offered[name])
        return self._handlers[name]

    def prompts(self) -> list[JsonObject]:
        """The commands."""
        self._watch()
        listed: list[JsonObject] = _load(COMMANDS, "list_prompts")(self.settings)
        return listed

    def get_prompt(self, name: str, arguments: JsonObject, call: Call) -> JsonObject:
        """One command, filled in."""
        found: JsonObject = _load(COMMANDS, "get_prompt")(name, arguments, self.settings)
        return found

    def resources(self) -> list[JsonObject]:
        """The guide's topics, and the templates of commands."""
        listed: list[JsonObject] = []
        if self._has_guide:
            listed += _load(RESOURCES, "list_resources")()
        if self._has_commands:
            self._watch()
            listed += _load(COMMANDS, "list_resources")(self.settings)
        return listed

    def resource_templates(self) -> list[JsonObject]:
        """The patterns of the same."""
        listed: list[JsonObject] = []
        if self._has_guide:
            listed += _load(RESOURCES, "list_templates")()
        if self._has_commands:
            listed += _load(COMMANDS, "list_templates")()
        return listed

    def read_resource(self, uri: str, call: Call) -> list[JsonObject]:
        """One topic of the guide, or one template."""
        if self._has_commands and _load(COMMANDS, "owns")(uri):
            contents: list[JsonObject] = _load(COMMANDS, "read_resource")(uri, self.settings)
        else:
            contents = _load(RESOURCES, "read_resource")(uri)
        return contents

    def complete(self, reference: JsonObject, name: str, value: str) -> list[str]:
        """Topics, commands and their values that begin with what was typed."""
        found: list[str] = []
        if self._has_guide:
            found = _load(RESOURCES, "complete_topic")(reference, name, value)
        if self._has_commands and not found:
            found = _load(COMMANDS, "complete")(reference, name, value, self.settings)
        return found

    def _watch(self) -> None:
        """Tell clients of changes from their first look at a list on."""
        if not self._watches:
            self._watches = True
            _load(WATCHING, "watch")(self.settings, self.announce)


def _refusal(error: Exception) -> Exception | None:
    """What a disk or a database refused, in words for the caller; None for every other error."""
    if not isinstance(error, OSError) and error.__class__.__module__ != "sqlite3":
        return None
    from clew.kit.refusals import refusal

    return refusal(error)


def load_handler(tool: Tool) -> Handler:
    """The function that a tool's declaration names."""
    module, _, attribute = tool.handler.partition(":")
    handler: Handler = _load(module, attribute)
    return handler


def _load(module: str, attribute: str) -> Any:
    return getattr(__import__(module, fromlist=[attribute]), attribute)
