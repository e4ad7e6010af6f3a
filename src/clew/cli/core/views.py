"""Answers of the thread for people: statements under their headings, hits with what opens them."""

from __future__ import annotations

import json
import re
import sys
from contextlib import suppress
from hashlib import sha256
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clew.cli.core.hints import own_commands
from clew.cli.core.terminal import headed, is_terminal, styled, wrapped
from clew.kit.errors import ClewError
from clew.kit.files import write_atomic
from clew.kit.outcome import Day, Drawn
from clew.kit.project import clew_home
from clew.kit.text.display import terminal_text
from clew.kit.times import ago_text, today

if TYPE_CHECKING:
    from clew.kit.jsontext import JsonObject

_MISSING = "missing"
_SHORT_SHA = 10
_MOST_REMINDERS = 200
_HASH = re.compile(r"\b[0-9a-f]{12}\b")
_SOURCE = re.compile(r"(?P<kind>[a-z]+):(?P<name>.*)", re.DOTALL)


def view_of(data: Any) -> tuple[str, ...] | None:
    """The parts of an answer that has a form of its own; None for all others."""
    if not isinstance(data, dict):
        return None
    if "statements" in data:
        return _pack_parts(data)
    return _hit_parts(data) if "hits" in data else None


def _pack_parts(pack: JsonObject) -> tuple[str, ...]:
    """A pack by sections, every statement with as much of its source as it does not say itself."""
    parts = [styled(_safe(pack["title"]), bold=True)]
    for section, some in groupby(pack["statements"], key=lambda one: one["section"]):
        statements = list(some)
        if section == _MISSING:
            lines = _missing_lines([one["text"] for one in statements])
        else:
            lines = _statement_lines(statements)
        if lines:
            parts += ["", styled(_safe(section.replace("_", " ").capitalize()), bold=True), *lines]
    left = sum(pack["left_out"].values())
    if left:
        parts += ["", styled(f"{left} more; --budget shows them.", dim=True)]
    return (Drawn("\n".join(parts)),)


def _statement_lines(statements: list[JsonObject]) -> list[str]:
    lines, before = [], ""
    for one in statements:
        source = "" if one["source"] == before else _short_source(one["source"], one["text"])
        before = one["source"]
        ending = f"[{_safe(source)}]" if source else ""
        shown = wrapped(f"{_safe(one['text'])} {ending}".rstrip(), "- ", "  ")
        lines.append(_toned(shown.removesuffix(ending)) + styled(ending, dim=True))
    return lines


def _missing_lines(texts: list[str]) -> list[str]:
    chosen = _due(texts) if is_terminal(sys.stdout) else texts
    return [styled(wrapped(own_commands(_safe(text)), "- ", "  "), dim=True) for text in chosen]


def _short_source(source: str, text: str) -> str:
    """A source as short as it can be told; nothing where the statement names it already."""
    found = _SOURCE.fullmatch(source)
    if found is None:
        return source
    kind, name = found["kind"], found["name"]
    if kind == "commit":
        sha = name.rpartition("@")[2]
        return "" if sha[:_SHORT_SHA] in text else sha[:_SHORT_SHA]
    return "" if name in text else name


def _hit_parts(found: JsonObject) -> tuple[str, ...]:
    """Hits, best first: what it is, the line that answers, and the command that opens it."""
    lines: list[str] = []
    for hit in found["hits"]:
        when = "" if hit.get("time") is None else _when(hit["time"])
        cells = ((hit["kind"], {"fg": "cyan"}), (when, {"dim": True}))
        lines.append(headed(cells, _safe(hit["title"])))
        if hit["snippet"] and hit["snippet"] != hit["title"]:
            lines.append(wrapped(_safe(hit["snippet"]), "    "))
        lines.append(f"    {styled(own_commands(_safe(hit['call'])), dim=True)}")
    if not lines:
        lines.append("Nothing found.")
    elif found["total"] > len(found["hits"]):
        lines.append(f"{len(found['hits'])} of {found['total']}; --limit shows more.")
    missing = _missing_lines(found["missing"])
    return (Drawn("\n".join([*lines, *missing])),)


def _when(seconds: float) -> str:
    return ago_text(seconds) if is_terminal(sys.stdout) else Day(seconds)


def _toned(text: str) -> str:
    return _HASH.sub(lambda found: styled(found[0], fg="yellow"), text)


def _safe(text: str) -> str:
    return terminal_text(text)


def _due(texts: list[str]) -> list[str]:
    """Those of the texts that nobody was shown today; a reminder is one once a day."""
    try:
        file = clew_home() / "reminders.json"
        shown = _shown_before(file)
        day = today()
        keys = {text: sha256(text.encode("utf-8", "replace")).hexdigest()[:16] for text in texts}
        fresh = [text for text in texts if shown.get(keys[text]) != day]
        if fresh:
            kept = {key: at for key, at in shown.items() if at == day}
            kept |= {keys[text]: day for text in fresh}
            write_atomic(file, json.dumps(dict(list(kept.items())[-_MOST_REMINDERS:])))
    except (ClewError, OSError):
        return texts
    return fresh


def _shown_before(file: Path) -> dict[str, str]:
    with suppress(OSError, ValueError):
        found = json.loads(file.read_text(encoding="utf-8"))
        if isinstance(found, dict):
            return found
    return {}
