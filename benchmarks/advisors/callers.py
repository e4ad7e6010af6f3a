"""Scripted callers: perfect, careless, one that quotes inexactly, one whose inventions look alike."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.advisors.corpus import Fact, Foreign

DROPPED, INVENTED = 0.2, 0.05
_CONDENSED = Path(__file__).with_name("condensed.json")
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


def _without_middle(text: str) -> str:
    words = text.split()
    return " ".join([*words[:3], "...", *words[-3:]]) if len(words) > 8 else text


# What a person or a model does to words that it copies; none changes what is said.
ALTERED: dict[str, Callable[[str], str]] = {
    "case": str.upper,
    "whitespace": lambda text: "  \n ".join(text.split()),
    "quotation marks": lambda text: text.translate(str.maketrans("'\"`", "\u2019\u201d'")),
    "dashes": lambda text: re.sub(r" - |\u2014", " \u2013 ", text).replace("-", "\u2010"),
    "last mark dropped": lambda text: text.rstrip(" .;,:!?。"),
    "emphasis and links dropped": lambda text: re.sub(
        r"\[([^\]]*)\](?:\([^)]*\)|\[[^\]]*\])", r"\1", re.sub(r"[*_]{1,2}(?=\w)|(?<=\w)[*_]{1,2}|`", "", text)
    ),
    "middle left out": _without_middle,
    "hyphenated at a line's end": lambda text: re.sub(
        r"\b([a-zA-Zäöü]{4})([a-zäöü]{4,})\b", r"\1-\n\2", text, count=1
    ),
    "hyphen dropped": lambda text: re.sub(r"(?<=[a-z])-(?=[a-z])", "", text),
}  # fmt: skip


def altered(foreign: Foreign, change: Callable[[str], str]) -> Draft:
    """Every fact, with a quote that was copied inexactly; those that stay the same are left out."""
    changed = [(fact, change(fact.text)) for fact in foreign.facts]
    made = [
        {"ref": f"S{n}", "kind": fact.kind, "text": fact.text, "quote": quote}
        for n, (fact, quote) in enumerate(changed, 1)
        if quote != fact.text
    ]
    return Draft(made, set(), [])


def condensed(foreign: Foreign, batch: str) -> Draft:
    """Statements that a reader wrote in fewer words of its own, each under the exact quote."""
    said = json.loads(_CONDENSED.read_text("utf-8"))[batch].get(foreign.name, {})
    made = [
        {**statement(number, foreign.facts[int(number) - 1]), "text": text}
        for number, text in said.items()
    ]
    return Draft(made, set(), [])


_NEGATION = re.compile(
    r"\b(?:not|no longer|never|cannot|without|nicht|keine?n?|ohne)\s|(?<=do)n[\u2019']t|(?<=does)n[\u2019']t|(?<=are)n[\u2019']t|ません|ない", re.IGNORECASE
)  # fmt: skip
_VERB = re.compile(
    r"\b(?:should|will|can|is|are|must|would|has|have|soll|kann|ist|sind)\b", re.IGNORECASE
)
_SMALL_WORDS = (
    "this that these those there when where what which with from have will would should could while also "
    "some many most more they them their currently since then like maybe other such diese dieser dies eine "
    "einer einem oder auch wird werden sind"
)
_COMMON = frozenset(_SMALL_WORDS.split())
_UNIT = {"hours": "days", "minutes": "seconds", "per day": "per hour", "months": "weeks", "h ": "s ", "%": " hours", "characters": "words", "days": "weeks"}  # fmt: skip


def _renumbered(text: str) -> str:
    return re.sub(
        r"\d+", lambda found: str(int(found[0]) * 3 + 1) if found[0].isascii() else "7", text
    )


def _actor_swapped(text: str, dice: random.Random, names: list[str]) -> str:
    """Another one does it: the first word that could be somebody or something is exchanged."""
    found = [
        one for one in re.finditer(r"\b[^\W\d_]{4,}\b", text) if one[0].casefold() not in _COMMON
    ]
    others = [one for one in names if one.casefold() not in text.casefold()]
    if not found or not others:
        return text
    at = found[0]
    return f"{text[: at.start()]}{dice.choice(others)}{text[at.end() :]}"


def lookalikes(foreign: Foreign, dice: random.Random) -> Iterator[tuple[str, dict[str, Any]]]:
    """Statements under a true quote that say nearly the same: each with the sort of its lie."""
    names = sorted({word for fact in foreign.facts for word in re.findall(r"\b[^\W\d_]{5,}\b", fact.text)
                    if word.casefold() not in _COMMON})  # fmt: skip
    strangers = ["auditors", "suppliers", "the ministry", "robots", "Lieferanten"]
    for fact in foreign.facts:
        if fact.kind == "aside":
            continue
        true = fact.text
        lies = {
            "a number changed": _renumbered(true),
            "a negation dropped": _NEGATION.sub("", true),
            "a negation added": _VERB.sub(lambda found: f"{found[0]} not", true, count=1)
            if not _NEGATION.search(true) and "n't" not in true
            else true,
            "a unit changed": next((re.sub(rf"(\d+ ?){re.escape(one)}", rf"\g<1>{other}", true)
                                    for one, other in _UNIT.items()
                                    if re.search(rf"\d ?{re.escape(one)}", true)), true),
            "an actor of the text swapped in": _actor_swapped(true, dice, names),
            "a stranger swapped in": _actor_swapped(true, dice, strangers),
        }  # fmt: skip
        for sort, lie in lies.items():
            if " ".join(lie.split()) != " ".join(true.split()):
                yield sort, {"ref": "L", "kind": fact.kind, "text": lie, "quote": true}
