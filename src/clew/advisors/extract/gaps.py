"""Missing information: the questions that each kind of document leaves open, by impact."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final, NamedTuple

from clew.advisors.documents.model import Facts, Item, Question
from clew.advisors.documents.templates import Kind
from clew.advisors.extract import patterns
from clew.advisors.extract.conflicts import conflicts
from clew.advisors.extract.lexicon import PARTIAL

_NAMED_AT_MOST = 6
_UNSEEN: Final = frozenset({"BG", "PB", "DP"})  # shown as prose, without their ids
_SECTION_OF: Final = {
    "BO": "objectives",
    "SM": "metrics",
    "FE": "features",
    "EX": "features",
    "CO": "constraints",
    "AS": "assumptions",
    "PB": "problem",
    "DP": "deployment",
}


class _Gap(NamedTuple):
    """A question, and when it is open: for the items it is about, or because nothing is known.

    `{listed}` and `{named}` stand for the items, `{are}` for the verb, `{first}` for the first id.
    """

    section: str
    text: str
    why: str
    default: str
    is_open: Callable[[Facts], Sequence[Item] | bool]
    options: tuple[str, ...] = ()
    blocking: bool = False


def _always(facts: Facts) -> bool:
    return True


def _lacking(items: Sequence[Item], *names: str) -> list[Item]:
    return [one for one in items if not all(one.get(name) for name in names)]


def _unmeasured(facts: Facts) -> list[Item]:
    methods = [one for one in facts.metrics if one.get("measured by")]
    settled = {one for metric in methods for one in metric.references("objective")}
    return [one for one in facts.objectives if measurable(one) and one.id not in settled]


def _unserved(facts: Facts) -> list[Item]:
    served = {one for part in facts.components for one in part.references("features")}
    return [one for one in facts.features if facts.components and one.id not in served]


def _undivided(facts: Facts) -> bool:
    stated = [
        one
        for one in facts.components
        if not one.source.startswith("default") and one.get("release") != "later"
    ]
    return all(one.text in PARTIAL for one in stated)


def _no_technology_for(facts: Facts, use: str) -> bool:
    return all(one.get("used for") != use for one in facts.technologies)


_GAPS: Final = {
    "users": _Gap(
        "stakeholders",
        "Who uses it first, and what do they want to get done?",
        "Every other decision depends on whom it is for.",
        "The people who asked for the project are its first users",
        lambda facts: not facts.stakeholders,
        ("one person: ...", "a team: ...", "customers: ..."),
        blocking=True,
    ),
    "features": _Gap(
        "features",
        "What are the three most important things that somebody can do with it?",
        "Nothing can be planned, built or tested before that.",
        "{about}",
        lambda facts: not facts.features,
        blocking=True,
    ),
    "objectives": _Gap(
        "objectives",
        "What should be measurably better when this is done: by how much, and by when?",
        "Without a number nobody can say whether it was worth it.",
        "By the end of release 1, 3 users do their main task with it without help",
        lambda facts: not facts.objectives,
        (
            "less time or cost: from ... to ... by ...",
            "more users or income: ...",
            "fewer errors: ...",
        ),
        blocking=True,
    ),
    "problem": _Gap(
        "problem",
        "Which problem does it solve, and how is that done today?",
        "The cheapest solution is often a smaller one than the one asked for.",
        "There is no problem to solve, but a chance to take",
        lambda facts: not facts.of("PB"),
    ),
    "measure": _Gap(
        "metrics",
        "How is it measured whether {listed} {are} reached?",
        "A target that nobody measures is a wish.",
        "Counted by hand once a month and written down",
        _unmeasured,
    ),
    "exclusions": _Gap(
        "exclusions",
        "What will it deliberately not do?",
        "What is not ruled out will be asked for.",
        "Whatever is not listed as a feature is not part of release 1",
        lambda facts: not facts.exclusions,
    ),
    "release": _Gap(
        "features",
        "Which of {listed} must be in the first release?",
        "A smaller first release shows earlier whether the idea works.",
        "All of them",
        lambda facts: _lacking(facts.features, "release"),
        ("all of them", "only: FE-...", "none"),
    ),
    "serves": _Gap(
        "features",
        "Which objective does each feature serve ({listed})?",
        "A feature that serves no objective can wait.",
        "All of them serve {objective}",
        lambda facts: [
            one for one in facts.features if facts.objectives and not one.references("objective")
        ],
        ("{first}: {objective}",),
    ),
    "interests": _Gap(
        "stakeholders",
        "What is in it for {named}?",
        "People support what helps them, and work around what does not.",
        "The same as for the other users",
        lambda facts: _lacking(facts.stakeholders, "interest"),
    ),
    "risks": _Gap(
        "risks",
        "What could make this fail?",
        "The risk that was named can be watched.",
        "Nothing particular is known yet",
        lambda facts: not facts.risks,
    ),
    "treatment": _Gap(
        "risks",
        "How likely and how bad {are} {listed}, what is done about it, and by whom?",
        "A risk without a measure is only a worry.",
        "Medium probability, medium impact; looked at again after release 1; unassigned",
        lambda facts: _lacking(facts.risks, "mitigation", "impact"),
    ),
    "constraints": _Gap(
        "constraints",
        "Which limits are fixed: date, budget, laws, platforms, people?",
        "A limit that comes up late makes finished work worthless.",
        "None is known",
        lambda facts: not facts.constraints,
    ),
    "priorities": _Gap(
        "priorities",
        "If not everything can be had: which of features, quality, schedule, cost and staff gives way first?",
        "Somebody will have to decide it under pressure; better now.",
        "Features give way first",
        _always,
        ("features", "quality", "schedule", "cost", "staff"),
    ),
    "confirm": _Gap(
        "assumptions",
        "{Are} {listed} really so, and who can confirm it?",
        "If it is not, part of the plan falls.",
        "Yes, until somebody says otherwise",
        lambda facts: [
            one
            for one in facts.assumptions
            if one.get("state") == "unconfirmed" and not one.get("question")
        ],
    ),
    "parts": _Gap(
        "components",
        "Which parts run separately?",
        "Every border between parts costs work; it must buy something.",
        "One application that holds everything",
        _undivided,
        ("one application", "a browser part and a server part", "several services, and which"),
    ),
    "store": _Gap(
        "components",
        "What data is kept, where, and for how long?",
        "Data outlives programs; it is the hardest thing to change later.",
        "One relational database, written by one component only",
        lambda facts: _no_technology_for(facts, "database"),
        ("one relational database", "files", "nothing is kept"),
    ),
    "language": _Gap(
        "technology",
        "Which language and framework does the team know best?",
        "Familiar technology is the cheapest way to quality.",
        "The one that the team runs in production today",
        lambda facts: _no_technology_for(facts, "programming language"),
    ),
    "hosting": _Gap(
        "context",
        "Where will it run, and who looks after it there?",
        "Cost, privacy and availability depend on it.",
        "On what the team runs already",
        lambda facts: _no_technology_for(facts, "hosting") and not facts.of("DP"),
        ("a provider", "machines of one's own", "the users' own devices"),
    ),
    "integrations": _Gap(
        "integrations",
        "How does it talk to {named}: which protocol, which format, and what happens when it is not reachable?",
        "Other systems fail; what the user sees then must be decided, not discovered.",
        "HTTPS with JSON; repeated three times, then kept and shown to an operator",
        lambda facts: _lacking(facts.integrations, "protocol", "format", "on failure"),
    ),
    "quality": _Gap(
        "quality",
        "How quick, how available and for how many people must it be?",
        "The answer decides whether the simplest design is enough.",
        "No figures are promised; release 1 is measured and sets them",
        lambda facts: not facts.quality_goals,
        ("a handful of users", "hundreds", "thousands at the same time"),
    ),
    "allocation": _Gap(
        "components",
        "Which component serves {listed}?",
        "A feature that no component serves will not be built.",
        "{part} serves them",
        _unserved,
        ("{first}: {part}", "{first}: {other_part}"),
    ),
    "security": _Gap(
        "security",
        "Who may do what, and where are passwords and keys kept?",
        "Added later, this touches everything.",
        "Input from outside is checked where it enters; secrets come from the environment, never from the repository",
        _always,
    ),
}
_TOPICS: Final[dict[Kind, str]] = {
    "vision": "users features objectives number problem measure exclusions release serves interests "
    "risks treatment constraints priorities confirm",
    "architecture": "users features parts store language hosting integrations quality allocation "
    "security risks treatment",
    "adr": "users features",
}


def gaps(facts: Facts, kind: Kind) -> list[Question]:
    """The questions that the facts leave open, without ids, the most important first."""
    found = list(_contradictions(facts))
    for topic in _TOPICS[kind].split():
        found += _unmeasurable(facts) if topic == "number" else _asked(facts, topic, _GAPS[topic])
    return sorted(found, key=lambda one: not one.blocking)


def answer_to(facts: Facts, topic: str) -> str:
    """What was answered to the question on a topic, or nothing."""
    found = (item.get("answer") for item in facts.of("Q") if item.get("topic") == topic)
    return next(found, "")


def measurable(item: Item) -> bool:
    """Whether an objective has a number or a date in its text or as its target."""
    text = f"{item.text} {item.get('target')} {item.get('deadline')}"
    return bool(patterns.AMOUNT.search(text) or patterns.DATE.search(text))


def _asked(facts: Facts, topic: str, gap: _Gap) -> Iterator[Question]:
    if answer_to(facts, topic):
        return
    found = gap.is_open(facts)
    if not found:
        return
    items = [] if isinstance(found, bool) else found
    words = _words(facts, items)
    text = gap.text
    if topic == "release" and len(items) == 1:
        text = "Must {first} be in the first release?"
    options = (one.format_map(words) for one in gap.options)
    yield Question(
        "",
        text.format_map(words),
        gap.why,
        tuple(one for one in options if not one.endswith(": ")),
        gap.default.format_map(words),
        gap.section,
        blocking=gap.blocking,
        topic=topic,
    )


def _words(facts: Facts, items: Sequence[Item]) -> dict[str, str]:
    """What the texts of questions may name."""
    are = "is" if len(items) == 1 else "are"
    about = facts.of("BG")
    parts = [*(part.id for part in facts.components[:2]), "", ""]
    return {
        "listed": _listed([item.id for item in items]),
        "named": ", ".join(f"{item.text} ({item.id})" for item in items[:_NAMED_AT_MOST]),
        "are": are,
        "Are": are.capitalize(),
        "first": items[0].id if items else "",
        "objective": facts.objectives[0].id if facts.objectives else "",
        "part": parts[0],
        "other_part": parts[1],
        "about": f"Only what the description names: {about[0].text}" if about else "One feature",
    }


def _listed(names: list[str]) -> str:
    shown = names[:_NAMED_AT_MOST]
    more = f" and {len(names) - len(shown)} more" if len(names) > len(shown) else ""
    if more or len(shown) < 2:
        return ", ".join(shown) + more
    return f"{', '.join(shown[:-1])} and {shown[-1]}"


def _unmeasurable(facts: Facts) -> Iterator[Question]:
    hopeless = not any(map(measurable, facts.objectives))
    for item in facts.objectives:
        if not measurable(item) and not item.get("target"):
            yield Question(
                "",
                f"{item.id} has no number (“{item.text}”): by how much, from what today, and by when?",
                "A goal without a number cannot be reached or missed.",
                (),
                f"Keep {item.id} as a direction without a target in release 1",
                "objectives",
                blocking=hopeless,
                topic=f"number {item.id}",
            )


def _contradictions(facts: Facts) -> Iterator[Question]:
    for one in conflicts(facts.items):
        first, second = one.first, one.second
        if answer_to(facts, one.topic):
            continue
        names = (first.id, second.id) if first.prefix not in _UNSEEN else ()
        if first.id == second.id:
            text = f"This says two things that do not go together ({one.reason}): “{first.text}” Which holds?"
            options: tuple[str, ...] = ()
            default = "The last thing said"
        else:
            both = " and ".join(names) or "Two statements"
            text = f"{both} contradict each other ({one.reason}): “{first.text}” and “{second.text}” Which holds?"
            options = (*(names or ("the first", "the second")), "both, and why")
            default = f"{names[1] if names else 'The second'}, because it was said last"
        why = "Whatever is built on one of them is wrong if the other one holds."
        section = _SECTION_OF.get(first.prefix, "background")
        yield Question("", text, why, options, default, section, blocking=True, topic=one.topic)
