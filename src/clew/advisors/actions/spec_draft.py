"""Specs that a caller drafts for features: judged, and refused with the reason."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple

from clew.advisors.documents.model import Document, same_text
from clew.advisors.drafts.draft import Refusal, listed
from clew.advisors.extract.similarity import contained, tokens
from clew.advisors.extract.statements import inline, plain
from clew.kit.errors import Invalid

MOST_SPECS: Final = 100
MOST_CRITERIA: Final = 8
MOST_SCENARIOS: Final = 5
MOST_FILES: Final = 12
_SAME: Final = 0.8
_SCENARIO = re.compile(r"\b(?:given|when|while|where|if)\b.*\b(?:then|shall|must)\b|(?:とき|場合).*(?:する|こと)|\b(?:wenn|falls)\b", re.IGNORECASE | re.DOTALL)  # fmt: skip
_EMPTY = re.compile(
    r"\b(?:works?|behaves?) (?:correctly|properly|as expected|well)\b|\b(?:clean|readable|well[- ]written) code\b|\bcode is clean\b"
    r"|\b(?:all )?tests pass\b\W*$|\b(?:is|are) (?:well )?documented\b\W*$|\bbest practices\b|\bhandles? errors gracefully\b"
    r"|\bno regressions?\b|\buser[- ]friendly\b",
    re.IGNORECASE,
)


class SpecCriterion(NamedTuple):
    """A criterion and the command that proves it, if there is one."""

    text: str
    check: str = ""


class SpecDraft(NamedTuple):
    """What a caller says a feature, or a part of it, needs."""

    ref: str
    feature: str
    title: str
    outcome: str
    scenarios: tuple[str, ...]
    criteria: tuple[SpecCriterion, ...]
    files: tuple[str, ...]
    constraints: tuple[str, ...]
    out_of_scope: tuple[str, ...]
    depends_on: tuple[str, ...]

    @property
    def key(self) -> str:
        """The feature, and which part of it where a draft splits it."""
        return self.feature if self.ref == self.feature else f"{self.feature}/{self.ref}"


def read_specs(given: object, vision: Document, test: str) -> tuple[list[SpecDraft], list[Refusal]]:
    """The drafts that can be specs, and why the others cannot."""
    if not isinstance(given, list) or len(given) > MOST_SPECS:
        raise Invalid(f"specs must be a list of at most {MOST_SPECS} objects")
    taken: list[SpecDraft] = []
    refused: list[Refusal] = []
    refs = {str(one.get("ref")) for one in given if isinstance(one, dict)}
    for number, entry in enumerate(given, 1):
        if not isinstance(entry, dict):
            refused.append(Refusal(f"#{number}", "a spec is an object with feature, outcome, scenarios and criteria"))  # fmt: skip
            continue
        draft = _read(entry)
        lacks = "; ".join(_problems(draft, vision, test, refs))
        if lacks:
            refused.append(Refusal(draft.ref or f"#{number}", lacks))
        else:
            taken.append(draft)
    return taken, refused


def _read(entry: Mapping[str, Any]) -> SpecDraft:
    feature = str(entry.get("feature") or "").strip()
    criteria = tuple(_criterion(one) for one in listed(entry.get("criteria")))
    texts = {name: tuple(inline(str(one)) for one in listed(entry.get(name)))
             for name in ("scenarios", "constraints", "out_of_scope")}  # fmt: skip
    names = {name: tuple(str(one).strip() for one in listed(entry.get(name))) for name in ("files", "depends_on")}  # fmt: skip
    return SpecDraft(
        ref=str(entry.get("ref") or feature).strip(),
        feature=feature,
        title=inline(str(entry.get("title") or "")),
        outcome=inline(str(entry.get("outcome") or "")),
        criteria=tuple(one for one in criteria if one.text),
        **texts,
        **names,
    )


def _criterion(value: object) -> SpecCriterion:
    if isinstance(value, dict):
        check = " ".join(str(value.get("check") or "").replace("`", "").split())
        return SpecCriterion(inline(str(value.get("text") or "")), check)
    return SpecCriterion(inline(str(value)))


def _problems(draft: SpecDraft, vision: Document, test: str, refs: set[str]) -> Iterable[str]:
    feature = vision.item(draft.feature)
    if feature is None or feature.prefix != "FE":
        known = ", ".join(one.id for one in vision.items("FE"))
        yield f"there is no feature {draft.feature or 'named'}; there are: {known}"
        return
    if not draft.outcome:
        yield "no outcome: what can somebody do, or see, that they could not before?"
    if not any(_SCENARIO.search(plain(one)) for one in draft.scenarios):
        yield "no scenario: given ... when ... then ..., or when ... the system shall ..."
    if not draft.criteria:
        yield "no criteria"
    yield from _hollow(draft, feature.text)
    if test and draft.criteria and not any(one.check for one in draft.criteria):
        yield f"no criterion has a check; the repository has `{test}`"
    yield from _too_large(draft)
    for name in draft.depends_on:
        if vision.item(name) is None and name not in refs:
            yield f"depends_on names {name}, which is no feature and no part"


def _hollow(draft: SpecDraft, feature: str) -> Iterable[str]:
    for one in draft.criteria:
        if _restates(one.text, draft.title or feature) or _restates(one.text, feature):
            yield f"the criterion “{one.text[:60]}” repeats the title; say how one sees that it is so"
        elif _EMPTY.search(plain(one.text)):
            yield f"the criterion “{one.text[:60]}” fits anything; say what this change shows"


def _too_large(draft: SpecDraft) -> Iterable[str]:
    limits = (("criteria", MOST_CRITERIA), ("scenarios", MOST_SCENARIOS), ("files", MOST_FILES))
    for name, most in limits:
        if len(getattr(draft, name)) > most:
            number = len(getattr(draft, name))
            yield f"{number} {name} are more than a day of work; split it into specs with a ref each"


def _restates(text: str, title: str) -> bool:
    one, other = tokens(plain(text)), tokens(plain(title))
    more = len(one - other)
    return same_text(text) == same_text(title) or (more <= 1 and contained(one, other) >= _SAME)
