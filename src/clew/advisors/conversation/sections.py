"""Sections that the calling agent wrote: taken in like a human's edits.

Whatever comes in passes the one parser and the same checks as the builder's own text. A section that
fails stays as the builder wrote it, and the result says why.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Final

from clew.advisors.checks.document import check_document
from clew.advisors.documents.document import with_ids
from clew.advisors.documents.markdown import REFERENCE
from clew.advisors.documents.model import (
    Document,
    Facts,
    Finding,
    Item,
    Section,
    same_text,
    templated,
)
from clew.advisors.documents.templates import TEMPLATES, Kind
from clew.advisors.extract import questions

BUILDER: Final = "builder"
CALLER: Final = "caller"
DERIVED: Final = frozenset({"container-diagram", "traceability", "questions", "unplaced"})
LONGEST_SECTION: Final = 100_000
_BULLET = re.compile(r"[-*+] +(?!\*\*[A-Z]{1,2}-\d)(?=\S)")


@dataclass(frozen=True)
class Refusal:
    """A section that was not taken, and why."""

    key: str
    reasons: tuple[str, ...]

    def __str__(self) -> str:
        return f"section {self.key}: {'; '.join(self.reasons)}"


@dataclass(frozen=True)
class Applied:
    """A document with the sections that were taken, and those that were not."""

    document: Document
    taken: tuple[str, ...] = ()
    refused: tuple[Refusal, ...] = ()


def writable(kind: Kind) -> list[str]:
    """The keys of the sections that others may write."""
    return [one.key for one in TEMPLATES[kind].values() if one.key not in DERIVED]


def section_key(kind: Kind, name: str) -> str | None:
    """The key that a key, a heading or one of its other names stands for."""
    wanted = same_text(name)
    for template in TEMPLATES[kind].values():
        known = (template.key, template.heading, *template.aliases)
        if wanted in {same_text(one) for one in known}:
            return template.key
    return None


def apply_sections(
    document: Document,
    sections: Mapping[str, str],
    author: str,
    *,
    protected: Collection[str] = (),
    context: Iterable[Document] = (),
) -> Applied:
    """The document with these sections, as far as each of them passes."""
    done = Applied(document)
    around = tuple(context)
    for name, body in sections.items():
        key = section_key(document.kind, name)
        problem = _not_even_tried(document.kind, name, key, body, protected)
        if problem or key is None:
            done = _refusing(done, key or name, problem)
            continue
        candidate = _with_section(done.document, key, body, author)
        if candidate == done.document:
            continue
        reasons = _reasons(done.document, candidate, key, around)
        if reasons:
            done = _refusing(done, key, *reasons)
        else:
            done = replace(done, document=candidate, taken=(*done.taken, key))
    return done


def _refusing(done: Applied, key: str, *reasons: str) -> Applied:
    return replace(done, refused=(*done.refused, Refusal(key, reasons)))


def _not_even_tried(
    kind: Kind, name: str, key: str | None, body: str, protected: Collection[str]
) -> str:
    if key is None:
        return f"there is none of that name; there are: {', '.join(writable(kind))}"
    if key in DERIVED:
        return "it is derived from the others and not written by hand"
    if key in protected:
        return "somebody edited it in the file; their text is kept"
    if not body.strip():
        return "it is empty"
    return "" if len(body) <= LONGEST_SECTION else f"it is longer than {LONGEST_SECTION} characters"


def _with_section(document: Document, key: str, body: str, author: str) -> Document:
    prefix = TEMPLATES[document.kind][key].items.prefix
    lines = body.strip().split("\n")
    if lines[0].startswith("#") and section_key(document.kind, lines[0].strip("# ")) == key:
        lines = lines[1:]  # a heading repeated by whoever wrote the section
    if prefix:
        lines = _labelled(lines, prefix, document)
    made = templated(document.kind, key, "\n".join(lines))
    numbered = with_ids(document.with_section(made)).section(key) or made
    old = document.section(key)
    items = tuple(_sourced(item, old, author) for item in numbered.items)
    return document.with_section(replace(numbered, items=items))


def _labelled(lines: list[str], prefix: str, document: Document) -> list[str]:
    """The lines with an id for every bullet that has none; ids in use are not given again."""
    used = [int(one.rpartition("-")[2]) for one in REFERENCE.findall("\n".join(lines))
            if one.startswith(f"{prefix}-")]  # fmt: skip
    number = max([0, *used, *(item.number for item in document.items(prefix))])
    done = []
    for line in lines:
        bullet = _BULLET.match(line)
        if bullet:
            number += 1
            done.append(f"- **{prefix}-{number}** {line[bullet.end() :]}")
        else:
            done.append(line)
    return done


def _sourced(item: Item, old: Section | None, author: str) -> Item:
    """New statements say who made them; old ones keep their source whatever the writer says."""
    known = old.item(item.id) if old else None
    if known is None:
        return item.but(source=author)
    return item.but(source=known.source) if known.source else item


def _reasons(
    before: Document, after: Document, key: str, context: tuple[Document, ...]
) -> list[str]:
    made = after.section(key)
    elsewhere = {item.id for section in before.sections if section.key != key
                 for item in section.items}  # fmt: skip
    doubled = [item.id for item in (made.items if made else ()) if item.id in elsewhere]
    reasons = [f"{', '.join(doubled)} is in another section"] if doubled else []
    known = {_identity(one) for one in check_document(before, context=context)}
    found = [one for one in check_document(after, context=context) if one.severity == "error"]
    new = [one for one in found if _identity(one) not in known and _is_about(one, key)]
    reasons += [f"{one.rule} {one.message}" for one in new]
    return list(dict.fromkeys(reasons))


def _is_about(finding: Finding, key: str) -> bool:
    """Whether a finding is about the section, or about the document as a whole."""
    place = finding.location.split(":")[1:2]
    return not place or place == [key]


def _identity(finding: Finding) -> tuple[str, str]:
    return finding.rule, finding.location


def absorbed(
    facts: Facts, edited: Document, before: Document | None, source: str, by: str = ""
) -> Facts:
    """The facts with what an edit of a document says: changed, added and removed statements."""
    known = {item.id: item for item in before.items()} if before else {}
    complete = with_ids(edited)
    for item in complete.items():
        if item.prefix in {"Q", "NP"} or not item.id or known.get(item.id) == item:
            continue
        fact = facts.get(item.id)
        if fact is None:
            facts = facts.including(item.filled(source=source).but(by=by))
        else:
            changed = _changed(fact, item, known.get(item.id))
            facts = facts.replacing(changed.but(by=by or fact.get("by"), unread=""))
    there = {item.id for item in complete.items()}
    gone = [one for one in known if one not in there and not one.startswith("Q-")]
    follows = {f"from {one}" for one in gone}
    gone += [fact.id for fact in facts.items if fact.source in follows]
    return _answered(facts.without(gone), edited)


def _changed(fact: Item, item: Item, before: Item | None) -> Item:
    """A fact with what differs between two forms of its item; what neither shows stays."""
    old = before.attributes if before else {}
    new = {key: value for key, value in item.attributes.items() if old.get(key) != value}
    cleared = dict.fromkeys((key for key in old if key not in item.attributes), "")
    text = item.text if before is None or before.text != item.text else fact.text
    return Item(fact.id, text, {**fact.attributes, **new, **cleared})


def _answered(facts: Facts, edited: Document) -> Facts:
    """The facts with the answers written below questions."""
    given = {}
    for question_id, answer in questions.answers_in(edited).items():
        asked = facts.get(question_id)
        if asked is not None and not asked.get("answer"):
            given[question_id] = answer
    return questions.answered(facts, given, edited.kind) if given else facts


def edited_sections(now: Document, known: Document | None) -> list[str]:
    """The keys of the sections that are not as they were written."""
    if known is None:
        return [section.key for section in now.sections]
    return [
        section.key for section in now.sections
        if section.key not in DERIVED and known.section(section.key) != section
    ]  # fmt: skip
