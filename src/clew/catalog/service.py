"""The catalogue as a service: lists what a server offers and runs the handlers behind it."""

from __future__ import annotations

from clew import __version__
from clew.catalog.validate import check_arguments
from clew.protocol.service import Service, UnknownTool

RESOURCES = "clew.guide.resources"

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
    """The tools of one face, and the guide as resources where the whole program is served."""

    version = __version__

    def __init__(
        self, face: Face, offered: dict[str, Tool], settings: Mapping[str, str] | None = None
    ) -> None:
        super().__init__()
        self.name = face.server_name
        self.instructions = face.instructions
        self.settings = settings or {}
        self._offered = offered
        self._handlers: dict[str, Handler] = {}
        if any(tool.toolset == "guide" for tool in offered.values()):
            self.features = frozenset({"tools", "resources", "completions"})

    def tools(self) -> list[JsonObject]:
        """The offered tools in the catalogue's order."""
        return [tool.wire(name) for name, tool in self._offered.items()]

    def task_support(self, name: str) -> str:
        """A tool that is declared slow may become a task."""
        return "may" if self._offered[name].slow else "never"

    def check_call(self, name: str, arguments: JsonObject, call: Call) -> JsonObject:
        """Check arguments against the schema that the client was shown."""
        if name not in self._offered:
            raise UnknownTool(f"Unknown tool: {name}")
        return check_arguments(self._offered[name].input_schema, arguments)

    def call_tool(self, name: str, arguments: JsonObject, call: Call) -> Answer:
        """Run the handler, importing its room at the first call."""
        return self._handler(name)(arguments, call)

    def _handler(self, name: str) -> Handler:
        if name not in self._handlers:
            self._handlers[name] = load_handler(self._offered[name])
        return self._handlers[name]

    def resources(self) -> list[JsonObject]:
        """The guide's topics."""
        listed: list[JsonObject] = _load(RESOURCES, "list_resources")()
        return listed

    def resource_templates(self) -> list[JsonObject]:
        """The guide's topics as one pattern."""
        listed: list[JsonObject] = _load(RESOURCES, "list_templates")()
        return listed

    def read_resource(self, uri: str, call: Call) -> list[JsonObject]:
        """One topic of the guide."""
        contents: list[JsonObject] = _load(RESOURCES, "read_resource")(uri)
        return contents

    def complete(self, reference: JsonObject, name: str, value: str) -> list[str]:
        """Topics that begin with what was typed."""
        topics: list[str] = _load(RESOURCES, "complete_topic")(reference, name, value)
        return topics


def load_handler(tool: Tool) -> Handler:
    """The function that a tool's declaration names."""
    assert tool.handler is not None
    module, _, attribute = tool.handler.partition(":")
    handler: Handler = _load(module, attribute)
    return handler


def _load(module: str, attribute: str) -> Any:
    return getattr(__import__(module, fromlist=[attribute]), attribute)
