"""The registry file: validated when read, written in the documented format."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from clew.commands.files.declarations import (
    declared_variables,
    is_name,
    is_true,
    names_of,
    text_of,
)
from clew.commands.files.disk import read_text
from clew.commands.files.errors import RegistryFailure
from clew.commands.files.layers import LARGEST_REGISTRY
from clew.commands.model import Command, Options
from clew.kit import jsontext
from clew.kit.errors import ClewError, NotFound
from clew.kit.files import write_atomic

VERSION = "1.0.0"
DESCRIPTION = "Commands of this project"
_REPAIR = "Repair the file, or regenerate it: clew command export"


def read_registry(path: str, agent: str, origin: str) -> tuple[list[Command], list[str]] | None:
    """A registry's commands and what is wrong with single records; None where no file is."""
    try:
        document = jsontext.loads(read_text(path, LARGEST_REGISTRY))
    except NotFound:
        return None
    except jsontext.JsonError as error:
        raise RegistryFailure(path, f"Not JSON: {error}", _REPAIR) from None
    except ClewError as error:
        raise RegistryFailure(path, error.message, _REPAIR) from None
    tools = document.get("tools") if isinstance(document, dict) else None
    records = tools.get("commands") if isinstance(tools, dict) else None
    if not isinstance(records, list):
        raise RegistryFailure(path, 'Expected {"tools": {"commands": [...]}}', _REPAIR)
    commands, problems = [], []
    for number, record in enumerate(records):
        command = _from_record(record, agent, origin, path)
        if command is None:
            problems.append(f"Record {number + 1} has no usable c1, c2 and c3")
        else:
            commands.append(command)
    return commands, problems


def _from_record(record: Any, agent: str, origin: str, path: str) -> Command | None:
    if not isinstance(record, dict) or not all(is_name(record.get(k)) for k in ("c1", "c2", "c3")):
        return None
    address = (record["c1"], record["c2"], record["c3"])
    command = Command(*address, agent=agent, origin=origin, source=path, record=record)
    return declared_command(command, record)


def declared_command(command: Command, declared: Mapping[str, Any]) -> Command:
    """The command with the texts, options and variables of a record or of frontmatter."""
    return replace(
        command,
        description=text_of(declared.get("description")),
        usage=text_of(declared.get("usage")),
        options=read_options(declared.get("options")),
        title=text_of(declared.get("title")),
        variables=declared_variables(declared),
        tags=names_of(declared.get("tags")),
    )


def read_options(declared: Any) -> Options:
    """The options that a record or frontmatter declares."""
    given = declared if isinstance(declared, dict) else {}
    return Options(
        edition=names_of(given.get("edition")),
        adaptation=names_of(given.get("adaptation")),
        file=is_true(given.get("file")),
        stdin=is_true(given.get("stdin")),
        destination=is_true(given.get("destination")),
    )


def record_of(command: Command) -> dict[str, Any]:
    """A command as a registry holds it."""
    record: dict[str, Any] = {**command.parts, "description": command.description}
    if command.usage:
        record["usage"] = command.usage
    record["options"] = command.options.record()
    if command.variables:
        record["uv"] = [{variable.name: variable.description} for variable in command.variables]
    return record


def registry_document(commands: Iterable[Command]) -> dict[str, Any]:
    """A whole registry file."""
    listed = list(commands)
    domains = list(dict.fromkeys(command.c1 for command in listed))
    return {
        "version": VERSION,
        "description": DESCRIPTION,
        "tools": {
            "availableConfigs": domains,
            "commands": [record_of(command) for command in listed],
        },
    }


def write_registry(path: str, commands: Iterable[Command]) -> None:
    """Write a registry file, whole or not at all."""
    write_atomic(Path(path), jsontext.pretty(registry_document(commands)) + "\n")
