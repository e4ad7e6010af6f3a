"""Prompts: bundled ones, a project's own over them, inheritance, and variables put in once.

What is put in is never looked at again, so a spec that has `{{...}}` in its text stays as it is.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from clew.kit.errors import Invalid, NotFound
from clew.kit.text.display import os_reason

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from clew.work.paths import Places

_BUNDLED = Path(__file__).with_name("prompts")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}")
_FRONT = re.compile(r"\A---[ \t]*\n(.*?)^---[ \t]*(?:\n|\Z)", re.DOTALL | re.MULTILINE)
_PARENT = "{{> parent}}"
_VARIABLE = re.compile(r"\{\{\s*([a-z][a-z_.]*)\s*\}\}")
_BACKTICKS = re.compile(r"`{3,}")
VARIABLES = (
    "project.name",
    "spec",
    "spec.id",
    "spec.title",
    "spec.description",
    "spec.path",
    "spec.target_files",
    "spec.context",
    "spec.criteria",
    "spec.model",
    "spec.fenced",
    "worktree.path",
    "worktree.branch",
    "worktree.isolated",
    "conflict.branch",
    "conflict.target",
    "conflict.files",
    "split.max_members",
)


@dataclass(frozen=True)
class Prompt:
    """A prompt file: where it is, what it extends, and its text."""

    name: str
    path: Path
    extends: str | None
    body: str


def prompt_names(places: Places) -> list[str]:
    """Every prompt that can be named here."""
    files = [*_BUNDLED.glob("*.md"), *places.prompts.glob("*.md")]
    return sorted({file.stem for file in files if _NAME.fullmatch(file.stem)})


def bundled_prompts() -> dict[str, str]:
    """The texts of the prompts that come with Clew, by name."""
    return {path.stem: path.read_text(encoding="utf-8") for path in sorted(_BUNDLED.glob("*.md"))}


def template(name: str, places: Places) -> str:
    """The prompt's text with everything it extends, before variables are put in."""
    return _composed(_find(name, places), places, ())


def render(
    name: str,
    places: Places,
    values: Mapping[str, str],
    sections: Sequence[tuple[str, str]] = (),
) -> str:
    """The prompt, whole and ready: variables put in, then the sections that have a text."""
    text = _VARIABLE.sub(lambda found: _value(name, found.group(1), values), template(name, places))
    added = [f"## {title}\n\n{body.strip()}" for title, body in sections if body.strip()]
    return "\n\n".join((text.strip(), *added)) + "\n"


def fenced(text: str) -> str:
    """Text as a block that it cannot end itself, whatever it says."""
    longest = max((len(run) for run in _BACKTICKS.findall(text)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}markdown\n{text.rstrip()}\n{fence}"


def _value(prompt: str, variable: str, values: Mapping[str, str]) -> str:
    if variable in values:
        return values[variable]
    if variable in VARIABLES:
        return ""
    raise Invalid(
        f"Prompt '{prompt}' has an unknown variable: {variable}",
        f"Variables: {', '.join(sorted({*VARIABLES, *values}))}.",
    )


def _find(name: str, places: Places, *, only_bundled: bool = False) -> Prompt:
    if not _NAME.fullmatch(name):
        raise Invalid(f"Not a prompt's name: {name[:100]!r}", "Letters, digits, - and _.")
    homes = (_BUNDLED,) if only_bundled else (places.prompts, _BUNDLED)
    for home in homes:
        path = home / f"{name}.md"
        if path.is_symlink() and not path.resolve().is_relative_to(home.resolve()):
            raise Invalid(f"Prompt '{name}' is a link that leads out of {home}", "Copy it there.")
        try:
            return _parsed(name, path, path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            continue
        except OSError as error:
            raise Invalid(f"Prompt '{name}' cannot be read: {os_reason(error)}") from error
        except UnicodeDecodeError:
            raise Invalid(f"Prompt '{name}' is not UTF-8: {path}") from None
    raise NotFound(f"Prompt not found: {name}", f"Prompts: {', '.join(prompt_names(places))}.")


def _parsed(name: str, path: Path, text: str) -> Prompt:
    found = _FRONT.match(text)
    if found is None:
        return Prompt(name, path, None, text)
    extends = None
    for line in found.group(1).splitlines():
        key, colon, value = line.partition(":")
        if colon and key.strip() == "extends":
            extends = value.strip().strip("\"'") or None
    return Prompt(name, path, extends, text[found.end() :])


def _composed(prompt: Prompt, places: Places, below: tuple[Path, ...]) -> str:
    if prompt.path in below:
        chain = " extends ".join(path.stem for path in (*below, prompt.path))
        raise Invalid(f"Prompts extend each other in a circle: {chain}", "Break the circle.")
    if prompt.extends is None:
        return prompt.body
    # A project's `standard` may extend the bundled one of the same name.
    is_override = prompt.extends == prompt.name and prompt.path.parent != _BUNDLED
    parent = _find(prompt.extends, places, only_bundled=is_override)
    inherited = _composed(parent, places, (*below, prompt.path)).strip()
    if _PARENT in prompt.body:
        return prompt.body.replace(_PARENT, inherited)
    return f"{inherited}\n\n{prompt.body.strip()}\n"
