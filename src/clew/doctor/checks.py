"""The list of checks, and the running of them."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from clew.doctor.model import Check, Subject
from clew.kit.errors import ClewError

if TYPE_CHECKING:
    from collections.abc import Callable

# Each names a function that takes the Subject and returns a Check or a list of them.
CHECKS: tuple[str, ...] = (
    "clew.doctor.machine:python",
    "clew.doctor.machine:git",
    "clew.doctor.machine:identity",
    "clew.doctor.machine:sqlite",
    "clew.doctor.install:commands",
    "clew.doctor.install:extras",
    "clew.doctor.home:home",
    "clew.doctor.home:secrets",
    "clew.doctor.project:project",
    "clew.doctor.hosts:hosts",
)


def run_checks(subject: Subject, paths: tuple[str, ...] = CHECKS) -> list[Check]:
    """Every check's result; a check that breaks becomes a failure of its own."""
    return [check for path in paths for check in _run(path, subject)]


def run_repairs(checks: list[Check], subject: Subject) -> list[str]:
    """Do the safe repairs that these checks name; say what was done, or why it was not."""
    done = []
    for check in checks:
        if check.repair:
            try:
                done.append(str(_load(check.repair)(subject)))
            except (OSError, ClewError) as error:
                done.append(f"Not repaired: {check.name}: {error}")
    return done


def healthy(checks: list[Check]) -> bool:
    """Whether nothing failed; warnings are allowed."""
    return all(check.status != "fail" for check in checks)


def _run(path: str, subject: Subject) -> list[Check]:
    try:
        found = _load(path)(subject)
    except Exception as error:  # noqa: BLE001 - one broken check must not hide the others
        return [_broken(path, error)]
    return found if isinstance(found, list) else [found]


def _broken(path: str, error: Exception) -> Check:
    hint = error.hint if isinstance(error, ClewError) else None
    reason = str(error) or error.__class__.__name__
    if not isinstance(error, ClewError):
        reason = f"{error.__class__.__name__}: {error}".rstrip(": ")
    return Check(path.rpartition(":")[2], "fail", f"The check broke: {reason}", detail=hint or "")


def _load(path: str) -> Callable[[Subject], Any]:
    module, _, attribute = path.partition(":")
    loaded: Callable[[Subject], Any] = getattr(import_module(module), attribute)
    return loaded
