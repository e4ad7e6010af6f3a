"""Decision records out of facts: one for each significant choice that somebody named."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from clew.advisors.documents.adr import AdrFile, file_name, next_number
from clew.advisors.documents.model import Document, Facts, Item, same_text, templated
from clew.advisors.extract.lexicon import ALTERNATIVES, SIGNIFICANT
from clew.advisors.extract.links import APPLICATION

_ROLES: Final = {
    "programming language": "language",
    "web framework": "web framework",
    "user interface": "user interface toolkit",
    "database": "database",
    "message queue": "message queue",
    "hosting": "place to run",
    "interface style": "style of interface",
    "machine learning": "machine learning library",
}
_COSTS: Final = {
    "programming language": "whoever works on it must know the language",
    "web framework": "its ways and its releases must be followed",
    "user interface": "rewriting the interface later is most of the work again",
    "database": "moving the data to another store later is work and risk",
    "message queue": "one more part must run and be watched",
    "hosting": "moving away later costs time",
    "interface style": "every client depends on it",
    "machine learning": "its results must be watched, because they change with the data",
}
_CONFIRMED: Final = (
    "In review: a change that brings in another {role} refers to this record or supersedes it."
)


class Choice(NamedTuple):
    """A choice to be recorded: what it is about, and the record's content."""

    about: str
    title: str
    context: str
    drivers: tuple[str, ...]
    options: tuple[str, ...]
    because: str
    good: str
    bad: str
    confirmation: str


def choices(facts: Facts) -> list[Choice]:
    """The significant choices in the facts, in order."""
    found = [
        _technology(facts, one) for one in facts.technologies if one.get("used for") in SIGNIFICANT
    ]
    structure = next((one for one in facts.components if one.text == APPLICATION), None)
    if structure:
        found.insert(0, _one_application(facts, structure))
    return found


def new_records(facts: Facts, name: str, known: Sequence[AdrFile], *, date: str) -> list[AdrFile]:
    """Records of the choices that are not recorded yet, under the next numbers."""
    recorded = {same_text(one.title) for one in known}
    new = [one for one in choices(facts) if same_text(one.title) not in recorded]
    return [
        AdrFile(Path(file_name(number, one.title, known)), number, _record(one, name, date), "madr")
        for number, one in enumerate(new, next_number(known))
    ]


def numbers(facts: Facts, records: Iterable[AdrFile]) -> dict[str, AdrFile]:
    """For each choice, by the id of what it is about, the record that has it."""
    by_title = {same_text(one.title): one for one in records}
    found = {one.about: by_title.get(same_text(one.title)) for one in choices(facts)}
    return {about: record for about, record in found.items() if record}


def _technology(facts: Facts, item: Item) -> Choice:
    use = item.get("used for")
    role = _ROLES[use]
    named = item.text.casefold()
    asking = [one for one in facts.constraints if named in one.text.casefold()]
    drivers = tuple(f"{one.id}: {one.text}" for one in asking)
    how, _, said = item.get("reason").partition(": ")
    if how == "in use":
        said = ""
    because = (
        f"{', '.join(one.id for one in asking)} asks for it"
        if asking
        else f"it was named ({item.source}: “{said}”)" if said else f"it is in use already ({item.source})"
    )  # fmt: skip
    return Choice(
        item.id,
        f"Use {item.text} as the {role}",
        f"Something must serve as the {role}. {item.text} was named ({item.source}); nothing was said about other options.",
        drivers,
        (item.text, f"{ALTERNATIVES[use][:1].upper()}{ALTERNATIVES[use][1:]} (not compared yet)"),
        because,
        f"what was asked for is kept to ({asking[0].id})"
        if asking
        else "no time is spent on choosing",
        _COSTS[use],
        _CONFIRMED.format(role=role),
    )


def _one_application(facts: Facts, part: Item) -> Choice:
    asked = next((one.id for one in facts.of("Q") if one.get("topic") == "parts"), "")
    return Choice(
        part.id,
        "Start as one application",
        f"Nobody has said which parts run separately ({asked or 'not asked'}).",
        (),
        ("One application", "Several parts that run separately"),
        "no statement asks for parts that run separately",
        "there is one thing to build, run and watch",
        "if a part must grow on its own later, it has to be cut out first",
        "In review: a second deployable part refers to this record or supersedes it.",
    )


def _record(choice: Choice, name: str, date: str) -> Document:
    texts = {
        "context": choice.context,
        "drivers": _bullets(choice.drivers),
        "options": _bullets(choice.options),
        "decision": f"Chosen option: “{choice.options[0]}”, because {choice.because}.",
        "consequences": f"* Good, because {choice.good}.\n"
        f"* Bad, because {choice.bad} (assumed, not from the description).",
        "confirmation": choice.confirmation,
        "more": f"Part of the architecture of {name}.",
    }
    made = tuple(templated("adr", key, text) for key, text in texts.items() if text)
    metadata = {"status": "proposed", **({"date": date} if date else {})}
    return Document("adr", choice.title, made, metadata)


def _bullets(lines: Iterable[str]) -> str:
    return "\n".join(f"* {line}" for line in lines)
