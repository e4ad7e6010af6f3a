"""Texts that others wrote, and what is in them.

A recipe says where a text is (repository, commit, path, lines; or the address of a page) and, by
hand, which passages of it are facts of which kind, as places in the text. The texts themselves are
not kept here. Without them the scripted texts below stand in, and the report says so.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
from pathlib import Path
from typing import Any, NamedTuple

# The judge was adjusted on the first; it read the others only after they were labelled.
RECIPES = {
    name: Path(__file__).with_name(f"{name}.json") for name in ("facts", "held_out", "fresh")
}
# Kind by kind, a sentence each; written for this benchmark, so they show the mechanics only.
_SCRIPTED = {
    "background": "The {0} cooperative runs {1} sites in the valley.",
    "problem": "Today the staff of {0} copy {2} orders a week by hand.",
    "objective": "The backlog of {0} has to fall from {2} orders to {1} by May 2028.",
    "feature": "Members of {0} can follow their parcel on a map.",
    "exclusion": "Invoices of {0} are not part of this.",
    "constraint": "Everything at {0} must run on the two machines in the cellar.",
    "risk": "The drivers of {0} may refuse to carry a second phone.",
    "stakeholder": "The night shift of {0} will use it first.",
}
_NAMES = ("Alder", "Birch", "Cedar", "Dogwood", "Elm", "Fir", "Gorse", "Hazel", "Ivy", "Juniper")


class Fact(NamedTuple):
    """A passage of a text, and the kind of statement that it is."""

    kind: str
    text: str


class Foreign(NamedTuple):
    """A text, its name, and its facts in order."""

    name: str
    text: str
    facts: tuple[Fact, ...]


def foreign_texts(place: Path, recipe: str = "facts") -> tuple[list[Foreign], list[str]]:
    """The texts of a recipe that a directory has, and the names of those it lacks or has otherwise.

    Repositories are clones or mirrors (`OWNER/NAME`), pages are files (`pages/ADDRESS.txt`).
    """
    found, missing = [], []
    for entry in json.loads(RECIPES[recipe].read_text("utf-8")):
        name = entry.get("page") or f"{entry['repository']}/{entry['path']}"
        text = _text(place, entry)
        if hashlib.sha256(text.encode()).hexdigest()[:16] != entry["sha256"]:
            missing.append(name)
            continue
        facts = tuple(Fact(kind, text[start:end]) for kind, start, end in entry["facts"])
        found.append(Foreign(name, text, facts))
    return found, missing


def _text(place: Path, entry: dict[str, Any]) -> str:
    if "page" in entry:
        page = place / "pages" / f"{entry['page']}.txt"
        return page.read_text("utf-8").rstrip("\n") if page.is_file() else ""
    repository = str(entry["repository"])
    mirror = repository.replace("/", "+")
    names = (repository, f"{repository}/.git", f"{mirror}/repo", f"{mirror}/repo/.git")
    directory = next((place / name for name in names if (place / name / "HEAD").exists()), None)
    if directory is None:
        return ""
    what = f"{entry['commit']}:{entry['path']}"
    command = ["git", "--git-dir", str(directory), "show", what]
    shown = subprocess.run(command, capture_output=True, check=False).stdout.decode("utf-8")
    first, last = entry["lines"]
    return "\n".join(shown.split("\n")[first - 1 : last])


def scripted_texts() -> list[Foreign]:
    """Stand-ins with the same number of texts as the recipe asks for."""
    found = []
    for number in range(30):
        name = _NAMES[number % len(_NAMES)] + ("" if number < len(_NAMES) else f" {number}")
        values = (name, str(3 + number), str(200 + number))
        facts = tuple(Fact(kind, line.format(*values)) for kind, line in _SCRIPTED.items())
        lines = " ".join(fact.text for fact in facts[:4]), *(f"- {fact.text}" for fact in facts[4:])
        text = f"Hello all,\n\n{lines[0]}\n\n" + "\n".join(lines[1:]) + "\n\nThanks, Kim"
        found.append(Foreign(f"scripted {number + 1}", text, facts))
    return found
