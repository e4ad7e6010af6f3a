"""The catalogue as a service: lists what a server offers and runs the handlers behind it."""

from __future__ import annotations

from clew import __version__
from clew.catalog.validate import check_arguments
from clew.kit.errors import ClewError, NotFound
from clew.protocol.errors import RpcError
from clew.protocol.service import Service, UnknownTool

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from contextlib import AbstractContextManager

    from clew.catalog.faces import Face
    from clew.catalog.helpers import Helpers
    from clew.catalog.model import Tool
    from clew.kit.answer import Answer
    from clew.kit.call import Call
    from clew.kit.jsontext import JsonObject

    Around = Callable[[Tool, JsonObject, Call], AbstractContextManager[None]]
    Offer = tuple[
        frozenset[str], Callable[[], "Source"]
    ]  # of which kind it is, and how it is loaded


class Source:
    """What a room offers besides tools, loaded when a client asks. A room overrides what it has."""

    def prompts(self) -> list[JsonObject]:
        """The prompts as `prompts/list` shows them."""
        return []

    def get_prompt(self, name: str, arguments: JsonObject) -> JsonObject:
        """One prompt, filled in."""
        raise NotFound(f"Unknown prompt: {name}")

    def resources(self) -> list[JsonObject]:
        """The resources as `resources/list` shows them."""
        return []

    def resource_templates(self) -> list[JsonObject]:
        """The templates as `resources/templates/list` shows them."""
        return []

    def read_resource(self, uri: str) -> list[JsonObject] | None:
        """The contents of a resource; None when it is not this room's."""
        return None

    def complete(self, reference: JsonObject, name: str, value: str) -> list[str]:
        """Values that begin with what was typed."""
        return []

    def watch(self, announce: Callable[[str, str | None], None]) -> None:
        """Announce changes from now on."""


class CatalogService(Service):
    """The tools of one face, and what their rooms offer besides."""

    version = __version__

    def __init__(
        self,
        face: Face,
        offered: dict[str, Tool],
        settings: Mapping[str, str] | None = None,
        *,
        sources: tuple[Offer, ...] = (),
        before_call: Callable[[Tool, Call], None] | None = None,
        helpers: Helpers | None = None,
        around_call: Around | None = None,
    ) -> None:
        super().__init__()
        self.name = face.server_name
        self.instructions = face.instructions
        self.wrong_version = face.wrong_version or self.wrong_version
        self.settings = {**(settings or {}), "face": face.name}
        self._offered = offered
        self._offers = sources
        self._loaded: list[Source] | None = None
        self._before_call = before_call
        self._helpers = helpers
        self._around_call = around_call
        self._watches = False
        for features, _ in sources:
            self.features |= features

    @property
    def _sources(self) -> list[Source]:
        if self._loaded is None:
            self._loaded = [load() for _, load in self._offers]
        return self._loaded

    def tools(self) -> list[JsonObject]:
        """The offered tools in the catalogue's order."""
        return [tool.wire(name) for name, tool in self._offered.items()]

    def documented_tools(self) -> list[JsonObject]:
        """The same with what is documented only, for the older dialect."""
        return [
            {**tool.wire(name), "description": tool.description, "inputSchema": tool.input_schema}
            for name, tool in self._offered.items()
        ]

    def task_support(self, name: str) -> str:
        """A tool that is declared slow may become a task."""
        return "may" if self._offered[name].slow else "never"

    @property
    def has_slow_tools(self) -> bool:
        """Whether any offered tool may become a task."""
        return any(tool.slow for tool in self._offered.values())

    def check_call(self, name: str, arguments: JsonObject, call: Call) -> JsonObject:
        """Check arguments against what the tool accepts: what the client was shown, or more."""
        if name not in self._offered:
            raise UnknownTool(f"Unknown tool: {name}")
        return check_arguments(self._offered[name].accepted_schema, arguments)

    def call_tool(self, name: str, arguments: JsonObject, call: Call) -> Answer:
        """Run the handler; one that only reads, in a helper where there are any."""
        if self._around_call is None:
            return self._called(name, arguments, call)
        with self._around_call(self._offered[name], arguments, call):
            return self._called(name, arguments, call)

    def _called(self, name: str, arguments: JsonObject, call: Call) -> Answer:
        tool = self._offered[name]
        if self._helpers is not None and tool.only_computes:
            return self._helpers.call(name, arguments, call)
        if self._before_call is not None:
            self._before_call(tool, call)
        try:
            return tool.handler(arguments, call)
        except ClewError as error:
            self._word(error)
            raise
        except Exception as error:
            refused = _refusal(error)
            if refused is None:
                raise
            raise refused from error

    def _word(self, error: ClewError) -> None:
        """Name commands as this face's users type them, or the tools that do the same."""
        from clew.catalog.hints import in_tools
        from clew.catalog.wording import message_of

        face = self.settings["face"]
        error.message = message_of(face, error.message)
        error.hint = in_tools(error.hint, face, self._offered) if error.hint else error.hint

    def prompts(self) -> list[JsonObject]:
        """The prompts of all sources."""
        self._watch()
        return [prompt for source in self._sources for prompt in source.prompts()]

    def get_prompt(self, name: str, arguments: JsonObject, call: Call) -> JsonObject:
        """One prompt, filled in."""
        pairs = zip(self._offers, self._sources, strict=True)
        offering = [source for (features, _), source in pairs if "prompts" in features]
        for source in offering[:-1]:
            if any(prompt["name"] == name for prompt in source.prompts()):
                return source.get_prompt(name, arguments)
        if not offering:
            raise NotFound(f"Unknown prompt: {name}")
        return offering[-1].get_prompt(name, arguments)

    def resources(self) -> list[JsonObject]:
        """The resources of all sources."""
        self._watch()
        return [resource for source in self._sources for resource in source.resources()]

    def resource_templates(self) -> list[JsonObject]:
        """The patterns of the same."""
        return [template for source in self._sources for template in source.resource_templates()]

    def read_resource(self, uri: str, call: Call) -> list[JsonObject]:
        """The contents of one resource."""
        for source in self._sources:
            contents = source.read_resource(uri)
            if contents is not None:
                return contents
        raise NotFound(f"Unknown resource: {uri}")

    def complete(self, reference: JsonObject, name: str, value: str) -> list[str]:
        """Values that begin with what was typed, from the first source that has any."""
        found = (source.complete(reference, name, value) for source in self._sources)
        return next((values for values in found if values), [])

    def _watch(self) -> None:
        """Announce changes from a client's first look at a list on."""
        if not self._watches:
            self._watches = True
            for source in self._sources:
                source.watch(self.announce)


def _refusal(error: Exception) -> Exception | None:
    """What a disk or a database refused, in words for the caller; None for every other error."""
    if isinstance(error, ClewError | RpcError):
        return None
    from clew.kit.system_errors import refusal

    return refusal(error)
