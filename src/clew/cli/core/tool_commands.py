"""Commands made of tools: options and arguments from the schema, the answer as a table or text."""

from __future__ import annotations

import os
from collections.abc import Iterable
from functools import cache
from shlex import quote
from typing import TYPE_CHECKING, Any

import click

from clew.cli.core.app import command
from clew.cli.core.options import combined, database_option, project_option, repeatable, timestamp
from clew.kit.call import Call
from clew.kit.outcome import Outcome, Table
from clew.kit.times import day_text

if TYPE_CHECKING:
    from clew.catalog.model import Command, Tool
    from clew.kit.jsontext import JsonObject

_SETTINGS = {
    "db": database_option,
    "memory": repeatable("--dir", "memory", "Directory of notes. Also CLEW_MEMORY.", metavar="DIR"),
    "project": project_option,
}
_TYPES: dict[str, type] = {"integer": int, "number": float}
_DATES = ("since", "until")
# The options that many tools share; what a tool's command says itself goes before them.
_COMMON = {
    "budget": "Maximum number of tokens.",
    "limit": "Maximum number of results.",
    "mode": "Search by meaning, by words, or both.",
    "paths": "--path PART: Only these paths.",
    "repos": "--repo NAME: Only these repositories.",
    "rev": "Look at the file as of this commit.",
    "since": "--since DATE: Earliest date: 2024-01-31, '2 weeks ago' or a Unix timestamp.",
    "until": "--until DATE: Latest date, in the same forms.",
}


@cache
def command_of(tool: Tool) -> click.Command:
    """The command that asks a tool."""
    declared, schema = _declared(tool), tool.input_schema
    words = declared.arguments
    if words is None:
        words = " ".join(schema.get("required", ())).upper()
    by_place = {word.strip("[].").lower(): word for word in words.split()}
    parameters: list[click.Parameter] = [
        _argument(name, word, schema["properties"][name]) for name, word in by_place.items()
    ]
    parameters += [
        _option(name, property_, declared.options.get(name) or _COMMON.get(name))
        for name, property_ in schema["properties"].items()
        if name not in by_place and name not in declared.given
    ]

    @combined(*(_SETTINGS[name] for name in declared.settings))
    def ask(**options: Any) -> Outcome:
        return _asked(tool, options)

    return command(name=declared.name, params=parameters, help=declared.help)(ask)


def _declared(tool: Tool) -> Command:
    assert tool.command is not None
    return tool.command


def _argument(name: str, word: str, schema: JsonObject) -> click.Argument:
    return click.Argument(
        [name],
        nargs=-1 if word.endswith("...") else 1,
        required=not word.startswith("["),
        type=_TYPES.get(schema["type"]),
    )


def _option(name: str, schema: JsonObject, text: str | None) -> click.Option:
    """An option by its schema, and its help: `help`, or `--in NAME: help`."""
    text = text or f"{schema['description']}."
    word, metavar = f"--{name.replace('_', '-')}", ""
    if text.startswith("--"):
        written, _, text = text.partition(": ")
        word, _, metavar = written.partition(" ")
    items = schema.get("items", schema)
    is_list = schema["type"] == "array"
    kind: Any = click.Choice(items["enum"]) if "enum" in items else _TYPES.get(items["type"])
    if name in _DATES:
        kind = None
    elif metavar == "FILENAME":
        kind, metavar = click.File(encoding="utf-8", errors="replace"), ""
    return click.Option(
        [word, name],
        type=kind,
        metavar=metavar or None,
        is_flag=schema["type"] == "boolean",
        multiple=is_list,
        default=schema.get("default"),
        show_default="default" in schema,
        help=text.removesuffix(".") + "; repeatable." if is_list else text,
    )


def _asked(tool: Tool, options: dict[str, Any]) -> Outcome:
    """What the tool answers to these options."""
    declared, properties = _declared(tool), tool.input_schema["properties"]
    settings = {name: options.pop(name) for name in declared.settings}
    sent = {name: _sent(name, value, properties[name]) for name, value in options.items()}
    arguments = {
        name: value
        for name, value in sent.items()
        if value is not None and value is not False and value != []
    }
    if settings.get("db") or os.environ.get("CLEW_DATABASE"):
        from clew.program import offer_engines

        offer_engines()
    call = Call(settings={name: _place(value) for name, value in settings.items() if value})
    answer = tool.handler({**arguments, **declared.given}, call)
    data: Any = answer.data
    notes = tuple(declared.notes(data)) if declared.notes else ()
    parts = _listed(data, declared.table, notes) if declared.table else notes or (answer.text,)
    following = data.get("next") if isinstance(data, dict) else None
    if following:
        parts = (*parts, f"Next: {command_line(following['tool'], following['arguments'])}")
    return Outcome(data, parts)


def command_line(name: str, arguments: JsonObject) -> str:
    """The command that asks a tool of history, in the words of the face in use."""
    from clew.history.tools import HISTORY_TOOLS

    tool = next(tool for tool in HISTORY_TOOLS if tool.name == name)
    asked = command_of(tool)
    context = click.get_current_context(silent=True)
    root = context.find_root().info_name if context is not None else None
    words = ["clew", "history"] if root == "clew" else ["commitmux"]
    words.append(_declared(tool).name)
    for parameter in sorted(asked.params, key=lambda one: isinstance(one, click.Option)):
        value = arguments.get(parameter.name or "")
        if value is None or value is False:
            continue
        for one in value if isinstance(value, list) else [value]:
            if isinstance(parameter, click.Option):
                words.append(parameter.opts[0])
            if one is not True:
                words.append(quote(_short(parameter.name, str(one))))
    return " ".join(words)


def _short(name: str | None, value: str) -> str:
    return value[:12] if name in ("sha", "shas") else value


def _place(value: str | tuple[str, ...]) -> str:
    return value if isinstance(value, str) else os.pathsep.join(value)


def _sent(name: str, value: Any, schema: JsonObject) -> Any:
    """A value as the tool takes it: words as one text, dates in seconds, files read."""
    if name in _DATES and value is not None:
        seconds = timestamp(value)
        return seconds if schema["type"] == "integer" else value
    if isinstance(value, tuple):
        return list(value) if schema["type"] == "array" else " ".join(value)
    return value.read() if hasattr(value, "read") else value


def _listed(found: JsonObject, table: str, notes: Iterable[str]) -> tuple[str | Table, ...]:
    """The items as a table: a heading and the keys behind it per column."""
    items, _, columns = table.partition(": ")
    named = [word.split(":") for word in columns.split()]
    keys = {heading: behind or [heading] for heading, *behind in named}
    rows = tuple(
        tuple(":".join(_cell(key, item[key]) for key in some) for some in keys.values())
        for item in found[items]
    )
    heads = tuple(heading.replace("_", " ") for heading in keys)
    parts: list[str | Table] = [Table(heads, rows), *notes]
    if not rows and found.get("nearest"):
        option = found["emptied_by"].replace("_", "-")
        near = _listed({**found, items: found["nearest"], "total": 0}, table, ())
        return f"Nothing found. Without {option}:", *near
    if not rows:
        parts = ["Nothing found.", *notes]
    if found["total"] > len(rows):
        parts.append(f"{len(rows)} of {found['total']}; --limit shows more.")
    return tuple(parts)


def _cell(key: str, value: Any) -> str:
    if key in ("date", "last_touch", "last_synced_at"):
        return "never" if value is None else day_text(value)
    if key in ("sha", "tip", "head"):
        return value[:12] if value else "?"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return " ".join(map(str, value))
    return "" if value is None else str(value)
