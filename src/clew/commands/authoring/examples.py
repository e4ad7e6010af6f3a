"""Examples beside templates: `t_<name>.json` has the options, `t_<name>.md` the expected prompt."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from difflib import unified_diff
from os.path import isfile, join
from pathlib import Path
from typing import Any

from clew.commands.files.disk import entries, read_text
from clew.commands.files.layers import DEFAULT_AGENT, PACKAGED, find_layers
from clew.commands.model import Command
from clew.commands.registry.scan import Folder, find_folders
from clew.commands.render.arguments import request_from_arguments
from clew.commands.render.execute import execute
from clew.kit import jsontext
from clew.kit.errors import ClewError, Invalid
from clew.kit.files import write_atomic


@dataclass(frozen=True)
class Checked:
    """One example, and why it failed; an empty reason means that it passed."""

    label: str
    example: str
    reason: str = ""
    updated: bool = False


def check_examples(
    agent: str = DEFAULT_AGENT,
    settings: Mapping[str, str] | None = None,
    within: tuple[str, ...] = (),
    *,
    update: bool = False,
) -> list[Checked]:
    """Render every example again; without examples, every template once."""
    found: list[Checked] = []
    taken: set[tuple[str, str, str]] = set()
    for layer in find_layers(settings):
        if layer.origin == PACKAGED:
            continue
        for folder in find_folders(layer, agent, within):
            if folder.address not in taken:
                taken.add(folder.address)
                found += _check_folder(folder, agent, settings, update=update)
    return found


def add_example(command: Command, directory: Path, settings: Mapping[str, str] | None) -> Path:
    """Write the first example of a command: values for what it takes, and what comes of them."""
    options: dict[str, Any] = {}
    if command.variables:
        options["uv"] = {v.name: f"<{v.description or v.name}>" for v in command.variables}
    # No file: its whole path would be in the expected prompt.
    if command.options.stdin:
        options["stdin"] = "<input>"
    if command.options.destination:
        options["destination"] = "<destination>"
    path = directory / "t_default.json"
    write_atomic(path, jsontext.pretty(options) + "\n")
    check_examples(settings=settings, within=command.address, update=True)
    return path


def _check_folder(
    folder: Folder, agent: str, settings: Mapping[str, str] | None, *, update: bool
) -> Iterator[Checked]:
    label = " ".join(folder.address)
    files = entries(folder.directory)
    names = [n[2:-5] for n in files if n.startswith("t_") and n.endswith(".json")]
    for name in names:
        base = join(folder.directory, f"t_{name}")
        try:
            c1, c2, c3 = folder.address
            words = {
                "agent": agent,
                "c1": c1,
                "c2": c2,
                "c3": c3,
                "options": _options(f"{base}.json"),
            }
            prompt = execute(request_from_arguments(words), settings).prompt
            yield _compared(label, name, f"{base}.md", prompt, update=update)
        except ClewError as error:
            yield Checked(label, name, error.full_text())
    if not names:
        yield _smoke(label, folder)


def _options(path: str) -> dict[str, Any]:
    try:
        options = jsontext.loads(read_text(path))
    except jsontext.JsonError as error:
        raise Invalid(f"Not JSON: {error} ({path})") from None
    if not isinstance(options, dict):
        raise Invalid(f"Expected an object of options: {path}")
    return options


def _compared(label: str, name: str, path: str, prompt: str, *, update: bool) -> Checked:
    expected = read_text(path) if isfile(path) else None
    if expected == prompt:
        return Checked(label, name)
    if update:
        write_atomic(Path(path), prompt)
        return Checked(label, name, updated=True)
    if expected is None:
        return Checked(label, name, f"{path} is missing; --update writes it")
    lines = unified_diff(
        expected.splitlines(), prompt.splitlines(), "expected", "rendered", lineterm="", n=1
    )
    return Checked(label, name, "\n".join(lines) or "Only the line ends differ")


def _smoke(label: str, folder: Folder) -> Checked:
    """Without an example, a template must at least be readable and not empty."""
    try:
        text = folder.read(folder.main_file)
    except ClewError as error:
        return Checked(label, "-", error.full_text())
    return Checked(label, "-", "" if text.strip() else "The template is empty")
