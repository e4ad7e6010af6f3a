"""Whether the words after `climpt` are a command of the program or the address of a prompt.

Nothing here may import what a cold start cannot afford.
"""

from __future__ import annotations

from clew.catalog.command_table import COMMAND_COMMANDS

_NEVER_A_DOMAIN = ("init", "mcp", "version")
_FRAME_OPTIONS = ("-h", "--help", "-v", "--version")


def name_a_prompt(words: list[str]) -> bool:
    """Whether the words are an address and its options, and no command of their own."""
    plain = [word for word in words if not word.startswith("-")]
    if len(plain) < 2 or plain[0] in _NEVER_A_DOMAIN:
        return False
    if any(word in _FRAME_OPTIONS for word in words):
        return False
    if plain[0] not in COMMAND_COMMANDS:
        return True
    from clew.commands.render.fast_path import is_a_prompt

    return is_a_prompt(words)
