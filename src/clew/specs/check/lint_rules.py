"""The lint rules: what each finds in one spec, and how it says so."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from clew.kit.text.markdown import HEADING, Blocks
from clew.specs.check.hidden import hidden_criteria
from clew.specs.files.criteria import is_output_heading, parse_criteria
from clew.specs.files.ids import driver_of
from clew.specs.model import DONE_STATUSES, GROUP_TYPES, Spec

Remark = tuple[str, str, str | None]  # a severity, a message, a suggestion


ERROR, WARNING = "error", "warning"
WORK_TYPES = ("code", "docs", "fix")
OTHER_TYPES = ("task", "documentation", "research", "driver", "group", "conflict")
SPLIT = "Consider splitting into smaller, focused specs"

_ID = re.compile(r"\b\d{4}-\d{2}-\d{2}-[0-9a-z]{3}-[0-9a-z]{3}(?:\.\d+)*\b")
_MOST_SHOWN = 10
NO_CRITERIA = "Spec has no acceptance criteria, so nothing can be checked"


class Finding(NamedTuple):
    """One thing that is wrong with one spec."""

    spec_id: str
    severity: str
    rule: str
    message: str
    suggestion: str | None = None
    line: int | None = None

    def as_json(self) -> dict[str, Any]:
        """The finding's fields by name; without a line where none is known."""
        fields = self._asdict()
        if self.line is None:
            del fields["line"]
        return fields

    def as_text(self, indent: str = "") -> str:
        """The finding as it is shown, its suggestion on a line of its own."""
        text = f"{indent}[{self.severity.upper()}] {self.rule}: {self.message}"
        return f"{text}\n{indent}  → {self.suggestion}" if self.suggestion else text


class Limits(NamedTuple):
    """From which number on a spec is too much, or so little that a large model is wasted."""

    complexity_criteria: float
    complexity_files: float
    complexity_words: float
    simple_criteria: float
    simple_files: float
    simple_words: float


class Surroundings(NamedTuple):
    """What the rules know beyond the spec itself."""

    limits: Limits
    disabled: frozenset[str]
    required: tuple[str, ...]
    known_ids: frozenset[str]
    groups: frozenset[str]  # the ids that have members
    cycles: Mapping[str, tuple[str, ...]]  # of a spec that depends on itself, the way round
    overlaps: Callable[[str], Iterator[tuple[str, list[str]]]]
    check_output: Callable[[Spec], str | None]
    unapproved: Callable[[list[str]], str | None]  # how to approve what nobody has


def check_spec(spec: Spec, around: Surroundings) -> list[Finding]:
    """Everything the rules find in one spec, in the order of the rules."""
    return [
        Finding(spec.id, severity, name, message, suggestion)
        for name, rule in _CHECKS.items()
        if name not in around.disabled
        for severity, message, suggestion in rule(spec, around)
    ]


def description_of(body: str) -> str:
    """The body up to the first output heading."""
    if not _may_have_output(body):
        return body
    for block in Blocks(body):
        if block.kind == HEADING and is_output_heading(block.level, block.words):
            return body[: block.start]
    return body


def title(spec: Spec, around: Surroundings) -> Iterator[Remark]:
    """A spec needs a heading to be called by."""
    if not spec.title:
        yield _error("Missing title", "Begin the body with a `# Title` line")


def type_(spec: Spec, around: Surroundings) -> Iterator[Remark]:
    """The type must be known, and some types need fields of their own."""
    if spec.type not in WORK_TYPES and spec.type not in OTHER_TYPES:
        yield _error(
            f"Invalid spec type '{spec.type}'. Must be one of: {', '.join(WORK_TYPES)}",
            f"Types with a meaning of their own: {', '.join(OTHER_TYPES)}",
        )
    missing = []
    if spec.type in {"documentation", "docs"}:
        names = [name for name in ("tracks", "target_files") if not spec.words(name)]
        missing = [f"Documentation spec missing '{name}' field" for name in names]
    elif spec.type == "research":
        if not spec.words("informed_by") and not spec.words("origin"):
            missing.append("Research spec missing both 'informed_by' and 'origin' fields")
        if not spec.words("target_files"):
            missing.append("Research spec missing 'target_files' field")
    elif spec.type in GROUP_TYPES and spec.id not in around.groups and not spec.head.members:
        missing.append("Driver/group spec has empty 'members' array")
    for message in missing:
        yield _warning(message)


def complexity(spec: Spec, around: Surroundings) -> Iterator[Remark]:
    """Too many criteria, files or words for one piece of work."""
    limits, off = around.limits, around.disabled
    measured = (
        ("criteria", spec.head.criteria_total, "Spec has {} acceptance criteria"),
        ("files", len(spec.head.target_files), "Spec touches {} files"),
    )
    for what, count, words in measured:
        limit = getattr(limits, f"complexity_{what}")
        if count > limit and f"complexity_{what}" not in off:
            message = f"{words.format(count)} (threshold: {limit:g})"
            yield _warning(message, SPLIT)
    if "complexity_words" not in off:
        count = len(description_of(spec.body).split())
        if count > limits.complexity_words:
            message = f"Spec description is {count} words (threshold: {limits.complexity_words:g})"
            yield _warning(message, SPLIT)


def coupling(spec: Spec, around: Surroundings) -> Iterator[Remark]:
    """The text speaks of other specs that the fields do not name."""
    if spec.type in GROUP_TYPES or not _ID.search(spec.body):
        return
    own_group = driver_of(spec.id)
    declared = {name for field in _REFERENCES for name in spec.words(field)}
    found = []
    for name in dict.fromkeys(_ids_in(description_of(spec.body))):
        related = name.startswith(spec.id) or spec.id.startswith(name)
        sibling = own_group is not None and driver_of(name) == own_group
        if name not in declared and not related and (own_group is None or sibling):
            found.append(name)
    if not found:
        return
    named = _listed(found)
    if own_group:
        message = f"Spec references sibling spec(s): {named} - member specs should be independent"
    else:
        message = (
            f"Spec references other spec ID(s) in body: {named} - use depends_on for dependencies"
        )
    suggestion = "Use depends_on for dependencies instead of referencing spec IDs in the body"
    yield _warning(message, suggestion)


def model_waste(spec: Spec, around: Surroundings) -> Iterator[Remark]:
    """A large model for a small piece of work."""
    model = (spec.head.model or "").lower()
    if spec.type in GROUP_TYPES or spec.type == "research":
        return
    if "opus" not in model and "sonnet" not in model:
        return
    criteria, files = spec.head.criteria_total, len(spec.head.target_files)
    words = len(description_of(spec.body).split())
    limits = around.limits
    simple = criteria <= limits.simple_criteria and files <= limits.simple_files
    if simple and words <= limits.simple_words:
        yield _warning(
            f"Spec uses '{spec.head.model}' but appears simple "
            f"({criteria} criteria, {files} files, {words} words) - consider haiku",
            "Consider using haiku model for simple specs to reduce cost",
        )


def approval(spec: Spec, around: Surroundings) -> Iterator[Remark]:
    """A decision names who made it and when; an open question names nobody."""
    given = spec.fields.get("approval")
    if not isinstance(given, dict):
        return
    status = str(given.get("status") or "pending")
    if status in {"approved", "rejected"}:
        shown = status.capitalize()
        if not given.get("by"):
            message = f"Approval status is {shown} but 'by' field is missing"
            yield _error(message, "Name who decided: `by: <name>`")
        if not given.get("at"):
            message = f"Approval status is {shown} but 'at' timestamp is missing"
            yield _error(message, "Say when: `at: 2026-01-22T14:30:00Z`")
    elif status != "pending":
        message = f"Unknown approval status '{status}'"
        yield _error(message, "Use pending, approved or rejected")
    elif given.get("by"):
        message = "Approval has 'by' field set but status is still 'pending'"
        yield _error(message, "Set the status too, or remove 'by'")


def output(spec: Spec, around: Surroundings) -> Iterator[Remark]:
    """A completed spec with an output schema has output that fits it."""
    if spec.status == "completed" and spec.text("output_schema"):
        message = around.check_output(spec)
        if message:
            yield _error(message)


def dependency(spec: Spec, around: Surroundings) -> Iterator[Remark]:
    """Every id that the fields name belongs to a spec, archived or not."""
    named = (("dependency", spec.head.depends_on or ()), ("member spec", spec.head.members))
    for what, names in named:
        for name in dict.fromkeys(names):
            if name not in around.known_ids:
                hint = f"Write the full id, or remove '{name}'"
                yield _error(f"Unknown {what} '{name}'", hint)


def required(spec: Spec, around: Surroundings) -> Iterator[Remark]:
    """The fields that the project's configuration asks for are there."""
    for name in around.required:
        if spec.fields.get(name) in (None, "", [], {}):
            yield _error(f"Missing required field '{name}'", f"Add `{name}:`")


def criteria(spec: Spec, around: Surroundings) -> Iterator[Remark]:
    """Work needs criteria, and their author may not know that some do not count."""
    is_group = spec.type in GROUP_TYPES or spec.id in around.groups
    if not spec.head.criteria_total and not is_group and spec.status not in DONE_STATUSES:
        yield _warning(
            NO_CRITERIA,
            "Add a section `## Acceptance Criteria` with items `- [ ] ...`",
        )
    hidden = hidden_criteria(spec.body)
    if hidden:
        yield _warning(
            f"{len(hidden)} acceptance criteria from body line {hidden[0]} on are inside a code "
            "block and do not count",
            "Give the outer fences of nested code blocks one more backtick",
        )
    for line in parse_criteria(spec.body).ignored if _may_have_output(spec.body) else ():
        yield _warning(
            f"Acceptance criteria below an 'Output' heading do not count (body line {line})",
            "Move the section above the output, or rename that heading",
        )


def cycle(spec: Spec, around: Surroundings) -> Iterator[Remark]:
    """A spec that waits for itself is never ready."""
    way = around.cycles.get(spec.id)
    if way:
        shown = way if len(way) <= _MOST_SHOWN else (*way[:_MOST_SHOWN], "...")
        message = f"Dependency cycle: {' -> '.join((*shown, way[0]))}"
        yield _error(message, "Remove one of these from depends_on")


def overlap(spec: Spec, around: Surroundings) -> Iterator[Remark]:
    """Two open specs that may run at the same time change the same file."""
    for name, others in around.overlaps(spec.id):
        message = f"Target file '{name}' is also declared by {_listed(others)}"
        yield _warning(message, "Let one depend on the other, or give them separate files")


def consent(spec: Spec, around: Surroundings) -> Iterator[Remark]:
    """Check commands run where no person starts them only once a person has approved them."""
    if spec.status in DONE_STATUSES or "heck:" not in spec.body:
        return
    commands = [item.check for item in parse_criteria(spec.body).items if item.check]
    approving = around.unapproved(commands)
    if approving:
        yield _warning(
            "Has check commands that nobody has approved: runs that a tool server, the watch or "
            "the board starts leave them out",
            f"Read them, then: {approving}",
        )


_REFERENCES = ("depends_on", "informed_by", "origin", "members", "blocked_specs", "original_spec")
_CHECKS: dict[str, Callable[[Spec, Surroundings], Iterator[Remark]]] = {
    rule.__name__.rstrip("_"): rule
    for rule in (
        title, type_, complexity, coupling, model_waste, approval, output, dependency, required,
        criteria, cycle, overlap, consent,
    )
}  # fmt: skip
RULES = ("parse", *_CHECKS)


def _may_have_output(body: str) -> bool:
    return "utput" in body or "UTPUT" in body


def _ids_in(text: str) -> Iterator[str]:
    for block in Blocks(text):
        yield from _ID.findall(block.words)


def _listed(names: list[str]) -> str:
    more = len(names) - _MOST_SHOWN
    shown = ", ".join(names[:_MOST_SHOWN])
    return f"{shown} and {more} more" if more > 0 else shown


def _error(message: str, suggestion: str | None = None) -> Remark:
    return ERROR, message, suggestion


def _warning(message: str, suggestion: str | None = None) -> Remark:
    return WARNING, message, suggestion
