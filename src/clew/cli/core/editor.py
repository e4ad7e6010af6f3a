"""The user's editor."""

from __future__ import annotations

import os

import click

from clew.kit.errors import Unavailable


def edit_file(path: str, hint: str = "") -> None:
    """Let the user edit a file with $VISUAL or $EDITOR."""
    editor = os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi"
    try:
        click.edit(filename=path, editor=editor)
    except click.ClickException as error:
        next_step = f"Set EDITOR to a program that is installed. {hint}".rstrip()
        raise Unavailable(error.format_message(), next_step) from error
