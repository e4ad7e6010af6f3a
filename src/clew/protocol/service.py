"""What a server offers. The kernel speaks the protocol; a service knows the answers."""

from __future__ import annotations

from clew.kit.answer import Answer
from clew.kit.errors import NotFound

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from clew.kit.call import Call
    from clew.kit.jsontext import JsonObject


class UnknownTool(NotFound):
    """No tool of that name is offered."""


class Service:
    """Names, lists and handlers. Subclasses override what they offer and name it in `features`.

    Features: tools, prompts, resources, completions, logging, listChanged, subscribe.
    """

    name = "service"
    version = "0"
    instructions: str | None = None
    features: frozenset[str] = frozenset({"tools"})
    settings: Mapping[str, str] = {}
    wrong_version = "Invalid JSON-RPC version"
    list_ttl_ms = 300_000

    def __init__(self) -> None:
        self.announce: Callable[[str, str | None], None] = _announce_to_nobody

    def tools(self) -> list[JsonObject]:
        """The tools as `tools/list` shows them, always in the same order."""
        return []

    def documented_tools(self) -> list[JsonObject]:
        """The tools as `list_tools` of the older dialect shows them."""
        return self.tools()

    def input_schema(self, name: str) -> JsonObject:
        """The schema of a tool's arguments; empty for a tool that is not offered."""
        schemas = (tool["inputSchema"] for tool in self.tools() if tool["name"] == name)
        return next(schemas, {})

    def task_support(self, name: str) -> str:
        """Whether a call of this tool `never`, `may` or `must` become a task."""
        return "never"

    def check_call(self, name: str, arguments: JsonObject, call: Call) -> JsonObject:
        """The arguments ready for `call_tool`; or UnknownTool, or Invalid naming what is wrong.

        What must be asked before a task is made is asked here.
        """
        raise UnknownTool(f"Unknown tool: {name}")

    def call_tool(self, name: str, arguments: JsonObject, call: Call) -> Answer:
        """Run a tool with arguments that were checked."""
        raise UnknownTool(f"Unknown tool: {name}")

    def prompts(self) -> list[JsonObject]:
        """The prompts as `prompts/list` shows them."""
        return []

    def get_prompt(self, name: str, arguments: JsonObject, call: Call) -> JsonObject:
        """A prompt's description and messages."""
        raise NotFound(f"Unknown prompt: {name}")

    def resources(self) -> list[JsonObject]:
        """The resources as `resources/list` shows them."""
        return []

    def resource_templates(self) -> list[JsonObject]:
        """The templates as `resources/templates/list` shows them."""
        return []

    def read_resource(self, uri: str, call: Call) -> list[JsonObject]:
        """The contents of a resource."""
        raise NotFound(f"Unknown resource: {uri}")

    def complete(self, reference: JsonObject, name: str, value: str) -> list[str]:
        """Suggestions for an argument of a prompt or of a resource template."""
        return []


def _announce_to_nobody(kind: str, uri: str | None) -> None:
    """Before a kernel serves the service there is nobody to tell."""
