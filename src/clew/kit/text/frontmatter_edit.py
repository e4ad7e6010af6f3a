"""Front matter edited in place: every byte that was not meant to change stays."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from clew.kit.errors import Invalid
from clew.kit.text.frontmatter import FrontmatterError, read_document
from clew.kit.text.yaml_edit import field_lines, key_spans, scalar_text

if TYPE_CHECKING:
    from clew.kit.text.frontmatter import Document
    from clew.kit.text.yaml_edit import KeySpan

_FLOW = re.compile(r"[^\s:]+:[ ]+\[")
_ITEM = re.compile(r"( *)- ")
_FIELD_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")


def edit_document(document: Document, changes: dict[str, Any], body: str | None = None) -> bytes:
    """The file's new bytes; proven by reading them back that nothing else is different.

    None as a value removes the field.
    """
    wanted = {key: _normal(key, value) for key, value in changes.items()}
    yaml = _edit_fields(document, wanted)
    new_body = document.body if body is None else body
    if document.has_frontmatter:
        opening = document.text[: document.yaml_start]
        closing = document.text[document.yaml_end : document.body_start]
        if new_body and not closing.endswith("\n"):
            closing += document.line_end
    else:
        opening = document.text[: document.yaml_start]
        if yaml:
            opening += f"---{document.line_end}"
        closing = f"---{document.line_end}" if yaml else ""
    new = (opening + yaml + closing + new_body).encode("utf-8")
    _prove(document, wanted, new_body, new)
    return new


def _normal(key: str, value: Any) -> Any:
    """The value as a reader will give it back; None stands for a field to remove."""
    if not _FIELD_NAME.fullmatch(key):
        raise Invalid(f"Not a usable field name: {key!r}", "Use letters, digits, `_` and `-`.")
    return _as_text(value)


def _as_text(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return [_as_text(item) for item in value]
    if isinstance(value, dict):
        return {str(key): _as_text(part) for key, part in value.items()}
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return str(value)
    raise Invalid(f"A field cannot hold a {type(value).__name__}", "Use texts, lists and maps.")


def _prove(document: Document, wanted: dict[str, Any], body: str, new: bytes) -> None:
    try:
        after = read_document(new, document.order)
    except FrontmatterError as error:
        raise _unsafe(error.cause) from None
    kept = [(k, v) for k, v in document.fields.items() if k not in wanted]
    if [(k, v) for k, v in after.fields.items() if k not in wanted] != kept or after.body != body:
        raise _unsafe("other parts of the file would change")
    if any(after.fields.get(key) != value for key, value in wanted.items()):
        raise _unsafe("the new value would read differently")


def _unsafe(cause: str) -> Invalid:
    return Invalid(f"This frontmatter cannot be changed safely: {cause}", "Edit the file by hand.")


def _edit_fields(document: Document, wanted: dict[str, Any]) -> str:
    """The lines between the marks after the changes."""
    text = document.text[document.yaml_start : document.yaml_end]
    old = document.fields
    changed = {k: v for k, v in wanted.items() if old.get(k) != v or (v is None and k in old)}
    if not changed:
        return text
    spans = key_spans(document.yaml) if document.has_frontmatter else {}
    if spans is None:
        raise _unsafe("its keys are not one below the other")
    lines = [f"{line}\n" for line in text.split("\n")[:-1]]
    ranks = {name: rank for rank, name in enumerate(document.order)}
    splices: list[tuple[int, int, int, int, list[str]]] = []
    for number, (key, value) in enumerate(changed.items()):
        span = spans.get(key)
        if span is None and value is not None:
            start = end = _insertion(key, spans, ranks)
            new = [line + document.line_end for line in field_lines(key, value)]
        elif span is not None:
            start, end = span.start, span.end
            new = [] if value is None else _replaced(document, key, value, span, lines)
        else:
            continue
        splices.append((start, end, ranks.get(key, len(ranks)), number, new))
    for start, end, _, _, new in sorted(splices, reverse=True):
        lines[start:end] = new
    return "".join(lines)


def _insertion(key: str, spans: dict[str, KeySpan], ranks: dict[str, int]) -> int:
    """The line before which a new key goes: in the known order, unknown ones at the end."""
    if not spans:
        return 0
    if key not in ranks:
        return max(span.end for span in spans.values())
    before = [
        (ranks[k], span.end) for k, span in spans.items() if ranks.get(k, len(ranks)) < ranks[key]
    ]
    return max(before)[1] if before else min(span.start for span in spans.values())


def _replaced(
    document: Document, key: str, value: Any, span: KeySpan, lines: list[str]
) -> list[str]:
    """The new lines of a key that is there; its comment, style and indentation stay."""
    own = lines[span.start : span.end]
    old = document.fields[key]
    if isinstance(value, str) and span.value is not None:
        start, end = span.value
        return [own[0][:start] + scalar_text(value) + own[0][end:], *own[1:]]
    flow = isinstance(value, list) and _FLOW.match(own[0]) is not None
    item = next((found for line in own if (found := _ITEM.match(line))), None)
    indent = item.group(1) if item else ""
    new = [
        f"{line}{document.line_end}" for line in field_lines(key, value, flow=flow, indent=indent)
    ]
    if item and isinstance(old, list) and isinstance(value, list) and value[: len(old)] == old:
        return own + new[1 + len(old) :]
    return new
