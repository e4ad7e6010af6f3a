"""Decision records: one for each decision that somebody wrote down with its options."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final

from clew.advisors.documents.adr import AdrFile, file_name, next_number
from clew.advisors.documents.markdown import REFERENCE
from clew.advisors.documents.model import Document, Facts, Item, same_text, templated
from clew.advisors.drafts.draft import QUOTES

_DRIVERS: Final = frozenset(
    {"BO", "SM", "FE", "CO", "QG", "RI", "PB"}
)  # what a choice has to answer


def new_records(facts: Facts, name: str, known: Sequence[AdrFile], *, date: str) -> list[AdrFile]:
    """Records of the decisions that are not recorded yet, under the next numbers."""
    recorded = {same_text(one.title) for one in known}
    new = [one for one in facts.of("DE") if same_text(one.text) not in recorded]
    return [
        AdrFile(
            Path(file_name(number, one.text, known)),
            number,
            _record(one, facts, name, date),
            "madr",
        )
        for number, one in enumerate(new, next_number(known))
    ]


def numbers(facts: Facts, records: Iterable[AdrFile]) -> dict[str, AdrFile]:
    """For each statement that a decision is about, the record that has it."""
    by_title = {same_text(one.title): one for one in records}
    found: dict[str, AdrFile] = {}
    for one in facts.of("DE"):
        record = by_title.get(same_text(one.text))
        found |= dict.fromkeys(one.references("about"), record) if record else {}
    return found


def _record(decision: Item, facts: Facts, name: str, date: str) -> Document:
    options = decision.get("options").split(" / ")
    about = [facts.get(one) for one in REFERENCE.findall(decision.get("about"))]
    drivers = [one for one in about if one and one.prefix in _DRIVERS]
    context = decision.get("context") or decision.get("quote").replace(QUOTES, " … ")
    texts = {
        "context": f"{context} _({decision.source})_" if context else f"Part of {name}.",
        "drivers": _bullets(f"{one.id}: {one.text}" for one in drivers),
        "options": _bullets(options),
        "decision": f"Chosen option: “{options[0]}”, because {decision.get('because').rstrip('.')}.",
        "consequences": _bullets(
            f"{word}: {text.rstrip('.')}."
            for word, key in (("Good", "good"), ("Bad", "bad"))
            for text in decision.get(key).split(" / ")
            if text
        ),
        "more": f"Part of the architecture of {name} ({', '.join([decision.id, *_served(about)])}).",
    }
    made = tuple(templated("adr", key, text) for key, text in texts.items() if text)
    return Document("adr", decision.text, made, {"status": "proposed", "date": date})


def _served(about: Iterable[Item | None]) -> Iterator[str]:
    """Each component that a decision is about, with the features that it serves."""
    for one in about:
        if one and one.prefix == "CP":
            yield from (one.id, *one.references("features"))


def _bullets(lines: Iterable[str]) -> str:
    return "\n".join(f"* {line}" for line in lines)
