"""What a server tells its operator: lines of text, or one JSON object on each line of standard error."""

from __future__ import annotations

import sys
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from clew.kit import jsontext
from clew.kit.errors import UsageError
from clew.kit.times import utc_now

if TYPE_CHECKING:
    from starlette.requests import Request

FORMATS = ("text", "json")
_LONGEST = 200
_format = ["text"]


def set_format(name: str) -> None:
    """How lines are written from now on."""
    if name not in FORMATS:
        raise UsageError(f"Not a format of the log: {name}", "Use text or json.")
    _format[0] = name


def tell(text: str) -> None:
    """One line for the operator."""
    if _format[0] == "json":
        _write({"event": "notice", "text": text})
    else:
        print(f"clew: {text}", file=sys.stderr, flush=True)


@dataclass(frozen=True)
class Note:
    """A request that was answered."""

    http: str
    path: str
    status: int
    seconds: float
    method: str
    tool: str
    caller: str


def note_of(request: Request, status: int, seconds: float) -> Note:
    """What is noted of a request; of a batch, its first message."""
    asked = request.scope.get("clew.asked")
    first = asked[0] if isinstance(asked, list) and asked else asked
    message = first if isinstance(first, dict) else {}
    params = message.get("params")
    tool = params.get("name") if isinstance(params, dict) else None
    caller = request.scope.get("clew.caller")
    return Note(
        request.method,
        request.scope["path"][:_LONGEST],
        status,
        round(seconds, 6),
        str(message.get("method") or "")[:_LONGEST],
        tool[:_LONGEST] if isinstance(tool, str) else "",
        caller.name if caller is not None else "",
    )


def log_note(note: Note) -> None:
    """The request as a line of the log, where that is JSON."""
    if _format[0] == "json":
        _write({"event": "request", **asdict(note)})


def _write(fields: dict[str, object]) -> None:
    line = jsontext.dumps({"time": utc_now(milliseconds=True), **fields})
    print(line, file=sys.stderr, flush=True)
