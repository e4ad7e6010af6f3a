"""What nobody has said yet: for each kind of document, the questions it leaves, by impact."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clew.advisors.documents.model import Question
from clew.advisors.extract import patterns as cues
from clew.advisors.extract.conflicts import conflicts
from clew.advisors.extract.lexicon import PARTIAL

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from clew.advisors.documents.model import Facts, Item
    from clew.advisors.documents.templates import Kind

_NAMED_AT_MOST = 6


def gaps(facts: Facts, kind: Kind) -> list[Question]:
    """The questions that the facts leave open, without ids, the most important first."""
    found = [*_contradictions(facts), *_essential(facts)]
    if kind == "vision":
        found += [*_targets(facts), *_scope(facts), *_people(facts), *_dangers(facts)]
        found += _limits(facts)
    elif kind == "architecture":
        found += [*_parts(facts), *_technology(facts), *_outside(facts), *_qualities(facts)]
        found += _safety(facts)
        found += _dangers(facts)
    return sorted(found, key=lambda one: not one.blocking)


def answer_to(facts: Facts, topic: str) -> str:
    """What was answered to the question on a topic, or nothing."""
    found = (item.get("answer") for item in facts.of("Q") if item.get("topic") == topic)
    return next(found, "")


def measurable(item: Item) -> bool:
    """Whether an objective has a number or a date in its text or as its target."""
    text = f"{item.text} {item.get('target')} {item.get('deadline')}"
    return bool(cues.AMOUNT.search(text) or cues.DATE.search(text))


def _contradictions(facts: Facts) -> Iterator[Question]:
    for one in conflicts(facts.items):
        first, second = one.first, one.second
        if answer_to(facts, one.topic):
            continue
        names = [side.id for side in (first, second)] if first.prefix not in _UNSEEN else []
        if first.id == second.id:
            text = f"This says two things that do not go together ({one.reason}): “{first.text}” Which holds?"
            options: tuple[str, ...] = ()
            default = "The last thing said"
        else:
            told = f"{names[0]} and {names[1]}" if names else "Two statements"
            text = f"{told} contradict each other ({one.reason}): “{first.text}” and “{second.text}” Which holds?"
            options = (*(names or ("the first", "the second")), "both, and why")
            default = f"{names[1] if names else 'The second'}, because it was said last"
        why = "Whatever is built on one of them is wrong if the other one holds."
        section = _SECTION_OF.get(first.prefix, "background")
        yield Question("", text, why, options, default, section, blocking=True, topic=one.topic)


_UNSEEN = frozenset({"BG", "PB", "DP"})  # shown as prose, without their ids
_SECTION_OF = {
    "BO": "objectives",
    "SM": "metrics",
    "FE": "features",
    "EX": "features",
    "CO": "constraints",
    "AS": "assumptions",
    "PB": "problem",
    "DP": "deployment",
}


def _essential(facts: Facts) -> Iterator[Question]:
    if not facts.stakeholders:
        yield Question(
            "",
            "Who uses it first, and what do they want to get done?",
            "Every other decision depends on whom it is for.",
            ("one person: ...", "a team: ...", "customers: ..."),
            "The people who asked for the project are its first users",
            "stakeholders",
            blocking=True,
            topic="users",
        )
    if not facts.features:
        about = facts.of("BG")
        said = f"Only what the description names: {about[0].text}" if about else "One feature"
        yield Question(
            "",
            "What are the three most important things that somebody can do with it?",
            "Nothing can be planned, built or tested before that.",
            (),
            said,
            "features",
            blocking=True,
            topic="features",
        )


def _targets(facts: Facts) -> Iterator[Question]:
    if not facts.objectives:
        yield Question(
            "",
            "What should be measurably better when this is done: by how much, and by when?",
            "Without a number nobody can say whether it was worth it.",
            (
                "less time or cost: from ... to ... by ...",
                "more users or income: ...",
                "fewer errors: ...",
            ),
            "By the end of release 1, 3 users do their main task with it without help",
            "objectives",
            blocking=True,
            topic="objectives",
        )
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
    if not facts.of("PB"):
        yield Question(
            "",
            "Which problem does it solve, and how is that done today?",
            "The cheapest solution is often a smaller one than the one asked for.",
            (),
            "There is no problem to solve, but a chance to take",
            "problem",
            topic="problem",
        )
    settled = {
        one
        for metric in facts.metrics
        if metric.get("measured by")
        for one in metric.references("objective")
    }
    unmeasured = [o for o in facts.objectives if measurable(o) and o.id not in settled]
    if unmeasured and not answer_to(facts, "measure"):
        yield Question(
            "",
            f"How is it measured whether {_listed(unmeasured)} {_is_or_are(unmeasured)} reached?",
            "A target that nobody measures is a wish.",
            (),
            "Counted by hand once a month and written down",
            "metrics",
            topic="measure",
        )


def _scope(facts: Facts) -> Iterator[Question]:
    if not facts.exclusions and not answer_to(facts, "exclusions"):
        yield Question(
            "",
            "What will it deliberately not do?",
            "What is not ruled out will be asked for.",
            (),
            "Whatever is not listed as a feature is not part of release 1",
            "exclusions",
            topic="exclusions",
        )
    open_features = [item for item in facts.features if not item.get("release")]
    if open_features and not answer_to(facts, "release"):
        yield Question(
            "",
            _first_release(open_features),
            "A smaller first release shows earlier whether the idea works.",
            ("all of them", "only: FE-...", "none"),
            "All of them",
            "features",
            topic="release",
        )
    unlinked = [item for item in facts.features if not item.references("objective")]
    if unlinked and facts.objectives and not answer_to(facts, "serves"):
        yield Question(
            "",
            f"Which objective does each feature serve ({_listed(unlinked)})?",
            "A feature that serves no objective can wait.",
            tuple(f"{item.id}: {facts.objectives[0].id}" for item in unlinked[:1]),
            f"All of them serve {facts.objectives[0].id}",
            "features",
            topic="serves",
        )


def _first_release(features: list[Item]) -> str:
    if len(features) == 1:
        return f"Must {features[0].id} be in the first release?"
    return f"Which of {_listed(features)} must be in the first release?"


def _people(facts: Facts) -> Iterator[Question]:
    silent = [item for item in facts.stakeholders if not item.get("interest")]
    if silent and not answer_to(facts, "interests"):
        names = ", ".join(f"{item.text} ({item.id})" for item in silent[:_NAMED_AT_MOST])
        yield Question(
            "",
            f"What is in it for {names}?",
            "People support what helps them, and work around what does not.",
            (),
            "The same as for the other users",
            "stakeholders",
            topic="interests",
        )


def _dangers(facts: Facts) -> Iterator[Question]:
    if not facts.risks and not answer_to(facts, "risks"):
        yield Question(
            "",
            "What could make this fail?",
            "The risk that was named can be watched.",
            (),
            "Nothing particular is known yet",
            "risks",
            topic="risks",
        )
    untreated = [one for one in facts.risks if not (one.get("mitigation") and one.get("impact"))]
    if untreated and not answer_to(facts, "treatment"):
        yield Question(
            "",
            f"How likely and how bad {_is_or_are(untreated)} {_listed(untreated)}, what is done about it, and by whom?",
            "A risk without a measure is only a worry.",
            (),
            "Medium probability, medium impact; looked at again after release 1; unassigned",
            "risks",
            topic="treatment",
        )


def _limits(facts: Facts) -> Iterator[Question]:
    if not facts.constraints and not answer_to(facts, "constraints"):
        yield Question(
            "",
            "Which limits are fixed: date, budget, laws, platforms, people?",
            "A limit that comes up late makes finished work worthless.",
            (),
            "None is known",
            "constraints",
            topic="constraints",
        )
    if not answer_to(facts, "priorities"):
        yield Question(
            "",
            "If not everything can be had: which of features, quality, schedule, cost and staff gives way first?",
            "Somebody will have to decide it under pressure; better now.",
            ("features", "quality", "schedule", "cost", "staff"),
            "Features give way first",
            "priorities",
            topic="priorities",
        )
    doubtful = [
        item
        for item in facts.assumptions
        if item.get("state") == "unconfirmed" and not item.get("question")
    ]
    if doubtful and not answer_to(facts, "confirm"):
        yield Question(
            "",
            f"{'Is' if len(doubtful) == 1 else 'Are'} {_listed(doubtful)} really so, and who can confirm it?",
            "If it is not, part of the plan falls.",
            (),
            "Yes, until somebody says otherwise",
            "assumptions",
            topic="confirm",
        )


def _parts(facts: Facts) -> Iterator[Question]:
    stated = [
        one
        for one in facts.components
        if not one.source.startswith("default") and one.get("release") != "later"
    ]
    if not answer_to(facts, "parts") and all(one.text in PARTIAL for one in stated):
        yield Question(
            "",
            "Which parts run separately?",
            "Every border between parts costs work; it must buy something.",
            ("one application", "a browser part and a server part", "several services, and which"),
            "One application that holds everything",
            "components",
            topic="parts",
        )
    stores = [one for one in facts.technologies if one.get("used for") == "database"]
    if not stores and not answer_to(facts, "store"):
        yield Question(
            "",
            "What data is kept, where, and for how long?",
            "Data outlives programs; it is the hardest thing to change later.",
            ("one relational database", "files", "nothing is kept"),
            "One relational database, written by one component only",
            "components",
            topic="store",
        )


def _technology(facts: Facts) -> Iterator[Question]:
    uses = {item.get("used for") for item in facts.technologies}
    if "programming language" not in uses and not answer_to(facts, "language"):
        yield Question(
            "",
            "Which language and framework does the team know best?",
            "Familiar technology is the cheapest way to quality.",
            (),
            "The one that the team runs in production today",
            "technology",
            topic="language",
        )
    if "hosting" not in uses and not facts.of("DP") and not answer_to(facts, "hosting"):
        yield Question(
            "",
            "Where will it run, and who looks after it there?",
            "Cost, privacy and availability depend on it.",
            ("a provider", "machines of one's own", "the users' own devices"),
            "On what the team runs already",
            "context",
            topic="hosting",
        )


def _outside(facts: Facts) -> Iterator[Question]:
    vague = [
        item
        for item in facts.integrations
        if not (item.get("protocol") and item.get("format") and item.get("on failure"))
    ]
    if vague and not answer_to(facts, "integrations"):
        names = ", ".join(f"{item.text} ({item.id})" for item in vague[:_NAMED_AT_MOST])
        yield Question(
            "",
            f"How does it talk to {names}: which protocol, which format, and what happens when it is not reachable?",
            "Other systems fail; what the user sees then must be decided, not discovered.",
            (),
            "HTTPS with JSON; repeated three times, then kept and shown to an operator",
            "integrations",
            topic="integrations",
        )


def _qualities(facts: Facts) -> Iterator[Question]:
    if not facts.quality_goals and not answer_to(facts, "quality"):
        yield Question(
            "",
            "How quick, how available and for how many people must it be?",
            "The answer decides whether the simplest design is enough.",
            ("a handful of users", "hundreds", "thousands at the same time"),
            "No figures are promised; release 1 is measured and sets them",
            "quality",
            topic="quality",
        )
    served = {one for part in facts.components for one in part.references("features")}
    unserved = [item for item in facts.features if item.id not in served]
    if facts.components and unserved and not answer_to(facts, "allocation"):
        yield Question(
            "",
            f"Which component serves {_listed(unserved)}?",
            "A feature that no component serves will not be built.",
            tuple(f"{unserved[0].id}: {part.id}" for part in facts.components[:2]),
            f"{facts.components[0].id} serves them",
            "components",
            topic="allocation",
        )


def _safety(facts: Facts) -> Iterator[Question]:
    if not answer_to(facts, "security"):
        yield Question(
            "",
            "Who may do what, and where are passwords and keys kept?",
            "Added later, this touches everything.",
            (),
            "Input from outside is checked where it enters; secrets come from the environment, never from the repository",
            "security",
            topic="security",
        )


def _listed(items: Iterable[Item]) -> str:
    names = [item.id for item in items]
    shown = names[:_NAMED_AT_MOST]
    more = f" and {len(names) - len(shown)} more" if len(names) > len(shown) else ""
    if more or len(shown) == 1:
        return ", ".join(shown) + more
    return f"{', '.join(shown[:-1])} and {shown[-1]}"


def _is_or_are(items: list[Item]) -> str:
    return "is" if len(items) == 1 else "are"
