"""`init` and `uninit`: Clew for a whole project and its hosts, and back again."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from shlex import quote
from typing import Any

import click

from clew.catalog.faces import FACES
from clew.cli.core.app import command
from clew.cli.core.options import flag, option, project_option
from clew.cli.core.streams import say
from clew.cli.core.terminal import is_terminal
from clew.cli.setup.register import target_options
from clew.hosts.files.instructions import (
    AGENTS_FILE,
    FileReport,
    claude_file_note,
    skill_paths,
    write_block,
    write_skill,
)
from clew.hosts.files.ledger import identity
from clew.hosts.model import Scope
from clew.hosts.paths import Presence, checkout_root_or_none, look_around, short
from clew.hosts.register import Report, Target, make_target, register
from clew.hosts.table import HOSTS, find_host
from clew.hosts.undo import left_over, undo, undoable
from clew.kit.errors import Cancelled, ClewError, NotFound, UsageError
from clew.kit.outcome import Outcome, Table

_SHOWN = {"already": "unchanged", "edited": "kept"}
_FRESH = ("written", "updated", "replaced")
_COLUMNS = ("what", "where", "status", "remark")


@dataclass(frozen=True)
class _Plan:
    """What `init` is going to do."""

    project: Path | None
    targets: list[Target]
    agents_md: bool
    skill: bool
    named_project: str | None = None

    @property
    def skills(self) -> list[Path]:
        if not self.skill or self.project is None:
            return []
        return skill_paths(self.project, [target.host.key for target in self.targets])

    @property
    def is_empty(self) -> bool:
        return not (self.targets or self.agents_md or self.skill)

    def lines(self) -> list[str]:
        """The plan for people, one line for each file."""
        lines = [
            f"  register {target.face.name} with {target.host.title}: {short(target.path)}"
            for target in self.targets
        ]
        if self.agents_md and self.project:
            lines.append(f"  add a short block to {short(self.project / AGENTS_FILE)}")
        return lines + [f"  write the skill {short(path)}" for path in self.skills]


@command()
@option(
    "--host",
    "hosts",
    "Register with this host; repeatable.",
    multiple=True,
    type=click.Choice(list(HOSTS)),
    metavar="NAME",
)
@target_options
@option("--agents-md/--no-agents-md", "Write the block in AGENTS.md.", default=None)
@option("--skill/--no-skill", "Write the skill files.", default=None)
@flag("--yes", "Do not ask; use every host found and write all texts.")
@flag("--dry-run", "Show what would be done; change nothing.")
@flag("--force", "Overwrite entries and texts that Clew did not write.")
def init(  # noqa: PLR0913 - one parameter per option
    hosts: tuple[str, ...],
    scope: Scope | None,
    face: str,
    project: str | None,
    *,
    agents_md: bool | None,
    skill: bool | None,
    yes: bool,
    dry_run: bool,
    force: bool,
) -> Outcome:
    """Set Clew up for this project and your agent hosts.

    On a terminal it asks. Elsewhere the options decide: name hosts with --host, or register with
    every host found with --yes. The last line of the output is the command that undoes it.
    """
    root = checkout_root_or_none(project)
    asks = is_interactive() and not yes
    around = look_around(root)
    names = _chosen_hosts(hosts, around, asks=asks, yes=yes)
    agents_md = _choose(agents_md, "Add a short block about Clew to AGENTS.md?", root, asks, yes)
    skill = _choose(skill, "Add a skill that tells agents how to use Clew?", root, asks, yes)
    targets = [_target(name, scope, face, root) for name in names]
    plan = _Plan(root, targets, agents_md, skill, project)
    _refuse_empty(plan, around)
    if (plan.agents_md or plan.skill) and root is None:
        raise _no_project()
    if asks and not dry_run:
        _say("\nThis will be done:", *plan.lines())
        if not click.confirm("Continue?", default=True, err=True):
            raise Cancelled("Nothing was changed.")
    return _carried_out(plan, dry_run=dry_run, force=force)


def is_interactive() -> bool:
    """Whether a person can be asked: both ends are terminals."""
    return sys.stdin.isatty() and is_terminal(sys.stdout)


def _target(name: str, scope: Scope | None, face: str, root: Path | None) -> Target:
    host = find_host(name)
    chosen = scope if scope in host.scopes else None
    if (chosen or host.default_scope) == "project" and root is None:
        raise _no_project()
    return make_target(host, chosen, FACES[face], root)


_ELSEWHERE = "Run in a git repository, name one with --project, or use --scope user."
_ALL_OF_THEM = "Run in the project, name it with --project, or undo everything with --all."


def _no_project(hint: str = _ELSEWHERE) -> NotFound:
    return NotFound(f"No project found in {Path.cwd()} or above it", hint)


def _say(*lines: str) -> None:
    for line in lines:
        say(line)


def _chosen_hosts(
    named: tuple[str, ...], around: list[Presence], *, asks: bool, yes: bool
) -> list[str]:
    if named:
        return list(dict.fromkeys(named))
    found = [presence.host.key for presence in around if presence.sign]
    if asks:
        return _asked_hosts(around, found)
    return found if yes else []


def _asked_hosts(around: list[Presence], found: list[str]) -> list[str]:
    """Show the numbered list of hosts and ask which to register."""
    _say("Clew can register with these agent hosts (* found here):", "")
    for number, presence in enumerate(around, 1):
        mark = "*" if presence.sign else " "
        sign = presence.sign or "not found here"
        _say(f" {mark} {number}  {presence.host.title:<15} {sign}")
    _say("")
    keys = [presence.host.key for presence in around]
    default = ",".join(str(keys.index(key) + 1) for key in found) or "none"
    answer = click.prompt(
        "Which ones? Comma-separated numbers or names, `all` (found) or `none`",
        default=default,
        err=True,
        value_proc=lambda text: _picked(text, keys, found),
    )
    picked: list[str] = answer
    return picked


def _picked(text: str, keys: list[str], found: list[str]) -> list[str]:
    """The hosts that an answer names."""
    words = text.replace(",", " ").lower().split()
    if words == ["none"]:
        return []
    if words == ["all"]:
        return found
    picked = []
    for word in words:
        if word in keys:
            picked.append(word)
        elif word.isdigit() and 0 < int(word) <= len(keys):
            picked.append(keys[int(word) - 1])
        else:
            raise click.UsageError(f"{word} is not in the list")
    return list(dict.fromkeys(picked))


def _choose(
    given: bool | None,  # noqa: FBT001 - three states of a flag
    question: str,
    root: Path | None,
    asks: bool,  # noqa: FBT001
    yes: bool,  # noqa: FBT001
) -> bool:
    if given is not None:
        return given
    if root is None:
        return False
    if asks:
        return click.confirm(question, default=True, err=True)
    return yes


def _refuse_empty(plan: _Plan, around: list[Presence]) -> None:
    if not plan.is_empty:
        return
    found = [presence.host for presence in around if presence.sign]
    lines = [f"  clew init --host {host.key}   ({host.title})" for host in found]
    listed = "\n".join(["Found here:", *lines]) if found else "No host was found here."
    hint = "Name hosts with --host, or use every host found with --yes."
    if not found:
        hint = f"Name one with --host: {', '.join(HOSTS)}."
    raise UsageError(f"Nothing was selected, so nothing was changed.\n{listed}", hint)


def _carried_out(plan: _Plan, *, dry_run: bool, force: bool) -> Outcome:
    registered = [_registered(target, dry_run=dry_run, force=force) for target in plan.targets]
    written = [_file(plan, path, dry_run=dry_run, force=force) for path in _files(plan)]
    note = claude_file_note(plan.project) if plan.agents_md and plan.project else None
    failed = [item for item in registered + written if item["status"] == "failed"]
    undos = [] if dry_run else _undo_commands(plan, registered, written)
    data = {"dry_run": dry_run, "hosts": registered, "files": written, "note": note, "undo": undos}
    parts: list[str | Table] = [_table(plan, registered, written, dry_run=dry_run)]
    remarks = dict.fromkeys(remark for item in registered for remark in item["notes"])
    parts += [f"Note: {remark}" for remark in remarks]
    parts += [f"Failed: {item['problem']}" for item in failed]
    if note:
        parts.append(f"Note: {note}")
    steps = ["Nothing was changed."] if dry_run else _next_steps(plan, registered)
    steps += [f"Undo: {line}" for line in undos]
    return Outcome(data, (*parts, *steps), int(bool(failed)))


def _files(plan: _Plan) -> list[Path]:
    block = [plan.project / AGENTS_FILE] if plan.agents_md and plan.project else []
    return block + plan.skills


def _registered(target: Target, *, dry_run: bool, force: bool) -> dict[str, Any]:
    """One host's report; a failure there does not stop the others."""
    try:
        return register(target, force=force, dry_run=dry_run).data()
    except ClewError as error:
        return Report(target, "failed", problem=error.full_text()).data()


def _file(plan: _Plan, path: Path, *, dry_run: bool, force: bool) -> dict[str, Any]:
    assert plan.project is not None
    try:
        if path.name == AGENTS_FILE:
            return write_block(plan.project, force=force, dry_run=dry_run).data()
        return write_skill(path, plan.project, force=force, dry_run=dry_run).data()
    except ClewError as error:
        return FileReport(path, path.stem.lower(), "failed", error.full_text()).data()


def _table(
    plan: _Plan, hosts: list[dict[str, Any]], files: list[dict[str, Any]], *, dry_run: bool
) -> Table:
    rows = [
        (target.host.title, short(target.path), _word(item, dry_run=dry_run), _server(item))
        for target, item in zip(plan.targets, hosts, strict=True)
    ]
    for item in files:
        remark = None if item["status"] == "failed" else item["problem"]
        rows.append(_row(item, remark, dry_run=dry_run))
    return Table(_COLUMNS, tuple(rows))


def _word(item: dict[str, Any], *, dry_run: bool) -> str:
    status = str(item["status"])
    if dry_run and status in (*_FRESH, "removed"):
        return f"would be {status}"
    return _SHOWN.get(status, status)


def _server(item: dict[str, Any]) -> str:
    server = item.get("server")
    if not server:
        return ""
    count = server["tools"]
    return f"answers with {count} {'tool' if count == 1 else 'tools'}"


def _next_steps(plan: _Plan, hosts: list[dict[str, Any]]) -> list[str]:
    fresh = [
        target
        for target, item in zip(plan.targets, hosts, strict=True)
        if item["status"] not in ("already", "failed")
    ]
    return [f"Next: {target.host.next_for(target.scope, target.face.name)}" for target in fresh]


def _undo_commands(
    plan: _Plan, hosts: list[dict[str, Any]], files: list[dict[str, Any]]
) -> list[str]:
    """The commands that undo what was just written, and if possible nothing else."""
    entries = {
        (identity(target.path), target.face.name): target
        for target, item in zip(plan.targets, hosts, strict=True)
        if item["status"] in _FRESH
    }
    texts = {
        (identity(Path(item["path"])), item["kind"]) for item in files if item["status"] in _FRESH
    }
    fresh, known = entries.keys() | texts, undoable(plan.project)
    if not fresh:
        return []
    named = f" --project {quote(plan.named_project)}" if plan.named_project else ""
    whole = [f"clew uninit{named}"] if texts or fresh == known else []
    single = [
        f"{target.setup_line(plan.named_project)} --remove"
        for key, target in entries.items()
        if not whole or key not in known
    ]
    return whole + single


@command()
@flag("--all", "everything", "Undo in every project and in your user files.")
@project_option
@flag("--dry-run", "Show what would be done; change nothing.")
def uninit(*, everything: bool, project: str | None, dry_run: bool) -> Outcome:
    """Undo what init and setup wrote from this project, or with --all everywhere.

    This includes entries in your user files, unless another project uses them too. A file that
    nobody has changed since gets its original bytes back. From a modified file only Clew's own
    entry or block is removed.
    """
    root = None if everything and not project else checkout_root_or_none(project)
    if root is None and not everything:
        raise _no_project(_ALL_OF_THEM)
    actions = undo(root, everything=everything, dry_run=dry_run)
    failed = any(action["status"] == "failed" for action in actions)
    left = [] if everything else left_over(actions)
    parts = [*_undone_parts(actions, dry_run=dry_run), *map(_left_line, left)]
    data = {"dry_run": dry_run, "actions": actions, "left": left}
    return Outcome(data, tuple(parts), int(failed))


def _undone_parts(actions: list[dict[str, Any]], *, dry_run: bool) -> list[str | Table]:
    if not actions:
        return ["Nothing to undo here."]
    return [Table(_COLUMNS, tuple(_row(one, one["problem"], dry_run=dry_run) for one in actions))]


def _row(item: dict[str, Any], remark: str | None, *, dry_run: bool) -> tuple[str, str, str, str]:
    """A text of ours, or an entry with a host: what and where it is, and what became of it."""
    text = "Skill" if item["kind"] == "skill" else AGENTS_FILE
    what = _entry(item) if item["kind"] == "host" else text
    return what, short(Path(item["path"])), _word(item, dry_run=dry_run), remark or ""


def _entry(item: dict[str, Any]) -> str:
    return f"{item['part']} in {HOSTS[item['host']].title}"


def _left_line(entry: dict[str, Any]) -> str:
    """A note about an entry for all projects that stays."""
    where = short(Path(entry["path"]))
    return f"Kept for all your projects: {_entry(entry)} ({where}). Undo: {entry['undo']}"
