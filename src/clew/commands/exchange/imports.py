"""Commands that come from other programs, with a report of what was changed or could not be kept."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from os.path import lexists
from pathlib import Path

from clew.commands.authoring.templates import command_text, new_template
from clew.commands.exchange.arguments import told
from clew.commands.exchange.formats import FORMATS, REGISTRY, Format, guess_format
from clew.commands.files.declarations import LONGEST_NAME, Variable, text_of
from clew.commands.files.disk import confined, read_text
from clew.commands.model import Command, Options
from clew.commands.registry.registry_file import read_registry
from clew.commands.registry.scan import first_line
from clew.commands.render.render import FILE, INPUT, VARIABLE, names_in
from clew.kit.errors import ClewError, NotFound, UsageError

_WORDS = re.compile(r"[a-z0-9]+")
_RUNS = re.compile(r"(?m)(^|\s)!`|!\{|(^|\s)@[\w./~{-]+")
_SENTENCE = re.compile(r"(?<=[.!?])\s")
_MOST_FILES = 2000
_MOST_BESIDE = 200
_LARGEST_BESIDE = 1 << 20
_LONGEST_DESCRIPTION = 300


@dataclass(frozen=True)
class Incoming:
    """One command to be written: its template, where it came from, what to know about it.

    `beside` are the other files of a prompt that is a directory, such as a skill's scripts.
    """

    command: Command
    text: str
    source: str
    notes: tuple[str, ...] = ()
    beside: dict[str, bytes] = field(default_factory=dict)


def read_source(source: str, kind: str | None, domain: str | None) -> list[Incoming]:
    """The commands that a file or a directory of another program holds."""
    if not lexists(source):
        raise NotFound(f"No such file or directory: {source}", "Name what to import.")
    chosen = kind or guess_format(source)
    if chosen == REGISTRY:
        return _from_registry(source)
    form = FORMATS[chosen]
    found = [_incoming(form, name, path, source, domain) for name, path in _files(source, form)]
    if not found:
        raise NotFound(
            f"Nothing of the kind `{chosen}` in {source}", "Name its format: --kind KIND."
        )
    return _apart(found)


def _apart(found: list[Incoming]) -> list[Incoming]:
    """Refuse two files that would become one command."""
    taken: dict[tuple[str, str, str], str] = {}
    for one in found:
        other = taken.setdefault(one.command.address, one.source)
        if other != one.source:
            raise UsageError(
                f"{other} and {one.source} would both become {one.command.label}",
                "Rename one of them, or import them apart with different --c1.",
            )
    return found


def _files(source: str, form: Format) -> Iterator[tuple[tuple[str, ...], str]]:
    """Each file with the words of its name; for a command in a directory, that comes first."""
    place = Path(source)
    if place.is_file():
        yield ((place.parent.name if form.main else _stem(place, form),), source)
        return
    pattern = f"**/{form.main}" if form.main else f"**/*{form.ending}"
    for count, path in enumerate(sorted(place.glob(pattern))):
        if count >= _MOST_FILES:
            raise UsageError(f"More than {_MOST_FILES} files in {source}", "Import a part of it.")
        below = path.relative_to(place)
        if form.main:
            yield (path.parent.name if below.parent.parts else place.resolve().name,), str(path)
        else:
            yield (*below.parent.parts, _stem(path, form)), str(path)


def _stem(path: Path, form: Format) -> str:
    return path.name.removesuffix(form.ending) or path.stem


def _incoming(
    form: Format, name: tuple[str, ...], path: str, source: str, domain: str | None
) -> Incoming:
    try:
        foreign = form.read(read_text(confined(source, path)))
    except ClewError as error:
        raise type(error)(f"{error.message} ({path})", "Remove it, then import again.") from error
    body, changes = form.style.into(foreign.body.strip(), foreign.hints)
    notes = told(changes)
    if _RUNS.search(foreign.body):
        notes.append("parts that run a command or insert a file stay plain text")
    if foreign.dropped:
        notes.append(f"not kept: {', '.join(foreign.dropped)}")
    beside = _beside(path, notes) if form.main else {}
    c1, c2, c3 = foreign.address or _address(form.name, name, domain)
    asked = names_in(body)
    command = Command(
        domain or c1,
        c2,
        c3,
        title=text_of(foreign.fields.get("title") or foreign.fields.get("name")) or name[-1],
        description=text_of(foreign.fields.get("description")) or purpose_of(foreign.body),
        options=Options(edition=("default",), stdin=INPUT in asked, file=FILE in asked),
        variables=tuple(
            Variable(one.removeprefix(VARIABLE)) for one in asked if one.startswith(VARIABLE)
        ),
    )
    return Incoming(command, command_text(command, body), path, tuple(notes), beside)


def _beside(path: str, notes: list[str]) -> dict[str, bytes]:
    """The other files of a directory, by their relative paths; links and giants are left out."""
    root = Path(path).parent
    found: dict[str, bytes] = {}
    left = 0
    for file in sorted(root.rglob("*")):
        if file == Path(path) or not file.is_file() or file.name.startswith("f_"):
            continue
        if file.is_symlink() or file.stat().st_size > _LARGEST_BESIDE or len(found) >= _MOST_BESIDE:
            left += 1
            continue
        found[str(file.relative_to(root))] = file.read_bytes()
    if found:
        notes.append(f"{len(found)} files come along; the prompt finds them in {{base_prompt_dir}}")
    if left:
        notes.append(f"{left} files are links or too large, and stay behind")
    return found


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


def _from_registry(source: str) -> list[Incoming]:
    read = read_registry(source, "climpt", "project")
    records = read[0] if read else []
    return [Incoming(record, new_template(record), source) for record in records]
