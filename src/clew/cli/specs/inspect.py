"""Specs on the command line: looking into them, and the parts for other programs."""

from __future__ import annotations

import sys
from pathlib import Path
from shutil import get_terminal_size
from typing import Any

import click

from clew.cli.core.app import command
from clew.cli.core.hints import own_commands
from clew.cli.core.options import (
    choice,
    flag,
    limit_option,
    option,
    optional_spec_argument,
    project_option,
    spec_argument,
)
from clew.cli.core.terminal import is_terminal
from clew.cli.specs.edit import ACTOR
from clew.cli.specs.read import opened, reason_lines
from clew.kit.errors import UsageError
from clew.kit.outcome import Outcome, Table
from clew.kit.times import parse_iso

_BORDERS = 13  # of a table with four columns
_SHORTEST = 20  # text of an event that is still worth a line


@command()
@optional_spec_argument
@project_option
def lint(spec_id: str | None, project: str | None) -> Outcome:
    """Look for quality issues in one spec or all; exit code 1 if there are errors."""
    from clew.specs.check.lint import lint_all, lint_specs

    store = opened(project)
    config = store.config()
    if spec_id:
        report = lint_specs(store, config, [store.load(spec_id)])
    else:
        report = lint_all(store, config)
    found = report.as_json()
    lines = [f"{item.spec_id}\n{item.as_text('  ')}" for item in report.findings]
    counts = "{total} specs: {passed} clean, {warned} with warnings, {failed} with errors"
    return Outcome(found, (*lines, counts.format(**found)), exit_code=1 if found["failed"] else 0)


@command()
@spec_argument
@flag("--exit-code", "Exit with code 1 unless every criterion is checked.")
@project_option
def verify(spec_id: str, *, exit_code: bool, project: str | None) -> Outcome:
    """Check whether a spec's acceptance criteria are met."""
    from clew.specs.check.diagnose import verify as look

    found = look(opened(project).load(spec_id))
    lines = [f"{found['spec_id']}: {found['verification_notes']}"]
    lines += [f"  {item}" for item in found["unchecked_items"]]
    code = 1 if exit_code and not found["verified"] else 0
    return Outcome(found, tuple(lines), exit_code=code)


@command()
@spec_argument
@project_option
def diagnose(spec_id: str, project: str | None) -> Outcome:
    """Diagnose problems of a spec."""
    from clew.specs.check.diagnose import diagnose_any

    store = opened(project)
    found = diagnose_any(store, spec_id)
    reason = reason_lines(store, found["spec_id"], found["status"], found)
    rows = tuple(
        ("ok" if check["passed"] else "fail", check["name"], check["details"])
        for check in found["checks"]
    )
    lines: list[str | Table] = [
        f"{found['spec_id']}  {found['status']}  ({found['location']})",
        Table(("", "check", "found"), rows),
        found["diagnosis"],
    ]
    if found["suggestion"] and not reason:
        lines.append(own_commands(found["suggestion"]))
    return Outcome(found, (*lines, *reason))


@command()
@click.argument("query", nargs=-1)
@choice("--format", "form", "Output format.", among="json csv markdown", default="json")
@option("--fields", "Comma-separated field names, or all.", metavar="NAMES")
@flag("--archived", "Include archived specs.")
@option("-o", "--output", "Write to FILE instead of standard output.", metavar="FILE")
@project_option
def export(
    query: tuple[str, ...],
    form: str,
    fields: str | None,
    output: str | None,
    *,
    archived: bool,
    project: str | None,
) -> Outcome:
    """Write specs as JSON, CSV or Markdown; QUERY selects the specs."""
    from clew.kit.files import write_atomic
    from clew.specs.query.export import export_specs, fields_of
    from clew.specs.query.search import matching_heads

    store = opened(project)
    heads = matching_heads(store, " ".join(query), archived=archived)
    text = export_specs(store, heads, form, fields_of(fields))
    if output:
        write_atomic(Path(output), text if text.endswith("\n") else f"{text}\n")
        return Outcome({"file": output, "specs": len(heads)}, (f"{len(heads)} specs: {output}",))
    return Outcome({"format": form, "specs": len(heads), "text": text}, (text.rstrip("\n"),))


@command()
@click.argument("query", nargs=-1)
@choice("--format", "form", "Output format.", among="text mermaid dot", default="text")
@project_option
def dag(query: tuple[str, ...], form: str, project: str | None) -> Outcome:
    """Draw the dependency graph; QUERY selects the specs."""
    from clew.specs.query.dag import build_dag, render
    from clew.specs.query.search import matching_heads

    store = opened(project)
    snapshot = store.snapshot()
    heads = matching_heads(store, " ".join(query), snapshot)
    drawn = render(build_dag(heads, snapshot.graph()), form)
    return Outcome({"format": form, "text": drawn}, (drawn.rstrip("\n"),))


@command()
@optional_spec_argument
@project_option
def drift(spec_id: str | None, project: str | None) -> Outcome:
    """Find completed specs whose files have changed since; exit code 1 if there are any."""
    from clew.specs.check.drift import find_drift

    store = opened(project)
    found = find_drift(store, [store.load(spec_id).id] if spec_id else None)
    lines = [f"{item['id']}: {', '.join(item['changed'])}" for item in found if item["changed"]]
    code = 1 if lines else 0
    return Outcome({"drifted": found}, tuple(lines or ["No drift."]), exit_code=code)


@command()
@option("--spec", "spec_id", "Only this spec.", metavar="ID")
@option("--by", "Only this person or program.", metavar="NAME")
@option("--since", "Only after this time: 2h, 3d, 2026-01-31.", metavar="TIME")
@limit_option(50, click.IntRange(1))
@project_option
def activity(
    spec_id: str | None, by: str | None, since: str | None, limit: int, project: str | None
) -> Outcome:
    """Show who changed what, and when; the newest first."""
    from clew.specs.query.activity import recent

    store = opened(project)
    full = store.load(spec_id).id if spec_id else None
    found = recent(store, spec_id=full, by=by, since=since, limit=limit)
    shown = _activity_table(found) if found else "Nothing has happened."
    return Outcome({"entries": found}, (shown,))


def _activity_table(found: list[dict[str, Any]]) -> Table:
    """One line for each event, on a terminal as long as it is wide."""
    rows = [(_minute(e["time"]), e["id"], e["by"], " ".join(e["what"].split())) for e in found]
    if is_terminal(sys.stdout):
        used = sum(max(len(row[column]) for row in rows) for column in range(3))
        left = max(_SHORTEST, get_terminal_size().columns - used - _BORDERS)
        rows = [
            (*row[:3], f"{row[3][: left - 1]}…" if len(row[3]) > left else row[3]) for row in rows
        ]
    return Table(("when", "spec", "by", "what"), tuple(rows))


def _minute(time: str) -> str:
    """A time to the minute, as the clock on the wall shows it."""
    try:
        return parse_iso(time).astimezone().strftime("%Y-%m-%d %H:%M")
    except (ValueError, OverflowError, OSError):
        return time


@command()
@optional_spec_argument
@flag("--all", "every", "Derive for every active spec.")
@flag("--dry-run", "Show what would be set; change nothing.")
@project_option
def derive(spec_id: str | None, *, every: bool, dry_run: bool, project: str | None) -> Outcome:
    """Fill in the fields that the configuration derives from branch, path or environment."""
    from clew.specs.change.derive import derive_spec

    store = opened(project)
    if every == bool(spec_id):
        raise UsageError("Specify --all or provide SPEC_ID", "See: chant derive --help")
    config = store.config()
    names = [head.id for head in store.heads()] if every else [store.load(spec_id or "").id]
    found = [derive_spec(store, name, config, actor=ACTOR, dry_run=dry_run) for name in names]
    lines = [f"{item.spec_id}: {_set_fields(item.fields)}" for item in found if item.fields]
    lines += [f"warning: {item.spec_id}: {text}" for item in found for text in item.warnings]
    data = {"derived": [item._asdict() for item in found], "dry_run": dry_run}
    return Outcome(data, tuple(lines or ["Nothing to derive."]))


def _set_fields(fields: dict[str, Any]) -> str:
    return ", ".join(f"{name} = {value}" for name, value in fields.items())


@command()
@click.argument("name", required=False)
@project_option
def template(name: str | None, project: str | None) -> Outcome:
    """List templates, or show one."""
    from clew.kit.files import regular_text
    from clew.specs.change.templates import list_templates, load_template

    paths = opened(project).paths
    if name:
        found = load_template(paths, name)
        text = regular_text(found.path)
        return Outcome(found.as_json(), (text.rstrip("\n"),))
    templates, problems = list_templates(paths)
    data = [template.as_json() for template in templates]
    shown = Table.of("name from:scope description", data) if data else "No templates."
    parts: list[str | Table] = [shown, *(f"warning: {problem}" for problem in problems)]
    return Outcome({"templates": data, "problems": problems}, tuple(parts))


@command()
@flag("--validate", "Exit with code 1 if a setting is invalid.")
@project_option
def config(*, validate: bool, project: str | None) -> Outcome:
    """Show the effective settings and where each comes from."""
    from clew.specs.store.settings import KEYS

    settings = opened(project).config()
    found = []
    for name, setting in KEYS.items():
        path = name.split(".")
        if "*" not in path:
            said = settings.value(*path)
            value = _shown(setting.default if said is None else said)
            found.append({"key": name, "value": value, "origin": settings.origin(*path)})
    warnings = [str(warning) for warning in settings.warnings]
    parts: list[str | Table] = [Table.of("key value from:origin", found)]
    parts += [f"warning: {warning}" for warning in warnings]
    data = {"settings": found, "warnings": warnings}
    return Outcome(data, tuple(parts), exit_code=1 if validate and warnings else 0)


def _shown(value: object) -> str:
    if isinstance(value, list | tuple):
        return ", ".join(map(str, value))
    return "" if value is None else str(value)


@command(name="merge-driver")
@click.argument("base")
@click.argument("ours")
@click.argument("theirs")
def merge_driver(base: str, ours: str, theirs: str) -> Outcome:
    """Merge one spec file; called by git. Exit code 1 if there are conflicts."""
    from clew.specs.change.merge_driver import merge_files

    conflicts = merge_files(Path(base), Path(ours), Path(theirs))
    lines = tuple(f"conflict in {name}" for name in conflicts)
    return Outcome({"conflicts": list(conflicts)}, lines, exit_code=1 if conflicts else 0)
