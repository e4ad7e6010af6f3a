"""`python -m benchmarks.advisors [--texts DIR]`: what notes, callers and the judge find."""

from __future__ import annotations

import argparse
import os
import random
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.advisors.callers import (
    ALTERED,
    Draft,
    altered,
    careless,
    condensed,
    lookalikes,
    perfect,
)
from benchmarks.advisors.corpus import RECIPES, Fact, Foreign, foreign_texts, scripted_texts
from clew.advisors.documents.model import Facts, same_text
from clew.advisors.drafts.draft import coverage_of, take_draft
from clew.advisors.drafts.kinds import KINDS
from clew.advisors.drafts.source import Source
from clew.advisors.extract.notes import UNPLACED, notes_of
from clew.advisors.extract.statements import plain
from clew.advisors.tools import vision_agent
from clew.kit.call import Call

ROUNDS = 20
_ADDRESS = re.compile(r"https?://[^\s)]+")
_CHARACTERS = 4  # of a token, roughly


class Share(NamedTuple):
    """So many of so many."""

    part: int
    whole: int

    @property
    def percent(self) -> float:
        """The share in per cent."""
        return 100 * self.part / self.whole if self.whole else 100.0

    def __str__(self) -> str:
        return f"{self.percent:5.1f} %  ({self.part} of {self.whole})"


def added(shares: Iterator[Share]) -> Share:
    """All together."""
    found = list(shares)
    return Share(sum(one.part for one in found), sum(one.whole for one in found))


def facts_of(foreign: Foreign) -> Facts:
    """What Clew knows after a call with the text alone."""
    source = Source().adding("vision", foreign.text)
    return Facts("", notes_of(foreign.text).items, source.texts)


def by_rules(texts: list[Foreign]) -> dict[str, Share]:
    """How many facts the notes place, how many of their places are right, how many words are lost."""
    right = placed = lost = total = 0
    for foreign in texts:
        items = notes_of(foreign.text).items
        gold = {same_text(fact.text): fact.kind for fact in foreign.facts if fact.kind != "aside"}
        total += len(gold)
        kinds = {one.prefix: name for name, one in KINDS["vision"].items()}
        for item in items:
            if item.prefix != UNPLACED:
                said = same_text(plain(item.text))
                placed += 1
                right += any(kind == kinds.get(item.prefix) for text, kind in gold.items()
                             if said in text or text in said)  # fmt: skip
        shown = " ".join(same_text(plain(item.text)) for item in items)
        lost += sum(not all(word in shown for word in text.split()) for text in gold)
    return {
        "facts found by the notes": Share(right, total),
        "right among those placed": Share(right, placed),
        "facts with a word that is lost": Share(lost, total),
    }


def judged(texts: list[Foreign], drafts: list[Draft]) -> dict[str, Share]:
    """What the judge makes of drafts."""
    pairs = [
        (foreign, draft, facts_of(foreign)) for foreign, draft in zip(texts, drafts, strict=True)
    ]
    shares: dict[str, list[Share]] = {}

    def count(name: str, part: int, whole: int) -> None:
        shares.setdefault(name, []).append(Share(part, whole))

    for foreign, draft, facts in pairs:
        taken = take_draft(facts, "vision", {"statements": draft.statements}, "caller")
        refused = {one.ref for one in taken.refused}
        quoted = {one.ref for one in taken.reworded}
        true = [one["ref"] for one in draft.statements if one["ref"] not in draft.invented]
        gaps = " \n ".join(same_text(gap.text) for gap in coverage_of(taken.facts, "vision").gaps)
        count("inventions refused", len(draft.invented & refused), len(draft.invented))
        count(
            "omissions listed", sum(_listed(one, gaps) for one in draft.dropped), len(draft.dropped)
        )
        count("true statements taken", sum(ref not in refused for ref in true), len(true))
        count(
            "of these in their own words",
            sum(ref not in refused | quoted for ref in true),
            len(true),
        )
        count("facts in the document", len(true) - len(refused & set(true)), len(foreign.facts))
    return {name: added(iter(found)) for name, found in shares.items()}


def inexact(texts: list[Foreign]) -> dict[str, Share]:
    """Which inexact quotes are taken, and which inventions that look alike are refused."""
    found = {}
    for name, change in ALTERED.items():
        taken = judged(texts, [altered(one, change) for one in texts])["true statements taken"]
        found[f"taken, quote altered: {name}"] = taken
    for batch in ("before", "after", "fresh"):
        told = judged(texts, [condensed(one, batch) for one in texts])
        found[f"taken, text condensed, {batch}"] = told["true statements taken"]
        found[f"of these as they were condensed, {batch}"] = told["of these in their own words"]
    dice, refused = random.Random(11), dict[str, list[Share]]()
    for foreign in texts:
        facts = facts_of(foreign)
        for sort, lie in lookalikes(foreign, dice):
            draft = take_draft(facts, "vision", {"statements": [lie]}, "caller")
            kept_out = bool(draft.refused or draft.reworded)
            refused.setdefault(sort, []).append(Share(kept_out, 1))
    return found | {f"kept out, {sort}": added(iter(each)) for sort, each in refused.items()}


def _listed(fact: Fact, gaps: str) -> bool:
    """Whether the gaps have at least half of a fact's words, in one passage."""
    wanted = set(same_text(_ADDRESS.sub(" ", fact.text)).split())
    return any(len(wanted & set(gap.split())) * 2 >= len(wanted) for gap in gaps.split(" \n "))


def conversation_tokens(foreign: Foreign, call: dict[str, Any]) -> tuple[int, int]:
    """The tokens of the answers of a conversation, and of its answer to the draft alone."""
    first = vision_agent({"project_description": foreign.text, **call}, Call())
    known = first.structured() or {}
    draft = {"statements": perfect(foreign).statements}
    more = {"conversation_id": known["conversation_id"], "draft": draft, **call}
    second = vision_agent({"project_description": "", **more}, Call())
    return (len(first.text) + len(second.text)) // _CHARACTERS, len(second.text) // _CHARACTERS


def project(home: Path, number: int) -> dict[str, Any]:
    """The argument that names a new project."""
    place = home / f"project-{number}"
    (place / ".git").mkdir(parents=True)
    return {"project": str(place)}


def report(texts: list[Foreign], rounds: int = ROUNDS) -> dict[str, Share]:
    """All figures but the tokens."""
    found = by_rules(texts)
    found |= {f"perfect caller: {k}": v for k, v in judged(texts, [perfect(one) for one in texts]).items()
              if v.whole}  # fmt: skip
    every = [fact for one in texts for fact in one.facts]
    dice = random.Random(7)
    many = [judged(texts, [careless(one, every, dice) for one in texts]) for _ in range(rounds)]
    for name in many[0]:
        found[f"careless caller: {name}"] = added(one[name] for one in many)
    return found


def show(texts: list[Foreign], what: str) -> None:
    """Measure and print."""
    facts = sum(len(one.facts) for one in texts)
    print(f"{len(texts)} texts ({what}), {facts} facts by hand")
    measured = report(texts) | inexact(texts)
    for name, share in measured.items():
        if share.whole:
            print(f"{name:55} {share}")
    with tempfile.TemporaryDirectory() as home:
        os.environ["CLEW_HOME"] = home
        tokens = [conversation_tokens(one, project(Path(home), n)) for n, one in enumerate(texts)]
    print(f"{'tokens of a conversation, mean':55} {sum(one for one, _ in tokens) // len(tokens)}")
    print(f"{'tokens of the answer to a draft, largest':55} {max(two for _, two in tokens)}")


def main() -> None:
    """Measure and print, recipe by recipe."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.advisors", description=__doc__)
    parser.add_argument("--texts", type=Path, help="a directory with clones and pages")
    given = parser.parse_args()
    if not given.texts:
        show(scripted_texts(), "scripted for this benchmark, not by others")
    for recipe in RECIPES if given.texts else ():
        texts, missing = foreign_texts(given.texts, recipe)
        for name in missing:
            print(f"skipped: {name} is not in {given.texts}, or not the text of the recipe")
        if texts:
            show(texts, f"{recipe}, written by others")


if __name__ == "__main__":
    main()
