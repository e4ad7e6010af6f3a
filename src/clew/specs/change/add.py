"""New specs out of a description or a template."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from clew.kit.errors import Invalid
from clew.specs.files.criteria import add_criterion
from clew.specs.model import Spec
from clew.specs.store.store import SpecStore

LONGEST_TITLE = 80
_SENTENCE_END = re.compile(r"\.(?=\s|$)")
_PROMPT_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


def add_spec(
    store: SpecStore,
    description: str,
    *,
    prompt: str | None = None,
    needs_approval: bool = False,
    fields: dict[str, Any] | None = None,
    criteria: Iterable[tuple[str, str | None]] = (),
    actor: str,
) -> Spec:
    """A new pending spec whose title is the description, or its first sentence if it is long.

    A criterion is a text and, optionally, the command that checks it.
    """
    if not description.strip():
        raise Invalid("The description is empty", "Say in one sentence what is to be done.")
    if description.startswith("---\n"):
        raise Invalid("The text begins with front matter", "Give the body; options set the fields.")
    given: dict[str, Any] = {"type": "code", "status": "pending", **(fields or {})}
    if prompt:
        given["prompt"] = checked_prompt(prompt)
    if needs_approval:
        given["approval"] = {"required": "true", "status": "pending"}
    title, rest = split_description(description.strip())
    body = f"# {title}\n" + (f"\n{rest}\n" if rest else "")
    return store.create(given, with_criteria(body, criteria), actor=actor)


def with_criteria(body: str, criteria: Iterable[tuple[str, str | None]]) -> str:
    """The body with these criteria added."""
    for text, check in criteria:
        body = add_criterion(body, text, check)
    return body


def add_from_template(
    store: SpecStore,
    name: str,
    assignments: Iterable[str],
    description: str = "",
    *,
    fields: dict[str, Any] | None = None,
    criteria: Iterable[tuple[str, str | None]] = (),
    actor: str,
) -> Spec:
    """A new pending spec out of a template; `{{description}}` is the description."""
    from clew.specs.change.templates import fill, load_template, parse_assignments

    values = {"description": description} if description else {}
    template = load_template(store.paths, name)
    filled, body = fill(template, values | parse_assignments(assignments))
    given = {"type": "code", "status": "pending", **filled, **(fields or {})}
    return store.create(given, with_criteria(body, criteria), actor=actor)


def checked_prompt(name: str) -> str:
    """A prompt's name, if it can be one: no path, no option."""
    if not _PROMPT_NAME.fullmatch(name) or ".." in name:
        raise Invalid(f"Not a prompt name: {name!r}", "Use letters, digits, dots, '-' and '_'.")
    return name


def split_description(text: str) -> tuple[str, str]:
    """The title and the rest: a long description is cut after its first line or sentence."""
    if len(text) <= LONGEST_TITLE and "\n" not in text:
        return text, ""
    first, _, rest = text.partition("\n")
    if rest:
        return first.strip().lstrip("# ") or first.strip(), rest.strip()
    end = _SENTENCE_END.search(text)
    if end and text[end.end() :].strip():
        return text[: end.start()].strip(), text[end.end() :].strip()
    return text, ""
