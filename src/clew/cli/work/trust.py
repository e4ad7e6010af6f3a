"""Consent on the command line: `clew trust`, and what starting work oneself means."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterable
from contextlib import closing
from typing import Any

import click

from clew.cli.core.app import command
from clew.cli.core.options import flag, option, project_option
from clew.cli.core.streams import say
from clew.cli.specs.read import opened_work
from clew.kit.errors import Conflict, UsageError
from clew.kit.outcome import Hint, Outcome, Table
from clew.specs.query.commands import NamedCommand
from clew.specs.store.consent import SHORT, Consent, command_hash, readable
from clew.work.processes.identity import RUN_VARIABLE
from clew.work.workspace import Workspace

_UNUSED = "nothing names it now"


def give_consent(work: Workspace, commands: Iterable[NamedCommand], by: str) -> None:
    """Approve what a person starts here, and list it; an agent at work is no person."""
    named = list(commands)
    if not named or RUN_VARIABLE in os.environ:
        return
    Consent(work.root).approve([one.command for one in named], f"`{by}` at the command line")
    say("Commands that may run (starting this approves them; `clew trust --revoke` takes it back):")
    for text, places in _by_text(named).items():
        say(f"  {readable(text)}  ({'; '.join(places)})")


@command()
@click.argument("hashes", nargs=-1, metavar="[HASH]...")
@flag("--all", "everything", "Approve, or with --revoke take back, everything listed.")
@flag("--revoke", "Take approvals back.")
@option("--team", "For the workers of a team, in this repository.", metavar="REPO")
@flag("--refuse", "With --team: refuse these; orders that need one end.")
@project_option
def trust(
    hashes: tuple[str, ...],
    *,
    everything: bool,
    revoke: bool,
    refuse: bool,
    team: str | None,
    project: str | None,
) -> Outcome:
    """List the commands that settings and specs name, or approve them by hash.

    Runs started by a tool server, the watch or the board execute only approved commands. A changed
    command needs a new approval. Runs that waited for an approval are finished. With --team, from any
    machine: what the workers of CLEW_DATABASE came upon in a repository; orders go on.
    """
    if revoke and not (hashes or everything):
        raise UsageError("Which approvals?", "Name their hashes, or use --all.")
    if refuse and (team is None or revoke or not hashes):
        raise UsageError("--refuse needs --team and hashes, and no --revoke")
    if hashes or everything:
        _refuse_agents()
    if team is not None:
        deed = "refuse" if refuse else "revoke" if revoke else "approve"
        return _of_team(team, hashes, deed, everything=everything)
    with opened_work(project) as work:
        if revoke:
            return _revoked(work, hashes, everything=everything)
        return _approved(work, hashes, everything=everything)


def _refuse_agents() -> None:
    if RUN_VARIABLE in os.environ:
        raise Conflict(
            "An agent at work cannot approve commands or take approvals back",
            "A person does this in a terminal of their own.",
        )


def _approved(work: Workspace, hashes: tuple[str, ...], *, everything: bool) -> Outcome:
    from clew.work.runs.approving import approve_hashes, named_commands

    consent, named = Consent(work.root), named_commands(work)
    chosen = [command_hash(work.root, one.command) for one in named] if everything else hashes
    made, finished = approve_hashes(work, chosen, "`clew trust`") if chosen else ([], [])
    rows = _rows(work, consent, named)
    data: dict[str, Any] = {
        "commands": rows,
        "approved": [one.hash for one in made],
        "finishing": finished,
    }
    parts: list[str | Table] = [_table(rows)] if rows else ["The project names no commands."]
    parts += [
        Hint(f"{name}: it is being checked; `clew logs -f {name}` shows it.") for name in finished
    ]
    open_hashes = [row["hash"][:SHORT] for row in rows if row["approved_by"] is None]
    if open_hashes:
        parts.append(Hint(f"Approve what you have read: `clew trust {' '.join(open_hashes)}`"))
    return Outcome(data, tuple(parts))


def _of_team(repo: str, hashes: tuple[str, ...], deed: str, *, everything: bool) -> Outcome:
    from clew.cli.access import changing, whoami
    from clew.cli.team import team_address
    from clew.team.database import Database
    from clew.team.working.consent import TeamConsent

    with closing(Database(team_address(None))) as database:
        consent = TeamConsent(database)
        chosen = [one.hash for one in consent.commands(repo)] if everything else list(hashes)
        if chosen:
            with changing(None, f"{deed} commands", project=repo, hashes=chosen):
                consent.decide(deed, repo, chosen, whoami())
        found = consent.commands(repo)
    rows = [{**vars(one), "places": [one.place]} for one in found]
    parts: list[str | Table] = [_table(rows)] if rows else ["No worker has asked for anything."]
    open_ones = [one.hash[:SHORT] for one in found if one.is_open]
    if open_ones:
        words = f"clew trust --team {shlex.quote(repo)} {' '.join(open_ones)}"
        parts.append(Hint(f"Approve what you have read: `{words}`"))
    return Outcome({"commands": rows}, tuple(parts))


def _revoked(work: Workspace, hashes: tuple[str, ...], *, everything: bool) -> Outcome:
    consent = Consent(work.root)
    chosen = [one.hash for one in consent.approvals()] if everything else list(hashes)
    gone = consent.revoke(chosen)
    lines = [f"Taken back: {one.hash[:SHORT]}  {one.command}" for one in gone]
    data = {"revoked": [vars(one) for one in gone]}
    return Outcome(data, tuple(lines or ["Nothing was approved."]))


def _rows(work: Workspace, consent: Consent, named: list[NamedCommand]) -> list[dict[str, Any]]:
    rows = []
    for text, places in _by_text(named).items():
        approval = consent.to(text)
        rows.append(
            {
                "hash": command_hash(work.root, text),
                "command": text,
                "places": places,
                "approved_by": approval.by if approval else None,
                "approved_at": approval.at if approval else None,
            }
        )
    shown = {row["hash"] for row in rows}
    rows += [
        {
            "hash": one.hash,
            "command": one.command,
            "places": [_UNUSED],
            "approved_by": one.by,
            "approved_at": one.at,
        }
        for one in consent.approvals()
        if one.hash not in shown
    ]
    return rows


def _table(rows: list[dict[str, Any]]) -> Table:
    return Table(
        ("hash", "command", "named in", "approved by", "at"),
        tuple(
            (
                row["hash"][:SHORT],
                readable(row["command"]),
                "; ".join(row["places"]),
                row["approved_by"] or _refusal(row) or "NOBODY",
                row["approved_at"] or "",
            )
            for row in rows
        ),
    )


def _refusal(row: dict[str, Any]) -> str:
    return f"REFUSED by {row['refused_by']}" if row.get("refused_by") else ""


def _by_text(named: Iterable[NamedCommand]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for one in named:
        found.setdefault(one.command, []).append(one.place)
    return found
