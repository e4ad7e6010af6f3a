"""A document brought up to date without losing what people wrote into it.

Three versions meet, section by section, item by item, value by value: what was generated before,
what is there now, and what is generated now. Where a human changed something, the human wins.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from clew.advisors.documents.document import with_ids
from clew.advisors.documents.model import NOT_KNOWN, Document, Item, Section, same_text


def refine(old: Document, generated_before: Document | None, new: Document) -> Document:
    """The document as it is, with what changed between the two generated versions."""
    before = generated_before
    known = {section.key: section for section in before.sections} if before else {}
    there = {section.key: section for section in old.sections}
    merged: dict[str, Section] = {}
    for section in new.sections:
        current, earlier = there.get(section.key), known.get(section.key)
        if current is not None:
            merged[section.key] = _section(current, earlier, section)
        elif earlier is None:
            merged[section.key] = section
    kept = [one for one in old.sections if one.key in merged or one != known.get(one.key)]
    order = _placed(
        [one.key for one in kept], [one.key for one in new.sections if one.key in merged]
    )
    sections = tuple(merged.get(key) or there[key] for key in order)
    title = _value(old.title, before.title if before else None, new.title)
    metadata = _values(old.metadata, before.metadata if before else None, new.metadata)
    return with_ids(Document(new.kind, title, sections, metadata))


def _placed(order: Sequence[str], wanted: Sequence[str]) -> list[str]:
    """The order there is, with what is new put behind what it follows in the wanted order."""
    placed = list(order)
    for position, key in enumerate(wanted):
        if key in placed:
            continue
        before = next((one for one in reversed(wanted[:position]) if one in placed), None)
        placed.insert(placed.index(before) + 1 if before else 0, key)
    return placed


def _section(old: Section, before: Section | None, new: Section) -> Section:
    return replace(
        old,
        text=_text(old.text, before.text if before else None, new.text),
        items=_items(old.items, before.items if before else None, new.items),
        after=_text(old.after, before.after if before else None, new.after),
    )


def _text(old: str, before: str | None, new: str) -> str:
    if before is None and old.startswith(NOT_KNOWN):
        return new
    return _value(old, before, new)


def _value(old: str, before: str | None, new: str) -> str:
    """What a human changed is kept; the rest follows the generated text."""
    if before is None:
        return old or new
    return new if old == before else old


def _values(
    old: Mapping[str, str], before: Mapping[str, str] | None, new: Mapping[str, str]
) -> dict[str, str]:
    merged: dict[str, str] = {}
    for key in dict.fromkeys([*old, *new]):
        earlier = before.get(key, "") if before is not None else None
        value = _value(old.get(key, ""), earlier, new.get(key, ""))
        if value:
            merged[key] = value
    return merged


def _items(
    old: tuple[Item, ...], before: tuple[Item, ...] | None, new: tuple[Item, ...]
) -> tuple[Item, ...]:
    earlier, there, wanted = _keyed(before or ()), _keyed(old), _keyed(new)
    merged: dict[str, Item] = {}
    others: list[Item] = []
    for key, item in wanted.items():
        current = there.get(key)
        if current is None:
            if before is None or key not in earlier:
                merged[key] = item
        elif _is_another(current, earlier.get(key), item):
            merged[key] = current
            others.append(replace(item, id=""))
        else:
            merged[key] = _item(current, earlier.get(key), item)
    kept = [key for key, item in there.items() if key in merged or item != earlier.get(key)]
    order = _placed(kept, list(merged))
    return (*(merged.get(key) or there[key] for key in order), *others)


def _keyed(items: tuple[Item, ...]) -> dict[str, Item]:
    """The items by their ids; those without one, or with one that is taken, by what they say."""
    found: dict[str, Item] = {}
    for item in items:
        key = item.id or same_text(item.text)
        while key in found:
            key += "'"
        found[key] = item
    return found


def _is_another(old: Item, before: Item | None, new: Item) -> bool:
    """Whether an id was given to two different statements, one of them by a human."""
    is_alike = same_text(old.text) == same_text(new.text)
    return before is None and bool(old.source) != bool(new.source) and not is_alike


def _item(old: Item, before: Item | None, new: Item) -> Item:
    text = _value(old.text, before.text if before else None, new.text)
    attributes = _values(old.attributes, before.attributes if before else None, new.attributes)
    return replace(old, text=text, attributes=attributes)
