"""Commands imported from Claude Code, skills, Cursor, Fabric and registries."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from os.path import lexists
from pathlib import Path

from clew.commands.authoring.export import CLAUDE, CURSOR, FABRIC, REGISTRY, SKILL
from clew.commands.authoring.templates import command_text, new_template
from clew.commands.files.declarations import LONGEST_NAME, Variable, text_of
from clew.commands.files.disk import confined, read_text
from clew.commands.model import Command, Options
from clew.commands.registry.registry_file import read_registry
from clew.commands.registry.scan import first_line
from clew.commands.render.render import INPUT, VARIABLE, names_in, placeholders
from clew.kit.errors import ClewError, NotFound, UsageError
from clew.kit.text.frontmatter import read_leniently

_WORDS = re.compile(r"[a-z0-9]+")
_POSITIONAL = re.compile(r"\$([1-9])(?!\d)")
_DOUBLE = re.compile(r"\{\{\s*([A-Za-z][\w-]*)\s*\}\}")
_RUNS = re.compile(r"(?m)(^|\s)!`|(^|\s)@[\w./~-]+")
_SENTENCE = re.compile(r"(?<=[.!?])\s")
_MOST_FILES = 2000
_LONGEST_DESCRIPTION = 300


@dataclass(frozen=True)
class Incoming:
    """One command to be written: its template, where it came from, what to know about it."""

    command: Command
    text: str
    source: str
    notes: tuple[str, ...] = ()


def read_source(source: str, kind: str | None, domain: str | None) -> list[Incoming]:
    """The commands that a file or a directory of another program holds."""
    if not lexists(source):
        raise NotFound(f"No such file or directory: {source}", "Name what to import.")
    chosen = kind or guess_kind(source)
    if chosen == REGISTRY:
        return _from_registry(source)
    found = []
    for name, path in _files(source, chosen):
        try:
            text = read_text(confined(source, path))
        except ClewError as error:
            raise type(error)(error.message, "Remove it, then import again.") from error
        found.append(_incoming(chosen, name, path, text, domain))
    if not found:
        raise NotFound(
            f"Nothing of the kind `{chosen}` in {source}", "Name its format: --kind KIND."
        )
    return found


def guess_kind(source: str) -> str:
    """The format of a path, by its names."""
    place = Path(source)
    parts = Path(source).absolute().parts
    if place.suffix == ".json":
        return REGISTRY
    if place.name == "SKILL.md" or any(place.glob("SKILL.md")) or any(place.glob("*/SKILL.md")):
        return SKILL
    if place.name == "system.md" or any(place.glob("system.md")) or any(place.glob("*/system.md")):
        return FABRIC
    return CURSOR if ".cursor" in parts else CLAUDE


def _files(source: str, kind: str) -> Iterator[tuple[tuple[str, ...], str]]:
    """Each file with the words of its name; for a command in a directory, that comes first."""
    place = Path(source)
    main = {SKILL: "SKILL.md", FABRIC: "system.md"}.get(kind)
    if place.is_file():
        yield ((place.parent.name if main else place.stem,), source)
        return
    pattern = f"**/{main}" if main else "**/*.md"
    for count, path in enumerate(sorted(place.glob(pattern))):
        if count >= _MOST_FILES:
            raise UsageError(f"More than {_MOST_FILES} files in {source}", "Import a part of it.")
        below = path.relative_to(place)
        if main:
            yield (path.parent.name if below.parent.parts else place.resolve().name,), str(path)
        else:
            yield (*below.parent.parts, path.stem), str(path)


def _incoming(
    kind: str, name: tuple[str, ...], path: str, text: str, domain: str | None
) -> Incoming:
    meta, body, _ = read_leniently(text)
    found = meta or {}
    title = text_of(found.get("name")) or name[-1]
    notes = []
    if kind in (CLAUDE, SKILL) and _RUNS.search(body):
        notes.append("has !`command` or @file parts, which stay plain text here")
    converted = _CONVERTED[kind](_escaped(body.strip()))
    c1, c2, c3 = _address(kind, name, domain)
    asked = names_in(converted)
    command = Command(
        c1,
        c2,
        c3,
        title=title,
        description=text_of(found.get("description")) or purpose_of(body),
        options=Options(edition=("default",), stdin=INPUT in asked),
        variables=tuple(
            Variable(one.removeprefix(VARIABLE)) for one in asked if one.startswith(VARIABLE)
        ),
    )
    return Incoming(command, command_text(command, converted), path, tuple(notes))


def purpose_of(body: str) -> str:
    """The first sentence below the headings; the first heading where there is nothing else."""
    for line in body.split("\n", 60):
        text = line.strip()
        if text[:1].isalnum() and len(text.split()) > 3:
            return _SENTENCE.split(text, 1)[0][:_LONGEST_DESCRIPTION]
    return first_line(body, _LONGEST_DESCRIPTION)


def _address(kind: str, name: tuple[str, ...], domain: str | None) -> tuple[str, str, str]:
    spaces, last = name[:-1], name[-1]
    words = _WORDS.findall(last.lower()) or ["command"]
    c1 = domain or "-".join(w for space in spaces for w in _WORDS.findall(space.lower())) or kind
    c2, c3 = words[0], "-".join(words[1:]) or "task"
    return c1[:LONGEST_NAME], c2[:LONGEST_NAME], c3[:LONGEST_NAME].strip("-")


def _escaped(body: str) -> str:
    """The body with what would be a placeholder here kept as text."""
    parts, position = [], 0
    for start, end, _ in placeholders(body):
        parts += [body[position:start], "\\", body[start:end]]
        position = end
    return "".join([*parts, body[position:]])


def _from_claude(body: str) -> str:
    return _POSITIONAL.sub(r"{uv-arg\1}", body.replace("$ARGUMENTS", "{input_text}"))


def _from_fabric(body: str) -> str:
    def named(found: re.Match[str]) -> str:
        return "{input_text}" if found[1] == "input" else f"{{{VARIABLE}{found[1]}}}"

    converted = _DOUBLE.sub(named, body)
    if INPUT in names_in(converted):
        return converted
    return f"{converted}\n\n{{input_text}}"


_CONVERTED: dict[str, Callable[[str], str]] = {
    CLAUDE: _from_claude,
    SKILL: _from_claude,
    CURSOR: str,
    FABRIC: _from_fabric,
}


def _from_registry(source: str) -> list[Incoming]:
    read = read_registry(source, "climpt", "project")
    records = read[0] if read else []
    return [Incoming(record, new_template(record), source) for record in records]
