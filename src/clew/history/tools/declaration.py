"""What the declarations of history's tools share: their face, and schemas of commits."""

from __future__ import annotations

from clew.catalog.model import (
    INTEGER,
    READS,
    STRING,
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
    from clew.history.store.interface import HistoryStore
    from clew.history.tools.following import Then
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


def _open_ended(schema: JsonObject) -> JsonObject:
    """The schema of an answer that may name what emptied it, and what to ask next."""
    beside = {
        "emptied_by": STRING,
        "nearest": {"type": "array", "items": {"type": "object"}},
        "next": record({"tool": STRING, "arguments": {"type": "object"}}),
    }
    return {**schema, "properties": {**schema["properties"], **beside}}


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
    then: Then | None = None,
    **declared: Any,
) -> Tool:
    """The tool and the command of a question; `load` imports what answers it."""

    def handler(arguments: JsonObject, call: Call) -> Answer:
        from clew.history.reader import looked_up
        from clew.history.tools.following import nearest, next_call, next_line
        from clew.kit.answer import Answer

        given = dict(arguments)
        needed = [given.pop(argument) for argument in required]
        repos = arguments.get("repos") or ([arguments["repo"]] if "repo" in arguments else None)

        def work(store: HistoryStore) -> JsonObject:
            def ask(options: JsonObject) -> JsonObject:
                return load()(store, *needed, **options)

            found = ask(given)
            items = command.table.partition(":")[0]
            is_empty = bool(items) and not found[items]
            return found | nearest(ask, given, items) if is_empty else found

        found, fresh = looked_up(call, work, repos)
        data = {**found, "freshness": fresh, **next_call(then, found, arguments)}
        if command.lines is None or not found[command.table.partition(":")[0]]:
            return Answer.of(data)
        return Answer("\n".join([*command.lines(found), *next_line(data)]), data=data)

    command.settings = ("db",)
    return history_tool(
        name,
        description,
        handler,
        original=False,
        required=required,
        output=with_freshness(_open_ended(output)),
        command=command,
        **declared,
    )
