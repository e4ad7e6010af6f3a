"""The list of checks, and the running of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from clew.doctor import databases, home, hosts, machine, project
from clew.doctor.model import Check, Subject, shell_path
from clew.kit.errors import ClewError
from clew.kit.text.display import os_reason, shown_text

CheckFunction = Callable[[Subject], Check | list[Check]]

CHECKS: tuple[CheckFunction, ...] = (
    machine.python,
    machine.git,
    machine.identity,
    machine.sqlite,
    machine.commands,
    machine.extras,
    home.home,
    home.disk,
    home.secrets,
    project.project,
    project.specs,
    project.history,
    databases.databases,
    hosts.hosts,
)


def run_checks(subject: Subject, functions: tuple[CheckFunction, ...] = CHECKS) -> list[Check]:
    """Every check's result; a check that raises becomes a failure."""
    return [check for function in functions for check in _run(function, subject)]


def run_repairs(checks: list[Check], subject: Subject) -> list[str]:
    """Do the safe repairs that these checks name; say what was done, or why it was not."""
    done = []
    for check in checks:
        if check.repair:
            try:
                done.append(check.repair(subject))
            except (OSError, ClewError) as error:
                reason = os_reason(error) if isinstance(error, OSError) else error.message
                done.append(f"Not repaired: {check.name}: {reason}")
    return list(map(shown_text, done))


def healthy(checks: list[Check]) -> bool:
    """Whether nothing failed; warnings are allowed."""
    return all(check.status != "fail" for check in checks)


def _run(function: CheckFunction, subject: Subject) -> list[Check]:
    try:
        found = function(subject)
    except Exception as error:  # noqa: BLE001 - one broken check must not hide the others
        found = _broken(function.__name__, error)
    return list(map(_sayable, found if isinstance(found, list) else [found]))


def _broken(name: str, error: Exception) -> Check:
    if isinstance(error, ClewError):
        return Check(name, "fail", f"Not checked: {error.message}", detail=error.hint or "")
    if isinstance(error, OSError):
        return Check(name, "fail", f"Not checked: {os_reason(error)}", fix=_look_at(error.filename))
    reason = f"{error.__class__.__name__}: {error}".rstrip(": ")
    return Check(name, "fail", f"The check crashed: {reason}")


def _look_at(name: object) -> str | None:
    """The command that shows who may use a file."""
    return f"ls -ld {shell_path(Path(name))}" if isinstance(name, str) and name else None


def _sayable(check: Check) -> Check:
    """The check with every text as UTF-8 can say it, wherever a name came from."""
    return replace(
        check,
        name=shown_text(check.name),
        summary=shown_text(check.summary),
        detail=shown_text(check.detail),
        fix=shown_text(check.fix) if check.fix else check.fix,
    )
