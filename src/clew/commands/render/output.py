"""Writing a prompt where `-o` says: inside the project, and never over a file by accident."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from clew.commands.files import paths
from clew.commands.files.layers import project_root
from clew.kit.errors import Conflict, Invalid
from clew.kit.files import write_atomic
from clew.kit.text.display import shown_path

if TYPE_CHECKING:
    from collections.abc import Mapping


def write_guarded(
    output: str, text: str, settings: Mapping[str, str] | None = None, *, force: bool = False
) -> str:
    """Write the text and return the path; outside the project, or over a file, only by force."""
    if "\0" in output:
        raise Invalid("A path cannot contain a NUL character", "Name another file.")
    place = paths.absolute(output)
    shown = shown_path(place)
    if paths.is_directory(place):
        raise Invalid(f"{shown} is a directory", "Name a file in it.")
    if not force and paths.exists(place):
        raise Conflict(f"{shown} exists already", "Name another file, or add --force.")
    root = project_root(settings)
    inside = any(paths.is_inside(base, place) for base in (root, "."))
    if not force and (not inside or ".git" in Path(paths.real(place)).parts):
        raise Invalid(f"{shown} is outside of the project", "Write inside it, or add --force.")
    write_atomic(Path(place), text)
    return shown
