"""Commands as prompts and resources: listed, filled in, completed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress

from clew.catalog.service import Source
from clew.commands.files.declarations import Variable, nearest
from clew.commands.files.disk import read_text
from clew.commands.files.errors import CommandFailure
from clew.commands.files.layers import project_root
from clew.commands.files.templates import default_template, find_home, variant_names, variants
from clew.commands.model import Command
from clew.commands.registry.registry import known_agents, load_commands, unique
from clew.commands.registry.registry_file import registry_document
from clew.commands.registry.watch import Watcher
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
_MARKDOWN = {"mimeType": "text/markdown"}


class CommandSource(Source):
    """Every command of every agent, as a prompt and as a resource."""

    def __init__(self, settings: Mapping[str, str]) -> None:
        self._settings = settings

    def prompts(self) -> list[JsonObject]:
        """Every command of every agent."""
        return [
            {
                "name": name,
                "title": command.title or command.label,
                "description": command.description,
                "arguments": _arguments(command, self._choices(command)),
            }
            for name, command in self._by_name().items()
        ]

    def get_prompt(self, name: str, arguments: JsonObject) -> JsonObject:
        """A command's prompt with these arguments filled in."""
        known = self._by_name()
        if name not in known:
            near = nearest(name, known)
            hint = (
                f"Did you mean {' or '.join(near)}?" if near else "prompts/list shows all of them."
            )
            raise NotFound(f"Unknown prompt: {name[:100]}", hint)
        command = known[name]
        options = {key: value for key, value in arguments.items() if value != ""}
        words = {"agent": command.agent, **command.parts, "options": options}
        request = request_from_arguments(words)
        request.base = project_root(self._settings)
        text = execute(request, self._settings).prompt
        message = {"role": "user", "content": {"type": "text", "text": text}}
        return {"description": command.description, "messages": [message]}

    def complete(self, reference: JsonObject, name: str, value: str) -> list[str]:
        """Values that begin with what was typed, for a prompt's argument or a part of a URI."""
        if reference.get("type") == "ref/prompt":
            command = self._by_name().get(str(reference.get("name")))
            found = self._choices(command).get(name, []) if command else []
        elif str(reference.get("uri")).startswith(_SCHEME) and name in _ADDRESS:
            found = sorted({getattr(command, name) for command in self._commands()})
        else:
            found = []
        return [one for one in found if one.startswith(value)]

    def resources(self) -> list[JsonObject]:
        """The registry of each agent, and every template."""
        registries = [
            {
                "uri": f"{_SCHEME}registry/{agent}",
                "name": f"registry of {agent}",
                "title": f"Commands of {agent}",
                "mimeType": "application/json",
            }
            for agent in known_agents(self._settings)
        ]
        templates = [
            {
                "uri": f"{_SCHEME}template/{command.agent}/{'/'.join(command.address)}",
                "name": command.label,
                "title": command.title or command.label,
                "description": command.description,
                **_MARKDOWN,
            }
            for command in self._commands()
        ]
        return [*registries, *templates]

    def resource_templates(self) -> list[JsonObject]:
        """The patterns that templates and previews follow."""
        return [
            {
                "uriTemplate": f"{_SCHEME}{kind}/{_PATTERN}",
                "name": kind,
                "title": f"A command's {kind}",
                "description": text,
                **_MARKDOWN,
            }
            for kind, text in _KINDS.items()
        ]

    def read_resource(self, uri: str) -> list[JsonObject] | None:
        """A template, a preview or a registry."""
        if not uri.startswith(_SCHEME):
            return None
        kind, _, rest = uri.removeprefix(_SCHEME).partition("/")
        parts = rest.split("/")
        if kind == "registry" and len(parts) == 1:
            document = registry_document(unique(load_commands(parts[0], self._settings)))
            return [{"uri": uri, "mimeType": "application/json", "text": jsontext.pretty(document)}]
        if kind not in _KINDS or len(parts) != len(_ADDRESS):
            raise NotFound(f"Unknown resource: {uri[:200]}")
        agent, c1, c2, c3 = parts
        template = default_template(agent, (c1, c2, c3), self._settings)
        if template is None:
            raise NotFound(f"Unknown resource: {uri[:200]}", "resources/list shows all of them.")
        text = read_text(template.path)
        return [{"uri": uri, **_MARKDOWN, "text": text if kind == "template" else preview(text)}]

    def watch(self, announce: Callable[[str, str | None], None]) -> None:
        """Announce commands that were added, removed or changed."""
        Watcher(self._settings, announce).start()

    def _commands(self) -> list[Command]:
        found: list[Command] = []
        for agent in known_agents(self._settings):
            with suppress(CommandFailure):  # the tools report a registry that cannot be read
                found += unique(load_commands(agent, self._settings))
        return found

    def _by_name(self) -> dict[str, Command]:
        found: dict[str, Command] = {}
        for command in self._commands():
            parts = (command.agent, *command.address)
            name = "-".join(parts)
            found["_".join(parts) if name in found else name] = command
        return found

    def _choices(self, command: Command) -> dict[str, list[str]]:
        """The values that exist for what can be chosen."""
        options = command.options
        found = {"edition": list(options.edition), "adaptation": list(options.adaptation)}
        if command.record is not None:  # a registry may list variants without a file
            home = find_home(command.agent, command.address, self._settings)
            there = variants(home.directory) if home else []
            found["edition"], found["adaptation"] = variant_names(there)
        for variable in command.variables:
            if variable.choices:
                found[VARIABLE + variable.name] = list(variable.choices)
        return found


def _arguments(command: Command, choices: dict[str, list[str]]) -> list[JsonObject]:
    asked, options = names_in(command.body), command.options
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
    listed = []
    for name, text, required in found:
        known = f"One of: {', '.join(choices[name])}" if choices.get(name) else ""
        described = ". ".join(filter(None, [text, known]))
        listed.append({"name": name, "description": described, "required": required})
    return listed
