"""Hints and messages of the command line, worded for the face that runs."""

from __future__ import annotations

from clew.catalog.wording import commands_of, message_of
from clew.cli.core.surroundings import current_face


def quoted_commands(text: str) -> str:
    """A text with the commands in its quotes as the face that runs has them."""
    return message_of(current_face(), text)


def own_commands(text: str) -> str:
    """A hint with the commands as the face that runs has them."""
    return commands_of(current_face(), text)
