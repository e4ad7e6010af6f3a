"""Commands as prompts and resources: listed, filled in, completed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from clew.commands.files.declarations import Variable, nearest
from clew.commands.files.disk import read_text
from clew.commands.files.errors import CommandFailure
from clew.commands.files.layers import project_root
from clew.commands.files.templates import default_template, find_home, variants
from clew.commands.model import Command
from clew.commands.registry.registry import known_agents, load_commands, unique
from clew.commands.registry.registry_file import registry_document
from clew.commands.render.arguments import request_from_arguments
from clew.commands.render.execute import execute, preview
from clew.commands.render.render import DESTINATION, FILE, INPUT, VARIABLE, names_in
from clew.kit import jsontext
from clew.kit.errors import NotFound
from clew.kit.jsontext import JsonObject

_SCHEME = "climpt://"
_KINDS = {"template": "The template as it is written.", "preview": "The template, unfilled."}
_ADDRESS = ("agent", "c1", "c2", "c3")
_VARIANT = ("edition", "adaptation")
_PATTERN = "/".join(f"{{{part}}}" for part in _ADDRESS)


def list_prompts(settings: Mapping[str, str]) -> list[JsonObject]:
    """Every command of every agent as a prompt."""
    return [
        {
            "name": name,
            "title": command.title or command.label,
            "description": command.description,
            "arguments": _arguments(command, settings),
        }
        for name, command in _by_name(settings).items()
    ]


def _by_name(settings: Mapping[str, str]) -> dict[str, Command]:
    found: dict[str, Command] = {}
    for command in _all_commands(settings):
        parts = (command.agent, *command.address)
        name = "-".join(parts)
        found["_".join(parts) if name in found else name] = command
    return found


def _all_commands(settings: Mapping[str, str]) -> list[Command]:
    found: list[Command] = []
    for agent in known_agents(settings):
        try:
            found += unique(load_commands(agent, settings))
        except CommandFailure:  # the tools report a registry that cannot be read
            continue
    return found


def _arguments(command: Command, settings: Mapping[str, str]) -> list[JsonObject]:
    asked, options = names_in(command.body), command.options
    choices = _choices(command, settings)
    variables = {variable.name: variable for variable in command.variables}
    for name in asked:
        if name.startswith(VARIABLE):
            own = name.removeprefix(VARIABLE)
            variables.setdefault(own, Variable(own))
    found: list[tuple[str, str, bool]] = []
    if INPUT in asked or options.stdin:
        found.append((INPUT, "Text to work on", False))
    found += [(VARIABLE + v.name, v.description, v.required) for v in variables.values()]
    if FILE in asked or options.file:
        found.append(("file", "Path of the file to work on", False))
    if DESTINATION in asked or options.destination:
        found.append(("destination", "Path where the result belongs", False))
    found += [(name, "", False) for name in _VARIANT if choices[name] not in ([], ["default"])]
    return [
        {"name": name, "description": _with_choices(text, choices.get(name)), "required": required}
        for name, text, required in found
    ]


def _with_choices(text: str, choices: list[str] | None) -> str:
    return ". ".join(filter(None, [text, f"One of: {', '.join(choices)}" if choices else ""]))


def _choices(command: Command, settings: Mapping[str, str]) -> dict[str, list[str]]:
    """The values that exist for what can be chosen."""
    options = command.options
    found = {"edition": list(options.edition), "adaptation": list(options.adaptation)}
    if command.record is not None:  # a registry may list variants without a file
        home = find_home(command.agent, command.address, settings)
        there = variants(home.directory) if home else []
        found["edition"] = list(dict.fromkeys(edition for edition, _ in there))
        found["adaptation"] = list(dict.fromkeys(a for _, a in there if a))
    for variable in command.variables:
        if variable.choices:
            found[VARIABLE + variable.name] = list(variable.choices)
    return found


def get_prompt(name: str, arguments: JsonObject, settings: Mapping[str, str]) -> JsonObject:
    """A command's prompt with these arguments filled in."""
    command = _command(name, settings)
    options = {key: value for key, value in arguments.items() if value != ""}
    words = {"agent": command.agent, **command.parts, "options": options}
    request = request_from_arguments(words)
    request.base = project_root(settings)
    text = execute(request, settings).prompt
    message = {"role": "user", "content": {"type": "text", "text": text}}
    return {"description": command.description, "messages": [message]}


def _command(name: str, settings: Mapping[str, str]) -> Command:
    known = _by_name(settings)
    if name not in known:
        near = nearest(name, known)
        hint = f"Did you mean {' or '.join(near)}?" if near else "prompts/list shows all of them."
        raise NotFound(f"Unknown prompt: {name[:100]}", hint)
    return known[name]


def complete(
    reference: JsonObject, name: str, value: str, settings: Mapping[str, str]
) -> list[str]:
    """Values that begin with what was typed, for a prompt's argument or a part of a URI."""
    if reference.get("type") == "ref/prompt":
        command = _by_name(settings).get(str(reference.get("name")))
        found = _choices(command, settings).get(name, []) if command else []
    elif str(reference.get("uri")).startswith(_SCHEME) and name in _ADDRESS:
        found = sorted({getattr(command, name) for command in _all_commands(settings)})
    else:
        found = []
    return [one for one in found if one.startswith(value)]


def list_resources(settings: Mapping[str, str]) -> list[JsonObject]:
    """Every template, and the registry of each agent."""
    templates = [
        {
            "uri": f"{_SCHEME}template/{command.agent}/{'/'.join(command.address)}",
            "name": command.label,
            "title": command.title or command.label,
            "description": command.description,
            "mimeType": "text/markdown",
        }
        for command in _all_commands(settings)
    ]
    listed = [
        {
            "uri": f"{_SCHEME}registry/{agent}",
            "name": f"registry of {agent}",
            "title": f"Commands of {agent}",
            "mimeType": "application/json",
        }
        for agent in known_agents(settings)
    ]
    return [*listed, *templates]


def list_templates() -> list[JsonObject]:
    """The patterns that templates and previews follow."""
    return [
        {
            "uriTemplate": f"{_SCHEME}{kind}/{_PATTERN}",
            "name": kind,
            "title": f"A command's {kind}",
            "description": text,
            "mimeType": "text/markdown",
        }
        for kind, text in _KINDS.items()
    ]


def owns(uri: str) -> bool:
    """Whether a resource is one of these."""
    return uri.startswith(_SCHEME)


def read_resource(uri: str, settings: Mapping[str, str]) -> list[JsonObject]:
    """A template, a preview or a registry."""
    kind, _, rest = uri.removeprefix(_SCHEME).partition("/")
    parts = rest.split("/")
    if kind == "registry" and len(parts) == 1:
        document = registry_document(unique(load_commands(parts[0], settings)))
        return [_contents(uri, "application/json", jsontext.pretty(document))]
    if kind not in _KINDS or len(parts) != len(_ADDRESS):
        raise NotFound(f"Unknown resource: {uri[:200]}")
    agent, c1, c2, c3 = parts
    template = default_template(agent, (c1, c2, c3), settings)
    if template is None:
        raise NotFound(f"Unknown resource: {uri[:200]}", "resources/list shows all of them.")
    text = read_text(template.path)
    return [_contents(uri, "text/markdown", text if kind == "template" else preview(text))]


def _contents(uri: str, kind: str, text: str) -> dict[str, Any]:
    return {"uri": uri, "mimeType": kind, "text": text}
