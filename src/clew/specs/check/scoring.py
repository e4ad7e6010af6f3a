"""How well a spec is written, as grades A to D and a traffic light."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

from clew.kit.text.markdown import HEADING, ITEM, Block, Blocks
from clew.specs.files.criteria import is_output_heading
from clew.specs.files.ids import driver_of
from clew.specs.model import Spec

_VERBS = frozenset([
    "implement", "add", "create", "update", "fix", "remove", "delete", "refactor", "test",
    "verify", "ensure", "validate", "configure", "setup", "install", "deploy", "build", "run",
    "execute", "check", "document", "write", "read", "parse", "handle", "process", "calculate",
    "compute", "convert", "transform", "migrate", "upgrade", "downgrade",
])  # fmt: skip
_VAGUE = re.compile(r"\b(?:improve|as needed|etc|and related|similar)\b", re.IGNORECASE)
_COUPLED = re.compile(r"depends on each other|tightly coupled", re.IGNORECASE)
_MEMBER = re.compile(r"\bmember \d", re.IGNORECASE)
_FIRST_WORD = re.compile(r"(?:\[[ xX]\][ \t]+)?(\w+)")

_ADVICE = {
    ("complexity", "D"): "Reduce criteria count or split spec into smaller pieces",
    ("complexity", "C"): "Consider reducing scope or splitting into subtasks",
    ("confidence", "D"): (
        "Use bullet points instead of prose paragraphs; "
        "avoid vague words like 'improve', 'as needed', 'etc', 'similar'"
    ),
    ("confidence", "C"): (
        "Increase bullet-to-prose ratio (>50%); start bullets with imperative verbs; "
        "reduce vague language"
    ),
    ("ac_quality", "D"): "Add at least 1 acceptance criteria checkbox",
    ("ac_quality", "C"): "Add at least 2 acceptance criteria checkboxes",
    ("ac_quality", "B"): "Add at least 4 acceptance criteria checkboxes for Grade A",
    ("splittability", "D"): "Remove coupling keywords ('tightly coupled', 'depends on each other')",
    ("splittability", "C"): (
        "Add target_files and organize with ## section headers to improve splittability"
    ),
    ("isolation", "D"): "Reduce cross-references between group members to improve isolation",
    ("isolation", "C"): "Consider reducing coupling between group members",
}


class Score(NamedTuple):
    """The grades of one spec."""

    id: str
    title: str | None
    complexity: str
    confidence: str
    ac_quality: str
    splittability: str
    isolation: str | None

    @property
    def traffic_light(self) -> str:
        """Green: ready to be worked on. Yellow: look again. Red: refine it first."""
        grades = {self.complexity, self.confidence, self.ac_quality}
        if "D" in grades:
            return "red"
        return "yellow" if "C" in grades else "green"

    @property
    def suggestions(self) -> list[str]:
        """What would raise the grades."""
        graded = ("complexity", "confidence", "ac_quality", "splittability", "isolation")
        advice = (_ADVICE.get((name, getattr(self, name) or "A")) for name in graded)
        return sorted({text for text in advice if text})

    def as_json(self) -> dict[str, Any]:
        """The grades by name, with the light and the suggestions."""
        return {
            **self._asdict(),
            "traffic_light": self.traffic_light,
            "suggestions": self.suggestions,
        }


def score_spec(spec: Spec, members: Sequence[Spec] = ()) -> Score:
    """The grades of a spec; a group's members say how independent they are."""
    blocks: list[Block] = []
    for block in Blocks(spec.body):
        if block.kind == HEADING and is_output_heading(block.level, block.words):
            break
        blocks.append(block)
    text = "\n".join(block.words for block in blocks)
    return Score(
        spec.id,
        spec.title,
        _complexity(spec.head.criteria_total, len(spec.head.target_files), len(text.split())),
        _confidence(blocks, text),
        _ac_quality(spec.head.criteria_total),
        _splittability(spec, blocks, text),
        _isolation(members) if members else None,
    )


def _complexity(criteria: int, files: int, words: int) -> str:
    for grade, limits in (("D", (8, 5, 600)), ("C", (6, 4, 400)), ("B", (4, 3, 200))):
        if criteria >= limits[0] or files >= limits[1] or words >= limits[2]:
            return grade
    return "A"


def _confidence(blocks: list[Block], text: str) -> str:
    bullets = [block.words for block in blocks if block.kind == ITEM]
    lines = sum(block.kind != HEADING for block in blocks)
    if not lines:
        return "D"
    firsts = [found[1].lower() for words in bullets if (found := _FIRST_WORD.match(words))]
    share = len(bullets) / lines
    verbs = sum(word in _VERBS for word in firsts) / len(bullets) if bullets else 0
    vague = len(_VAGUE.findall(text))
    if share < 0.10 or vague > 8:
        return "D"
    if share > 0.60 and verbs > 0.80 and vague == 0:
        return "A"
    return "B" if share > 0.30 and verbs > 0.50 and vague < 3 else "C"


def _ac_quality(criteria: int) -> str:
    if criteria <= 1:
        return "C" if criteria else "D"
    return "B" if criteria < 4 else "A"


def _splittability(spec: Spec, blocks: list[Block], text: str) -> str:
    headings = sum(block.kind == HEADING and block.level > 1 for block in blocks)
    files = len(spec.head.target_files)
    if driver_of(spec.id) or spec.head.criteria_total == 1:
        return "C"
    if headings >= 3 and files >= 3:
        grade = "A"
    elif 1 <= headings <= 2 and files == 2:
        grade = "B"
    else:
        return "C"
    return "D" if _COUPLED.search(text) else grade


def _isolation(members: Sequence[Spec]) -> str:
    if len(members) == 1:
        return "A"
    alone = sum(not _MEMBER.search(member.body) for member in members) / len(members)
    files = Counter(name for member in members for name in set(member.head.target_files))
    shared = sum(count > 1 for count in files.values()) / max(len(files), 1)
    if alone <= 0.50 or shared > 0.50:
        return "D"
    if alone > 0.90 and shared < 0.20:
        return "A"
    return "B" if alone > 0.70 else "C"
