"""`setup`: register Clew with one agent host."""

from __future__ import annotations

import click

from clew.catalog.faces import FACES
from clew.cli.core.app import command
from clew.cli.core.options import choice, combined, face_option, flag, project_option
from clew.hosts.model import SCOPES, Scope
from clew.hosts.paths import checkout_root, checkout_root_or_none, short
from clew.hosts.register import Report, Target, check, make_target, register, snippet, unregister
from clew.hosts.table import HOSTS, find_host
from clew.kit.errors import UsageError
from clew.kit.outcome import Outcome

_WRITTEN = {
    "written": "{face} is registered",
    "already": "{face} is already set up",
    "updated": "the command of {face} is updated, the rest of its entry is kept",
    "replaced": "{face} is registered in place of the entry of that name",
}
_REMOVED = {
    "removed": "{face} is removed, everything else is kept",
    "restored": "{face} is removed, the file is as it was before Clew",
    "deleted": "{face} is removed, and with it the file, which Clew had made",
    "absent": "{face} is not registered; nothing to remove",
}
_CHECKED = {
    "ok": "{face} is registered",
    "missing": "{face} is not registered",
    "different": "{face} has another entry",
    "broken": "{face} is broken",
}


target_options = combined(
    choice("--scope", "Register for this project or for all of yours.", among=SCOPES),
    face_option("Server to register: all of Clew, or one face of it."),
    project_option,
)


@command()
@click.argument("host", metavar="HOST", type=click.Choice(list(HOSTS)))
@target_options
@flag("--print", "only_print", "Show the entry; change nothing.")
@flag("--check", "only_check", "Check the entry and the server.")
@flag("--remove", "Remove the entry.")
@flag("--capture", "Instead of the server, add a hook that reads a session when it ends.")
@flag("--dry-run", "Show what would be done; change nothing.")
@flag("--force", "Overwrite an entry that Clew did not write; keep one that fails.")
def setup(  # noqa: PLR0913 - one parameter per option
    host: str,
    scope: Scope | None,
    face: str,
    project: str | None,
    *,
    only_print: bool,
    only_check: bool,
    remove: bool,
    capture: bool,
    dry_run: bool,
    force: bool,
) -> Outcome:
    """Register Clew with one agent host and check that the server answers.

    The entry is merged into the host's own file: every other byte, with comments and order, stays.
    HOST is one of: claude-code, claude-desktop, cursor, vscode, zed, codex, gemini, opencode,
    copilot, qwen.
    """
    if only_print + only_check + remove > 1:
        raise UsageError("--print, --check and --remove exclude each other", "Choose one.")
    if capture:
        if only_print or only_check:
            raise UsageError("--capture goes with --remove and --dry-run only", "Choose one.")
        return _captured(host, project, remove=remove, dry_run=dry_run)
    target = choose_target(host, scope, face, project)
    if only_print:
        return _printed(target)
    if only_check:
        return _checked(check(target), project)
    if remove:
        return _removed(unregister(target, force=force, dry_run=dry_run), dry_run=dry_run)
    return _registered(register(target, force=force, dry_run=dry_run), project, dry_run=dry_run)


def _captured(host_key: str, project: str | None, *, remove: bool, dry_run: bool) -> Outcome:
    """Add or remove the hook of a host."""
    from clew.hosts.capture import add_hook, remove_hook

    host = find_host(host_key)
    if remove:
        report = remove_hook(host, dry_run=dry_run)
    else:
        report = add_hook(host, checkout_root_or_none(project), dry_run=dry_run)
    sentences = _REMOVED if remove else _WRITTEN
    told = sentences[report.status].format(face="the hook")
    parts = [f"{host.title}: {'would be: ' * dry_run}{told}.\nFile: {short(report.path)}"]
    if report.command:
        parts.append(f"Runs: {' '.join(report.command)}")
    if report.status == "written" and not dry_run:
        parts.append(f"Undo: clew setup {host.key} --capture --remove")
    return Outcome({**report.data(), "dry_run": dry_run}, tuple(parts))


def choose_target(host_key: str, scope: Scope | None, face: str, project: str | None) -> Target:
    """The target that these words of the command line name."""
    host = find_host(host_key)
    needs_project = (scope or host.default_scope) == "project" and host.project_files
    root = checkout_root(project) if needs_project else checkout_root_or_none(project)
    return make_target(host, scope, FACES[face], root)


def _headline(report: Report, sentences: dict[str, str]) -> str:
    target = report.target
    what = sentences[report.status].format(face=target.face.name)
    return f"{target.host.title}: {what}.\nFile: {short(target.path)} ({target.scope} scope)"


def _registered(report: Report, project: str | None, *, dry_run: bool) -> Outcome:
    parts = [_headline(report, _WRITTEN), *_server_lines(report)]
    if dry_run:
        parts = [_would(report)]
    parts += [f"Note: {note}" for note in report.notes]
    if not dry_run and report.status != "already":
        target = report.target
        parts.append(f"Next: {target.host.next_for(target.scope, target.face.name)}")
        parts.append(f"Undo: {target.setup_line(project)} --remove")
    return Outcome({**report.data(), "dry_run": dry_run}, tuple(parts))


def _would(report: Report) -> str:
    target, command_line = report.target, report.words.line if report.words else ""
    if report.status == "already":
        return f"{_headline(report, _WRITTEN)}\nNothing would be changed."
    verb = {"written": "add", "updated": "update", "replaced": "replace"}[report.status]
    return (
        f"{target.host.title}: would {verb} the entry {target.face.name} in {short(target.path)} "
        f"({target.scope} scope).\nIt would start: {command_line}"
    )


def _server_lines(report: Report) -> list[str]:
    lines = [f"Starts: {report.words.line}"] if report.words else []
    if report.greeting:
        lines.append(f"Server: {report.greeting.line}.")
    if report.problem:
        lines.append(f"Problem: {report.problem}")
    return lines


def _checked(report: Report, project: str | None) -> Outcome:
    is_ok = report.status == "ok"
    parts = [_headline(report, _CHECKED), *_server_lines(report)]
    parts += [f"Note: {note}" for note in report.notes]
    if not is_ok:
        again = report.target.setup_line(project)
        parts.append(f"Repair: {again}{' --force' * (report.status == 'different')}")
    return Outcome(report.data(), tuple(parts), 0 if is_ok else 1)


def _removed(report: Report, *, dry_run: bool) -> Outcome:
    headline = _headline(report, _REMOVED)
    if dry_run and report.status != "absent":
        target = report.target
        headline = f"Would remove the entry {target.face.name} from {short(target.path)}."
    return Outcome({**report.data(), "dry_run": dry_run}, (headline,))


def _printed(target: Target) -> Outcome:
    shown = snippet(target)
    data = {
        "host": target.host.key,
        "scope": target.scope,
        "face": target.face.name,
        "path": str(target.path),
        "entry": target.host.shape.entry(target.expected),
        "snippet": shown.text,
        "add_command": shown.add_command or None,
    }
    parts = [f"{target.host.title}, {target.scope} scope: {short(target.path)}", "", shown.text]
    if shown.add_command:
        parts += ["", f"Or with the host's own command:\n{shown.add_command}"]
    return Outcome(data, tuple(parts))
