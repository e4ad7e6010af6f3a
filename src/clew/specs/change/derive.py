r"""Derived fields: values that follow from the branch, the path, the environment or the git user.

    enterprise:
      derived:
        ticket: {from: branch, pattern: "feature/([A-Z]+-\d+)"}
        team: {from: env, pattern: TEAM_NAME, validate: {type: enum, values: [core, web]}}
        owner: {from: git_user, pattern: email}

Each becomes a field of its own name; `labels` and `context` gain the values between commas. The
names are kept in `derived_fields`, and deriving again changes nothing.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any, NamedTuple

from clew.kit.errors import Invalid
from clew.kit.git import git_text_or_none
from clew.kit.text.patterns import first_match
from clew.specs.model import Changes, Spec, words_of
from clew.specs.store.config import Config
from clew.specs.store.store import SpecStore

_LISTS = ("labels", "context")
_NOT_DERIVED = frozenset({"status", "approval", "depends_on", "members", "derived_fields"})
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
_LONGEST = 500
_SECRET_NAME = re.compile(r"(?i)token|secret|pass|key|credential|auth|cookie|session|dsn|url")


class Derivation(NamedTuple):
    """What follows for one spec: fields that differ, and values that are not allowed."""

    spec_id: str
    fields: dict[str, Any]
    warnings: tuple[str, ...]


def derive(spec: Spec, config: Config, project: Path) -> Derivation:
    """The fields that follow for a spec and are not yet so."""
    rules = config.value("enterprise", "derived")
    if not isinstance(rules, dict) or not rules:
        raise Invalid(
            "No enterprise derivation configured",
            "Add `enterprise.derived` to .chant/config.md, one entry for each field.",
        )
    values: dict[str, str] = {}
    warnings: list[str] = []
    for name, rule in rules.items():
        _check_name(name)
        value = _value(rule if isinstance(rule, dict) else {}, spec, project)
        allowed = _allowed(rule)
        if value and allowed and value not in allowed:
            warnings.append(f"{name}: '{value}' is not one of {', '.join(allowed)}")
        elif value:
            values[name] = value
    return Derivation(spec.id, _changed_fields(spec, values), tuple(warnings))


def derive_spec(
    store: SpecStore, spec_id: str, config: Config, *, actor: str, dry_run: bool = False
) -> Derivation:
    """Write what follows for a spec, or only say what that would be."""
    found = derive(store.load(spec_id), config, store.project)
    if found.fields and not dry_run:
        store.change(
            found.spec_id,
            lambda spec: Changes(derive(spec, config, store.project).fields, note="derived"),
            actor=actor,
        )
    return found


def _check_name(name: str) -> None:
    if name in _NOT_DERIVED or not _NAME.fullmatch(name):
        raise Invalid(f"The field '{name}' cannot be derived", "Choose another field's name.")


def _changed_fields(spec: Spec, values: dict[str, str]) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    for name, value in values.items():
        if name in _LISTS:
            present = spec.words(name)
            parts = (part.strip() for part in value.split(","))
            added = [part for part in parts if part and part not in present]
            if added:
                fields[name] = [*present, *dict.fromkeys(added)]
        elif spec.fields.get(name) != value:
            fields[name] = value
    names = [*dict.fromkeys([*words_of(spec.fields.get("derived_fields")), *values])]
    if values and names != list(spec.words("derived_fields")):
        fields["derived_fields"] = names
    return fields


def _value(rule: dict[str, Any], spec: Spec, project: Path) -> str | None:
    source, pattern = rule.get("from"), str(rule.get("pattern") or "")
    if source == "env":
        if _SECRET_NAME.search(pattern):
            raise Invalid(
                f"The variable {pattern} may hold a secret, and specs are for everybody",
                "Derive from another one.",
            )
        found: str | None = os.environ.get(pattern)
    elif source == "git_user":
        key = "user.email" if pattern == "email" else "user.name"
        found = git_text_or_none(project, "config", "--get", key)
    elif source == "branch":
        here = ("symbolic-ref", "--short", "-q", "HEAD")
        branch = spec.text("branch") or git_text_or_none(project, *here)
        found = _group(pattern, branch or "")
    elif source == "path":
        found = _group(pattern, spec.head.path)
    else:
        raise Invalid(f"Unknown source '{source}'", "Use branch, path, env or git_user.")
    value = " ".join((found or "").split())
    return value[:_LONGEST] or None


def _group(pattern: str, text: str) -> str | None:
    found = first_match(pattern, text)
    return found[1 if len(found) > 1 else 0] if found is not None else None


def _allowed(rule: Any) -> tuple[str, ...]:
    check = rule.get("validate") if isinstance(rule, dict) else None
    return words_of(check.get("values")) if isinstance(check, dict) else ()
