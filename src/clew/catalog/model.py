"""The declaration of a tool: one object from which lists, checks, docs and help follow."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from clew.kit.answer import Answer
    from clew.kit.call import Call
    from clew.kit.jsontext import JsonObject

    Handler = Callable[[JsonObject, Call], Answer]

# What a tool does to the world, and the hints that hosts derive from it.
READS = {"readOnlyHint": True, "destructiveHint": False, "idempotentHint": True}
WRITES = {"readOnlyHint": False, "destructiveHint": False, "idempotentHint": False}
SETS = {"readOnlyHint": False, "destructiveHint": False, "idempotentHint": True}
ENDS = {"readOnlyHint": False, "destructiveHint": True, "idempotentHint": True}


class Tool:
    """One tool, as data."""

    __slots__ = (
        "accepted_schema",
        "annotations",
        "core",
        "description",
        "face",
        "handler",
        "input_schema",
        "name",
        "original",
        "output_schema",
        "prefixed_name",
        "slow",
        "title",
        "toolset",
    )

    def __init__(  # noqa: PLR0913 - a declaration has as many fields as it has
        self,
        name: str,
        description: str,
        *,
        title: str,
        face: str,
        toolset: str,
        effect: dict[str, bool],
        handler: Handler,
        properties: JsonObject | None = None,
        also_accepts: JsonObject | None = None,
        required: tuple[str, ...] = (),
        output: JsonObject | None = None,
        prefixed_name: str | None = None,
        open_world: bool = False,
        slow: bool = False,
        original: bool = True,
        core: bool = False,
    ) -> None:
        self.name = name
        self.title = title
        self.description = description
        self.face = face
        self.toolset = toolset
        self.handler = handler
        self.prefixed_name = prefixed_name or name
        self.slow = slow
        self.original = original
        self.core = core
        self.input_schema: JsonObject = {"type": "object", "properties": properties or {}}
        if required:
            self.input_schema["required"] = list(required)
        # Callers see what is documented; what they may send can be more.
        self.accepted_schema = self.input_schema
        if also_accepts:
            accepted = {**self.input_schema["properties"], **also_accepts}
            self.accepted_schema = {**self.input_schema, "properties": accepted}
        self.output_schema: JsonObject = output or object_schema({"message": STRING})
        self.annotations = {"title": title, **effect, "openWorldHint": open_world}

    @property
    def read_only(self) -> bool:
        """Whether the tool only reads."""
        return self.annotations["readOnlyHint"] is True

    def wire(self, name: str) -> JsonObject:
        """The tool as `tools/list` shows it under this name."""
        return {
            "name": name,
            "title": self.title,
            "description": self.description,
            "inputSchema": self.input_schema,
            "outputSchema": self.output_schema,
            "annotations": self.annotations,
        }


STRING: JsonObject = {"type": "string"}
INTEGER: JsonObject = {"type": "integer"}
NUMBER: JsonObject = {"type": "number"}
BOOLEAN: JsonObject = {"type": "boolean"}
STRINGS: JsonObject = {"type": "array", "items": {"type": "string"}}


def string(description: str) -> JsonObject:
    """A string parameter with its explanation."""
    return {"type": "string", "description": description}


def integer(description: str) -> JsonObject:
    """An integer parameter with its explanation."""
    return {"type": "integer", "description": description}


def boolean(description: str) -> JsonObject:
    """A boolean parameter with its explanation."""
    return {"type": "boolean", "description": description}


def strings(description: str) -> JsonObject:
    """A parameter that is a list of strings, with its explanation."""
    return {"type": "array", "items": {"type": "string"}, "description": description}


def nullable(schema: JsonObject) -> JsonObject:
    """The same type, or null."""
    return {**schema, "type": [schema["type"], "null"]}


def object_schema(properties: JsonObject, *required: str) -> JsonObject:
    """The schema of an object whose named properties are required."""
    schema: JsonObject = {"type": "object", "properties": properties}
    if required:
        schema["required"] = list(required)
    return schema


def list_schema(items: JsonObject) -> JsonObject:
    """The schema of a list result, wrapped under `result` because results are objects."""
    return object_schema({"result": {"type": "array", "items": items}}, "result")
