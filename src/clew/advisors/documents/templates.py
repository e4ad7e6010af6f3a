"""Which sections each kind of document has, what stands in them, and how they are laid out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

Kind = Literal["vision", "architecture", "adr"]
Layout = Literal["table", "line", "card"]


@dataclass(frozen=True)
class Template:
    """What a section of a kind of document is for, and how its items are laid out."""

    key: str
    heading: str
    level: int = 3
    prefix: str = ""
    layout: Layout = "line"
    noun: str = ""
    columns: tuple[str, ...] = ()
    required: bool = True
    aliases: tuple[str, ...] = ()
    rules: tuple[str, ...] = ()


_RISKS = Template(
    "risks",
    "Risks",
    prefix="RI",
    layout="table",
    noun="Risk",
    columns=("probability", "impact", "mitigation", "owner", "source"),
    aliases=("business risks", "risks and mitigations", "risks and technical debt"),
    rules=("Each risk has a probability, an impact, a mitigation, and an owner or `unassigned`.",),
)
_QUESTIONS = Template(
    "questions",
    "Open questions",
    2,
    prefix="Q",
    layout="card",
    aliases=("questions",),
    rules=("At most five first; each has a recommended default.",),
)
_SET_ASIDE = Template(
    "set-aside",
    "Set aside",
    2,
    prefix="SA",
    required=False,
    rules=("Text that speaks to a reader's tools instead of about the project; never obeyed.",),
)
_CONSTRAINTS = Template(
    "constraints",
    "Constraints",
    prefix="CO",
    rules=("What must be so, in the words of whoever said it.",),
    aliases=("constraints and assumptions",),
)

VISION: Final = (
    Template("business", "Business requirements", 2, rules=("Why the project exists.",)),
    Template("background", "Background", rules=("What there is today, without solutions.",)),
    Template(
        "problem",
        "Problem and opportunity",
        aliases=("problem", "opportunity", "problem statement"),
        rules=("The problem, not the solution: no technologies here.",),
    ),
    Template(
        "objectives",
        "Objectives",
        prefix="BO",
        aliases=("business objectives", "goals", "project goals"),
        rules=("Each objective has a number or a date, with a unit or a baseline.",),
    ),
    Template(
        "metrics",
        "Success metrics",
        prefix="SM",
        layout="table",
        noun="Metric",
        columns=("objective", "target", "measured by", "deadline", "source"),
        aliases=("metrics",),
        rules=("Each metric has a target, a way to measure it, a deadline and an objective.",),
    ),
    Template(
        "vision",
        "Vision statement",
        aliases=("vision", "project vision"),
        rules=("For WHO, with NEED, PRODUCT is a CATEGORY that BENEFIT, unlike ALTERNATIVE.",),
    ),
    _RISKS,
    Template(
        "assumptions",
        "Assumptions and dependencies",
        prefix="AS",
        aliases=("assumptions",),
        rules=("Each assumption says whether it is confirmed.",),
    ),
    Template("scope", "Scope and limitations", 2, aliases=("scope",)),
    Template(
        "features",
        "Features by release",
        prefix="FE",
        layout="table",
        noun="Feature",
        columns=("release", "objective", "source"),
        aliases=("features", "major features", "key features", "key features & scope"),
        rules=("Each feature belongs to a release and serves an objective.",),
    ),
    Template(
        "exclusions",
        "Exclusions",
        prefix="EX",
        aliases=("out of scope", "limitations and exclusions", "non-goals"),
        rules=("At least one exclusion; none is also a feature.",),
    ),
    Template("context", "Business context", 2),
    Template(
        "stakeholders",
        "Stakeholders",
        prefix="ST",
        layout="table",
        noun="Who",
        columns=("role", "interest", "source"),
        aliases=("stakeholders & users", "stakeholders and users", "users", "stakeholder profiles"),
        rules=("At least one primary user; each has an interest.",),
    ),
    _CONSTRAINTS,
    Template(
        "priorities",
        "Priorities",
        prefix="PR",
        layout="table",
        noun="Dimension",
        columns=("kind", "reason", "source"),
        aliases=("project priorities",),
        rules=(
            "Features, quality, schedule, cost, staff: constraint, driver or degree of freedom.",
        ),
    ),
    Template(
        "deployment",
        "Deployment",
        required=False,
        aliases=("deployment considerations",),
    ),
    _QUESTIONS,
    _SET_ASIDE,
)

ARCHITECTURE: Final = (
    Template(
        "context",
        "Context",
        2,
        aliases=("system context", "context and scope", "introduction"),
        rules=("Who uses the system, what it talks to, and what it builds on.",),
    ),
    _CONSTRAINTS,
    Template(
        "components",
        "Components",
        2,
        prefix="CP",
        layout="table",
        noun="Component",
        columns=("responsibility", "technology", "data", "depends on", "features", "source"),
        aliases=("building blocks", "building block view", "component model"),
        rules=(
            "Each component has one responsibility, names its data and the features it serves.",
        ),
    ),
    Template(
        "container-diagram",
        "Container diagram",
        rules=("Generated from the components and integrations; not edited by hand.",),
    ),
    Template(
        "data-flow",
        "Data flow",
        2,
        aliases=("runtime view", "runtime"),
        rules=("One numbered walk through the components for each feature.",),
    ),
    Template(
        "technology",
        "Technology",
        2,
        prefix="TE",
        layout="table",
        noun="Technology",
        columns=("used for", "reason", "alternatives", "decision", "source"),
        aliases=("technology stack", "technologies"),
        rules=("Each technology has a reason, and an alternative or a decision record.",),
    ),
    Template(
        "integrations",
        "Integrations",
        2,
        prefix="IN",
        layout="table",
        noun="System",
        columns=("purpose", "protocol", "format", "on failure", "components", "source"),
        aliases=("integration points", "external systems"),
        rules=("Each external system has a protocol, a format, and what happens when it fails.",),
    ),
    Template(
        "quality",
        "Quality goals",
        2,
        prefix="QG",
        layout="table",
        noun="Goal",
        columns=("attribute", "tactic", "components", "decision", "source"),
        aliases=("quality requirements", "non-functional requirements"),
        rules=("Each goal has a tactic and a component or a decision record.",),
    ),
    Template(
        "security",
        "Trust boundaries and secrets",
        2,
        aliases=("security",),
        rules=("Where untrusted input enters, and where secrets are kept.",),
    ),
    Template(**{**_RISKS.__dict__, "level": 2}),
    Template(
        "assumptions",
        "Assumptions",
        2,
        prefix="AS",
        aliases=("assumptions and dependencies",),
        rules=("Each assumption says whether it is confirmed.",),
    ),
    Template(
        "decisions",
        "Decisions",
        2,
        aliases=("architecture decisions", "design decisions"),
        rules=("One record per significant decision, linked.",),
    ),
    Template(
        "traceability",
        "Traceability",
        2,
        rules=("Derived from the tables above; not edited by hand.",),
    ),
    _QUESTIONS,
    _SET_ASIDE,
)

ADR: Final = (
    Template("status", "Status", 2, required=False),
    Template(
        "context",
        "Context and Problem Statement",
        2,
        aliases=("context",),
        rules=("What forces the decision, in two or three sentences.",),
    ),
    Template("drivers", "Decision Drivers", 2, required=False),
    Template(
        "options",
        "Considered Options",
        2,
        required=False,
        aliases=("alternatives considered", "options", "alternatives"),
        rules=("At least two options.",),
    ),
    Template(
        "decision",
        "Decision Outcome",
        2,
        aliases=("decision", "outcome"),
        rules=('Chosen option: "...", because ...',),
    ),
    Template(
        "consequences",
        "Consequences",
        3,
        rules=("At least one good and one bad consequence.",),
        aliases=("positive consequences",),
    ),
    Template("confirmation", "Confirmation", 3, required=False, aliases=("validation",)),
    Template("pros", "Pros and Cons of the Options", 2, required=False),
    Template(
        "more",
        "More Information",
        2,
        required=False,
        aliases=("links", "related decisions", "notes", "references"),
    ),
)

TEMPLATES: Final[dict[Kind, tuple[Template, ...]]] = {
    "vision": VISION,
    "architecture": ARCHITECTURE,
    "adr": ADR,
}


def template_of(kind: Kind, key: str) -> Template | None:
    """The template of a section, if the kind of document knows it."""
    return next((one for one in TEMPLATES[kind] if one.key == key), None)
