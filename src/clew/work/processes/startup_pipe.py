"""What a supervisor tells its starter: that it runs, that the agent runs, or what went wrong."""

from __future__ import annotations

import os
import select
import time
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from clew.kit import jsontext

if TYPE_CHECKING:
    from clew.kit.jsontext import JsonObject


class Handshake:
    """The supervisor's end."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor: int | None = descriptor
        os.set_inheritable(descriptor, False)

    def say(self, event: str, **data: object) -> None:
        """Tell that something happened; a starter that is gone is no trouble."""
        if self._descriptor is not None:
            with suppress(OSError):
                os.write(self._descriptor, jsontext.dumps_bytes({"event": event, **data}) + b"\n")
        if event in ("started", "failed", "finishing"):
            self.close()

    def fail(self, message: str, hint: str | None) -> None:
        """Tell why there will be no agent."""
        self.say("failed", message=message, hint=hint)

    def close(self) -> None:
        """There is no more to say."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None


@dataclass
class Heard:
    """What the starter heard."""

    pid: int | None = None
    event: str | None = None
    message: str | None = None
    hint: str | None = None
    is_closed: bool = False

    def take(self, said: JsonObject) -> None:
        """Take one message in."""
        self.event = said["event"]
        if self.event == "supervisor":
            self.pid = said["pid"]
        self.message = said.get("message")
        self.hint = said.get("hint")


def listen(descriptor: int, seconds: float) -> Heard:
    """Listen until the agent runs, something failed, or the time is over."""
    heard, rest = Heard(), b""
    deadline = time.monotonic() + seconds
    while heard.event not in ("started", "failed", "finishing") and not heard.is_closed:
        left = deadline - time.monotonic()
        if left <= 0 or not select.select([descriptor], [], [], left)[0]:
            break
        chunk = os.read(descriptor, 65536)
        heard.is_closed = not chunk
        *lines, rest = (rest + chunk).split(b"\n")
        for line in lines:
            heard.take(jsontext.loads_bytes(line))
    return heard
