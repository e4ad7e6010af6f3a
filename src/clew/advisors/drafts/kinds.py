"""The kinds of statements that a draft may have: their fields, an example, and what each needs."""

from __future__ import annotations

from typing import Final, NamedTuple

from clew.advisors.documents.templates import Kind


class StatementKind(NamedTuple):
    """A kind of statement: the prefix of its ids, an example, its fields, and what it serves.

    A kind that is free needs no quote: it is the caller's own proposal, and marked as one.
    """

    prefix: str
    example: str
    fields: tuple[str, ...] = ()
    serves: str = ""
    free: bool = False


_FEATURE: Final = StatementKind(
    "FE", "Guests reserve a table online", ("release", "depends_on"), "objective"
)
_SHARED: Final = {
    "constraint": StatementKind("CO", "It must run on PostgreSQL"),
    "risk": StatementKind(
        "RI",
        "Guests may not trust it",
        ("probability", "impact", "mitigation", "owner"),
        free=True,
    ),
    "assumption": StatementKind("AS", "Restaurants have internet access", ("state",), free=True),
    "aside": StatementKind("SA", "a greeting, thanks, navigation: says nothing about the project"),
}
KINDS: Final[dict[Kind, dict[str, StatementKind]]] = {
    "vision": {
        "background": StatementKind("BG", "The chain has 40 restaurants", ("category",)),
        "problem": StatementKind("PB", "Waiters lose an hour a day on the phone"),
        "objective": StatementKind(
            "BO", "No-shows fall from 12% to 4% by June 2027", ("measure", "target", "deadline")
        ),
        "metric": StatementKind(
            "SM",
            "Share of no-shows a month",
            ("measure", "target", "measured_by", "deadline"),
            "objective",
        ),
        "feature": _FEATURE,
        "exclusion": StatementKind("EX", "No payments"),
        "stakeholder": StatementKind("ST", "Guests", ("role", "interest")),
        "deployment": StatementKind("DP", "It runs on the chain's own servers"),
        "priority": StatementKind("PR", "Schedule", ("degree", "reason")),
        **_SHARED,
    },
    "architecture": {
        "component": StatementKind(
            "CP",
            "Booking service",
            ("responsibility", "technology", "data", "depends_on"),
            "features",
            free=True,
        ),
        "technology": StatementKind(
            "TE",
            "PostgreSQL",
            ("used_for", "reason", "alternatives"),
            "components",
            free=True,
        ),
        "integration": StatementKind(
            "IN", "SendGrid", ("purpose", "protocol", "format", "on_failure"), "components"
        ),
        "quality": StatementKind(
            "QG", "Pages answer within 200 ms", ("attribute", "measure", "tactic"), "components"
        ),
        "decision": StatementKind(
            "DE",
            "Keep bookings in one PostgreSQL database",
            ("context", "options", "because", "good", "bad"),
            "about",
            free=True,
        ),
        "security": StatementKind("SC", "Keys come from the environment", free=True),
        "feature": _FEATURE,
        "deployment": StatementKind("DP", "It runs on the chain's own servers"),
        "background": StatementKind("BG", "The chain has 40 restaurants"),
        **_SHARED,
    },
}
# What a field may say, where that is not plain.
VALUES: Final = {
    "release": "1 or later", "state": "confirmed, unconfirmed or refuted", "options": "a list, the chosen one first",
    "degree": "driver, constraint or degree of freedom", "role": "primary user, or what they do", "bad": "what it costs",
    "measured_by": "how it is counted",
}  # fmt: skip
BY_PREFIX: Final = {
    one.prefix: (name, one) for kinds in KINDS.values() for name, one in kinds.items()
}
_ALIASES: Final = {
    "goal": "objective", "business objective": "objective", "success metric": "metric",
    "user": "stakeholder", "requirement": "feature", "non-goal": "exclusion", "nfr": "quality",
    "quality goal": "quality", "limit": "constraint", "noise": "aside", "system": "integration",
}  # fmt: skip
# Shown nowhere: what only the judge needs to know of a statement.
HIDDEN: Final = frozenset(
    {"quote", "ref", "draft", "unread", "measure", "by", "category", "flag", "topic", "waits"}
)


def kind_of(kind: Kind, name: object) -> tuple[str, StatementKind] | None:
    """The kind that a caller named, by its own or by another usual word."""
    plain = str(name).strip().casefold().replace("_", " ")
    known = _ALIASES.get(plain, plain)
    found = KINDS[kind].get(known)
    return (known, found) if found else None
