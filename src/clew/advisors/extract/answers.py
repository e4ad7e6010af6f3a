"""An answer taken in: what it adds to the facts depends on what was asked."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Final

from clew.advisors.documents.markdown import REFERENCE
from clew.advisors.documents.model import Facts, Item
from clew.advisors.extract.lexicon import technologies_in
from clew.advisors.extract.statements import inline

_ENTRY = re.compile(r"\s*(?:[-*+•]|\d{1,2}[.)])\s+")
_PAIR = re.compile(r"\s*([A-Z]{1,2}-\d+)\s*[:=\u2192-]+>?\s*(.+)")
_LEVEL = re.compile(r"\b(low|medium|high)\b(?:\s+(probability|likelihood|impact))?", re.IGNORECASE)
_PROTOCOL = re.compile(
    r"\b(HTTPS?|REST|gRPC|AMQP|MQTT|SFTP|FTPS?|SMTP|IMAP|webhooks?|WebSockets?|files?)\b",
    re.IGNORECASE,
)
_FORMAT = re.compile(
    r"\b(JSON|XML|CSV|YAML|protobuf|Avro|iCal|PDF|plain text|form data)\b", re.IGNORECASE
)
_DIMENSION = re.compile(
    r"\b(features?|scope|quality|schedule|time|date|costs?|budget|staff|people)\b", re.IGNORECASE
)
_SAME_DIMENSION: Final = {"feature": "features", "scope": "features", "time": "schedule", "date": "schedule", "costs": "cost", "budget": "cost", "people": "staff"}  # fmt: skip
_NOTHING = re.compile(r"(?:none|nothing|no|keine?|nichts|なし)\b.{0,40}", re.IGNORECASE)
# Topics whose answer is a list of statements, and the kind of these.
_LISTS: Final = {
    "users": "ST",
    "features": "FE",
    "objectives": "BO",
    "problem": "PB",
    "exclusions": "EX",
    "risks": "RI",
    "constraints": "CO",
    "quality": "QG",
    "hosting": "DP",
}


def apply_answer(facts: Facts, question: Item, text: str, source: str) -> Facts:
    """The facts with the answer to a question."""
    topic = question.get("topic")
    if topic.startswith("conflict "):
        return _settled(facts, topic, text)
    if topic.startswith("number "):
        item = facts.get(topic.removeprefix("number "))
        return facts.replacing(item.but(target=inline(text))) if item else facts
    if topic in _LISTS:
        return _listed(facts, topic, text, source)
    if topic in _ABOUT_ITEMS:
        prefix, lacking, answered = _ABOUT_ITEMS[topic]
        said = _said_about(facts.of(prefix), text, lacking)
        return facts.replacing(*(answered(item, one, source) for item, one in said))
    handler = _HANDLERS.get(topic)
    return handler(facts, text, source) if handler else facts


def entries(text: str) -> list[str]:
    """The entries of an answer: its lines, without list marks."""
    lines = [_ENTRY.sub("", line, count=1).strip() for line in text.split("\n")]
    return [line for line in lines if line]


def _listed(facts: Facts, topic: str, text: str, source: str) -> Facts:
    prefix = _LISTS[topic]
    if topic in {"exclusions", "risks", "constraints"} and _NOTHING.fullmatch(text):
        return facts
    for entry in entries(text):
        name, _, rest = entry.partition(":")
        if prefix == "ST":
            more = {"role": "primary user", "interest": inline(rest)}
            facts = facts.adding("ST", inline(name), **more, source=source)
        else:
            more = {"attribute": "stated"} if prefix == "QG" else {}
            facts = facts.adding(prefix, inline(entry), **more, source=source)
    return facts


def _settled(facts: Facts, topic: str, text: str) -> Facts:
    """The statement that does not hold goes; with `both` or anything else, both stay."""
    first, second = topic.split()[1:3]
    if first == second or re.match(r"\s*both\b", text, re.IGNORECASE):
        return facts
    named = [one for one in REFERENCE.findall(text) if one in {first, second}]
    if not named and re.match(r"\s*(?:the )?first\b", text, re.IGNORECASE):
        named = [first]
    elif not named and re.match(r"\s*(?:the )?(?:second|last|later)\b", text, re.IGNORECASE):
        named = [second]
    return facts.without({first, second} - {named[0]}) if named else facts


def _pairs(text: str) -> dict[str, str]:
    found = (_PAIR.fullmatch(entry) for entry in re.split(r"[\n;]", text))
    return {pair[1]: pair[2].strip() for pair in found if pair}


def _said_about(items: tuple[Item, ...], text: str, lacking: str) -> Iterator[tuple[Item, str]]:
    """Each item with what the answer says about it: by its id, or for all that lack it."""
    pairs = _pairs(text)
    for item in items:
        if item.id in pairs:
            yield item, pairs[item.id]
        elif not pairs and not item.get(lacking):
            yield item, text


def _serving(item: Item, said: str, source: str) -> Item:
    known = [one for one in REFERENCE.findall(said) if one.startswith("BO-")]
    return item.but(objective=", ".join(known)) if known else item


def _treatment(item: Item, said: str, source: str) -> Item:
    found = list(_LEVEL.finditer(said))
    named = {(one[2] or "").lower(): one[1].lower() for one in found}
    plain = [one[1].lower() for one in found] or [""]
    parts = [part.strip() for part in re.split(r"[;,]", said)]
    kept = [one for one in parts if not _LEVEL.match(one) and one.lower() != "unassigned"]
    return item.filled(
        probability=named.get("probability") or named.get("likelihood") or plain[0],
        impact=named.get("impact") or plain[:2][-1],
        mitigation=inline("; ".join(kept) or said),
        owner="unassigned",
    )


def _state(item: Item, said: str, source: str) -> Item:
    denied = re.match(r"\s*(?:no|nein|いいえ)\b", said, re.IGNORECASE)
    state = "unconfirmed" if source.startswith("default") else "refuted" if denied else "confirmed"
    return item.but(state=state, said=inline(said))


def _integration(item: Item, said: str, source: str) -> Item:
    protocol, form = _PROTOCOL.search(said), _FORMAT.search(said)
    _, parted, failure = said.partition(";")
    return item.filled(
        protocol=protocol[0] if protocol else "",
        format=form[0] if form else "",
        on_failure=inline(failure if parted else said),
    )


# Topics about known items: their kind, the attribute that makes an item open, what is answered.
_ABOUT_ITEMS: Final[dict[str, tuple[str, str, Callable[[Item, str, str], Item]]]] = {
    "serves": ("FE", "objective", _serving),
    "interests": ("ST", "interest", lambda item, said, _source: item.but(interest=inline(said))),
    "treatment": ("RI", "mitigation", _treatment),
    "measure": (
        "SM",
        "measured by",
        lambda item, said, _source: item.but(measured_by=inline(said)),
    ),
    "confirm": ("AS", "question", _state),
    "integrations": ("IN", "protocol", _integration),
}


def _release(facts: Facts, text: str, source: str) -> Facts:
    named = set(REFERENCE.findall(text))
    none = bool(re.match(r"\s*none\b", text, re.IGNORECASE))
    for item in facts.features:
        if not item.get("release"):
            now = item.id in named if named else not none
            facts = facts.replacing(item.but(release="1" if now else "later"))
    return facts


def _priorities(facts: Facts, text: str, source: str) -> Facts:
    gives_way = dict.fromkeys(
        _SAME_DIMENSION.get(found.lower(), found.lower()) for found in _DIMENSION.findall(text)
    )
    for name in gives_way:
        facts = facts.adding(
            "PR", name.capitalize(), kind="degree of freedom", reason=inline(text), source=source
        )
    return facts


def _parts(facts: Facts, text: str, source: str) -> Facts:
    if source.startswith("default"):
        return facts  # the part that stands for all others is there already
    for entry in entries(text):
        name, _, duty = entry.partition(":")
        facts = facts.adding("CP", inline(name), responsibility=inline(duty), source=source)
    return facts


def _store(facts: Facts, text: str, source: str) -> Facts:
    facts = _technology(facts, text, source)
    return facts.adding("CP", "Data store", responsibility=inline(text), source=source)


def _language(facts: Facts, text: str, source: str) -> Facts:
    if technologies_in(text):
        return _technology(facts, text, source)
    attributes = {"used_for": "programming language", "reason": "answered", "source": source}
    return facts.adding("TE", inline(text), **attributes)


def _technology(facts: Facts, text: str, source: str) -> Facts:
    for one in technologies_in(text):
        reason = f"answered: {inline(text)}"
        facts = facts.adding("TE", one.name, used_for=one.used_for, reason=reason, source=source)
    return facts


def _allocation(facts: Facts, text: str, source: str) -> Facts:
    pairs = _pairs(text)
    everything = [one for one in REFERENCE.findall(text) if one.startswith("CP-")]
    for feature in facts.features:
        said = pairs.get(feature.id) or ("" if pairs else " ".join(everything))
        for part_id in REFERENCE.findall(said):
            part = facts.get(part_id)
            if part and part.prefix == "CP":
                served = dict.fromkeys([*part.references("features"), feature.id])
                facts = facts.replacing(part.but(features=", ".join(served)))
    return facts


_HANDLERS: Final = {
    "release": _release,
    "priorities": _priorities,
    "parts": _parts,
    "store": _store,
    "language": _language,
    "allocation": _allocation,
}
