"""Processes of our own that outlive whoever started them: begun, listened to for a moment, let go.

The lock that says who owns the work goes over to the new process, so there is no moment in which
nobody holds it, and the kernel frees it however that process ends.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from clew.kit.errors import ClewError, Unavailable
from clew.kit.locks import try_lock
from clew.work.processes.identity import RUN_VARIABLE
from clew.work.processes.startup_pipe import Handshake, listen

if TYPE_CHECKING:
    from collections.abc import Callable

    from clew.kit.locks import HeldLock
    from clew.work.processes.startup_pipe import Heard

_DOOR_SECONDS = 30.0
_LOOK_SECONDS = 0.05


def start_detached(
    module: str, directory: Path, lock: HeldLock, seconds: float, log_name: str
) -> Heard:
    """Start a module of ours on a directory, detached from this process, and listen to it."""
    deadline = time.monotonic() + seconds
    near, far = os.pipe()
    environment = {k: v for k, v in os.environ.items() if k != RUN_VARIABLE}
    words = [sys.executable, "-P", "-m", module, str(directory), str(far), str(lock.fileno())]
    try:
        with open(directory / log_name, "ab") as log:
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
        return listen(near, deadline - time.monotonic())
    finally:
        lock.release()
        os.close(near)
        if far >= 0:
            os.close(far)


def lock_after(path: Path, seconds: float = 5.0) -> HeldLock | None:
    """The lock, once a process that has done its work has ended; None if it goes on."""
    deadline = time.monotonic() + seconds
    while (lock := try_lock(path)) is None and time.monotonic() < deadline:
        time.sleep(_LOOK_SECONDS)
    return lock


def not_started(heard: Heard, log: Path, what: str) -> ClewError:
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
        print(error.full_text(), file=sys.stderr)
        return error.exit_code
    finally:
        ready.close()
    return 0
