"""Commands exported in the formats of other programs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from os.path import join, lexists
from pathlib import Path

from clew.commands.authoring.templates import frontmatter_text
from clew.commands.files.disk import read_text
from clew.commands.files.templates import default_template
from clew.commands.model import Command
from clew.commands.render.render import DESTINATION, FILE, INPUT, VARIABLE, fill, names_in
from clew.kit.errors import Conflict
from clew.kit.files import write_atomic
from clew.kit.text.display import shown_path
from clew.kit.text.frontmatter import read_leniently

REGISTRY, CLAUDE, SKILL, CURSOR, FABRIC = "registry", "claude", "skill", "cursor", "fabric"
PLACES = {
    CLAUDE: ".claude/commands",
    SKILL: ".claude/skills",
    CURSOR: ".cursor/commands",
    FABRIC: "patterns",
}
LONGEST_SKILL_NAME = 64
LONGEST_SKILL_DESCRIPTION = 1024


def export_files(
    commands: Iterable[Command], kind: str, target: str, settings: Mapping[str, str] | None
) -> tuple[dict[str, str], list[str]]:
    """The text of each file that these commands become below a directory, and what was skipped."""
    files: dict[str, str] = {}
    skipped = []
    for command in commands:
        template = default_template(command.agent, command.address, settings)
        if template is None:
            skipped.append(f"{command.label} has no template")
            continue
        body = read_leniently(read_text(template.path))[1].lstrip()
        name, text = _FORMS[kind](command, body)
        files[join(target, name)] = text
    return files, skipped


def write_all(files: Mapping[str, str], *, force: bool) -> None:
    """Write files by path; if any exists and nothing is forced, write none."""
    there = [path for path in files if lexists(path)]
    if there and not force:
        more = f" and {len(there) - 1} more" if len(there) > 1 else ""
        raise Conflict(f"{shown_path(there[0])}{more} already exists", "Add --force to overwrite.")
    for path, text in files.items():
        write_atomic(Path(path), text)


def _claude(command: Command, body: str) -> tuple[str, str]:
    asked = _variables(body)
    values = {VARIABLE + name: f"${number}" for number, name in enumerate(asked, 1)}
    values |= {INPUT: "$ARGUMENTS", FILE: "$ARGUMENTS", DESTINATION: "$ARGUMENTS"}
    meta: dict[str, object] = {"description": command.description}
    if asked:
        meta["argument-hint"] = " ".join(f"[{name}]" for name in asked)
    text = f"{frontmatter_text(meta)}\n{fill(body, values)}"
    return f"{command.c1}/{command.c2}-{command.c3}.md", text


def _skill(command: Command, body: str) -> tuple[str, str]:
    name = "-".join(command.address).lower().replace("_", "-")[:LONGEST_SKILL_NAME].strip("-")
    description = command.description[:LONGEST_SKILL_DESCRIPTION]
    head = frontmatter_text({"name": name, "description": description})
    return f"{name}/SKILL.md", f"{head}\n{fill(body, _in_words(body))}"


def _cursor(command: Command, body: str) -> tuple[str, str]:
    return f"{'-'.join(command.address)}.md", fill(body, _in_words(body))


def _fabric(command: Command, body: str) -> tuple[str, str]:
    values = {VARIABLE + name: f"{{{{{name}}}}}" for name in _variables(body)}
    text = fill(body, {**values, INPUT: "{{input}}"})
    name = f"{command.c2}_{command.c3}".replace("-", "_")
    return f"{name}/system.md", text if "{{input}}" in text else f"{text.rstrip()}\n\n# INPUT\n"


def _variables(body: str) -> list[str]:
    return [n.removeprefix(VARIABLE) for n in names_in(body) if n.startswith(VARIABLE)]


def _in_words(body: str) -> dict[str, str]:
    """Placeholders as words, for programs without variables."""
    values = {VARIABLE + name: f"<{name}>" for name in _variables(body)}
    return {
        **values,
        INPUT: "(the text given with this command)",
        FILE: "(the file given with this command)",
        DESTINATION: "(the destination given with this command)",
    }


_FORMS = {CLAUDE: _claude, SKILL: _skill, CURSOR: _cursor, FABRIC: _fabric}
