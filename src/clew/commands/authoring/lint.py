"""Errors and drift in names, frontmatter, templates, registry and configuration."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from difflib import SequenceMatcher
from os.path import join
from typing import Any

from clew.commands.files.declarations import declared_variables, nearest, text_of
from clew.commands.files.layers import (
    DEFAULT_AGENT,
    PACKAGED,
    PROJECT,
    Layer,
    find_layers,
    profile_name,
)
from clew.commands.files.templates import DEFAULT, variants
from clew.commands.model import Options
from clew.commands.registry.drift import Finding, registry_findings
from clew.commands.registry.registry_file import read_options
from clew.commands.registry.scan import Folder, find_folders
from clew.commands.registry.usage import uses
from clew.commands.render.render import DESTINATION, FILE, FIXED_NAMES, INPUT, VARIABLE, names_in
from clew.kit.errors import ClewError
from clew.kit.text.frontmatter import read_leniently
from clew.kit.text.patterns import first_match

_BRACES = re.compile(r"\{\{?\s*([a-z][\w-]{2,40})\s*\}")
_C1_C2 = re.compile(r"[a-z]+(-[a-z]+)?\Z")
_C3 = re.compile(r"[a-z][a-z0-9]*(-[a-z][a-z0-9]*)*\Z")
_NAMES = (_C1_C2, _C1_C2, _C3)
_LONGEST_DESCRIPTION = 1024
_COUNTED_LONG_ENOUGH = 30 * 24 * 3600.0


@dataclass(frozen=True)
class _File:
    """One template, read; `meta` is None where it has no frontmatter."""

    path: str
    meta: dict[str, Any] | None
    body: str

    def warning(self, code: str, text: str, fix: str) -> Finding:
        """Something that should be better."""
        return Finding(code, "warning", self.path, text, fix)

    def error(self, code: str, text: str, fix: str) -> Finding:
        """Something that does not work."""
        return Finding(code, "error", self.path, text, fix)


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
        if layer.origin == PROJECT:
            found += _unused(layer, agent, folders)
    return list(dict.fromkeys(found))


def _unused(layer: Layer, agent: str, folders: list[Folder]) -> Iterator[Finding]:
    """Commands that nobody used here since uses are counted, if that is long enough to tell."""
    counts, first = uses(layer.root, agent)
    if not first or time.time() - first < _COUNTED_LONG_ENOUGH:
        return
    since = time.strftime("%Y-%m-%d", time.localtime(first))
    for folder in folders:
        if folder.address not in counts:
            text = f"{' '.join(folder.address)} was never used here since {since}"
            yield Finding("never-used", "warning", folder.directory, text, "Remove it, or keep it.")


def _folder_findings(folder: Folder) -> Iterator[Finding]:
    for kind, name, rule in zip(("c1", "c2", "c3"), folder.address, _NAMES, strict=True):
        if not rule.match(name):
            text = f"{kind} `{name}` does not follow {rule.pattern.removesuffix(chr(92) + 'Z')}"
            yield Finding("name", "warning", folder.directory, text, "Rename the directory.")
    used: set[str] = set()
    files = []
    for name, _, _ in folder.stamps:
        path = join(folder.directory, name)
        try:
            meta, body, problem = read_leniently(folder.read(path))
        except ClewError as error:
            yield Finding("unreadable", "error", path, error.message, error.hint or "")
            continue
        if problem:
            yield Finding("frontmatter-broken", "error", path, problem, "Repair the YAML.")
        files.append(_File(path, meta, body))
        used.update(names_in(body))
    for file in files:
        if file.path == folder.main_file:
            yield from _main_findings(file, folder, used)
        yield from _body_findings(file)


def _main_findings(file: _File, folder: Folder, used: set[str]) -> Iterator[Finding]:
    meta = file.meta
    if meta is None:
        text = "There is no frontmatter"
        yield file.warning("frontmatter-missing", text, "Add title and description.")
        return
    for key in ("title", "description"):
        if not text_of(meta.get(key)):
            text = f"The frontmatter has no {key}"
            yield file.warning(f"{key}-missing", text, "Add it: search uses it.")
    if len(text_of(meta.get("description"))) > _LONGEST_DESCRIPTION:
        text = f"The description has more than {_LONGEST_DESCRIPTION} characters"
        yield file.warning("description-long", text, "Shorten it.")
    for key, name in zip(("c1", "c2", "c3"), folder.address, strict=True):
        written = text_of(meta.get(key))
        if written and written != name and not written.endswith(f"-{name}"):
            text = f"{key} is `{written}`, but the directory is `{name}`"
            yield file.error("address", text, "Make both the same.")
    options = read_options(meta.get("options"))
    yield from _flag_findings(file, options, used)
    yield from _variant_findings(file, options, folder.directory)
    yield from _variable_findings(file, used)


def _flag_findings(file: _File, options: Options, used: set[str]) -> Iterator[Finding]:
    for flag, name in (("stdin", INPUT), ("file", FILE), ("destination", DESTINATION)):
        declared, asked = getattr(options, flag), name in used
        inlined = flag == "file" and INPUT in used
        if declared and not asked and not inlined:
            text = f"{flag} is true, but no template uses {{{name}}}"
            yield file.warning(f"{flag}-unused", text, f"Use {{{name}}}, or set {flag}: false.")
        elif asked and not declared:
            text = f"{{{name}}} is used, but {flag} is not declared"
            yield file.warning(f"{flag}-undeclared", text, f"Set {flag}: true.")


def _variant_findings(file: _File, options: Options, directory: str) -> Iterator[Finding]:
    there = variants(directory)
    for kind, declared, existing in (
        ("edition", options.edition, {edition for edition, _ in there}),
        ("adaptation", options.adaptation, {adaptation for _, adaptation in there if adaptation}),
    ):
        for name in declared:
            if name not in existing and name != DEFAULT:
                text = f"{kind} `{name}` is declared, but has no file"
                yield file.error(f"{kind}-missing", text, "Write the file, or remove the name.")
        for name in sorted(existing - {*declared, DEFAULT}):
            text = f"{kind} `{name}` has a file, but is not declared"
            yield file.warning(f"{kind}-undeclared", text, "Declare it.")


def _variable_findings(file: _File, used: set[str]) -> Iterator[Finding]:
    declared = {variable.name for variable in declared_variables(file.meta or {})}
    asked = {name.removeprefix(VARIABLE) for name in used if name.startswith(VARIABLE)}
    for name in sorted(declared - asked):
        text = f"uv `{name}` is declared, but no template uses {{uv-{name}}}"
        yield file.warning("uv-unused", text, "Use it, or remove it.")
    for name in sorted(asked - declared):
        text = f"{{uv-{name}}} is used, but not declared under uv"
        yield file.warning("uv-undeclared", text, "Declare it.")


def _body_findings(file: _File) -> Iterator[Finding]:
    if not file.body.strip():
        yield file.error("empty", "The template is empty", "Write it.")
    for name in dict.fromkeys(_BRACES.findall(file.body)):
        near = nearest(name, FIXED_NAMES, 1)
        if near and 0.85 < SequenceMatcher(None, name, near[0]).ratio() < 1:
            text = f"{{{name}}} is not a placeholder"
            yield file.warning("placeholder", text, f"Did you mean {{{near[0]}}}?")


def _pattern_findings(layer: Layer, agent: str, folders: list[Folder]) -> Iterator[Finding]:
    """Commands that the patterns of `-user.yml` reject in the original system."""
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
                text = f"{kind} `{value}` is rejected by the pattern {pattern}"
                yield Finding("pattern", "error", config, text, "Widen the pattern.")


def _matches(pattern: str, value: str) -> bool:
    try:
        return first_match(pattern, value) is not None
    except ClewError:
        return False
