"""The declaration of a tool: one object from which lists, checks, docs and help follow."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from clew.kit.answer import Answer
    from clew.kit.call import Call
    from clew.kit.jsontext import JsonObject

    Handler = Callable[[JsonObject, Call], Answer]
    Notes = Callable[[JsonObject], Iterable[str]]

# What a tool does to the world, and the hints that hosts derive from it.
READS = {"readOnlyHint": True, "destructiveHint": False, "idempotentHint": True}
WRITES = {"readOnlyHint": False, "destructiveHint": False, "idempotentHint": False}
SETS = {"readOnlyHint": False, "destructiveHint": False, "idempotentHint": True}
ENDS = {"readOnlyHint": False, "destructiveHint": True, "idempotentHint": True}


class Command:
    """The command that asks a tool; its arguments and options follow from the tool's schema.

    `arguments` is its usage line: `REPO [PATH]`, `QUERY...`; without it, what the tool requires.
    `options` has the help of an option by parameter, or `--in NAME: help` to name it too; `given`
    are arguments that the command always sends and shows no option for.
    `table` lists a part of the answer: `commits: date commit:sha subject` are the items, and a
    key or `heading:key` per column; `notes` are lines below it. `lines` is what is read where nobody
    looks at a terminal, instead of both. Without a table, the answer's text is shown. `settings` are
    options that say where to look: `db`, `project`.
    """

    def __init__(  # noqa: PLR0913 - a declaration has as many fields as it has
        self,
        name: str,
        summary: str,
        help_text: str,
        *,
        arguments: str | None = None,
        options: dict[str, str] | None = None,
        given: JsonObject | None = None,
        table: str = "",
        notes: Notes | None = None,
        lines: Notes | None = None,
        settings: tuple[str, ...] = (),
    ) -> None:
        self.name = name
        self.summary = summary
        self.help = help_text
        self.arguments = arguments
        self.options = options or {}
        self.given = given or {}
        self.table = table
        self.notes = notes
        self.lines = lines
        self.settings = settings


class Tool:
    """One tool, as data."""

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
        also_declares: JsonObject | None = None,
        hint: str = "",
        required: tuple[str, ...] = (),
        output: JsonObject | None = None,
        prefixed_name: str | None = None,
        open_world: bool = False,
        slow: bool = False,
        original: bool = True,
        core: bool = False,
        command: Command | None = None,
    ) -> None:
        self.name = name
        self.command = command
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
        # What is documented is `input_schema`. MCP clients are shown more where a tool declares it,
        # with a hint in its description; what callers may send can be more still.
        self.hint = hint
        self.declared_schema = self.input_schema
        if also_declares:
            declared = {**self.input_schema["properties"], **also_declares}
            self.declared_schema = {**self.input_schema, "properties": declared}
        self.accepted_schema = self.declared_schema
        if also_accepts:
            accepted = {**self.declared_schema["properties"], **also_accepts}
            self.accepted_schema = {**self.input_schema, "properties": accepted}
        self.output_schema: JsonObject = output or object_schema({"message": STRING})
        self.annotations = {"title": title, **effect, "openWorldHint": open_world}

    @property
    def read_only(self) -> bool:
        """Whether the tool only reads."""
        return self.annotations["readOnlyHint"] is True

    @property
    def only_computes(self) -> bool:
        """Whether a call reads what is on this machine, answers soon, and asks nobody."""
        return self.read_only and not self.slow and not self.annotations["openWorldHint"]

    def wire(self, name: str) -> JsonObject:
        """The tool as `tools/list` shows it under this name."""
        return {
            "name": name,
            "title": self.title,
            "description": f"{self.description}. {self.hint}" if self.hint else self.description,
            "inputSchema": self.declared_schema,
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


def texts(names: str) -> JsonObject:
    """Properties that are strings."""
    return dict.fromkeys(names.split(), STRING)


def numbers(names: str) -> JsonObject:
    """Properties that are integers."""
    return dict.fromkeys(names.split(), INTEGER)


def record(properties: JsonObject) -> JsonObject:
    """An object that has all of these."""
    return object_schema(properties, *properties)


def records(properties: JsonObject) -> JsonObject:
    """A list of such objects."""
    return {"type": "array", "items": record(properties)}


def one_of(*options: str) -> JsonObject:
    """One of these words; the first is the default."""
    return {"type": "string", "enum": list(options), "default": options[0]}


def list_schema(items: JsonObject) -> JsonObject:
    """The schema of a list result, wrapped under `result` because results are objects."""
    return object_schema({"result": {"type": "array", "items": items}}, "result")
