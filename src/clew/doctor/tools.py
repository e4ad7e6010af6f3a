"""The doctor's tool: the checks as an answer. It changes nothing and starts no host's command."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from clew.doctor.checks import healthy, run_checks
from clew.doctor.model import Check, Subject
from clew.kit.answer import Answer

if TYPE_CHECKING:
    from clew.kit.call import Call


def doctor(arguments: dict[str, Any], call: Call) -> Answer:
    """Check the machine and the project."""
    checks = run_checks(Subject(arguments.get("project"), call.settings))
    data = {"ok": healthy(checks), "checks": [check.as_data() for check in checks]}
    return Answer("\n".join(map(_line, checks)), data=data)


def _line(check: Check) -> str:
    line = f"{check.status} {check.name}: {check.summary}"
    return f"{line}\n  fix: {check.fix}" if check.fix else line
