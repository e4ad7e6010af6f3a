"""What the declarations of history's tools share: their face, and schemas of commits."""

from __future__ import annotations

from clew.catalog.model import INTEGER, READS, STRING, Tool, object_schema

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from clew.catalog.model import Handler
    from clew.kit.jsontext import JsonObject

FRESHNESS: JsonObject = {"freshness": {"type": "object"}}


def history_tool(name: str, description: str, handler: Handler, **declared: Any) -> Tool:
    """A tool of this room; all of them only read."""
    return Tool(
        f"commitmux_{name}",
        description,
        face="commitmux",
        toolset="history",
        handler=handler,
        effect=READS,
        **declared,
    )


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


def with_freshness(schema: JsonObject) -> JsonObject:
    """The schema of an answer that may say, beside what it found, how fresh the index is."""
    return {**schema, "properties": {**schema["properties"], **FRESHNESS}}


def one_of(*options: str) -> JsonObject:
    """One of these words; the first is the default."""
    return {"type": "string", "enum": list(options), "default": options[0]}
