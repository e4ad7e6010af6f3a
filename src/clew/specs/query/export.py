"""Specs as JSON, CSV or a Markdown table."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from typing import Any

from clew.kit.errors import Invalid
from clew.kit.jsontext import pretty
from clew.specs.model import Head, Spec
from clew.specs.store.store import SpecStore

FORMATS = ("json", "csv", "markdown")
DEFAULT_FIELDS = ("id", "type", "status", "title", "labels", "model", "completed_at")
ALL_FIELDS = (
    *DEFAULT_FIELDS, "target_files", "depends_on", "commits", "tracks", "informed_by", "origin",
    "schedule", "derived_fields",
)  # fmt: skip
_LONGEST_CELL = 80


def fields_of(text: str | None) -> tuple[str, ...]:
    """The fields that a text names: none for the usual ones, `all`, or names between commas."""
    if not text:
        return DEFAULT_FIELDS
    names = tuple(name.strip() for name in text.split(",") if name.strip())
    if "all" in names:
        return tuple(dict.fromkeys((*ALL_FIELDS, *(name for name in names if name != "all"))))
    return names or DEFAULT_FIELDS


def export_specs(
    store: SpecStore,
    heads: Iterable[Head],
    form: str = "json",
    fields: Sequence[str] = DEFAULT_FIELDS,
) -> str:
    """The specs in this form; a field is a documented or any other frontmatter field."""
    makers = {"json": _json, "csv": _csv, "markdown": _markdown, "md": _markdown}
    if form not in makers:
        raise Invalid(f"Unknown format: {form}. Supported formats: {', '.join(FORMATS)}")
    records = [record(store.read(head), fields) for head in heads]
    return makers[form](records, fields)


def record(spec: Spec, fields: Sequence[str]) -> dict[str, Any]:
    """One spec's fields, those without a value left out."""
    own = {"id": spec.id, "type": spec.type, "status": spec.status, "title": spec.title}
    values = {name: own[name] if name in own else spec.fields.get(name) for name in fields}
    return {name: value for name, value in values.items() if value is not None}


def _json(records: list[dict[str, Any]], fields: Sequence[str]) -> str:
    return pretty(records) + "\n"


def _csv(records: list[dict[str, Any]], fields: Sequence[str]) -> str:
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(fields)
    for item in records:
        writer.writerow([_text(item.get(name)) for name in fields])
    return stream.getvalue()


def _markdown(records: list[dict[str, Any]], fields: Sequence[str]) -> str:
    lines = [f"| {' | '.join(fields)} |", f"|{' --- |' * len(fields)}"]
    rows = ([_cell(item.get(name)) for name in fields] for item in records)
    lines += [f"| {' | '.join(row)} |" for row in rows]
    return "\n".join(lines) + "\n"


def _cell(value: Any) -> str:
    text = " ".join(_text(value).split())
    text = text if len(text) <= _LONGEST_CELL else f"{text[: _LONGEST_CELL - 1]}…"
    return text.replace("\\", "\\\\").replace("|", "\\|")


def _text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, list):
        return ", ".join(map(_text, value))
    if isinstance(value, dict):
        return ", ".join(f"{name}={_text(part)}" for name, part in value.items())
    return str(value)
