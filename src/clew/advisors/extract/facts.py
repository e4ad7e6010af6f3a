"""Facts out of a text or an earlier document: what is said, by kind, and where it is said.

Nothing is made up and nothing is dropped: a sentence that is of no known kind is background, and
one that speaks to the reader's tools instead of about the project is set aside.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace

from clew.advisors.documents.model import Document, Facts, Item, same_text
from clew.advisors.extract import patterns
from clew.advisors.extract.lexicon import (
    CATEGORY,
    PARTS,
    SECONDARY,
    SERVED,
    category_in,
    role_stem,
    roles_in,
    says_a_deed,
    systems_in,
    technologies_in,
)
from clew.advisors.extract.statements import Statement, inline, statements

MOST_STATEMENTS = 2_000
_ENOUGH_FEATURES = 2
_SURE = frozenset({"EX", "RI", "AS", "SM", "BO", "CO", "DP"})
_MEASURED = frozenset({"performance", "availability"})
_ORDER = (
    ("EX", patterns.EXCLUSION),
    ("RI", patterns.RISK),
    ("AS", patterns.ASSUMPTION),
    ("SM", patterns.METRIC),
)
_BE = re.compile(r"\b(?:should|needs? to|has to|have to|must|will) (?:also )?be\b", re.IGNORECASE)
_RELATIVE = re.compile(r"\b(?:that|which)\s+(\w+s\b.*)", re.IGNORECASE)
_JOINT = re.compile(r",\s+and\s+|,\s+|\s+and\s+")
_THIRD_PERSON = re.compile(r"[a-z]+[^s\W]s\s+\w")
_MAKING = re.compile(
    r"\b(?:build|create|develop|make|need|want|design|write|have|is|becomes?)\s+(?=an?\b|the\b)",
    re.IGNORECASE,
)
_SUBJECT_DEED = re.compile(
    r"(?:can|may|should|will|must|kann|können|sollen?|want to|wants to|need to|needs to|are able to|is able to)\s+(?:be able to\s+)?(.{3,})",
    re.IGNORECASE,
)
_BENEFIT = re.compile(r"\b(?:so that|in order to|damit|um .{3,60} zu)\b\s*(.{3,})", re.IGNORECASE)
_UNLIKE = re.compile(
    r"\b(?:unlike|instead of|rather than|anders als|statt)\s+(.{3,80}?)(?=[,.;]|$)", re.IGNORECASE
)
_PROBABILITY = re.compile(r"\b(low|medium|high) (?:probability|likelihood|risk)\b", re.IGNORECASE)
_IMPACT = re.compile(r"\b(low|medium|high) impact\b", re.IGNORECASE)
_OWNER = re.compile(r"\bowner:?\s+([A-Z]\w+(?: [A-Z]\w+)?)")
_DUE = re.compile(
    r"[.;]?\s*(?:mitigation|mitigated by|we will|gegenmaßnahme|対策)[:\uff1a]?\s+(.{3,})",
    re.IGNORECASE,
)


def from_text(text: str, source: str = "text") -> Facts:
    """What a description says, each fact with its line."""
    found = statements(text, MOST_STATEMENTS)
    facts = from_statements(found[:MOST_STATEMENTS], source)
    if len(found) > MOST_STATEMENTS:
        rest = found[MOST_STATEMENTS]
        said = f"What stands from line {rest.line} on is not needed; only {MOST_STATEMENTS} statements are read"
        facts = facts.adding("AS", said, state="unconfirmed", source=f"{source}:{rest.line}")
    return facts


def from_statements(found: Iterable[Statement], source: str) -> Facts:
    """What statements say; their source is a name and their line."""
    items: dict[tuple[str, str], Item] = {}
    numbers: dict[str, int] = {}
    for statement in found:
        for prefix, words, attributes in _facts_of(statement):
            key = (prefix, role_stem(words) if prefix == "ST" else same_text(words))
            if key in items:
                items[key] = _said_again(items[key], words, attributes)
                continue
            numbers[prefix] = numbers.get(prefix, 0) + 1
            where = {**attributes, "source": f"{source}:{statement.line}"}
            items[key] = Item(f"{prefix}-{numbers[prefix]}", inline(words), where)
    return Facts("", _without_summaries(tuple(items.values())))


def _said_again(known: Item, words: str, attributes: dict[str, str]) -> Item:
    """The item with what only the later statement says; its name from where it is the subject."""
    named = known.prefix == "ST" and attributes.get("interest") and not known.get("interest")
    longer = len(known.text.split()) > len(words.split())
    text = inline(words) if named and not longer else known.text
    return Item(known.id, text, {**attributes, **known.attributes})


def _without_summaries(items: tuple[Item, ...]) -> tuple[Item, ...]:
    """Features read out of the opening sentence count only where no others are said."""
    features = [item for item in items if item.prefix == "FE"]
    said = [item for item in features if not item.get("summary")]
    if len(said) >= _ENOUGH_FEATURES:
        items = tuple(item for item in items if not item.get("summary"))
    renamed: list[Item] = []
    number = 0
    for item in items:
        if item.prefix != "FE":
            renamed.append(item)
            continue
        number += 1
        renamed.append(replace(item, id=f"FE-{number}", attributes=item.but(summary="").attributes))
    return tuple(renamed)


def from_document(document: Document) -> Facts:
    """What an earlier document says, under the ids it has there."""
    return Facts("", tuple(item for item in document.items() if item.id))


def kind_of(statement: Statement) -> str:
    """The kind of fact that a statement is: the prefix of its id."""
    text = statement.text
    if patterns.INSTRUCTION.search(text):
        return "SA"
    headed = heading_kind(statement.heading)
    if headed and statement.listed:
        return headed
    said = next((prefix for prefix, cue in _ORDER if cue.search(text)), "") or _weighed(text)
    if headed in {"", "TE", "IN", "CP", "ST"} or said in _SURE:
        return said
    return headed


def heading_kind(heading: str) -> str:
    """The kind of fact that a heading announces, or nothing."""
    return next((prefix for prefix, cue in patterns.HEADINGS.items() if cue.search(heading)), "")


def _weighed(text: str) -> str:
    measured = patterns.AMOUNT.search(text) or patterns.DATE.search(text)
    asked_of_it = _BE.search(text) and _quality_of(text)
    capability = patterns.MUST_CAPABILITY.search(text) or _done_for_people(text)
    found = {
        "BO": patterns.GOAL.search(text)
        or (patterns.OUTCOME.search(text) and measured)
        or _aims(text),
        "CO": asked_of_it or (patterns.CONSTRAINT.search(text) and not capability),
        "PB": patterns.PROBLEM.search(text),
        "FE": patterns.FEATURE.search(text) or capability or _is_done_with_it(text),
        "DP": patterns.DEPLOYMENT.search(text),
    }
    return next((prefix for prefix, said in found.items() if said), _unasked(text))


def _aims(text: str) -> bool:
    """Whether a sentence says a change in numbers, or a number and the day it is reached."""
    if patterns.CAPABLE.search(text) or patterns.MOVED.search(text):
        return False
    dated = bool(patterns.DEADLINE.search(text))
    if patterns.CHANGE.search(text):
        return dated or bool(patterns.MOVING.search(text) and not patterns.PROBLEM.search(text))
    return dated and bool(patterns.COUNT.search(text)) and not patterns.OBLIGATION.search(text)


def _done_for_people(text: str) -> bool:
    """Whether something must be done for people or shown to them, without a measure of how."""
    said = patterns.MUST_BE_DONE.search(text) or SERVED.match(text)
    return bool(said) and not patterns.LIMIT.search(text) and not _quality_of(text)


def _is_done_with_it(text: str) -> bool:
    """Whether people do something with the product, as far as words can tell."""
    return says_a_deed(text) and not patterns.WITHOUT_IT.search(text)


def _unasked(text: str) -> str:
    """The kind of a sentence without a cue: a measured quality asks for it by itself."""
    measured = patterns.LIMIT.search(text) and _quality_of(text) in _MEASURED
    return "CO" if measured and not category_in(text) else "BG"


def _facts_of(statement: Statement) -> Iterator[tuple[str, str, dict[str, str]]]:
    kind, text = kind_of(statement), statement.text
    if kind == "SA":
        yield kind, f"`{text.replace('`', chr(39))}`", {}
        return
    if kind in {"TE", "IN", "CP", "QG"} or (kind == "BG" and not statement.listed):
        yield from _described(statement, kind)
    elif kind == "FE" and not statement.listed:
        yield from _feature_statement(statement)
    else:
        yield kind, _trimmed(text, kind), _attributes(kind, statement)
    if kind != "EX":
        yield from _named(statement, kind)


def _described(statement: Statement, kind: str) -> Iterator[tuple[str, str, dict[str, str]]]:
    """A sentence that says what the product is, or an entry under a heading of its kind."""
    text = statement.text
    if kind == "CP":
        name, _, duty = text.partition(":")
        yield "CP", name.strip(), {"responsibility": inline(duty)}
    elif kind == "QG":
        yield "QG", text, {"attribute": _quality_of(text)}
    elif kind == "IN" and not systems_in(text):
        name, _, purpose = text.partition(":")
        yield "IN", name.strip(), {"purpose": inline(purpose)}
    elif kind == "BG" or (kind == "TE" and not technologies_in(text)):
        yield "BG", text, _product(text)
        if not statement.heading or kind == "BG":
            yield from _summarised(statement)


def _feature_statement(statement: Statement) -> Iterator[tuple[str, str, dict[str, str]]]:
    text = statement.text
    described = _product(text)
    if described and (_MAKING.search(text) or _relative_features(text)):
        yield "BG", text, described
        yield from _summarised(statement)
    else:
        yield "FE", _trimmed(text, "FE"), _attributes("FE", statement)


def _summarised(statement: Statement) -> Iterator[tuple[str, str, dict[str, str]]]:
    for one in _relative_features(statement.text):
        yield "FE", one, {**_release(statement), "summary": "yes"}


def _named(statement: Statement, kind: str) -> Iterator[tuple[str, str, dict[str, str]]]:
    """What a sentence names besides what it says: people, technologies, systems, parts."""
    text = statement.text
    for role in _people(statement, kind):
        yield "ST", _capital(role), _interest(text, role, kind)
    for one in technologies_in(text):
        yield "TE", one.name, {"used for": one.used_for, "reason": f"named: {inline(text)}"}
    if kind in {"FE", "IN", "CO", "BG", "DP", "TE", "CP"}:
        for name, purpose in systems_in(text):
            yield "IN", name, {"purpose": purpose or inline(text)}
        for part, (pattern, duty) in PARTS.items():
            if pattern.search(text):
                yield "CP", part, {"responsibility": duty, **_later(statement)}
    if kind in {"CO", "FE", "SM", "DP"}:
        quality = _quality_of(text)
        if quality:
            yield "QG", text, {"attribute": quality}


def _quality_of(text: str) -> str:
    found = (name for name, cue in patterns.QUALITIES.items() if cue.search(text))
    return next(found, "")


def _attributes(kind: str, statement: Statement) -> dict[str, str]:
    text = statement.text
    if kind == "FE":
        return _release(statement)
    if kind == "SM":
        return {"target": first(patterns.AMOUNT, text), "deadline": first(patterns.DATE, text)}
    if kind == "AS":
        return {"state": "unconfirmed"}
    if kind == "RI":
        return {
            "probability": first(_PROBABILITY, text, 1).lower(),
            "impact": first(_IMPACT, text, 1).lower(),
            "owner": first(_OWNER, text, 1),
            "mitigation": inline(first(_DUE, text, 1)),
        }
    if kind == "ST":
        _, _, interest = text.partition(":")
        return {"role": _role(text), "interest": inline(interest)}
    return {}


def _release(statement: Statement) -> dict[str, str]:
    for text in (statement.text, statement.heading):
        if patterns.LATER_RELEASE.search(text):
            return {"release": "later"}
        if patterns.FIRST_RELEASE.search(text):
            return {"release": "1"}
    return {}


def _later(statement: Statement) -> dict[str, str]:
    return {one: value for one, value in _release(statement).items() if value == "later"}


def _trimmed(text: str, kind: str) -> str:
    if kind == "ST":
        text = text.partition(":")[0]
    return text.rstrip(" .。;") if kind in {"FE", "EX", "ST"} else text


def _relative_features(text: str) -> list[str]:
    """`that books tables, sends reminders and prints lists` as three features."""
    found = _RELATIVE.search(text)
    if not found or not (CATEGORY.search(text) or text[: found.start()].strip()):
        return []
    parts: list[str] = []
    separator = ""
    pieces = re.split(f"({_JOINT.pattern})", found[1].rstrip(" ."))
    for number, piece in enumerate(pieces):
        if number % 2:
            separator = piece
        elif parts and not _THIRD_PERSON.match(piece):
            parts[-1] += separator + piece
        else:
            parts.append(piece)
    return [_capital(part.strip()) for part in parts if _THIRD_PERSON.match(part)]


def _product(text: str) -> dict[str, str]:
    """What a sentence says about the product as a whole."""
    category = category_in(text)
    if not category:
        return {}
    return {
        "category": inline(category),
        "benefit": inline(first(_BENEFIT, text, 1).rstrip(" .")),
        "unlike": inline(first(_UNLIKE, text, 1)),
    }


def _people(statement: Statement, kind: str) -> list[str]:
    """Whom a statement is about; a constraint or a goal only if it begins with them."""
    found = roles_in(statement.text)
    if kind in {"FE", "BG", "PB", "DP"}:
        return found
    if kind == "ST":
        return [] if statement.listed else found
    return [role for role in found[:1] if kind == "CO" and _subject(statement.text, role)]


def _subject(text: str, role: str) -> bool:
    return bool(
        re.match(
            rf"(?:(?:the|every|each|all|our|der|die|das|jede[rs]?) )?{re.escape(role)}",
            text,
            re.IGNORECASE,
        )
    )


def _interest(text: str, role: str, kind: str) -> dict[str, str]:
    about = text[text.find(role) + len(role) :].strip(" 、,")
    if kind != "FE" or not _subject(text, role):
        about = ""
    deed = _SUBJECT_DEED.match(about)
    interest = deed[1] if deed else about.removeprefix("は").removeprefix("が")
    return {"role": _role(role), "interest": inline(interest.rstrip(" .。"))}


def _role(text: str) -> str:
    return "secondary" if SECONDARY.search(text) else "primary user"


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def first(pattern: re.Pattern[str], text: str, group: int = 0) -> str:
    """What a pattern finds first, or nothing."""
    found = pattern.search(text)
    return (found[group] or "").strip() if found else ""
