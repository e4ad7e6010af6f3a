"""Commands in texts, as the program in use has them.

Texts name commands as `chant reset ID` or `clew pause ID`. Under `chant` all of them are its own;
under `clew` those about specs are below `clew spec`.
"""

from __future__ import annotations

import re

import click

from clew.cli.core.command_table import SPEC_COMMANDS, WORK_COMMANDS

_COMMAND = re.compile(r"`(?:chant|clew) (?P<verb>[a-z-]+)(?P<rest>[^`]*)`")


def own_commands(text: str, face: str | None = None) -> str:
    """The text with the commands of this face, by default of the one that runs."""
    if face is None:
        context = click.get_current_context(silent=True)
        face = context.find_root().info_name if context is not None else None

    def replaced(found: re.Match[str]) -> str:
        verb, rest = found["verb"], found["rest"]
        if verb not in SPEC_COMMANDS and verb not in WORK_COMMANDS:
            return found[0]
        if face == "chant":
            return f"`chant {verb}{rest}`"
        if face == "clew":
            return f"`clew {verb}{rest}`" if verb in WORK_COMMANDS else f"`clew spec {verb}{rest}`"
        return found[0]

    return _COMMAND.sub(replaced, text)
