"""The advisors' tool handlers."""

from __future__ import annotations

from clew.advisors.operation import run_operation
from clew.kit.answer import Answer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from clew.kit.call import Call
    from clew.kit.jsontext import JsonObject


def long_running_operation(arguments: JsonObject, call: Call) -> Answer:
    """Wait as long as asked, with progress."""
    name, seconds = arguments["operation_name"], float(arguments["duration_seconds"])
    output = run_operation(name, seconds, call)
    return Answer(output, data={"output": output})
