"""Commands as MCP prompts and resources."""

from __future__ import annotations

from clew.catalog.service import Source

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from clew.kit.jsontext import JsonObject


class CommandSource(Source):
    """Every command of every agent; its modules are imported when a client first asks."""

    features = frozenset({"prompts", "resources", "completions", "listChanged", "logging"})

    def __init__(self, settings: Mapping[str, str]) -> None:
        self._settings = settings

    def prompts(self) -> list[JsonObject]:
        """The commands."""
        from clew.commands.mcp_prompts import list_prompts

        return list_prompts(self._settings)

    def get_prompt(self, name: str, arguments: JsonObject) -> JsonObject:
        """One command, filled in."""
        from clew.commands.mcp_prompts import get_prompt

        return get_prompt(name, arguments, self._settings)

    def resources(self) -> list[JsonObject]:
        """The templates, and the registry of each agent."""
        from clew.commands.mcp_prompts import list_resources

        return list_resources(self._settings)

    def resource_templates(self) -> list[JsonObject]:
        """The patterns of the same."""
        from clew.commands.mcp_prompts import list_templates

        return list_templates()

    def read_resource(self, uri: str) -> list[JsonObject] | None:
        """A template, a preview or a registry."""
        from clew.commands.mcp_prompts import owns, read_resource

        return read_resource(uri, self._settings) if owns(uri) else None

    def complete(self, reference: JsonObject, name: str, value: str) -> list[str]:
        """Commands and their values that begin with what was typed."""
        from clew.commands.mcp_prompts import complete

        return complete(reference, name, value, self._settings)

    def watch(self, announce: Callable[[str, str | None], None]) -> None:
        """Announce commands that came, went or changed."""
        from clew.commands.registry.watch import watch

        watch(self._settings, announce)
