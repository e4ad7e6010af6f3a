"""Everything that is wrong or drifts: names, frontmatter, templates, registry, configuration."""

from __future__ import annotations

import re
from dataclasses import dataclass
from difflib import SequenceMatcher
from os.path import join
from typing import TYPE_CHECKING

from clew.commands.files.declarations import declared_variables, nearest, text_of
from clew.commands.files.layers import DEFAULT_AGENT, PACKAGED, find_layers, profile_name
from clew.commands.files.templates import variants
from clew.commands.registry.drift import Finding, registry_findings
from clew.commands.registry.registry_file import read_options
from clew.commands.registry.scan import find_folders
from clew.commands.render.render import DESTINATION, FILE, FIXED_NAMES, INPUT, VARIABLE, names_in
from clew.kit.errors import ClewError
from clew.kit.text.frontmatter import read_leniently

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from clew.commands.files.layers import Layer
    from clew.commands.model import Options
    from clew.commands.registry.scan import Folder

_BRACES = re.compile(r"\{\{?\s*([a-z][\w-]{2,40})\s*\}")
_C1_C2 = re.compile(r"[a-z]+(-[a-z]+)?\Z")
_C3 = re.compile(r"[a-z][a-z0-9]*(-[a-z][a-z0-9]*)*\Z")
_LONGEST_DESCRIPTION = 1024


@dataclass(frozen=True)
class _File:
    """One template, read."""

    folder: Folder
    path: str
    meta: dict[str, object]
    names: list[str]
    body: str


def lint(
    agent: str = DEFAULT_AGENT,
    settings: Mapping[str, str] | None = None,
    within: tuple[str, ...] = (),
    *,
    packaged: bool = False,
) -> list[Finding]:
    """What is wrong with an agent's commands; `within` is the beginning of an address."""
    found: list[Finding] = []
    for layer in find_layers(settings):
        if layer.origin == PACKAGED and not packaged:
            continue
        for path, why in layer.broken:
            found.append(Finding("config-broken", "error", path, why, "Repair the JSON."))
        folders = list(find_folders(layer, agent, within))
        for folder in folders:
            found += _folder_findings(folder)
        found += registry_findings(layer, agent, folders, within)
        found += _pattern_findings(layer, agent, folders)
    return list(dict.fromkeys(found))


def _folder_findings(folder: Folder) -> Iterator[Finding]:
    c1, c2, c3 = folder.address
    where = folder.directory
    for kind, name, rule in (("c1", c1, _C1_C2), ("c2", c2, _C1_C2), ("c3", c3, _C3)):
        if not rule.match(name):
            text = f"{kind} `{name}` does not follow {rule.pattern.removesuffix(chr(92) + 'Z')}"
            yield Finding("name", "warning", where, text, "Rename the directory.")
    used: set[str] = set()
    files = []
    for name, _, _ in folder.stamps:
        path = join(folder.directory, name)
        try:
            text = folder.read(path)
        except ClewError as error:
            yield Finding("unreadable", "error", path, error.message, error.hint or "")
            continue
        meta, body, problem = read_leniently(text)
        if problem:
            yield Finding("frontmatter-broken", "error", path, problem, "Repair the YAML.")
        file = _File(folder, path, meta or {}, names_in(body), body)
        files.append((file, meta is None))
        used.update(file.names)
    for file, is_bare in files:
        is_main = file.path == folder.main_file
        if is_main:
            yield from _main_findings(file, used, is_bare=is_bare)
        yield from _body_findings(file)


def _main_findings(file: _File, used: set[str], *, is_bare: bool) -> Iterator[Finding]:
    if is_bare:
        text = "There is no frontmatter"
        yield Finding("frontmatter-missing", "warning", file.path, text, "Add title, description.")
        return
    for key in ("title", "description"):
        if not text_of(file.meta.get(key)):
            text = f"The frontmatter has no {key}"
            yield Finding(f"{key}-missing", "warning", file.path, text, "Search needs it.")
    if len(text_of(file.meta.get("description"))) > _LONGEST_DESCRIPTION:
        text = f"The description has more than {_LONGEST_DESCRIPTION} characters"
        yield Finding("description-long", "warning", file.path, text, "Shorten it.")
    for key, name in zip(("c1", "c2", "c3"), file.folder.address, strict=True):
        written = text_of(file.meta.get(key))
        if written and written != name and not written.endswith(f"-{name}"):
            text = f"{key} says `{written}`, but the directory is `{name}`"
            yield Finding("address", "error", file.path, text, "Make both the same.")
    options = read_options(file.meta.get("options"))
    yield from _flag_findings(file, options, used)
    yield from _variant_findings(file.path, options, file.folder.directory)
    yield from _variable_findings(file, used)


def _flag_findings(file: _File, options: Options, used: set[str]) -> Iterator[Finding]:
    for flag, name in (("stdin", INPUT), ("file", FILE), ("destination", DESTINATION)):
        declared, asked = getattr(options, flag), name in used
        inlined = flag == "file" and INPUT in used
        if declared and not asked and not inlined:
            text = f"{flag} is true, but no template uses {{{name}}}"
            fix = f"Use {{{name}}}, or say {flag}: false."
            yield Finding(f"{flag}-unused", "warning", file.path, text, fix)
        elif asked and not declared:
            text = f"{{{name}}} is used, but {flag} is not declared"
            yield Finding(f"{flag}-undeclared", "warning", file.path, text, f"Say {flag}: true.")


def _variant_findings(where: str, options: Options, directory: str) -> Iterator[Finding]:
    there = variants(directory)
    for kind, promised, existing in (
        ("edition", options.edition, {edition for edition, _ in there}),
        ("adaptation", options.adaptation, {adaptation for _, adaptation in there if adaptation}),
    ):
        for name in promised:
            if name not in existing and name != "default":
                text = f"{kind} `{name}` is declared, but has no file"
                yield Finding(f"{kind}-missing", "error", where, text, "Write it, or take it out.")
        for name in sorted(existing - set(promised) - {"default"}):
            text = f"{kind} `{name}` has a file, but is not declared"
            yield Finding(f"{kind}-undeclared", "warning", where, text, "Declare it.")


def _variable_findings(file: _File, used: set[str]) -> Iterator[Finding]:
    declared = {variable.name for variable in declared_variables(file.meta)}
    asked = {name.removeprefix(VARIABLE) for name in used if name.startswith(VARIABLE)}
    for name in sorted(declared - asked):
        text = f"uv `{name}` is declared, but no template uses {{uv-{name}}}"
        yield Finding("uv-unused", "warning", file.path, text, "Use it, or take it out.")
    for name in sorted(asked - declared):
        text = f"{{uv-{name}}} is used, but not declared under uv"
        yield Finding("uv-undeclared", "warning", file.path, text, "Declare it.")


def _body_findings(file: _File) -> Iterator[Finding]:
    if not file.body.strip():
        yield Finding("empty", "error", file.path, "The template is empty", "Write it.")
    for name in dict.fromkeys(_BRACES.findall(file.body)):
        near = nearest(name, FIXED_NAMES, 1)
        if near and 0.85 < SequenceMatcher(None, name, near[0]).ratio() < 1:
            text = f"{{{name}}} is no placeholder"
            yield Finding("placeholder", "warning", file.path, text, f"Did you mean {{{near[0]}}}?")


def _pattern_findings(layer: Layer, agent: str, folders: list[Folder]) -> Iterator[Finding]:
    """Commands that the patterns of `-user.yml` refuse in the original system."""
    for folder in folders:
        name = profile_name(agent, folder.address[0])
        config = join(layer.base, "config", f"{name}-user.yml")
        try:
            patterns = layer.profile(name).patterns
        except ClewError as error:
            yield Finding("config-broken", "error", config, error.message, error.hint or "")
            continue
        for kind, value in (("c2", folder.address[1]), ("c3", folder.address[2])):
            pattern = patterns.get(kind, "")
            if pattern and not _matches(pattern, value):
                text = f"{kind} `{value}` is refused by the pattern {pattern}"
                yield Finding("pattern", "error", config, text, "Widen the pattern.")


def _matches(pattern: str, value: str) -> bool:
    try:
        return re.search(pattern, value) is not None
    except re.error:
        return False
