"""Templates: specs with `{{name}}` in them, filled in when a spec is made of them.

A template is a file in `.chant/templates/` or, for all projects, in `chant/templates/` below the
user's configuration; the project's wins. What is filled in is text: it never becomes a field, a
placeholder or markup of the frontmatter.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

from clew.kit.errors import Invalid, NotFound
from clew.kit.paths import ProjectPaths
from clew.kit.text.display import os_reason
from clew.kit.text.frontmatter import FrontmatterError
from clew.kit.times import today
from clew.specs.files.parse import read_document, read_file

_PLACEHOLDER = re.compile(r"\{\{[ \t]*([A-Za-z_][A-Za-z0-9_-]*)[ \t]*\}\}")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_OWN_FIELDS = frozenset({"name", "description", "variables"})
_TRUE = frozenset({"true", "True", "TRUE", "yes"})


class Variable(NamedTuple):
    """What a template asks for."""

    name: str
    description: str
    required: bool
    default: str | None


class Template(NamedTuple):
    """A template as its file has it."""

    name: str
    description: str
    variables: tuple[Variable, ...]
    fields: dict[str, Any]
    body: str
    path: Path
    scope: str

    def as_json(self) -> dict[str, Any]:
        """What there is to know of a template."""
        variables = [variable._asdict() for variable in self.variables]
        return {**self._asdict(), "path": str(self.path), "variables": variables}


def list_templates(paths: ProjectPaths) -> tuple[list[Template], list[str]]:
    """All templates by name, and what is wrong with those that cannot be read."""
    found: dict[str, Template] = {}
    problems: list[str] = []
    for scope, directory in _directories(paths):
        for path in sorted(directory.glob("*.md")) if directory.is_dir() else ():
            try:
                template = _read(path, scope)
            except Invalid as error:
                problems.append(error.message)
            else:
                found.setdefault(template.name, template)
    return [found[name] for name in sorted(found)], problems


def load_template(paths: ProjectPaths, name: str) -> Template:
    """The template of this name; the project's before the user's."""
    if not _NAME.fullmatch(name) or ".." in name:
        raise Invalid(f"Not a template name: {name!r}", "Use letters, digits, dots, '-' and '_'.")
    searched: list[str] = []
    for scope, directory in _directories(paths):
        path = directory / f"{name}.md"
        searched.append(str(path))
        if path.is_file():
            return _read(path, scope)
    known, _ = list_templates(paths)
    for template in known:
        if template.name == name:
            return template
    names = ", ".join(template.name for template in known) or "none"
    raise NotFound(
        f"Template '{name}' not found.",
        f"Searched: {', '.join(searched)}. Known templates: {names}.",
    )


def parse_assignments(texts: Iterable[str]) -> dict[str, str]:
    """`key=value` texts as a mapping."""
    values: dict[str, str] = {}
    for text in texts:
        key, equals, value = text.partition("=")
        if not equals or not key.strip():
            raise Invalid(f"Invalid variable format '{text}'. Expected 'key=value'.")
        values[key.strip()] = value
    return values


def fill(template: Template, values: dict[str, str]) -> tuple[dict[str, Any], str]:
    """The fields and the body of a new spec; `{{date}}` is today unless it is given."""
    chosen = {"date": today()}
    chosen |= {v.name: v.default for v in template.variables if v.default is not None}
    chosen |= values
    missing = [v.name for v in template.variables if v.required and not chosen.get(v.name)]
    if missing:
        hint = "Give each as --var " + " --var ".join(f"{name}=..." for name in missing)
        raise Invalid(f"Missing required variable(s): {', '.join(missing)}", hint)
    used = set(_PLACEHOLDER.findall(f"{template.body}\n{template.fields}"))
    known = used | {variable.name for variable in template.variables}
    unknown = sorted(values.keys() - known - {"description"})
    if unknown:
        names = ", ".join(sorted(known)) or "none"
        raise Invalid(f"Unknown variable(s): {', '.join(unknown)}", f"Known: {names}.")
    return _filled(template.fields, chosen), _filled(template.body, chosen)


def _filled(value: Any, chosen: dict[str, str]) -> Any:
    if isinstance(value, str):
        return _PLACEHOLDER.sub(lambda found: chosen.get(found[1], found[0]), value)
    if isinstance(value, list):
        return [_filled(item, chosen) for item in value]
    if isinstance(value, dict):
        return {key: _filled(part, chosen) for key, part in value.items()}
    return value


def _directories(paths: ProjectPaths) -> list[tuple[str, Path]]:
    configured = os.environ.get("XDG_CONFIG_HOME")
    base = Path(configured) if configured else Path.home() / ".config"
    return [("project", paths.templates), ("global", base / "chant" / "templates")]


def _read(path: Path, scope: str) -> Template:
    try:
        raw, _ = read_file(str(path), now_ns=time.time_ns())
        document = read_document(raw)
    except FrontmatterError as error:
        place = f"{path}:{error.line}" if error.line else str(path)
        raise Invalid(f"{place}: {error.cause}", "Correct the template.") from None
    except OSError as error:
        raise Invalid(f"The template cannot be read: {os_reason(error)}") from error
    fields = document.fields
    name = fields.get("name")
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise Invalid(f"{path}: the template has no usable `name`", "Add `name: <word>`.")
    declared = fields.get("variables")
    variables = tuple(map(_variable, declared if isinstance(declared, list) else []))
    kept = {key: value for key, value in fields.items() if key not in _OWN_FIELDS}
    description = fields.get("description")
    words = description if isinstance(description, str) else ""
    return Template(name, words, variables, kept, document.body.lstrip("\r\n"), path, scope)


def _variable(declared: Any) -> Variable:
    if isinstance(declared, str):
        return Variable(declared, "", required=False, default=None)
    given = declared if isinstance(declared, dict) else {}
    default = given.get("default")
    return Variable(
        str(given.get("name") or ""),
        str(given.get("description") or ""),
        required=given.get("required") in _TRUE,
        default=default if isinstance(default, str) else None,
    )
