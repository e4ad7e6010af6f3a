"""A new template that is valid from its first line on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clew.commands.authoring.write import command_frontmatter, frontmatter_text
from clew.commands.files.names import check_name, is_variable_name
from clew.commands.model import Command
from clew.commands.render.render import DESTINATION, FILE, INPUT, VARIABLE
from clew.kit.errors import UsageError

if TYPE_CHECKING:
    from clew.commands.files.variables import Variable

_STEPS = """\
1. Look at what there is before you change anything.
2. Do the work.
3. Check the result."""


def checked_command(command: Command) -> Command:
    """The command, if its names can become paths and placeholders."""
    for kind, name in zip(("domain", "action", "target"), command.address, strict=True):
        check_name(kind, name)
    for variable in command.variables:
        if not is_variable_name(variable.name):
            raise UsageError(
                f"Not a usable variable: {variable.name}",
                "Variables have letters, digits, `-` and `_`, and begin with a letter.",
            )
    return command


def template_text(command: Command) -> str:
    """A template for this command that lint has nothing to say about."""
    title = command.title or command.label
    parts = [f"# {title}", command.description]
    if command.variables:
        parts += ["## What is given", _listed(command.variables)]
    if command.options.file:
        parts.append(f"Read `{{{FILE}}}`.")
    parts += ["## Steps", _STEPS]
    if command.options.destination:
        parts.append(f"Write the result to `{{{DESTINATION}}}`.")
    if command.options.stdin:
        parts += ["## Input", f"{{{INPUT}}}"]
    body = "\n\n".join(part for part in parts if part)
    return f"{frontmatter_text(command_frontmatter(command))}\n{body}\n"


def _listed(variables: tuple[Variable, ...]) -> str:
    return "\n".join(f"- {v.description or v.name}: {{{VARIABLE}{v.name}}}" for v in variables)
