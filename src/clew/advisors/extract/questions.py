"""Questions: what each kind of document leaves open, in the language of its source, and answers.

A question keeps its number for good. An answer fills in the attribute that was asked for, or adds
statements of the kind that was asked for; whoever declines leaves the question open, unasked.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, Final

from clew.advisors.documents.markdown import REFERENCE
from clew.advisors.documents.model import Document, Facts, Item, Question, same_text
from clew.advisors.documents.templates import Kind
from clew.advisors.extract.conflicts import conflicts
from clew.advisors.extract.measures import is_measured
from clew.advisors.extract.statements import inline
from clew.kit.errors import Invalid, NotFound
from clew.kit.jsontext import loads
from clew.kit.text.tokens import GERMAN_STOP_WORDS, STOP_WORDS, WORD

FIRST: Final = 5
LONGEST_ANSWER: Final = 4_000
DECLINED: Final = "left open"
_NAMED_AT_MOST: Final = 6
_AGREED = re.compile(
    r"(?:yes|y|ok(?:ay)?|default|agreed?|the default|as recommended|ja|standard|はい|既定)[.!]?",
    re.IGNORECASE,
)
_SAID = re.compile(r"^\s*(?:[-*]\s*)?\**(Q-\d{1,6})\**\s*[:=]\s*(\S.*)$", re.MULTILINE)
_ENTRY = re.compile(r"\s*(?:[-*+•]|\d{1,2}[.)])\s+")
_PAIR = re.compile(r"\s*([A-Z]{2}-\d+)\s*[:=\u2192-]+>?\s*(.+)")
_WIDE = re.compile(r"[\u3040-\u30ff]")
_BLOCKING: Final = frozenset({"users", "features", "objectives", "conflict"})
_TOPICS: Final[dict[Kind, str]] = {
    "vision": "users|features|objectives|BO.target|measures|SM.measured by|FE.objective|FE.release|"
    "problem|exclusions|risks|RI.mitigation|constraints|AS.state|priorities",
    "architecture": "features|parts|allocation|IN.on failure|quality|security|technology|hosting",
    "adr": "",
}
# Topics whose answer is a list of statements, and the kind of these.
_LISTS: Final = {
    "users": "ST", "features": "FE", "objectives": "BO", "problem": "PB", "exclusions": "EX",
    "risks": "RI", "constraints": "CO", "quality": "QG", "hosting": "DP", "parts": "CP",
    "technology": "TE", "security": "SC", "measures": "SM", "priorities": "PR",
}  # fmt: skip


def language_of(text: str) -> str:
    """The language of a text, of those that questions are asked in: en, de or ja."""
    if len(_WIDE.findall(text)) * 5 > len(text.split()):
        return "ja"
    words = [word.casefold() for word in WORD.findall(text[:20_000])]
    english = sum(word in STOP_WORDS for word in words)
    german = sum(word in GERMAN_STOP_WORDS and word not in STOP_WORDS for word in words)
    return "de" if german > english else "en"


@cache
def _texts() -> dict[str, Any]:
    found: dict[str, Any] = loads(Path(__file__).with_name("questions.json").read_text("utf-8"))
    return found


def measurable(item: Item) -> bool:
    """Whether an objective has a number or a date in its text or as its target."""
    return is_measured(f"{item.text} {item.get('target')} {item.get('deadline')}")


def unmeasured(facts: Facts) -> list[Item]:
    """The objectives that no metric measures."""
    measured = {one for metric in facts.metrics for one in metric.references("objective")}
    return [one for one in facts.objectives if one.id not in measured]


def _unserved(facts: Facts) -> list[Item]:
    served = {one for part in facts.components for one in part.references("features")}
    return [one for one in facts.features if facts.components and one.id not in served]


def _lacking(facts: Facts, topic: str) -> Sequence[Item]:
    """The items that a question about an attribute is about."""
    prefix, _, name = topic.partition(".")
    if topic == "FE.objective" and not facts.objectives:
        return ()
    if topic == "AS.state":
        return [one for one in facts.assumptions if one.get("state") == "unconfirmed"]
    return [one for one in facts.of(prefix) if not one.get(name)]


_OPEN: Final[dict[str, Callable[[Facts], Sequence[Item]]]] = {
    "measures": unmeasured,
    "allocation": _unserved,
    "BO.target": lambda facts: [
        one for one in facts.objectives if not measurable(one) and not one.get("target")
    ],
}


def gaps(facts: Facts, kind: Kind) -> list[Question]:
    """The questions that the facts leave open, without ids, by what they block."""
    language = language_of("\n".join(text for _, text in facts.texts))
    found = list(_contradictions(facts, language))
    for topic in filter(None, _TOPICS[kind].split("|")):
        if answer_to(facts, topic):
            continue
        if topic in _OPEN or "." in topic:
            items = _OPEN[topic](facts) if topic in _OPEN else _lacking(facts, topic)
            found += [_asked(facts, topic, language, items)] if items else []
        elif not facts.of(_LISTS[topic]):
            found.append(_asked(facts, topic, language, ()))
    return sorted(found, key=lambda one: not one.blocking)


def answer_to(facts: Facts, topic: str) -> str:
    """What was answered to the question on a topic, or nothing."""
    found = (item.get("answer") for item in facts.of("Q") if item.get("topic") == topic)
    return next(found, "")


def _asked(facts: Facts, topic: str, language: str, items: Sequence[Item]) -> Question:
    said = _texts()[topic]
    words = _words(facts, items, language)
    text, why, default = (said[language][name] for name in ("text", "why", "default"))
    return Question(
        "", text.format_map(words), why, (), default.format_map(words),
        said["section"], blocking=topic in _BLOCKING, topic=topic,
    )  # fmt: skip


def _words(facts: Facts, items: Sequence[Item], language: str) -> dict[str, str]:
    one = len(items) == 1
    are = {"en": ("is", "are"), "de": ("wird", "werden"), "ja": ("", "")}[language][not one]
    names = [item.id for item in items[:_NAMED_AT_MOST]]
    more = [f"+{len(items) - len(names)}"] if len(items) > len(names) else []
    return {
        "listed": ", ".join([*names, *more]),
        "named": ", ".join(f"{item.text} ({item.id})" for item in items[:_NAMED_AT_MOST]),
        "are": are,
        "Are": are.capitalize(),
        "objective": facts.objectives[0].id if facts.objectives else "",
    }


def _contradictions(facts: Facts, language: str) -> Iterator[Question]:
    said = _texts()["conflict"][language]
    for one in conflicts(facts.items):
        if answer_to(facts, one.topic):
            continue
        words = {"first": one.first.id, "second": one.second.id, "reason": one.reason,
                 "one": one.first.text, "other": one.second.text}  # fmt: skip
        options = (one.first.id, one.second.id, "both")
        yield Question("", said["text"].format_map(words), said["why"], options, "", "",
                       blocking=True, topic=one.topic)  # fmt: skip


def numbered(facts: Facts, kind: Kind) -> Facts:
    """The facts with every open question under an id of its own, which it keeps for good."""
    known = {item.get("topic"): item for item in facts.of("Q")}
    said = {same_text(item.text): item for item in facts.of("Q")}
    for question in gaps(facts, kind):
        old = known.get(question.topic) or said.get(same_text(question.text))
        if old is None:
            facts = facts.including(_item(question, facts.next_id("Q")))
        elif not old.get("answer"):
            facts = facts.replacing(_item(question, old.id))
    return facts


def open_for(facts: Facts, kind: Kind, expected: Collection[str] = ()) -> list[Question]:
    """The open questions of a kind of document, but for those whose answers are on their way."""
    known = {item.get("topic"): item for item in facts.of("Q")}
    asked = (one for one in gaps(facts, kind) if _LISTS.get(one.topic) not in expected)
    found = [(one, known.get(one.topic)) for one in asked]
    return [replace(one, id=item.id) for one, item in found if item and not item.get("answer")]


def about(facts: Facts, topic: str) -> str:
    """The id of the open question on a topic, or nothing."""
    found = (one for one in facts.of("Q") if one.get("topic") == topic and not one.get("answer"))
    return next((one.id for one in found), "")


def unasked(facts: Facts, answers: Iterable[str], kind: Kind) -> list[str]:
    """The questions among those answered that nothing leaves open."""
    still_open = {one.topic for one in gaps(facts, kind)}
    found = (facts.get(one) for one in answers)
    return [one.id for one in found if one is not None and one.get("topic") not in still_open]


def said_in(text: str, facts: Facts) -> tuple[dict[str, str], str]:
    """Answers in free text, a line `Q-8: …` each, to questions there are; and the rest of it."""
    known = {one.id for one in facts.of("Q")}
    given = {found[1]: found[2] for found in _SAID.finditer(text) if found[1] in known}
    rest = _SAID.sub(lambda found: "" if found[1] in known else found[0], text)
    return given, rest if given else text


def answered(facts: Facts, answers: Mapping[str, str], kind: Kind) -> Facts:
    """The facts with these answers taken in; an answer like `yes` takes the default."""
    still_open = {one.topic for one in gaps(facts, kind)}
    for question_id, given in answers.items():
        item = facts.get(question_id)
        if item is None or item.prefix != "Q":
            known = ", ".join(one.id for one in facts.of("Q") if not one.get("answer"))
            raise NotFound(
                f"There is no question {inline(question_id)[:40]}.",
                f"Open questions are: {known}." if known else "No question is open.",
            )
        if not given.strip():
            continue
        agreed = bool(_AGREED.fullmatch(given.strip()))
        if agreed and not item.get("default"):
            raise Invalid(f"{item.id} has no default", f"Answer it: {item.text}")
        lines = [line.strip() for line in given[:LONGEST_ANSWER].splitlines() if line.strip()]
        text = item.get("default") if agreed else "\n".join(lines)
        facts = facts.replacing(item.but(answer=text.replace("\n", "; ")))
        if text != DECLINED and item.get("topic") in still_open:
            facts = _applied(facts, item.get("topic"), text, item.id, agreed=agreed)
    return facts


def _applied(facts: Facts, topic: str, text: str, question: str, *, agreed: bool) -> Facts:
    source = f"default:{question}" if agreed else f"answer:{question}"
    if topic.startswith("conflict "):
        return _settled(facts, topic, text)
    if topic == "allocation":
        return _allocated(facts, text)
    if topic == "measures":
        for item, said in _said_about(unmeasured(facts), text):
            known = {name: item.get(name) for name in ("target", "deadline") if item.get(name)}
            more = {**known, "objective": item.id, "measured_by": said, "source": source}
            facts = facts.adding("SM", said, **more)
        return facts
    if "." in topic:
        name = topic.partition(".")[2]
        items = _OPEN[topic](facts) if topic in _OPEN else _lacking(facts, topic)
        changed = [_filled(item, name, said) for item, said in _said_about(items, text)]
        return facts.replacing(*changed)
    # A default says that nothing more is known: nothing is made of it.
    return facts if agreed and topic != "priorities" else _listed(facts, topic, text, source)


def _filled(item: Item, name: str, said: str) -> Item:
    if name == "objective":
        goals = [one for one in REFERENCE.findall(said) if one.startswith("BO-")]
        return item.but(objective=", ".join(goals)) if goals else item
    if name == "release":
        named = [one for one in REFERENCE.findall(said) if one.startswith("FE-")]
        none = re.match(r"\s*(?:none|later|keine?)\b", said, re.IGNORECASE)
        now = item.id in named if named else not none
        return item.but(release="1" if now else "later")
    if name == "state":
        denied = re.match(r"\s*(?:no|nein|いいえ)\b", said, re.IGNORECASE)
        open_still = said == "unconfirmed"
        return item.but(state=said if open_still else "refuted" if denied else "confirmed")
    return replace(item, attributes={**item.attributes, name: inline(said)})


def _listed(facts: Facts, topic: str, text: str, source: str) -> Facts:
    prefix = _LISTS.get(topic, "")
    for entry in _entries(text) if prefix else ():
        name, _, rest = entry.partition(":")
        more = {"source": source}
        if prefix == "ST":
            more |= {"role": "primary user", "interest": inline(rest)}
        elif prefix == "CP":
            more["responsibility"] = inline(rest)
        elif prefix == "TE":
            more["reason"] = "answered"
        elif prefix == "PR":
            more |= {"kind": "degree of freedom", "reason": "gives way first"}
        said = name if prefix in {"ST", "CP"} else entry
        facts = facts.adding(prefix, inline(said), **more)
    return facts


def _allocated(facts: Facts, text: str) -> Facts:
    for feature, said in _said_about(_unserved(facts), text):
        for part in (facts.get(one) for one in REFERENCE.findall(said)):
            if part is not None and part.prefix == "CP":
                served = dict.fromkeys([*part.references("features"), feature.id])
                facts = facts.replacing(part.but(features=", ".join(served)))
    return facts


def _settled(facts: Facts, topic: str, text: str) -> Facts:
    """The statement that does not hold goes; with `both` or anything else, both hold."""
    pair = topic.split()[1:3]
    named = [one for one in REFERENCE.findall(text) if one in pair]
    if len(named) == 1:
        return facts.without(set(pair) - {named[0]})
    first = facts.get(pair[0])
    return facts.replacing(first.but(holds_with=pair[1])) if first else facts


def _said_about(items: Sequence[Item], text: str) -> Iterator[tuple[Item, str]]:
    """Each item with what the answer says about it: by its id, or for all of them."""
    found = (_PAIR.fullmatch(entry) for entry in re.split(r"[\n;]", text))
    pairs = {pair[1]: pair[2].strip() for pair in found if pair}
    for item in items:
        if item.id in pairs or not pairs:
            yield item, pairs.get(item.id, text)


def _entries(text: str) -> list[str]:
    lines = [_ENTRY.sub("", line, count=1).strip() for line in text.split("\n")]
    return [line for line in lines if line]


def answers_in(document: Document) -> dict[str, str]:
    """What a human wrote as the answer below a question of a document."""
    return {item.id: item.get("answer") for item in document.items("Q") if item.get("answer")}


def as_items(questions: list[Question]) -> tuple[Item, ...]:
    """The questions as a document shows them."""
    return tuple(_item(one, one.id).but(topic="", section="") for one in questions)


def _item(question: Question, item_id: str) -> Item:
    """The question as a fact."""
    attributes = {
        "topic": question.topic,
        "why": question.why,
        "options": " / ".join(question.options),
        "default": question.default,
        "section": question.section,
        "blocking": "yes" if question.blocking else "",
    }
    return Item(item_id, question.text, attributes)
