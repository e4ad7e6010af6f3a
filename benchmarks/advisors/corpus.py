"""Texts that others wrote, and what is in them.

`facts.json` says where a text is (repository, commit, path, lines) and, by hand, which passages of it
are facts of which kind, as places in the text. The texts themselves are not kept here. Without them
the scripted texts below stand in, and the report says so.
"""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
from pathlib import Path
from typing import NamedTuple

FACTS = Path(__file__).with_name("facts.json")
_SENTENCE = re.compile(r"[^.!?\n]+[.!?]?")
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


def foreign_texts(place: Path) -> list[Foreign]:
    """The texts of the recipe, read out of clones or mirrors in a directory (`OWNER/NAME`)."""
    found = []
    for entry in json.loads(FACTS.read_text("utf-8")):
        whole = _shown(place, entry["repository"], f"{entry['commit']}:{entry['path']}")
        first, last = entry["lines"]
        text = "\n".join(whole.split("\n")[first - 1 : last])
        if hashlib.sha256(text.encode()).hexdigest()[:16] != entry["sha256"]:
            raise SystemExit(f"{entry['repository']} {entry['path']} is not the text of the recipe")
        facts = tuple(Fact(kind, text[start:end]) for kind, start, end in entry["facts"])
        found.append(Foreign(f"{entry['repository']}/{entry['path']}", text, facts))
    return found


def _shown(place: Path, repository: str, what: str) -> str:
    names = (repository, f"{repository}/.git", repository.replace("/", "+") + "/repo")
    directory = next((place / name for name in names if (place / name / "HEAD").exists()), None)
    if directory is None:
        raise SystemExit(f"There is no clone of {repository} in {place}")
    command = ["git", "--git-dir", str(directory), "show", what]
    return subprocess.run(command, capture_output=True, check=True).stdout.decode("utf-8")


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


def sentences(text: str) -> list[str]:
    """The sentences of a text, roughly."""
    return [one.strip() for one in _SENTENCE.findall(text) if one.strip()]
