"""Templates written: new ones, copies to edit, and the packaged ones put into a project."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from os.path import join, lexists
from pathlib import Path
from typing import Any

from clew.commands.files.declarations import check_name, is_variable_name
from clew.commands.files.disk import confined, read_text
from clew.commands.files.layers import (
    CONFIG_FILES,
    DEFAULT_AGENT,
    DEFAULT_REGISTRY,
    PACKAGED,
    Layer,
    find_layers,
)
from clew.commands.files.templates import file_name, find_home
from clew.commands.model import Command
from clew.commands.registry.registry import shelf, unique
from clew.commands.registry.registry_file import write_registry
from clew.commands.registry.scan import find_folders
from clew.commands.render.describe import explain_miss
from clew.commands.render.render import DESTINATION, FILE, INPUT, VARIABLE
from clew.kit import jsontext
from clew.kit.errors import Conflict, UsageError
from clew.kit.files import write_atomic
from clew.kit.text.display import shown_path
from clew.kit.text.frontmatter import read_leniently

_PLAIN = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./ ()'")
_AMBIGUOUS = {"true", "false", "null", "yes", "no", "on", "off"}
_STEPS = """\
1. Look at what there is before you change anything.
2. Do the work.
3. Check the result."""


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
        return f"[{', '.join(jsontext.dumps(str(item)) for item in value)}]"
    if isinstance(value, bool):
        return "true" if value else "false"
    text = " ".join(str(value).split())
    plain = text[:1].isalpha() and _PLAIN.issuperset(text) and text.lower() not in _AMBIGUOUS
    return text if plain else jsontext.dumps(text)


def command_text(command: Command, body: str) -> str:
    """A template: the command as its frontmatter declares it, then the body."""
    options = command.options.record()
    meta: dict[str, Any] = {
        **command.parts,
        "title": command.title or command.label,
        "description": command.description,
        "usage": command.usage or f"climpt {command.label}",
        "c3l_version": "0.5",
        "options": {**options, "edition": options["edition"] or ["default"]},
    }
    if command.variables:
        meta["uv"] = [{v.name: v.description or v.name} for v in command.variables]
    if command.tags:
        meta["tags"] = list(command.tags)
    return f"{frontmatter_text(meta)}\n{body}\n"


def new_template(command: Command) -> str:
    """A template for this command that passes lint."""
    for kind, name in zip(("domain", "action", "target"), command.address, strict=True):
        check_name(kind, name)
    for variable in command.variables:
        if not is_variable_name(variable.name):
            raise UsageError(
                f"Not a usable variable: {variable.name}",
                "Variables have letters, digits, `-` and `_`, and begin with a letter.",
            )
    parts = [f"# {command.title or command.label}", command.description]
    if command.variables:
        listed = [f"- {v.description or v.name}: {{{VARIABLE}{v.name}}}" for v in command.variables]
        parts += ["## What is given", "\n".join(listed)]
    if command.options.file:
        parts.append(f"Read `{{{FILE}}}`.")
    parts += ["## Steps", _STEPS]
    if command.options.destination:
        parts.append(f"Write the result to `{{{DESTINATION}}}`.")
    if command.options.stdin:
        parts += ["## Input", f"{{{INPUT}}}"]
    return command_text(command, "\n\n".join(part for part in parts if part))


def copied_template(
    address: tuple[str, str, str],
    original: tuple[str, str, str],
    settings: Mapping[str, str] | None,
) -> tuple[Command, str]:
    """Another command under a new address, and its template."""
    home = find_home(DEFAULT_AGENT, original, settings)
    chosen = home.template() if home else None
    known = unique(shelf(DEFAULT_AGENT, settings).registry(fresh=True).commands)
    like = next((one for one in known if one.address == original), None)
    if chosen is None or like is None:
        raise explain_miss(DEFAULT_AGENT, original, settings)
    for kind, name in zip(("domain", "action", "target"), address, strict=True):
        check_name(kind, name)
    c1, c2, c3 = address
    only = replace(like.options, edition=("default",), adaptation=())
    made = replace(like, c1=c1, c2=c2, c3=c3, usage="", options=only)
    body = read_leniently(read_text(chosen.path))[1]
    return made, command_text(made, body.strip("\n"))


def template_path(layer: Layer, address: tuple[str, str, str], name: str = "f_default.md") -> str:
    """Where a template belongs in a layer: `prompts/<c1>/<c2>/<c3>/<name>`."""
    return join(layer.base, "prompts", *address, name)


def write_template(layer: Layer, path: str, text: str, *, force: bool = False) -> None:
    """Write a template inside a layer; what exists stays unless it is forced."""
    if lexists(path) and not force:
        raise Conflict(f"{shown_path(path)} already exists", "Edit it, or add --force.")
    confined(join(layer.base, "prompts"), path)
    write_atomic(Path(path), text)


def editable_template(
    address: tuple[str, str, str],
    edition: str,
    adaptation: str,
    agent: str,
    settings: Mapping[str, str] | None,
) -> str:
    """The path of the variant's file; made as a copy where it does not exist or is packaged."""
    check_name("edition", edition)
    if adaptation:
        check_name("adaptation", adaptation)
    home = find_home(agent, address, settings)
    chosen = home.template(edition, adaptation) or home.template() if home else None
    if home is None or chosen is None:
        raise explain_miss(agent, address, settings)
    layer, name = home.layer, file_name(edition, adaptation)
    target = join(home.directory, name)
    if layer.origin == PACKAGED:
        layer = find_layers(settings)[0]
        target = template_path(layer, address, name)
    elif lexists(target):
        return target
    write_template(layer, target, read_text(chosen.path))
    return target


def install(
    settings: Mapping[str, str] | None = None, *, force: bool = False
) -> tuple[str, list[str], list[str]]:
    """Write the packaged templates, a configuration and a registry.

    The project, the paths that were written, and the paths of templates that existed and stay.
    """
    project, *_, packaged = find_layers(settings)
    written: list[str] = []
    kept: list[str] = []
    for folder in find_folders(packaged, DEFAULT_AGENT):
        for name, _, _ in folder.stamps:
            target = template_path(project, folder.address, name)
            if lexists(target) and not force:
                kept.append(target)
                continue
            write_template(project, target, read_text(join(folder.directory, name)), force=force)
            written.append(target)
    config = join(project.root, CONFIG_FILES[0])
    if not lexists(config):
        document = {"registries": {DEFAULT_AGENT: DEFAULT_REGISTRY}}
        write_atomic(Path(config), jsontext.pretty(document) + "\n")
        written.append(config)
    registry = join(project.root, DEFAULT_REGISTRY)
    if not lexists(registry) or force:
        commands = unique(shelf(DEFAULT_AGENT, settings).registry(fresh=True).commands)
        write_registry(registry, (c for c in commands if c.origin == project.origin))
        written.append(registry)
    return project.root, written, kept
