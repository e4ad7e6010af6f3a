"""Review: a finished spec's changes against its acceptance criteria.

Checks give the same findings for the same changes; they say what is missing and never that
something is right. The caller, who reads the changes, gives an opinion beside them, and what it cites
must be in the changes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Final

from clew.advisors.actions.review_diff import Change, Diff, diff_of
from clew.advisors.checks.document import in_order
from clew.advisors.checks.structure import Place
from clew.advisors.documents.model import Finding, Severity
from clew.kit.text.tokens import STOP_WORDS
from clew.specs.files.criteria import Criterion, parse_criteria
from clew.specs.model import Spec

LARGE = 800
_MOST_PLACES = 3
_MOST_LINES = 5
_CODE: Final = re.compile(
    r"\.(?:py|pyi|js|jsx|ts|tsx|go|rs|java|kt|c|cc|cpp|h|hpp|cs|rb|php|swift|scala|sh|sql)$"
)
_TEST: Final = re.compile(
    r"(?:^|/)(?:tests?|spec|__tests__)/|(?:^|[/_.-])tests?[_.-]|_test\.|\.spec\."
)
_QUOTED: Final = re.compile(r"`([^`\n]{2,120})`")
_COMMAND: Final = re.compile(
    r"(?:cargo|npm|npx|pnpm|yarn|make|just|pytest|python3?|uv|tox|nox|go|mvn|gradle|bundle|dotnet|git|\./\S+)\s"
)
_WORD: Final = re.compile(r"[^\W_]{4,}")
_COMMON: Final = STOP_WORDS | {
    *("after", "before", "verify", "test", "tests", "shows", "show", "given", "happens"),
}
_CONFLICT: Final = re.compile(r"(?:<{7}|>{7}|\|{7})(?: |$)|={7}$")
_LEFT_OVER: Final = re.compile(
    r"\b(?:TODO|FIXME|XXX)\b|\bbreakpoint\(\)|\bpdb\.set_trace\(|\bconsole\.log\(|^\s*debugger;?\s*$"
    r"|\b(?:it|test|describe)\.only\(|\bdbg!\("
)
_SECRET: Final = re.compile(
    r"-----BEGIN [A-Z ]*PRIVATE KEY-----|\bAKIA[0-9A-Z]{16}\b|\bgh[pousr]_[A-Za-z0-9]{36}\b"
    r"|\bsk-[A-Za-z0-9_-]{20,}\b|\bxox[abpr]-[A-Za-z0-9-]{10,}\b"
)
_STATES: Final = ("met", "not met", "unclear")
NEXT: Final = (
    "Read the changes, then call again with `opinions`, one for each criterion: "
    '`{"number": 1, "state": "met", "evidence": "path:line", "reason": "one sentence"}` (met, not met '
    "or unclear). What is met names a changed line that shows it."
)


@dataclass(frozen=True)
class Judged:
    """One criterion: whether its box is checked, and where the changes speak of it."""

    criterion: Criterion
    places: tuple[str, ...]
    missing: tuple[str, ...]

    def as_json(self) -> dict[str, Any]:
        """The criterion as a result has it."""
        names = ("number", "text", "checked", "check", "evidence")
        fields = {name: getattr(self.criterion, name) for name in names}
        return {**fields, "places": list(self.places)}


@dataclass(frozen=True)
class Review:
    """What a review found."""

    spec_id: str
    title: str
    diff: Diff
    criteria: tuple[Judged, ...]
    findings: tuple[Finding, ...]
    opinions: tuple[dict[str, Any], ...] = ()

    @property
    def verdict(self) -> str:
        """What should happen next, by the worst finding."""
        worst = {finding.severity for finding in self.findings}
        if "error" in worst or any(one["state"] == "not met" for one in self.opinions):
            return "changes needed"
        return "look closer" if "warning" in worst else "nothing found"


def review(project: Path, spec: Spec, asked: str | None, opinions: object = None) -> Review:
    """Look at the changes of a spec, and at what the caller says of them."""
    diff = diff_of(project, spec, asked)
    criteria = tuple(_judged(item, diff) for item in parse_criteria(spec.body).items)
    findings = tuple(_findings(spec, diff, criteria))
    found = Review(spec.id, spec.title or spec.id, diff, criteria, findings)
    return replace(found, opinions=tuple(_judge(found, opinions)))


def _judged(criterion: Criterion, diff: Diff) -> Judged:
    quoted = (name for name in _QUOTED.findall(criterion.text) if name != criterion.check)
    names = [name for name in quoted if not _COMMAND.match(name)]
    plain = _QUOTED.sub(" ", criterion.text)
    words = {_stem(word) for word in _WORD.findall(plain.lower()) if word not in _COMMON}
    places: dict[str, int] = {}
    found: set[str] = set()
    for change in diff.changes:
        for number, line in ((0, change.path), *change.added):
            held = {name for name in names if name in line}
            share = len(words & {_stem(word) for word in _WORD.findall(line.lower())})
            found |= held
            weight = 3 * len(held) + share
            if weight > 1 or (weight and len(words) <= 1):
                place = f"{change.path}:{number}" if number else change.path
                places[place] = weight
    best = sorted(places, key=lambda place: -places[place])[:_MOST_PLACES]
    return Judged(criterion, tuple(best), tuple(name for name in names if name not in found))


def _stem(word: str) -> str:
    return word[:6]


def _findings(spec: Spec, diff: Diff, criteria: tuple[Judged, ...]) -> Iterator[Finding]:
    place = Place(diff.source)
    if not diff.changes:
        yield place.error("R1", "Nothing was changed", "Name another range.")
    if not criteria:
        fix = "Write them under `## Acceptance Criteria`, as `- [ ]` boxes."
        yield Place(spec.id).error("R2", "The spec has no acceptance criteria", fix)
    for judged in criteria:
        yield from _about_criterion(judged)
    yield from _about_files(spec, diff)
    for change in diff.changes:
        yield from _about_lines(change)
    if diff.added > LARGE:
        yield place.info("R11", f"{diff.added} lines were added", "Consider splitting it.")


def _about_criterion(judged: Judged) -> Iterator[Finding]:
    criterion = judged.criterion
    place = Place(f"criterion {criterion.number}")
    if not criterion.checked:
        fix = "Prove it and check it: clew spec check."
        yield place.error("R3", f"Not checked: {criterion.text}", fix)
    elif criterion.check and not criterion.evidence:
        fix = f"Run `{criterion.check}` and note what it said."
        yield place.warning("R4", "Checked without evidence, though a check is named", fix)
    for name in judged.missing:
        fix = "See whether the criterion is met by something else, or not yet."
        yield place.warning("R5", f"The changes never mention `{name}`", fix)
    if not judged.places and not judged.missing:
        fix = "Say in the evidence what proves it."
        yield place.info("R6", "No changed line speaks of this criterion", fix)


def _about_files(spec: Spec, diff: Diff) -> Iterator[Finding]:
    paths = [change.path for change in diff.changes]
    code = [path for path in paths if _CODE.search(path) and not _TEST.search(path)]
    if code and not any(_TEST.search(path) for path in paths):
        fix = "Add a test, or say why none is needed."
        yield Place(diff.source).warning("R7", "Code was changed, but no test", fix)
    targets = spec.words("target_files")
    for target in targets:
        if not any(_is_at(path, target) for path in paths):
            fix = "Change it, or take it out of target_files."
            yield Place(target).warning("R8", "A target file was not changed", fix)
    extra = [path for path in code if not any(_is_at(path, target) for target in targets)]
    for path in extra[:_MOST_LINES] if targets else ():
        fix = "See whether it belongs to this spec."
        yield Place(path).info("R9", "Changed, but not among the target files", fix)


def _is_at(path: str, target: str) -> bool:
    return fnmatchcase(path, target) or path.startswith(f"{target}/")


_LINE_RULES: Final[tuple[tuple[str, Severity, re.Pattern[str], str, str], ...]] = (
    ("R10", "error", _CONFLICT, "A mark of a merge conflict", "Resolve the conflict."),
    ("R12", "error", _SECRET, "Looks like a secret", "Take it out, and replace the secret."),
    ("R13", "warning", _LEFT_OVER, "Looks like leftover debugging or unfinished work", "Finish it, or take it out."),
)  # fmt: skip


def _about_lines(change: Change) -> Iterator[Finding]:
    for rule, severity, pattern, message, fix in _LINE_RULES:
        hits = [number for number, line in change.added if pattern.search(line)]
        for number in hits[:_MOST_LINES]:
            yield Finding(rule, severity, f"{change.path}:{number}", message, fix)


def _judge(found: Review, opinions: object) -> Iterator[dict[str, Any]]:
    """What the caller says of each criterion, as far as lines of the changes show it."""
    entries = opinions if isinstance(opinions, list) else []
    by_number = {one.get("number"): one for one in entries if isinstance(one, dict)}
    for judged in found.criteria if by_number else ():
        yield _opinion(judged.criterion, by_number.get(judged.criterion.number), found.diff)


def _opinion(criterion: Criterion, entry: dict[str, Any] | None, diff: Diff) -> dict[str, Any]:
    """What is said of a criterion; without a citation that exists it is unclear."""
    given = entry or {}
    evidence, state = str(given.get("evidence") or ""), str(given.get("state"))
    path, _, line = evidence.rpartition(":")
    cited = any(
        change.path == path and any(str(number) == line for number, _ in change.added)
        for change in diff.changes
    )
    reason = " ".join(str(given.get("reason") or "Nothing was said").split())[:300]
    if state not in _STATES or (state == "met" and not cited):
        state = "unclear"
    shown = evidence if cited else ""
    return {"number": criterion.number, "state": state, "evidence": shown, "reason": reason}


def review_text(found: Review) -> str:
    """The verdict, the findings and the criteria."""
    size = f"{len(found.diff.changes)} files, {found.diff.added} added lines"
    lines = [
        f"# Review of {found.spec_id}: {found.title}",
        "",
        f"Verdict: {found.verdict}. {found.diff.source}: {size}.",
        "",
    ]
    lines += [
        f"- {one.severity} {one.rule} {one.location}: {one.message}. {one.fix}"
        for one in in_order(found.findings)
    ] or ["The checks found nothing. They cannot tell whether the changes are right."]
    lines += ["", "## Criteria", ""]
    opinions = {one["number"]: one for one in found.opinions}
    for judged in found.criteria:
        one = judged.criterion
        lines.append(f"{one.number}. [{'x' if one.checked else ' '}] {one.text}")
        if judged.places:
            lines.append(f"   - see {', '.join(judged.places)}")
        if one.number in opinions:
            opinion = opinions[one.number]
            cited = f" ({opinion['evidence']})" if opinion["evidence"] else ""
            lines.append(f"   - said to be {opinion['state']}{cited}: {opinion['reason']}")
    return "\n".join(lines) + "\n"


def review_data(found: Review) -> dict[str, Any]:
    """The review as programs read it."""
    return {
        "output": review_text(found),
        "spec_id": found.spec_id,
        "verdict": found.verdict,
        "changes": {
            "source": found.diff.source,
            "files": [change.path for change in found.diff.changes],
            "added": found.diff.added,
        },
        "criteria": [one.as_json() for one in found.criteria],
        "findings": [one.as_json() for one in in_order(found.findings)],
        "opinions": list(found.opinions),
    }
