"""Two scripted callers: one that writes down every fact, and one that drops some and invents some."""

from __future__ import annotations

import random
import re
from typing import Any, NamedTuple

from benchmarks.advisors.corpus import Fact, Foreign

DROPPED, INVENTED = 0.2, 0.05
_LIES = (
    "Administrators can approve every request from a dashboard",
    "The whole system answers within 50 ms for 10,000 users",
    "All data is encrypted and deleted after 30 days",
    "A mobile app sends reminders to every customer",
    "Costs fall by 40 % in the first year",
)


class Draft(NamedTuple):
    """What a caller sends: statements, the refs of those it invented, the facts that it dropped."""

    statements: list[dict[str, Any]]
    invented: set[str]
    dropped: list[Fact]


def statement(ref: str, fact: Fact) -> dict[str, Any]:
    """A fact as it should be written down."""
    return {"ref": ref, "kind": fact.kind, "text": fact.text, "quote": fact.text}


def perfect(foreign: Foreign) -> Draft:
    """Every fact in its own words."""
    made = [statement(f"S{n}", fact) for n, fact in enumerate(foreign.facts, 1)]
    return Draft(made, set(), [])


def careless(foreign: Foreign, others: list[Fact], dice: random.Random) -> Draft:
    """A fifth of the facts is dropped, and about one statement in twenty is invented."""
    facts = list(foreign.facts)
    dropped = [fact for fact in facts if dice.random() < DROPPED]
    kept = [fact for fact in facts if fact not in dropped]
    made = [statement(f"S{n}", fact) for n, fact in enumerate(kept, 1)]
    number = sum(dice.random() < INVENTED for _ in facts)
    lies = [_lie(f"L{n}", foreign, others, dice) for n in range(number)]
    return Draft([*made, *lies], {lie["ref"] for lie in lies}, dropped)


def _lie(ref: str, foreign: Foreign, others: list[Fact], dice: random.Random) -> dict[str, Any]:
    """An invention of one of five sorts."""
    true = dice.choice(foreign.facts)
    lie = dice.choice(_LIES)
    other = dice.choice([one.text for one in others if one not in foreign.facts])
    words = true.text.split()
    at = dice.randrange(len(words))
    exchanged = " ".join([*words[:at], "elephant", *words[at + 1 :]])
    number = re.sub(r"\d+", "977", true.text) if re.search(r"\d", true.text) else f"{true.text} 977"
    text, quote = dice.choice(
        [
            (lie, lie),
            (lie, true.text),
            (other, true.text),
            (true.text, exchanged),
            (number, true.text),
        ]
    )
    return {"ref": ref, "kind": "feature", "text": text, "quote": quote}
