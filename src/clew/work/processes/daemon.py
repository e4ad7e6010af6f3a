"""Detached processes, which outlive their starter: begun, listened to for a moment, let go.

The lock that says who owns the work goes over to the new process, so there is no moment in which
nobody holds it, and the kernel frees it however that process ends.
"""

from __future__ import annotations

import os
import select
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from clew.kit import jsontext
from clew.kit.errors import ClewError, Unavailable
from clew.kit.files import itself
from clew.kit.jsontext import JsonObject
from clew.kit.locks import HeldLock, try_lock
from clew.kit.text.display import terminal_text
from clew.work.processes.environment import child_environment
from clew.work.processes.identity import RUN_VARIABLE

_DOOR_SECONDS = 30.0  # for a process to begin, on a machine that is busy otherwise
_LOOK_SECONDS = 0.05


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

    @property
    def has_failed(self) -> bool:
        """Whether the process said so, or ended without a word."""
        ended_early = self.is_closed and self.event not in ("started", "finishing")
        return self.event == "failed" or ended_early

    def process(self, what: str) -> int:
        """The process, which must have said who it is."""
        if self.pid is None:
            raise Unavailable(f"The {what} did not start within {_DOOR_SECONDS:g} s", "Try again.")
        return self.pid

    def take(self, said: JsonObject) -> None:
        """Take one message in."""
        self.event = said["event"]
        if self.event == "supervisor":
            self.pid = said["pid"]
        self.message = said.get("message")
        self.hint = said.get("hint")


def _listen(descriptor: int, seconds: float) -> Heard:
    """Listen until the agent runs, something failed, or so long after the first word."""
    heard, rest = Heard(), b""
    deadline = time.monotonic() + _DOOR_SECONDS
    while heard.event not in ("started", "failed", "finishing") and not heard.is_closed:
        left = deadline - time.monotonic()
        if left <= 0 or not select.select([descriptor], [], [], left)[0]:
            break
        chunk = os.read(descriptor, 65536)
        heard.is_closed = not chunk
        *lines, rest = (rest + chunk).split(b"\n")
        for line in lines:
            heard.take(jsontext.loads_bytes(line))
            if heard.event == "supervisor":
                deadline = time.monotonic() + seconds
    return heard


def start_detached(
    module: Sequence[str], directory: Path, lock: HeldLock, seconds: float, what: str
) -> Heard:
    """Start a module (with its first arguments) on a directory, detached, and listen to it.

    A process that says it failed, or that ends at once, is an error in its own words.
    """
    log_file = directory / f"{what}.log"
    near, far = os.pipe()
    environment = child_environment(directory)
    environment.pop(RUN_VARIABLE, None)  # it is no part of the run that may have asked for it
    words = [sys.executable, "-P", "-m", *module, str(directory), str(far), str(lock.fileno())]
    try:
        with open(log_file, "ab", opener=itself) as log:
            door = subprocess.Popen(
                words,
                cwd=directory,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                pass_fds=(far, lock.fileno()),
                start_new_session=True,
            )
        os.close(far)
        far = -1
        door.wait(_DOOR_SECONDS)  # it forks at once; what goes on is nobody's child
        heard = _listen(near, seconds)
    finally:
        lock.release()
        os.close(near)
        if far >= 0:
            os.close(far)
    if heard.has_failed:
        raise _failure(heard, log_file, what)
    return heard


def lock_after(path: Path, seconds: float = 30.0) -> HeldLock | None:
    """The lock, once a process that has done its work has ended; None if it goes on."""
    deadline = time.monotonic() + seconds
    while (lock := try_lock(path)) is None and time.monotonic() < deadline:
        time.sleep(_LOOK_SECONDS)
    return lock


def _failure(heard: Heard, log: Path, what: str) -> ClewError:
    """Why the process came to nothing: in its own words, or by the last line it left."""
    if heard.message:
        return Unavailable(heard.message, heard.hint)
    try:
        lines = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
    except OSError:
        lines = []
    said = lines[-1] if lines else "it said nothing"
    return Unavailable(f"The {what} ended at once: {said}", "Try again.")


def be_detached(arguments: list[str], work: Callable[[Path, Handshake], None]) -> int:
    """Be such a process: `DIRECTORY HANDSHAKE LOCK`, the latter two open descriptors."""
    if os.fork():  # the starter is answered at once, and never has to wait for this process
        os._exit(0)
    os.setsid()
    directory, handshake, lock = arguments
    ready = Handshake(int(handshake))
    os.set_inheritable(int(lock), False)  # this process alone; it is freed when this one ends
    try:
        work(Path(directory), ready)
    except ClewError as error:
        ready.fail(error.message, error.hint)
        print(terminal_text(error.full_text()), file=sys.stderr)
        return error.exit_code
    finally:
        ready.close()
    return 0
