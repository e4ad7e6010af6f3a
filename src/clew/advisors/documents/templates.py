"""Which sections each kind of document has, which headings stand for them, and what is in them."""

from __future__ import annotations

import re
from typing import Final, Literal, NamedTuple

Kind = Literal["vision", "architecture", "adr"]
Layout = Literal["table", "line"]

PREAMBLE: Final = "preamble"
_NUMBERED = re.compile(r"(?:\d+(?:\.\d+)*[.)]?|[IVX]+\.)\s+")


class Items(NamedTuple):
    """The items of a section: the prefix of their ids, how they are laid out, their columns."""

    prefix: str = ""
    layout: Layout = "line"
    noun: str = ""
    columns: tuple[str, ...] = ()


class Template(NamedTuple):
    """What a section of a kind of document is for, and which items it has."""

    key: str
    heading: str
    level: int = 3
    items: Items = Items()
    aliases: tuple[str, ...] = ()
    required: bool = True


def _table(prefix: str, noun: str, *columns: str) -> Items:
    return Items(prefix, "table", noun, columns)


_RISKS = Template(
    "risks",
    "Risks",
    items=_table("RI", "Risk", "probability", "impact", "mitigation", "owner", "source"),
    aliases=("business risks", "risks and mitigations", "risks and technical debt"),
)
_QUESTIONS = Template("questions", "Open questions", 2, items=Items("Q"))
_UNPLACED = Template(
    "unplaced", "Not placed yet", 2, items=Items("NP"), aliases=("set aside",), required=False
)
_CONSTRAINTS = Template(
    "constraints", "Constraints", items=Items("CO"), aliases=("constraints and assumptions",)
)

_VISION: Final = (
    Template("business", "Business requirements", 2),
    Template("background", "Background"),
    Template("problem", "Problem and opportunity", aliases=("opportunity", "problem statement")),
    Template(
        "objectives",
        "Objectives",
        items=Items("BO"),
        aliases=("business objectives", "goals", "project goals"),
    ),
    Template(
        "metrics",
        "Success metrics",
        items=_table("SM", "Metric", "objective", "target", "measured by", "deadline", "source"),
    ),
    Template("vision", "Vision statement", aliases=("project vision",)),
    _RISKS,
    Template("assumptions", "Assumptions and dependencies", items=Items("AS")),
    Template("scope", "Scope and limitations", 2),
    Template(
        "features",
        "Features by release",
        items=_table("FE", "Feature", "release", "objective", "source"),
        aliases=("major features", "key features", "key features & scope"),
    ),
    Template(
        "exclusions",
        "Exclusions",
        items=Items("EX"),
        aliases=("out of scope", "limitations and exclusions", "non-goals"),
    ),
    Template("context", "Business context", 2),
    Template(
        "stakeholders",
        "Stakeholders",
        items=_table("ST", "Who", "role", "interest", "source"),
        aliases=("stakeholders & users", "stakeholders and users", "users", "stakeholder profiles"),
    ),
    _CONSTRAINTS,
    Template(
        "priorities",
        "Priorities",
        items=_table("PR", "Dimension", "kind", "reason", "source"),
        aliases=("project priorities",),
    ),
    Template("deployment", "Deployment", aliases=("deployment considerations",), required=False),
    _QUESTIONS,
    _UNPLACED,
)

_ARCHITECTURE: Final = (
    Template(
        "context", "Context", 2, aliases=("system context", "context and scope", "introduction")
    ),
    _CONSTRAINTS,
    Template(
        "components",
        "Components",
        2,
        items=_table(
            "CP",
            "Component",
            "responsibility",
            "technology",
            "data",
            "depends on",
            "features",
            "source",
        ),
        aliases=("building blocks", "building block view", "component model"),
    ),
    Template("container-diagram", "Container diagram"),
    Template("data-flow", "Data flow", 2, aliases=("runtime view", "runtime")),
    Template(
        "technology",
        "Technology",
        2,
        items=_table(
            "TE", "Technology", "used for", "reason", "alternatives", "decision", "source"
        ),
        aliases=("technology stack", "technologies"),
    ),
    Template(
        "integrations",
        "Integrations",
        2,
        items=_table(
            "IN", "System", "purpose", "protocol", "format", "on failure", "components", "source"
        ),
        aliases=("integration points", "external systems"),
    ),
    Template(
        "quality",
        "Quality goals",
        2,
        items=_table("QG", "Goal", "attribute", "tactic", "components", "decision", "source"),
        aliases=("quality requirements", "non-functional requirements"),
    ),
    Template("security", "Trust boundaries and secrets", 2, items=Items("SC")),
    _RISKS._replace(level=2),
    Template(
        "assumptions",
        "Assumptions",
        2,
        items=Items("AS"),
        aliases=("assumptions and dependencies",),
    ),
    Template("decisions", "Decisions", 2, aliases=("architecture decisions", "design decisions")),
    Template("traceability", "Traceability", 2),
    _QUESTIONS,
    _UNPLACED,
)

_ADR: Final = (
    Template("status", "Status", 2, required=False),
    Template("context", "Context and Problem Statement", 2),
    Template("drivers", "Decision Drivers", 2, required=False),
    Template(
        "options",
        "Considered Options",
        2,
        aliases=("alternatives considered", "alternatives"),
        required=False,
    ),
    Template("decision", "Decision Outcome", 2, aliases=("outcome",)),
    Template("consequences", "Consequences", aliases=("positive consequences",)),
    Template("confirmation", "Confirmation", aliases=("validation",), required=False),
    Template("pros", "Pros and Cons of the Options", 2, required=False),
    Template(
        "more",
        "More Information",
        2,
        aliases=("links", "related decisions", "notes", "references"),
        required=False,
    ),
)

TEMPLATES: Final[dict[Kind, dict[str, Template]]] = {
    "vision": {one.key: one for one in _VISION},
    "architecture": {one.key: one for one in _ARCHITECTURE},
    "adr": {one.key: one for one in _ADR},
}


def key_of(kind: Kind, heading: str) -> str:
    """The key that a heading stands for; other than by its aliases, it is the heading's slug."""
    if not heading:
        return PREAMBLE
    plain = _NUMBERED.sub("", heading, count=1).casefold().strip(" :.")
    for template in TEMPLATES[kind].values():
        if plain == template.heading.casefold() or plain in template.aliases:
            return template.key
    return slug(plain or heading)


def slug(text: str) -> str:
    """The text as a name: words joined by dashes, in any script."""
    words = re.findall(r"\w+", text.casefold())
    return "-".join(words)[:60].strip("-_") or "section"
