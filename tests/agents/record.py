"""What was proven and when: `proven.json`, and the tables of docs/reference/agents.md from it."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

from clew import __version__
from tests.agents.install import PINS
from tests.agents.rows import ROWS

FILE = Path(__file__).with_name("proven.json")
GREEN, RED, OPEN = "yes", "**no**", "-"
_OWN = {"openai": "Clew (OpenAI)", "ollama": "Clew (Ollama)"}
_LONGEST_REASON = 200


def read():
    """The record so far."""
    if not FILE.exists():
        return {"agents": {}, "together": {}, "repeated": {}}
    return json.loads(FILE.read_text(encoding="utf-8"))


def write(record):
    """Keep the record, in an order that makes small differences."""
    text = json.dumps(record, indent=1, sort_keys=True, ensure_ascii=False)
    FILE.write_text(f"{text}\n", encoding="utf-8")


def today():
    """The date of what is proven now."""
    return datetime.now(UTC).date().isoformat()


def add(record, agent, version, row, wrong, notes):
    """Take over the verdict of one cell; those of another version are not kept."""
    entry = record["agents"].setdefault(agent, {"version": version, "cells": {}})
    if entry["version"] != version:
        entry.update(version=version, cells={})
    entry["cells"][row] = {"wrong": wrong, "notes": notes, "date": today()}


def title(agent):
    """The agent's name as its makers write it."""
    return PINS[agent]["title"] if agent in PINS else _OWN[agent]


def own_version():
    """The version of Clew's own agents."""
    return __version__


def tables(rows=ROWS):
    """The generated part of the page: versions, the matrix, its red cells, the long runs."""
    record = read()
    agents = {name: record["agents"][name] for name in (*PINS, *_OWN) if name in record["agents"]}
    lines = ["", "| Program | Version | Proven on |", "| --- | --- | --- |"]
    for name, entry in agents.items():
        dates = sorted({cell["date"] for cell in entry["cells"].values()})
        when = " to ".join(dict.fromkeys((dates[0], dates[-1])))
        lines.append(f"| {title(name)} | {entry['version']} | {when} |")
    lines += ["", "| Case | " + " | ".join(map(title, agents)) + " |"]
    lines.append("| --- |" + " --- |" * len(agents))
    for row in rows:
        marks = [_mark(entry["cells"].get(row)) for entry in agents.values()]
        lines.append(f"| `{row}` | {' | '.join(marks)} |")
    lines += ["", *_red(agents, rows), *_long_runs(record)]
    return "\n".join(lines) + "\n"


def _mark(cell):
    if cell is None:
        return OPEN
    return RED if cell["wrong"] else GREEN


def _red(agents, rows):
    found = [
        f"- {title(name)}, `{row}`: {'; '.join(cell['wrong'])[:_LONGEST_REASON]}"
        for name, entry in agents.items()
        for row in rows
        if (cell := entry["cells"].get(row)) and cell["wrong"]
    ]
    shown = (
        ["Not proven:", "", *found, ""] if found else ["Everything that was tried is proven.", ""]
    )
    untold = [
        f"- {title(name)}, `{row}`: {note}"
        for name, entry in agents.items()
        for row in rows
        for note in entry["cells"].get(row, {}).get("notes", ())
        if note.startswith("seen as")
    ]
    return [*shown, *(["Proven as far as the program tells:", "", *untold, ""] if untold else [])]


def _long_runs(record):
    together, repeated = record["together"], record["repeated"]
    if together:
        names = ", ".join(title(name) for name in together["agents"])
        end = "; ".join(together["wrong"])[:_LONGEST_REASON] or "all merged"
        yield f"Four specs at once, each by another program ({names}), {together['date']}: {end}."
    if repeated:
        yield ""
        names = ", ".join(f"{title(name)} {count}" for name, count in repeated["agents"].items())
        yield (
            f"The good case {repeated['runs']} times in a row, {repeated['date']}: "
            f"{repeated['wrong']} wrong verdicts ({names})."
        )
