"""What the declarations of history's tools share: their face, and schemas of commits."""

from __future__ import annotations

from clew.catalog.model import (
    INTEGER,
    READS,
    Tool,
    integer,
    numbers,
    record,
    records,
    string,
    texts,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from clew.catalog.model import Command, Handler
    from clew.kit.answer import Answer
    from clew.kit.call import Call
    from clew.kit.jsontext import JsonObject

    Find = Callable[..., JsonObject]

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


def with_freshness(schema: JsonObject) -> JsonObject:
    """The schema of an answer that may say, beside what it found, how fresh the index is."""
    return {**schema, "properties": {**schema["properties"], **FRESHNESS}}


REPO = string("Repo name")
SHA = string("Commit SHA")
SINCE = integer("Unix time, committed not before")
UNTIL = integer("Unix time, committed not after")
REV: JsonObject = {**string("Commit or branch"), "default": "HEAD"}
COMMIT: JsonObject = {**texts("repo sha subject author"), "date": INTEGER}


def limit_schema(default: int) -> JsonObject:
    """A limit with its default."""
    return {**INTEGER, "default": default}


def page_schema(items: str, properties: JsonObject, **beside: JsonObject) -> JsonObject:
    """A bounded list of objects, with what stands beside it."""
    return record({**numbers("total limit"), **beside, items: records(properties)})


def question(
    name: str,
    description: str,
    load: Callable[[], Find],
    command: Command,
    *,
    required: tuple[str, ...] = (),
    output: JsonObject,
    **declared: Any,
) -> Tool:
    """The tool and the command of a question; `load` imports what answers it."""

    def handler(arguments: JsonObject, call: Call) -> Answer:
        from clew.history.reader import looked_up
        from clew.kit.answer import Answer

        given = dict(arguments)
        needed = [given.pop(argument) for argument in required]
        repos = arguments.get("repos") or ([arguments["repo"]] if "repo" in arguments else None)
        found, fresh = looked_up(call, lambda store: load()(store, *needed, **given), repos)
        return Answer.of({**found, "freshness": fresh})

    command.settings = ("db",)
    return history_tool(
        name,
        description,
        handler,
        original=False,
        required=required,
        output=with_freshness(output),
        command=command,
        **declared,
    )
