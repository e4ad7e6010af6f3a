"""The doctor's tool: the checks as an answer. It changes nothing and starts no host's command."""

from __future__ import annotations

from clew.catalog.model import BOOLEAN, READS, Tool, object_schema, string

TYPE_CHECKING = False
if TYPE_CHECKING:
    from clew.doctor.model import Check
    from clew.kit.answer import Answer
    from clew.kit.call import Call
    from clew.kit.jsontext import JsonObject


def doctor(arguments: JsonObject, call: Call) -> Answer:
    """Check the machine and the project."""
    from clew.doctor.checks import healthy, run_checks
    from clew.doctor.model import Subject
    from clew.kit.answer import Answer

    checks = run_checks(Subject(arguments.get("project"), call.settings))
    data = {"ok": healthy(checks), "checks": [check.as_data() for check in checks]}
    return Answer("\n".join(map(_line, checks)), data=data)


def _line(check: Check) -> str:
    line = f"{check.status} {check.name}: {check.summary}"
    return f"{line}\n  fix: {check.fix}" if check.fix else line


DOCTOR_TOOLS = (
    Tool(
        "clew_doctor",
        "Check machine and project; findings name the command that repairs them",
        title="Doctor",
        face="clew",
        toolset="guide",
        effect=READS,
        original=False,
        core=True,
        handler=doctor,
        properties={"project": string("Project directory (default: where the server runs)")},
        output=object_schema(
            {"ok": BOOLEAN, "checks": {"type": "array", "items": {"type": "object"}}},
            "ok",
            "checks",
        ),
    ),
)
