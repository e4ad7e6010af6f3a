"""The traceability matrix: objective, feature, components and decisions, specs. Always derived."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from clew.advisors.documents.markdown import REFERENCE
from clew.advisors.documents.model import Document, Item

_DECISION = re.compile(r"\bADR-\d+\b")


class SpecLink(NamedTuple):
    """A spec as the matrix sees it: its id, its title, and the ids that it names."""

    id: str
    title: str
    references: frozenset[str]


@dataclass(frozen=True)
class Row:
    """One line of the matrix; what is missing is empty."""

    objective: str
    feature: str
    text: str
    components: tuple[str, ...] = ()
    decisions: tuple[str, ...] = ()
    specs: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """The row by name."""
        found = {
            key: list(one) if isinstance(one, tuple) else one for key, one in vars(self).items()
        }
        return {**found, "objective": self.objective or None, "feature": self.feature or None}


def spec_link(spec_id: str, title: str, *texts: str) -> SpecLink:
    """A spec's link; the texts are its origin, labels or body, wherever ids may stand."""
    return SpecLink(spec_id, title, frozenset(REFERENCE.findall(" ".join(texts))))


def matrix(documents: Sequence[Document], specs: Iterable[SpecLink] = ()) -> list[Row]:
    """The rows: each objective with its features, then features and objectives without a link."""
    links = list(specs)
    objectives = {item.id: item.text for item in _all(documents, "BO")}
    features = {item.id: item for item in _all(documents, "FE")}
    serves = _served(documents, features.values())
    rows: list[Row] = []
    for objective, text in objectives.items():
        served = [one for one in features.values() if objective in serves[one.id]]
        rows += [_row(documents, links, objective, one.id, one.text) for one in served]
        if not served:
            rows.append(Row(objective, "", text))
    rows += [
        _row(documents, links, "", one.id, one.text)
        for one in features.values()
        if not serves[one.id] & objectives.keys()
    ]
    named = {spec for row in rows for spec in row.specs}
    rows += [Row("", "", one.title, specs=(one.id,)) for one in links if one.id not in named]
    return rows


def _served(documents: Sequence[Document], features: Iterable[Item]) -> dict[str, set[str]]:
    """The objectives of each feature: those it names, else the default of the question about it."""
    open_ones = [item for item in _all(documents, "Q") if not item.get("answer")]
    defaults = {
        one
        for item in open_ones
        if "FE-" in " ".join(REFERENCE.findall(item.text))
        for one in REFERENCE.findall(item.get("default"))
        if one.startswith("BO-")
    }
    return {one.id: set(one.references("objective")) or defaults for one in features}


def _all(documents: Sequence[Document], prefix: str) -> list[Item]:
    found = {item.id: item for document in documents for item in reversed(document.items(prefix))}
    return sorted(found.values(), key=lambda item: item.number)


def _row(
    documents: Sequence[Document], specs: list[SpecLink], objective: str, feature: str, text: str
) -> Row:
    parts = [one for one in _all(documents, "CP") if feature in one.references("features")]
    names = {name.strip() for one in parts for name in one.get("technology").split(",")}
    decisions = {
        found
        for one in _all(documents, "TE")
        if one.text in names
        for found in _DECISION.findall(one.get("decision"))
    }
    return Row(
        objective,
        feature,
        text,
        tuple(one.id for one in parts),
        tuple(sorted(decisions)),
        tuple(one.id for one in specs if feature in one.references),
    )
