"""Rules about user stories: T1 to T11. A story is read from Markdown with Gherkin scenarios."""

from __future__ import annotations

import re
from itertools import combinations
from typing import TYPE_CHECKING, Final, NamedTuple

from clew.advisors.blocks import REFERENCE
from clew.advisors.checks_architecture import cycle_in
from clew.advisors.model import Finding
from clew.advisors.wording import overlap, tokens

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

MOST_STEPS: Final = 7
LONGEST_STEP: Final = 120
MOST_POINTS: Final = 8
_ALIKE: Final = 0.8
_CLAUSES = re.compile(
    r"\bas (?:an?|the) (?P<role>.+?),?\s+I (?:want|need)(?: to)? (?P<want>.+?),?\s+so that (?P<benefit>.+?)(?:\.|\n\n|$)",
    re.IGNORECASE | re.DOTALL,
)
_SCENARIO = re.compile(
    r"^[#*\s>-]*Scenario(?: Outline)?\s*:?\**\s*:?\s*(.*?)\**\s*$", re.IGNORECASE | re.MULTILINE
)
_STEP = re.compile(
    r"^[\s>*-]*\**(Given|When|Then|And|But)\b\**\s+(.+)$", re.IGNORECASE | re.MULTILINE
)
_POINTS = re.compile(
    r"\bpoints?\**\s*[:=]\**\s*(\d+)|\bestimate\**\s*[:=]\**\s*(\d+)", re.IGNORECASE
)
_DEPENDS = re.compile(r"\bdepends on\**\s*:\**\s*([^\n]+)", re.IGNORECASE)
_STORY_ID = re.compile(r"\b[A-Z]{2,}-\d+\b|\b\d{4}-\d{2}-\d{2}-[0-9a-z]+-[0-9a-z]+\b")
_UNHAPPY = re.compile(
    r"\b(?:fail\w*|error\w*|invalid|wrong|missing|without|no|not|refus\w*|reject\w*|denied|too (?:many|long|large)|"
    r"empty|expired|unknown|duplicate|offline|timeout|boundar\w*|limit|cannot|never|last|zero|maximum)\b",
    re.IGNORECASE,
)  # fmt: skip
_UI = re.compile(
    r"\b(?:clicks?|taps?|presses|press|scrolls?|hovers?|drags?|button|dropdown)\b", re.IGNORECASE
)
_UNOBSERVABLE = re.compile(
    r"\b(?:works?|correctly|properly|as expected|successfully|fine|should be ok)\b", re.IGNORECASE
)


class Scenario(NamedTuple):
    """A scenario: its name and its steps, each with its keyword."""

    name: str
    steps: tuple[tuple[str, str], ...]


class Story(NamedTuple):
    """A story as the rules see it."""

    id: str
    title: str
    role: str
    want: str
    benefit: str
    scenarios: tuple[Scenario, ...]
    points: int | None
    depends_on: tuple[str, ...]
    features: tuple[str, ...]


def read_story(story_id: str, text: str) -> Story:
    """The story that a Markdown text tells."""
    clauses = _CLAUSES.search(text)
    title = re.search(r"^#\s+(.+)$", text, re.MULTILINE)
    points = _POINTS.search(text)
    depends = _DEPENDS.search(text)
    starts = list(_SCENARIO.finditer(text))
    ends = [*(one.start() for one in starts[1:]), len(text)]
    scenarios = tuple(
        Scenario(
            one[1].strip(),
            tuple((s[1].capitalize(), s[2].strip()) for s in _STEP.finditer(text, one.end(), end)),
        )
        for one, end in zip(starts, ends, strict=True)
    )
    return Story(
        story_id,
        title[1].strip() if title else "",
        clauses["role"].strip() if clauses else "",
        clauses["want"].strip() if clauses else "",
        clauses["benefit"].strip() if clauses else "",
        scenarios,
        int(points[1] or points[2]) if points else None,
        tuple(_STORY_ID.findall(depends[1])) if depends else (),
        tuple(dict.fromkeys(one for one in REFERENCE.findall(text) if one.startswith("FE-"))),
    )


def check_stories(stories: Sequence[Story], features: Iterable[str] = ()) -> list[Finding]:
    """The rules over stories, each by itself and all together."""
    found = [finding for story in stories for finding in check_story(story)]
    known = {story.id for story in stories}
    for story in stories:
        found += [
            Finding("T9", "error", story.id, f"{one} does not exist", "Correct the dependency.")
            for one in story.depends_on
            if one not in known
        ]
    circle = cycle_in({story.id: story.depends_on for story in stories})
    if circle:
        found.append(
            Finding(
                "T9",
                "error",
                circle[0],
                f"a circle: {' → '.join(circle)}",
                "Turn one dependency around.",
            )
        )
    return [*found, *_coverage(stories, tuple(features)), *_duplicates(stories)]


def check_story(story: Story) -> Iterator[Finding]:
    """The rules on one story."""
    missing = [name for name in ("role", "want", "benefit") if not getattr(story, name)]
    if missing:
        yield Finding(
            "T1", "error", story.id, f"no {', no '.join(missing)}", "Write: As a ..., I want ..., so that ..."
        )  # fmt: skip
    elif overlap(tokens(story.want), tokens(story.benefit)) > _ALIKE:
        yield Finding(
            "T2",
            "warning",
            story.id,
            "the benefit repeats the wish",
            "Say what is better afterwards.",
        )
    yield from _kinds(story)
    names = [one.name.casefold() for one in story.scenarios]
    for scenario in story.scenarios:
        yield from _scenario(story, scenario, unique=names.count(scenario.name.casefold()) == 1)
    if story.points is not None and story.points > MOST_POINTS:
        yield Finding(
            "T8",
            "warning",
            story.id,
            f"{story.points} points",
            f"Split it; {MOST_POINTS} are the most.",
        )


def _kinds(story: Story) -> Iterator[Finding]:
    unhappy = [one for one in story.scenarios if _UNHAPPY.search(_whole(one))]
    if len(unhappy) == len(story.scenarios):
        yield Finding("T3", "error", story.id, "no scenario in which all goes well", "Add one.")
    if not unhappy:
        yield Finding("T3", "warning", story.id, "no scenario of a failure or a limit", "Add one.")


def _whole(scenario: Scenario) -> str:
    return " ".join([scenario.name, *(text for _, text in scenario.steps)])


def _scenario(story: Story, scenario: Scenario, *, unique: bool) -> Iterator[Finding]:
    place = f"{story.id}:{scenario.name or 'a scenario'}"
    if not scenario.name or not unique:
        yield Finding(
            "T4",
            "error",
            place,
            "its name is missing or used twice",
            "Name each scenario differently.",
        )
    kinds = [kind for kind, _ in scenario.steps]
    order = [kind for kind in kinds if kind in {"Given", "When", "Then"}]
    ordered = order == sorted(order, key=("Given", "When", "Then").index)
    if "Given" not in kinds or kinds.count("When") != 1 or "Then" not in kinds or not ordered:
        yield Finding(
            "T4", "error", place, "not Given, one When, Then in this order", "Write the steps anew."
        )
    if len(kinds) > MOST_STEPS:
        yield Finding(
            "T5", "warning", place, f"{len(kinds)} steps", f"At most {MOST_STEPS}; split it."
        )
    outcome = ""
    for kind, text in scenario.steps:
        outcome = kind if kind in {"Given", "When", "Then"} else outcome
        yield from _step(place, text, observed=outcome == "Then")


def _step(place: str, text: str, *, observed: bool) -> Iterator[Finding]:
    if len(text) > LONGEST_STEP:
        yield Finding(
            "T5", "warning", place, f"a step of {len(text)} characters", f"At most {LONGEST_STEP}."
        )
    if _UI.search(text) or re.search(r"\bor\b", text):
        yield Finding(
            "T6",
            "warning",
            place,
            f"“{text[:60]}” names a control or an alternative",
            "Say what, not how.",
        )
    found = _UNOBSERVABLE.search(text) if observed else None
    if found:
        yield Finding(
            "T7", "warning", place, f"“{found[0]}” cannot be observed", "Say what is seen."
        )


def _coverage(stories: Sequence[Story], features: tuple[str, ...]) -> Iterator[Finding]:
    covered = {one for story in stories for one in story.features}
    for feature in features:
        if feature not in covered:
            yield Finding("T10", "error", feature, f"no story is about {feature}", "Write one.")
    for story in stories:
        if not story.features:
            yield Finding(
                "T10", "warning", story.id, "it belongs to no feature", "Name its feature: FE-..."
            )


def _duplicates(stories: Sequence[Story]) -> Iterator[Finding]:
    titles = {story.id: tokens(story.title) for story in stories}
    for one, other in combinations(stories, 2):
        if overlap(titles[one.id], titles[other.id]) > _ALIKE:
            yield Finding(
                "T11",
                "warning",
                one.id,
                f"nearly the title of {other.id}",
                "Join them, or tell them apart.",
            )
