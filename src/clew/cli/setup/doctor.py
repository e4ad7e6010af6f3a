"""`doctor`: what works here, and the commands that repair the rest; `version`: what runs here."""

from __future__ import annotations

import os
import platform
import sqlite3
import sys
from typing import Any

from clew import __version__
from clew.cli.core.app import command
from clew.cli.core.hints import own_commands
from clew.cli.core.options import flag, project_option
from clew.cli.team import team_address, team_database_option
from clew.doctor.checks import healthy, run_checks, run_repairs
from clew.doctor.model import Check, Subject
from clew.kit.errors import ClewError
from clew.kit.git import git_version
from clew.kit.outcome import Outcome, Table


@command()
@flag("--fix", "Apply the safe repairs, then check again.")
@project_option
def doctor(project: str | None, *, fix: bool) -> Outcome:
    """Check this machine, the project and the agent hosts.

    Each finding comes with the command that repairs it. --fix applies the repairs that touch only
    Clew's own directory and prints the others. The exit code is 1 if a check fails; warnings do
    not count.
    """
    subject = Subject(project, start_commands=True)
    checks = run_checks(subject)
    repaired: list[str] = []
    if fix:
        repaired = run_repairs(checks, subject)
        checks = run_checks(subject) if repaired else checks
    return _shown(checks, repaired)


@command(name="doctor")
@team_database_option
def team_doctor(database: str | None) -> Outcome:
    """Check what a team's Clew runs on, from here.

    The database, its version and schema, the clock, the replica, the queue, leases, the index, sign-in
    and the keys of its issuer, and the disk for clones on this machine. The exit code is 1 if a check
    fails; warnings do not count.
    """
    from clew.team.operations.findings import findings

    found = findings(team_address(database), os.environ.get("CLEW_DATABASE_READ"))
    return _shown([Check(one.name, one.status, one.summary, fix=one.fix) for one in found], [])


def _shown(checks: list[Check], repaired: list[str]) -> Outcome:
    data = {
        "ok": healthy(checks),
        "checks": [_worded(check.as_data()) for check in checks],
        "repaired": repaired,
    }
    below = [*_repairs(checks), _verdict(checks)]
    return Outcome(data, (*repaired, _table(checks), *below), exit_code=0 if healthy(checks) else 1)


def _worded(data: dict[str, Any]) -> dict[str, Any]:
    return {**data, "fix": own_commands(data["fix"])} if data.get("fix") else data


def _table(checks: list[Check]) -> Table:
    rows = tuple((check.status, check.name, check.summary) for check in checks)
    return Table(("status", "check", "summary"), rows)


def _repairs(checks: list[Check]) -> list[str]:
    broken = [check for check in checks if check.status != "ok"]
    if not broken:
        return []
    lines = ["", "To repair:"]
    for check in broken:
        reasons = check.detail.splitlines() or [""]
        lines.append(f"  # {check.name}: {reasons[0]}".rstrip(": "))
        lines += [f"  # {reason}" for reason in reasons[1:]]
        lines += [f"  {own_commands(check.fix)}"] if check.fix else []
    if any(check.repair for check in broken):
        lines += ["", "`clew doctor --fix` repairs Clew's own directory for you."]
    return lines


def _verdict(checks: list[Check]) -> str:
    warnings = sum(check.status == "warn" for check in checks)
    failures = sum(check.status == "fail" for check in checks)
    return f"\n{len(checks)} checks, {_count(warnings, 'warning')}, {_count(failures, 'failure')}."


def _count(number: int, noun: str) -> str:
    return f"{number or 'no'} {noun}{'' if number == 1 else 's'}"


@command()
def version() -> Outcome:
    """Show the versions of Clew and its dependencies."""
    try:
        git = ".".join(map(str, git_version()))
    except ClewError:
        git = "not installed"
    data = {
        "clew": __version__,
        "python": platform.python_version(),
        "sqlite": sqlite3.sqlite_version,
        "git": git,
        "platform": platform.platform(),
        "executable": sys.executable,
    }
    return Outcome(data, tuple(f"{name:<10} {value}" for name, value in data.items()))
