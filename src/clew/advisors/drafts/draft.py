"""A draft taken in: each statement is checked against the source, numbered, linked, or refused."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple

from clew.advisors.documents.markdown import ID, REFERENCE
from clew.advisors.documents.model import Facts, Item, same_text
from clew.advisors.documents.templates import Kind
from clew.advisors.drafts.fidelity import denial, foreign_number, foreign_words
from clew.advisors.drafts.kinds import BY_PREFIX, KINDS, StatementKind, kind_of
from clew.advisors.drafts.source import Coverage, Source, Span, source_of, words_of
from clew.advisors.extract.measures import INSTRUCTION
from clew.advisors.extract.similarity import contained, tokens
from clew.advisors.extract.statements import inline, plain
from clew.kit.errors import Invalid

MOST_STATEMENTS: Final = 400
LONGEST_TEXT: Final = 1_000
HUMAN: Final = "human"
QUOTES: Final = " ¶ "  # between the quotes of a statement that was changed by what was said later
_STILL_SAYS: Final = 0.5
_OWN_WORDS: Final = 2 / 3  # how much of a text may be in other words than those of its source
_NAMES: Final = frozenset({"stakeholder", "integration"})  # what they say is a name
_MEASURES: Final = ("target", "deadline")
_PROPOSALS: Final = frozenset({"component", "technology", "decision", "security"})
_ATTRIBUTES: Final = {"degree": "kind", "measured_by": "measured by", "on_failure": "on failure",
                      "depends_on": "depends on", "used_for": "used for"}  # fmt: skip
_LINKS: Final = frozenset({"depends_on"})


class Refusal(NamedTuple):
    """What was not taken of a draft, and why."""

    ref: str
    reason: str


@dataclass(frozen=True)
class Taken:
    """The facts with a draft: which ref got which id, what was refused, and what that quoted.

    What was `reworded` said more than its quote does, so that the quote stands in its place.
    """

    facts: Facts
    ids: dict[str, str]
    refused: tuple[Refusal, ...]
    reworded: tuple[Refusal, ...] = ()
    waiting: tuple[Span, ...] = ()
    expected: frozenset[str] = frozenset()  # the prefixes of what was refused


class _Statement(NamedTuple):
    """A statement as it was read: what it says, where, and what it names."""

    ref: str
    name: str
    kind: StatementKind
    text: str
    quote: str
    lines: tuple[int, ...]
    serves: tuple[str, ...]
    fields: dict[str, str]


def is_read(facts: Facts, kind: Kind) -> bool:
    """Whether somebody has read what was said for a kind of document: a draft of it was taken."""
    return any(item.get("draft") == kind for item in facts.items)


def take_draft(facts: Facts, kind: Kind, draft: Mapping[str, Any], author: str) -> Taken:
    """The facts with what a draft says; notes that nobody had read make way for it."""
    entries = _entries(draft)
    kept = facts.without(item.id for item in facts.items if item.get("unread") == kind)
    source, read = source_of(facts.texts), list[_Statement]()
    refused, reworded = list[Refusal](), list[Refusal]()
    waiting, expected = list[Span](), set[str]()
    for entry in entries:
        one = _read(entry, kind, len(read) + 1)
        problem = one if isinstance(one, Refusal) else _problem(one, source)
        if isinstance(problem, Refusal):
            refused.append(problem)
            if isinstance(one, _Statement):
                waiting += source.find(one.quote, one.lines)
                expected.add(one.kind.prefix)
        elif isinstance(one, _Statement):
            if problem:
                reworded.append(Refusal(one.ref, problem))
            read.append(one._replace(text=one.quote) if problem else one)
    ids: dict[str, str] = {}
    for one in read:
        known = _known(kept, one)
        is_theirs = known is not None and known.get("by") == HUMAN
        if known is not None and is_theirs and same_text(known.text) != same_text(one.text):
            refused.append(Refusal(one.ref, f"somebody edited {known.id}; their text is kept"))
            ids[one.ref] = known.id
            continue
        item = _item(one, known, source, kept, author).but(draft=kind)
        kept = kept.replacing(item) if known else kept.including(item)
        ids[one.ref] = item.id
    kept, lost = _linked(kept, read, ids, {one.ref for one in refused})
    removed = [_id_of(kept, str(name), ids) for name in listed(draft.get("remove"))]
    kept = kept.without(one for one in removed if not one.startswith("Q-"))
    title = inline(str(draft.get("title") or ""))[:LONGEST_TEXT]
    done = replace(kept, title=title or kept.title)
    return Taken(done, ids, (*refused, *lost), tuple(reworded), tuple(waiting), frozenset(expected))


def coverage_of(facts: Facts, kind: Kind, waiting: Sequence[Span] = ()) -> Coverage:
    """How much of what was said for a kind of document the facts cite, or wait to cite."""
    source = source_of(facts.texts)
    spans = (span for item in facts.items for span in cited(item, source))
    return source.coverage(kind, [*spans, *waiting])


def cited(item: Item, source: Source) -> list[Span]:
    """What a fact cites: its quote, or its lines where it has none."""
    place, _, numbers = item.source.partition(":")
    if place != "text" or not item.get("ref"):
        return []
    lines = _numbers(numbers)
    if item.get("quote"):
        quotes = item.get("quote").split(QUOTES)
        return [span for one in quotes for span in source.find(one, lines)]
    wanted = [n for n, word in enumerate(source.words) if word.line in lines]
    return [Span(wanted[0], wanted[-1] + 1)] if wanted else []


def _entries(draft: Mapping[str, Any]) -> list[Any]:
    entries = draft.get("statements", [])
    if not isinstance(entries, list):
        raise Invalid("draft.statements must be a list", 'For example: [{"ref": "G1", ...}].')
    if len(entries) > MOST_STATEMENTS:
        raise Invalid(
            f"The draft has {len(entries)} statements; at most {MOST_STATEMENTS} are taken at once",
            "Send the rest with another call.",
        )
    return entries


def _read(entry: object, kind: Kind, number: int) -> _Statement | Refusal:
    if not isinstance(entry, dict):
        return Refusal(f"#{number}", "a statement is an object with ref, kind, text and quote")
    ref = str(entry.get("ref") or entry.get("id") or f"#{number}").strip()[:80]
    found = kind_of(kind, entry.get("kind"))
    if found is None and ID.fullmatch(ref):
        found = BY_PREFIX.get(ref.partition("-")[0])
    if found is None:
        return Refusal(ref, f"no kind of that name; the kinds are: {', '.join(KINDS[kind])}")
    name, kind_info = found
    text = str(entry.get("text") or entry.get("quote") or "").strip()
    if not text or len(text) > LONGEST_TEXT:
        return Refusal(ref, f"its text must have 1 to {LONGEST_TEXT} characters")
    fields = {
        key: " / ".join(map(str, listed(entry[key]))) for key in kind_info.fields if entry.get(key)
    }
    numbers = entry.get("lines")
    lines = _numbers(str(numbers)) if isinstance(numbers, (int, str)) else tuple(
        one for one in listed(numbers) if isinstance(one, int)
    )  # fmt: skip
    serves = tuple(str(one).strip() for one in listed(entry.get("serves")))
    quote = str(entry.get("quote") or "").strip()
    return _Statement(ref, name, kind_info, text, quote, lines, serves, fields)


def _problem(one: _Statement, source: Source) -> Refusal | str:
    """Why a statement is refused, or why its quote stands in its place; empty where neither is so."""
    if one.name == "decision":
        lacks = _decision_lacks(one)
        if lacks:
            return Refusal(one.ref, lacks)
    if not one.quote:
        if one.kind.free or (one.name == "aside" and one.lines):
            return ""
        return Refusal(
            one.ref, "no quote; copy its words from the source, or make it an assumption"
        )
    spans = source.find(one.quote, one.lines)
    if not spans:
        return Refusal(one.ref, f"the quote is not in the source: “{one.quote[:80]}”")
    return "" if one.name == "aside" else _other_than_quoted(one, source, spans)


def _decision_lacks(one: _Statement) -> str:
    """What a decision cannot do without: options, a reason, and what it costs."""
    if len(one.fields.get("options", "").split(" / ")) < 2:
        return "a decision needs at least two options, the chosen one first; with one alone it is a constraint"
    lacks = [name for name in ("because", "bad") if not one.fields.get(name)]
    if not lacks:
        return ""
    needs = f"a decision needs: {', '.join(lacks)} (bad: what it costs)"
    return f"{needs}; where the source does not say it, ask who decided"


def _other_than_quoted(one: _Statement, source: Source, spans: list[Span]) -> Refusal | str:
    """What a statement says that its quote does not; a proposal may use its own words."""
    if one.name == "priority":
        return ""
    measured = [one.fields.get(name, "") for name in _MEASURES]
    said = source.said_around(spans, one.lines)
    reason = foreign_number([one.text, *measured], [*said, *source.headings_over(spans[0])])
    reason = reason or denial(one.text, source, spans, excluded=one.name == "exclusion")
    found = None if one.name in _PROPOSALS else foreign_words(one.text, said, source, spans)
    if not reason and found and not _may_be_quoted(one, found.share):
        reason = found.reason
    return Refusal(one.ref, reason) if reason else found.shown if found else ""


def _may_be_quoted(one: _Statement, foreign: float) -> bool:
    """Whether the quote can stand where the text has other words; a name can only be right."""
    return foreign <= _OWN_WORDS and one.name not in _NAMES and len(one.quote) <= LONGEST_TEXT


def _known(facts: Facts, one: _Statement) -> Item | None:
    """The fact that a statement changes: by its id, by the ref it had, or by what it says."""
    there = facts.of(one.kind.prefix)
    named = [item for item in there if one.ref in {item.id, item.get("ref")}]
    if named:
        return named[0]
    same = same_text(inline(one.text))
    return next((item for item in there if same_text(item.text) == same), None)


def _item(one: _Statement, known: Item | None, source: Source, facts: Facts, author: str) -> Item:
    spans = source.find(one.quote, one.lines) if one.quote else []
    place = source.lines_of(spans) if spans else "-".join(map(str, sorted(one.lines)[:: max(len(one.lines) - 1, 1)]))  # fmt: skip
    earlier = _earlier_quote(one, known)
    flagged = bool(INSTRUCTION.search(one.text))
    text = f"`{one.text.replace('`', chr(39))}`" if flagged else inline(one.text)
    given = {_ATTRIBUTES.get(key, key): inline(value) for key, value in one.fields.items()
             if key not in _LINKS}  # fmt: skip
    attributes = {
        **(known.attributes if known else {}),
        **given,
        "quote": QUOTES.join(filter(None, [earlier, inline(one.quote)])),
        "ref": one.ref,
        "flag": "reads like an instruction" if flagged else "",
        "source": f"text:{place}" if place and (spans or one.name == "aside") else author,
    }
    if known and earlier and known.source.startswith("text:") and spans:
        attributes["source"] = f"{known.source}, {place}"
    if one.name == "assumption":
        attributes.setdefault("state", "unconfirmed")
    if one.name == "stakeholder":
        attributes.setdefault("role", "primary user")
    return Item(known.id if known else facts.next_id(one.kind.prefix), text, attributes)


def _earlier_quote(one: _Statement, known: Item | None) -> str:
    """The quote that a changed statement still rests on, because it says what it said and more."""
    old = known.get("quote") if known else ""
    if not known or not old or words_of(one.quote) == words_of(old) or known.id != one.ref:
        return ""
    said = contained(tokens(plain(known.text)), tokens(one.text))
    return old if said >= _STILL_SAYS else ""


def _linked(
    facts: Facts, read: Sequence[_Statement], ids: Mapping[str, str], refused: Collection[str]
) -> tuple[Facts, list[Refusal]]:
    """The facts with their links; one to a refused statement waits for it, one to nothing is refused."""
    lost: list[Refusal] = []
    for one in read:
        item = facts.get(ids[one.ref])
        if item is None:
            continue
        wanted = {one.kind.serves or "serves": one.serves} if one.serves else {}
        if one.fields.get("depends_on"):
            wanted["depends on"] = tuple(one.fields["depends_on"].split(" / "))
        waits: list[str] = []
        for name, refs in wanted.items():
            found = {ref: _id_of(facts, ref, ids) for ref in refs}
            missing = [ref for ref in refs if not found[ref]]
            waits += [f"{name}={ref}" for ref in missing if ref in refused]
            lost += [
                Refusal(one.ref, f"{name}: there is no {ref}")
                for ref in missing
                if ref not in refused
            ]
            linked = ", ".join(dict.fromkeys(filter(None, found.values())))
            item = replace(item, attributes={**item.attributes, name: linked})
        facts = facts.replacing(item.but(waits=" / ".join(waits)))
    return _caught_up(facts, ids), lost


def _caught_up(facts: Facts, ids: Mapping[str, str]) -> Facts:
    """The facts with the links that waited for a statement which is there now."""
    for item in [one for one in facts.items if one.get("waits")]:
        left, links = [], dict(item.attributes)
        for entry in item.get("waits").split(" / "):
            name, _, ref = entry.partition("=")
            if found := _id_of(facts, ref, ids):
                links[name] = ", ".join(
                    dict.fromkeys([*REFERENCE.findall(links.get(name, "")), found])
                )
            else:
                left.append(entry)
        facts = facts.replacing(replace(item, attributes={**links, "waits": " / ".join(left)}))
    return facts


def _id_of(facts: Facts, ref: str, ids: Mapping[str, str]) -> str:
    if ref in ids:
        return ids[ref]
    known = facts.get(ref) or next((one for one in facts.items if one.get("ref") == ref), None)
    return known.id if known else ""


def _numbers(text: str) -> tuple[int, ...]:
    """The numbers in `3`, `3-5` or `3, 7`."""
    found: list[int] = []
    for part in text.split(","):
        first, _, last = part.strip().partition("-")
        if first.isdigit():
            end = int(last) if last.isdigit() else int(first)
            found += range(int(first), min(end, int(first) + 200) + 1)
    return tuple(found)


def listed(value: object) -> list[Any]:
    """A list as a caller sent it; one thing alone counts as a list of it."""
    return value if isinstance(value, list) else [] if value in (None, "") else [value]


def shown_refusals(refused: Sequence[Refusal], most: int) -> Iterator[str]:
    """Refusals as lines of an answer."""
    for one in refused[:most]:
        yield f"- {one.ref}: {plain(one.reason)}"
    if len(refused) > most:
        yield f"- and {len(refused) - most} more"
