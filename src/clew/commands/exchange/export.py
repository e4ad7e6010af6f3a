"""Commands written for other programs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from os.path import dirname, join, lexists
from pathlib import Path

from clew.commands.exchange.formats import FORMATS, PLUGIN, Format
from clew.commands.files.disk import read_text
from clew.commands.files.templates import default_template
from clew.commands.model import Command
from clew.kit import jsontext
from clew.kit.errors import Conflict
from clew.kit.files import write_atomic
from clew.kit.text.display import shown_path
from clew.kit.text.frontmatter import read_leniently

Files = dict[str, str | bytes]
PLUGIN_NAME = "climpt-commands"


def export_files(
    commands: Iterable[Command], kind: str, target: str, settings: Mapping[str, str] | None
) -> tuple[Files, list[str]]:
    """The content of each file that these commands become below a directory, and what was skipped."""
    if kind == PLUGIN:
        return _plugin(commands, target, settings)
    form = FORMATS[kind]
    files: Files = {}
    skipped: list[str] = []
    listed = list(commands)
    names = _names(listed, form)
    for command in listed:
        template = default_template(command.agent, command.address, settings)
        if template is None:
            skipped.append(f"{command.label} has no template")
            continue
        body, hint = form.style.out(read_leniently(read_text(template.path))[1].lstrip())
        name = names[command.address]
        path = join(target, name, form.main) if form.main else join(target, name + form.ending)
        files[path] = form.write(command, body, hint)
        if form.main:
            files |= {join(dirname(path), k): v for k, v in _beside(template.path).items()}
    return files, skipped


def _plugin(
    commands: Iterable[Command], target: str, settings: Mapping[str, str] | None
) -> tuple[Files, list[str]]:
    """The commands as skills of a plugin, with one that searches for them."""
    files, skipped = export_files(commands, "skill", join(target, "skills"), settings)
    about = {"name": PLUGIN_NAME, "description": "Commands of this project", "version": "1.0.0"}
    files[join(target, ".claude-plugin", "plugin.json")] = jsontext.pretty(about) + "\n"
    delegate = Path(__file__).with_name("delegate.md").read_text(encoding="utf-8")
    files[join(target, "skills", "delegate-climpt-agent", "SKILL.md")] = delegate
    return files, skipped


def _names(commands: list[Command], form: Format) -> dict[tuple[str, str, str], str]:
    """A name for each command; where two would have the same one, both are written out apart."""
    short = {command.address: form.path(command.address) for command in commands}
    often = Counter(short.values())
    return {
        address: name if often[name] == 1 else "--".join(address) for address, name in short.items()
    }


def _beside(template: str) -> dict[str, bytes]:
    """The files that lie beside a template, such as a skill's scripts."""
    root = Path(template).parent
    return {
        str(file.relative_to(root)): file.read_bytes()
        for file in sorted(root.rglob("*"))
        if file.is_file() and not file.is_symlink() and not file.name.startswith(("f_", "t_"))
    }


def write_all(files: Mapping[str, str | bytes], *, force: bool) -> None:
    """Write files by path; if any exists and nothing is forced, write none."""
    there = [path for path in files if lexists(path)]
    if there and not force:
        more = f" and {len(there) - 1} more" if len(there) > 1 else ""
        raise Conflict(f"{shown_path(there[0])}{more} already exists", "Add --force to overwrite.")
    for path, content in files.items():
        write_atomic(Path(path), content)
