"""Commands made of tools: options and arguments from the schema, the answer as a table or text."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from functools import cache
from shlex import quote
from typing import TYPE_CHECKING, Any

import click

from clew.cli.core.app import command
from clew.cli.core.arguments import placed_words
from clew.cli.core.completion import (
    complete_path,
    complete_repo,
    complete_revision,
    complete_spec,
    complete_target,
)
from clew.cli.core.hints import own_commands, quoted_commands
from clew.cli.core.options import (
    all_repos_option,
    combined,
    database_option,
    no_index_option,
    project_option,
    repeatable,
    timestamp,
)
from clew.cli.core.surroundings import Surroundings, current_face
from clew.cli.core.terminal import is_terminal
from clew.cli.core.views import view_of
from clew.kit.call import Call
from clew.kit.outcome import Day, Hint, Hits, Outcome, Table

if TYPE_CHECKING:
    from clew.catalog.model import Command, Tool
    from clew.kit.jsontext import JsonObject

_SETTINGS = {
    "db": database_option,
    "memory": repeatable("--dir", "memory", "Directory of notes. Also CLEW_MEMORY.", metavar="DIR"),
    "project": project_option,
}
_TYPES: dict[str, type] = {"integer": int, "number": float}
_TELLING_SHARE = 0.005
_DATES = ("since", "until")
_COMPLETIONS = {"target": complete_target, "task": complete_spec}
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
    by_place = _by_place(tool)
    parameters: list[click.Parameter] = []
    if "repo" in by_place:
        parameters += _placed_parameters(by_place)
    else:
        parameters += [
            _argument(name, word, schema["properties"][name]) for name, word in by_place.items()
        ]
    parameters += [
        _option(name, property_, declared.options.get(name) or _COMMON.get(name))
        for name, property_ in schema["properties"].items()
        if name not in by_place and name not in declared.given
    ]
    settings = [_SETTINGS[name] for name in declared.settings]
    if "db" in declared.settings:
        settings.append(no_index_option)
        if tool.toolset == "history" and "repos" in schema["properties"]:
            settings.append(all_repos_option)

    @combined(*settings)
    def ask(**options: Any) -> Outcome:
        return _asked(tool, options)

    return command(name=declared.name, params=parameters, help=declared.help)(ask)


def _by_place(tool: Tool) -> dict[str, str]:
    """The arguments by place, with the word that the usage line has for each."""
    words = _declared(tool).arguments
    if words is None:
        words = " ".join(tool.input_schema.get("required", ())).upper()
    return {word.strip("[].").lower(): word for word in words.split()}


def _placed_parameters(by_place: dict[str, str]) -> list[click.Parameter]:
    """Words of which the first may be a repository; without it, the one of the working directory."""
    shown = " ".join("[REPO]" if name == "repo" else word for name, word in by_place.items())
    complete = complete_path if "path" in by_place else complete_revision
    return [
        click.Argument(["words"], nargs=-1, metavar=shown, shell_complete=complete),
        click.Option(
            ["--repo", "repo"],
            metavar="NAME",
            shell_complete=complete_repo,
            help="A registered repository.",
        ),
    ]


def _declared(tool: Tool) -> Command:
    assert tool.command is not None
    return tool.command


def _argument(name: str, word: str, schema: JsonObject) -> click.Argument:
    return click.Argument(
        [name],
        nargs=-1 if word.endswith("...") else 1,
        required=not word.startswith("["),
        type=_TYPES.get(schema["type"]),
        shell_complete=_COMPLETIONS.get(name),
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
        shell_complete=complete_repo if name in ("repo", "repos") else None,
    )


def _asked(tool: Tool, options: dict[str, Any]) -> Outcome:
    """What the tool answers to these options."""
    declared, properties = _declared(tool), tool.input_schema["properties"]
    given = {name: options.pop(name) for name in declared.settings}
    settings = {name: _place(value) for name, value in given.items() if value}
    if options.pop("no_index", False):
        settings["index"] = "no"
    words, every = options.pop("words", None), options.pop("all_repos", False)
    is_here = not (every or options.get("repos") or options.get("repo"))
    if words is not None:
        placed = placed_words(list(words), _by_place(tool), options, settings)
        is_here = is_here and placed.get("repo") not in words
        options |= {name: value for name, value in placed.items() if name in properties}
    sent = {name: _sent(name, value, properties[name]) for name, value in options.items()}
    arguments = {
        name: value
        for name, value in sent.items()
        if value is not None and value is not False and value != []
    }
    if "db" in declared.settings:
        _settle_scope(tool, arguments, settings, every=every)
    answer = tool.handler({**arguments, **declared.given}, Call(settings=settings))
    data: Any = answer.data
    if isinstance(data, dict) and data.get("freshness"):
        _tell_freshness(data["freshness"])
    parts = _parts(declared, data, answer.text)
    following = data.get("next") if isinstance(data, dict) else None
    if following:
        line = command_line(following["tool"], following["arguments"], is_here=is_here)
        parts = (*parts, Hint(f"Next: {line}"))
    return Outcome(data, parts)


def _parts(declared: Command, data: Any, text: str) -> tuple[str | Table, ...]:
    """What is shown of an answer: a table and notes, or the lines for whoever watches no terminal."""
    is_empty = bool(declared.table) and not data[declared.table.partition(":")[0]]
    if declared.lines and not is_empty and not is_terminal(sys.stdout):
        lines = tuple(declared.lines(data))
        if lines:
            return lines
    own = view_of(data)
    if own is not None:
        return own
    notes = tuple(declared.notes(data)) if declared.notes else ()
    return _listed(data, declared.table, notes) if declared.table else notes or (text,)


def _tell_freshness(found: JsonObject) -> None:
    """Say what the index does not have."""
    from clew.cli.core.streams import say
    from clew.history.sync.freshness import freshness_lines

    for line in freshness_lines(found):
        say(line)


def command_line(name: str, arguments: JsonObject, *, is_here: bool = False) -> str:
    """The command that asks a tool of history, in the words of the face in use.

    Under `clew` a repository need not be named to somebody who stands in it.
    """
    from clew.history.tools import HISTORY_TOOLS

    if is_here and current_face() == "clew":
        arguments = {key: one for key, one in arguments.items() if key not in ("repo", "repos")}
    tool = next(tool for tool in HISTORY_TOOLS if tool.name == name)
    words = ["commitmux", _declared(tool).name]
    for place in _by_place(tool):
        words += _quoted(place, arguments.get(place))
    for option in command_of(tool).params:
        value = arguments.get(option.name or "")
        if isinstance(option, click.Option) and option.name not in _by_place(tool) and value:
            for one in value if isinstance(value, list) else [value]:
                words += [option.opts[0], *_quoted(option.name, one)]
    return own_commands(" ".join(words))


def _quoted(name: str | None, value: Any) -> list[str]:
    """A value as words of a command line; what is only on or off has none."""
    if value is None or isinstance(value, bool):
        return []
    given = value if isinstance(value, list) else [value]
    return [quote(str(one)[:12] if name in ("sha", "shas") else str(one)) for one in given]


def _settle_scope(
    tool: Tool, arguments: dict[str, Any], settings: dict[str, str], *, every: bool
) -> None:
    """Have the index ready for the repositories that are asked about, by default those of here."""
    here = Surroundings(settings)
    named = tuple(arguments.get("repos", ())) + (
        (arguments["repo"],) if "repo" in arguments else ()
    )
    if tool.toolset != "history":  # these can answer from git alone
        here.bring_along(named, every=every)
        return
    chosen = here.scope(named, every=every)
    if chosen and not named and "repos" in tool.input_schema["properties"]:
        arguments["repos"] = chosen


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
    is_column = keys.get("repo") == ["repo"] and current_face() == "clew"
    if is_column and len({item["repo"] for item in found[items]}) == 1:
        del keys["repo"]  # it says nothing where there is one
    rows = tuple(tuple(_cells(item, some) for some in keys.values()) for item in found[items])
    heads = tuple(heading.replace("_", " ") for heading in keys)
    notes = [Hint(note) if note.startswith("Next: ") else quoted_commands(note) for note in notes]
    parts: list[str | Table] = [(Hits if items == "commits" else Table)(heads, rows), *notes]
    if not rows and found.get("nearest"):
        option = found["emptied_by"].replace("_", "-")
        near = _listed({**found, items: found["nearest"], "total": 0}, table, ())
        return f"Nothing found. Without {option}:", *near
    if not rows:
        parts = ["Nothing found.", *notes]
    if found["total"] > len(rows):
        parts.append(f"{len(rows)} of {found['total']}; --limit shows more.")
    return tuple(parts)


def _cells(item: JsonObject, keys: list[str]) -> str:
    """What stands in a column: the value of its key, or of several with colons between."""
    return (
        _cell(keys[0], item[keys[0]])
        if len(keys) == 1
        else ":".join(_cell(k, item[k]) for k in keys if item[k] is not None)
    )


def _cell(key: str, value: Any) -> str:
    if key in ("date", "last_touch", "last_synced_at"):
        return "never" if value is None else Day(value)
    if key in ("sha", "tip", "head"):
        return value[:12] if value else "?"
    if key in ("share", "confidence"):
        return f"{value:.0%}" if value >= _TELLING_SHARE or not value else "<1%"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        places = [f"{one['path']}:{one['line']}" for one in value if isinstance(one, dict)]
        return places[0] if places else " ".join(map(str, value))
    return "" if value is None else str(value)
