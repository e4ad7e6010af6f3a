"""Writing templates: frontmatter from data, and files that never overwrite by accident."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from clew.commands.files import paths
from clew.commands.files.templates import file_name
from clew.kit import jsontext
from clew.kit.errors import Conflict
from clew.kit.files import write_atomic
from clew.kit.text.display import shown_path

if TYPE_CHECKING:
    from clew.commands.files.layers import Layer
    from clew.commands.model import Command

_PLAIN = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./ ()'")
_AMBIGUOUS = {"true", "false", "null", "yes", "no", "on", "off"}


def frontmatter_text(meta: dict[str, Any]) -> str:
    """A mapping as frontmatter, with both rules."""
    return "\n".join(["---", *_lines(meta, ""), "---", ""])


def _lines(meta: dict[str, Any], indent: str) -> list[str]:
    lines: list[str] = []
    for key, value in meta.items():
        if isinstance(value, dict):
            lines += [f"{indent}{key}:", *_lines(value, f"{indent}  ")]
        elif isinstance(value, list) and any(isinstance(item, dict) for item in value):
            lines.append(f"{indent}{key}:")
            for item in value:
                inner = _lines(item, f"{indent}    ")
                lines += [f"{indent}  - {inner[0].strip()}", *inner[1:]]
        else:
            lines.append(f"{indent}{key}: {_scalar(value)}")
    return lines


def _scalar(value: Any) -> str:
    if isinstance(value, list):
        return jsontext.dumps([str(item) for item in value]).replace('","', '", "')
    if isinstance(value, bool):
        return "true" if value else "false"
    text = " ".join(str(value).split())
    plain = text[:1].isalpha() and _PLAIN.issuperset(text) and text.lower() not in _AMBIGUOUS
    return text if plain else jsontext.dumps(text)


def command_frontmatter(command: Command) -> dict[str, Any]:
    """A command as its template's frontmatter declares it."""
    options = command.options
    meta: dict[str, Any] = {
        "c1": command.c1,
        "c2": command.c2,
        "c3": command.c3,
        "title": command.title or command.label,
        "description": command.description,
        "usage": command.usage or f"climpt {command.label}",
        "c3l_version": "0.5",
        "options": {
            "edition": list(options.edition) or ["default"],
            "adaptation": list(options.adaptation),
            "file": options.file,
            "stdin": options.stdin,
            "destination": options.destination,
        },
    }
    if command.variables:
        meta["uv"] = [{v.name: v.description or v.name} for v in command.variables]
    if command.tags:
        meta["tags"] = list(command.tags)
    return meta


def template_path(
    layer: Layer, command: Command, edition: str = "default", adaptation: str = ""
) -> str:
    """Where a command's template belongs in a layer, as `prompts/<c1>/<c2>/<c3>` has it."""
    directory = paths.join(layer.base, "prompts", *command.address)
    return paths.join(directory, file_name(edition, adaptation))


def write_template(layer: Layer, path: str, text: str, *, force: bool = False) -> None:
    """Write a template inside a layer; what exists stays unless it is forced."""
    if paths.exists(path) and not force:
        raise Conflict(f"{shown_path(path)} exists already", "Edit it, or add --force.")
    paths.confined(paths.join(layer.base, "prompts"), path)
    write_atomic(Path(path), text)
