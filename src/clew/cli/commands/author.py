"""Commands for authors: new, edit, lint, test, export, import."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from clew.cli.commands.use import address_arguments, settings_of, shared_options
from clew.cli.core.app import command
from clew.cli.core.editor import edit_file
from clew.cli.core.options import choice, flag, option, project_option, repeatable
from clew.commands.exchange.formats import KINDS
from clew.commands.exchange.imports import Incoming
from clew.commands.files.layers import Layer
from clew.commands.model import Command
from clew.commands.registry.drift import Finding
from clew.kit.errors import UsageError
from clew.kit.outcome import Hint, Outcome, Table

_address_argument = click.argument("address", nargs=-1, metavar="[C1] [C2] [C3]")


def _layer(project: str | None, *, user: bool) -> Layer:
    from clew.commands.files.layers import USER, find_layers

    layers = find_layers(settings_of(project))
    wanted = [layer for layer in layers if layer.origin == USER] if user else [layers[0]]
    if not wanted:
        raise UsageError("This project is the home directory", "Leave --user out.")
    return wanted[0]


@command()
@address_arguments
@option("--from", "like", "Start as a copy of another command.", metavar="C1/C2/C3")
@option("--description", "Purpose, in one sentence.", default="")
@option("--title", "Title.", default="")
@flag("--stdin", "The command reads standard input.")
@flag("--file", "file_", "The command takes a file.")
@flag("--destination", "The command takes a destination.")
@repeatable("--uv", "A variable and its description.", metavar="NAME=TEXT")
@flag("--user", "Store it for all your projects instead of this one.")
@project_option
def new(
    c1: str,
    c2: str,
    c3: str,
    uv: tuple[str, ...],
    project: str | None,
    *,
    user: bool,
    like: str | None,
    **texts: object,
) -> Outcome:
    """Write a template for a new command, and an example that `climpt test` checks."""
    from clew.commands.authoring.examples import add_example
    from clew.commands.authoring.templates import (
        copied_template,
        new_template,
        template_path,
        write_template,
    )

    layer, settings = _layer(project, user=user), settings_of(project)
    if like:
        made, text = copied_template((c1, c2, c3), _address_of(like), settings)
    else:
        made = _declared((c1, c2, c3), uv, texts)
        text = new_template(made)
    path = template_path(layer, made.address)
    write_template(layer, path, text)
    example = add_example(made, Path(path).parent, settings)
    return Outcome(
        {"path": path, "example": str(example)},
        (
            f"wrote {path}",
            f"wrote {example}",
            Hint(f"Next: climpt edit {made.label}, then climpt test --update {made.label}"),
        ),
    )


def _declared(
    address: tuple[str, str, str], uv: tuple[str, ...], texts: Mapping[str, object]
) -> Command:
    """A command as the options describe it."""
    from clew.commands.files.declarations import Variable
    from clew.commands.model import Options

    flags = (bool(texts[name]) for name in ("file_", "stdin", "destination"))
    pairs = [text.removeprefix("uv-").partition("=") for text in uv]
    title = str(texts["title"]) or " ".join(address[1:]).replace("-", " ").capitalize()
    return Command(
        *address,
        title=title,
        description=str(texts["description"]) or title,
        options=Options(("default",), (), *flags),
        variables=tuple(Variable(name, text) for name, _, text in pairs),
    )


def _address_of(text: str) -> tuple[str, str, str]:
    words = text.replace("/", " ").split()
    if len(words) != 3:
        raise UsageError(f"Not an address: {text}", "Write it as C1/C2/C3.")
    return words[0], words[1], words[2]


@command()
@address_arguments
@option("--edition", "Edition of the template.", default="default")
@option("--adaptation", "Adaptation of the template.", default="")
@shared_options
def edit(
    c1: str, c2: str, c3: str, edition: str, adaptation: str, agent: str, project: str | None
) -> Outcome:
    """Open a template in your editor ($VISUAL or $EDITOR), then check it.

    A packaged command is copied into the project first; a new variant starts as a copy.
    """
    from clew.commands.authoring.templates import editable_template

    path = editable_template((c1, c2, c3), edition, adaptation, agent, settings_of(project))
    edit_file(path, f"The template is {path}")
    findings = _findings(agent, project, (c1, c2, c3))
    return _lint_outcome(findings, {"path": path})


@command()
@_address_argument
@flag("--packaged", "Include the commands that come with Clew.")
@flag("--fix", "Make the front matter say what the templates do.")
@shared_options
def lint(
    address: tuple[str, ...], agent: str, project: str | None, *, packaged: bool, fix: bool
) -> Outcome:
    """Find errors, drift and commands never used. Exit code 1 if there are errors."""
    from clew.commands.authoring.repair import repair

    fixed = repair(agent, settings_of(project), address) if fix else []
    findings = _findings(agent, project, address, packaged=packaged)
    return _lint_outcome(findings, {"fixed": fixed})


def _findings(
    agent: str, project: str | None, address: tuple[str, ...], *, packaged: bool = False
) -> list[Finding]:
    from clew.commands.authoring.lint import lint as find_faults

    if len(address) > 3:
        raise UsageError("An address has at most three words", "See: clew command lint --help")
    return find_faults(agent, settings_of(project), address, packaged=packaged)


def _lint_outcome(findings: list[Finding], data: dict[str, Any]) -> Outcome:
    errors = sum(finding.level == "error" for finding in findings)
    lines = [f"fixed {path}" for path in data.get("fixed", ())]
    lines += [f"{f.level}: {f.message}\n  {f.where}\n  {f.fix}".rstrip() for f in findings]
    lines.append(
        f"{errors} errors, {len(findings) - errors} warnings." if findings else "All well."
    )
    found = {**data, "errors": errors, "findings": [finding.record() for finding in findings]}
    return Outcome(found, tuple(lines), exit_code=1 if errors else 0)


@command(name="test")
@_address_argument
@flag("--update", "Save the current output as the expected output.")
@shared_options
def test_commands(
    address: tuple[str, ...], agent: str, project: str | None, *, update: bool
) -> Outcome:
    """Render the examples beside the templates and compare (t_NAME.json with t_NAME.md)."""
    from clew.commands.authoring.examples import check_examples

    checked = check_examples(agent, settings_of(project), address, update=update)
    failed = [one for one in checked if one.reason]
    lines = [f"FAILED {one.label} ({one.example})\n{one.reason}" for one in failed]
    lines += [f"updated {one.label} ({one.example})" for one in checked if one.updated]
    lines.append(f"{len(checked) - len(failed)} passed, {len(failed)} failed.")
    data = [
        {
            "command": one.label,
            "example": one.example,
            "passed": not one.reason,
            "reason": one.reason,
        }
        for one in checked
    ]
    return Outcome({"examples": data}, tuple(lines), exit_code=1 if failed else 0)


@command()
@_address_argument
@choice(
    "--to",
    "kind",
    "Output format: registry.json, or another program's.",
    among=KINDS,
    default="registry",
)
@option("--out", "Output path (default: where that program looks).", metavar="PATH")
@flag("--force", "Overwrite existing files.")
@flag("--dry-run", "Show what would be written; write nothing.")
@shared_options
def export(
    address: tuple[str, ...],
    agent: str,
    project: str | None,
    *,
    kind: str,
    out: str | None,
    force: bool,
    dry_run: bool,
) -> Outcome:
    """Export commands as registry.json or for another program.

    `climpt export skills` writes a plugin for Claude Code with the commands as skills.
    """
    from clew.commands.exchange.export import PLUGIN_NAME, export_files, write_all
    from clew.commands.exchange.formats import FORMATS, PLUGIN
    from clew.commands.files.layers import project_root
    from clew.commands.registry.registry import shelf, unique, usable

    settings = settings_of(project)
    registry = shelf(agent, settings).registry(fresh=True)
    if address == ("skills",) and not any(one.c1 == "skills" for one in registry.commands):
        kind, address = PLUGIN, ()
    # A registry file that cannot be read can still be replaced.
    there = registry.commands if kind == "registry" else usable(registry)
    commands = [one for one in unique(there) if one.address[: len(address)] == address]
    if kind == "registry":
        return _export_registry(commands, agent, settings, out, dry_run=dry_run)
    target = (
        out or f"{project_root(settings)}/{PLUGIN_NAME if kind == PLUGIN else FORMATS[kind].place}"
    )
    files, skipped = export_files(commands, kind, target, settings)
    if not dry_run:
        write_all(files, force=force)
    verb = "would write" if dry_run else "wrote"
    lines = [f"{verb} {path}" for path in files] + [f"skipped: {text}" for text in skipped]
    return Outcome({"files": list(files), "skipped": skipped}, tuple(lines))


def _export_registry(
    commands: list[Command], agent: str, settings: dict[str, str], out: str | None, *, dry_run: bool
) -> Outcome:
    from clew.commands.files.layers import PROJECT, find_layers
    from clew.commands.registry.drift import from_templates
    from clew.commands.registry.registry_file import registry_document, write_registry
    from clew.kit.jsontext import pretty

    path = out or find_layers(settings)[0].registry_file(agent)
    chosen = commands if out else [one for one in commands if one.origin == PROJECT]
    declared = from_templates(chosen, agent, settings)
    document = registry_document(declared)
    if dry_run or out == "-":
        return Outcome(document, (pretty(document),))
    write_registry(path, declared)
    return Outcome(
        {"path": path, "commands": len(declared)}, (f"wrote {path} ({len(declared)} commands)",)
    )


def _incoming_files(found: list[Incoming], targets: list[str]) -> dict[str, str | bytes]:
    """The templates, and what lies beside them."""
    files: dict[str, str | bytes] = {}
    for one, target in zip(found, targets, strict=True):
        files[target] = one.text
        files |= {str(Path(target).parent / name): data for name, data in one.beside.items()}
    return files


@command(name="import")
@click.argument("source")
@choice("--kind", "Format of the source (default: detected).", among=KINDS[:-1])
@option("--c1", "Domain for the imported commands.", metavar="DOMAIN")
@flag("--user", "Store it for all your projects instead of this one.")
@flag("--force", "Overwrite existing templates.")
@flag("--dry-run", "Show what would be written; write nothing.")
@project_option
def import_commands(
    source: str,
    kind: str | None,
    c1: str | None,
    project: str | None,
    *,
    user: bool,
    force: bool,
    dry_run: bool,
) -> Outcome:
    """Import prompts of other programs, or a registry, and tell what was changed."""
    from clew.commands.authoring.templates import template_path
    from clew.commands.exchange.export import write_all
    from clew.commands.exchange.imports import read_source
    from clew.commands.files.declarations import check_name

    domain = check_name("domain", c1) if c1 else None
    found = read_source(source, kind, domain)
    layer = _layer(project, user=user)
    targets = [template_path(layer, one.command.address) for one in found]
    if not dry_run:
        write_all(_incoming_files(found, targets), force=force)
    rows = tuple((one.command.label, one.source, "; ".join(one.notes)) for one in found)
    data = [
        {
            "command": one.command.label,
            "source": one.source,
            "path": target,
            "notes": list(one.notes),
        }
        for one, target in zip(found, targets, strict=True)
    ]
    count = f"{'Would import' if dry_run else 'Imported'} {len(found)} commands."
    return Outcome({"commands": data}, (Table(("command", "from", "note"), rows), count))
