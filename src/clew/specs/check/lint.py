"""Linting: the rules over one spec, some or all, and what they found together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from clew.kit.errors import ClewError
from clew.specs.check.lint_rules import ERROR, RULES, Finding, Limits, Surroundings, check_spec
from clew.specs.check.output_schema import check_output
from clew.specs.files.ids import ancestors_of, driver_of
from clew.specs.index.index import Snapshot
from clew.specs.model import DONE_STATUSES, GROUP_TYPES, Head, Problem, Spec
from clew.specs.query.logs import read_log
from clew.specs.store.config import Config
from clew.specs.store.consent import Consent, approving
from clew.specs.store.store import SpecStore

_OUTPUT_LINES = 100_000
_MOST_COMPARED = 50
_MOST_ANCESTORS = 500


class LintReport(NamedTuple):
    """What was found in which specs."""

    findings: tuple[Finding, ...]
    spec_ids: tuple[str, ...]

    def as_json(self) -> dict[str, Any]:
        """The findings, and how many specs have errors, only warnings, or neither."""
        found = {finding.spec_id for finding in self.findings}
        failed = {finding.spec_id for finding in self.findings if finding.severity == ERROR}
        return {
            "diagnostics": [finding.as_json() for finding in self.findings],
            "passed": len(self.spec_ids) - len(found),
            "warned": len(found - failed),
            "failed": len(failed),
            "total": len(self.spec_ids),
        }


def lint_all(store: SpecStore, config: Config) -> LintReport:
    """Every active spec, and every file that cannot be read as one."""
    found = store.snapshot()
    around = surroundings(store, config, found)
    findings: list[Finding] = []
    broken = list(parse_findings(found.problems))
    checked = [finding.spec_id for finding in broken]
    for head in found.active:
        try:
            spec = store.read(head)
        except (ClewError, FileNotFoundError):
            continue  # it went or broke meanwhile; the next run says which
        checked.append(head.id)
        findings += check_spec(spec, around)
    return LintReport((*broken, *findings), tuple(dict.fromkeys(checked)))


def lint_specs(store: SpecStore, config: Config, specs: Iterable[Spec]) -> LintReport:
    """These specs, among all the others."""
    around = surroundings(store, config, store.snapshot())
    chosen = list(specs)
    findings = [finding for spec in chosen for finding in check_spec(spec, around)]
    return LintReport(tuple(findings), tuple(spec.id for spec in chosen))


def lint_lines(report: LintReport) -> str:
    """The findings below a created spec, or nothing."""
    if not report.findings:
        return ""
    shown = "\n".join(finding.as_text("  ") for finding in report.findings)
    return f"\n\nLint diagnostics:\n{shown}"


def parse_findings(problems: Iterable[Problem]) -> Iterator[Finding]:
    """A finding for each file that cannot be read."""
    for problem in problems:
        spec_id = problem.path.rsplit("/", 1)[-1].removesuffix(".md")
        where = f" (line {problem.line})" if problem.line else ""
        yield Finding(
            spec_id,
            ERROR,
            "parse",
            f"Invalid YAML frontmatter: {problem.cause}{where}",
            f"Correct {problem.path}; until then it counts as no spec",
            problem.line,
        )


def surroundings(store: SpecStore, config: Config, found: Snapshot) -> Surroundings:
    """What the rules need to know of all the specs and of the configuration."""
    every = found.heads(archived=True)
    ways = [way for way in found.graph().cycles() if way]
    project = store.paths.root

    def output_problem(spec: Spec) -> str | None:
        schema = spec.text("output_schema") or ""
        return check_output(project, schema, spec.id, _log_text(store.paths.log_file(spec.id)))

    def unapproved(commands: list[str]) -> str | None:
        missing = Consent(project).missing(commands)
        return f"`{approving(project, missing)}`" if missing else None

    return Surroundings(
        limits=limits_of(config),
        disabled=_disabled(config),
        required=config.words("enterprise", "required"),
        known_ids=frozenset(head.id for head in every),
        groups=frozenset(name for head in every for name in ancestors_of(head.id)),
        cycles={name: _turned(way, name) for way in ways for name in _named(way)},
        overlaps=Overlaps(found.active),
        check_output=output_problem,
        unapproved=unapproved,
    )


def limits_of(config: Config) -> Limits:
    """The thresholds, each as configured or as usual."""
    numbers = (config.number("lint", "thresholds", name) for name in Limits._fields)
    return Limits(*(number or 0 for number in numbers))


class Overlaps:
    """Which open specs that may run side by side declare the same target files."""

    def __init__(self, heads: list[Head]) -> None:
        self._heads = {
            head.id: head
            for head in heads
            if head.status not in DONE_STATUSES and head.type not in GROUP_TYPES
        }
        self._ancestors: dict[str, set[str]] = {}
        self._by_file: dict[str, list[str]] = {}
        for head in self._heads.values():
            for name in {_normal(name) for name in head.target_files}:
                self._by_file.setdefault(name, []).append(head.id)

    def __call__(self, spec_id: str) -> Iterator[tuple[str, list[str]]]:
        """Each shared file of this spec, with the others that declare it."""
        head = self._heads.get(spec_id)
        for name in dict.fromkeys(_normal(name) for name in head.target_files) if head else ():
            near = self._by_file[name][: _MOST_COMPARED + 1]
            others = [other for other in near if other != spec_id]
            others = [other for other in others if not self._one_waits(spec_id, other)]
            if others:
                yield name, others

    def _one_waits(self, one: str, other: str) -> bool:
        if other in self._above(one) or one in self._above(other):
            return True
        group = driver_of(one)
        # Members without dependencies of their own run one after the other.
        undeclared = all(self._heads[name].depends_on is None for name in (one, other))
        return group is not None and group == driver_of(other) and undeclared

    def _above(self, spec_id: str) -> set[str]:
        """The open specs that this one waits for, directly or not (as far as it is worth it)."""
        known = self._ancestors.get(spec_id)
        if known is None:
            known = set()
            queue = [spec_id]
            while queue and len(known) < _MOST_ANCESTORS:
                head = self._heads.get(queue.pop())
                fresh = (
                    [name for name in (head.depends_on or ()) if name not in known] if head else []
                )
                known.update(fresh)
                queue += fresh
            self._ancestors[spec_id] = known
        return known


def _normal(name: str) -> str:
    while name.startswith("./"):
        name = name[2:]
    return name


def _named(way: tuple[str, ...]) -> tuple[str, ...]:
    """The specs of a cycle that get a finding: all of a short one, the first of a long one."""
    return way if len(way) <= _MOST_COMPARED else way[:1]


def _turned(way: tuple[str, ...], first: str) -> tuple[str, ...]:
    at = way.index(first)
    return way[at:] + way[:at]


def _disabled(config: Config) -> frozenset[str]:
    known = {*RULES, *(name for name in Limits._fields if name.startswith("complexity_"))}
    return frozenset(config.words("lint", "disable")) & known


def _log_text(path: Path) -> str | None:
    try:
        return read_log(path, path.stem, lines=_OUTPUT_LINES).content
    except ClewError:
        return None
