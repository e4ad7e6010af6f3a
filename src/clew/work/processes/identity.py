"""Who a process is: its pid, when it started and in which boot of the machine.

A pid alone is given again to others, and after a reboot it says nothing. The three together name
one process for good.
"""

from __future__ import annotations

import os
import signal
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

RUN_VARIABLE = "CLEW_RUN_ID"  # in the environment of an agent and of everything it starts
FENCE_VARIABLE = "CLEW_FENCE"  # in the same, where the agent is fenced in
_BOOT_FILE = Path("/proc/sys/kernel/random/boot_id")
_PROC = Path("/proc")
_POLL_SECONDS = 0.02


@dataclass(frozen=True)
class ProcessIdentity:
    """One process, distinguished from every other that had or will have its pid."""

    pid: int
    started: str
    boot: str


def identity_of(pid: int) -> ProcessIdentity | None:
    """The identity of a living process; a zombie counts as dead."""
    started = _start_time(pid)
    return None if started is None else ProcessIdentity(pid, started, boot_id())


def own_identity() -> ProcessIdentity:
    """The process that asks."""
    identity = identity_of(os.getpid())
    assert identity is not None
    return identity


def is_alive(identity: ProcessIdentity | None) -> bool:
    """Whether exactly this process still runs."""
    if identity is None or identity.boot != boot_id():
        return False
    return _start_time(identity.pid) == identity.started


def boot_id() -> str:
    """Which boot of the machine this is."""
    try:
        return _BOOT_FILE.read_text(encoding="ascii").strip()
    except OSError:
        return f"boot-{int(_psutil().boot_time())}"


def send_signal(identity: ProcessIdentity, number: int) -> bool:
    """Signal exactly this process; False when it is gone."""
    if not is_alive(identity):
        return False
    with suppress(ProcessLookupError):
        os.kill(identity.pid, number)
        return True
    return False


def wait_until_gone(identity: ProcessIdentity, seconds: float) -> bool:
    """Whether the process ended within that time."""
    deadline = time.monotonic() + seconds
    while is_alive(identity):
        if time.monotonic() >= deadline:
            return False
        time.sleep(_POLL_SECONDS)
    return True


def processes_of_run(run_id: str) -> list[ProcessIdentity]:
    """Everything that an agent of this run started and that still lives, wherever it went."""
    psutil = _psutil()
    found = []
    for process in psutil.process_iter():
        with suppress(psutil.Error, OSError):
            if process.environ().get(RUN_VARIABLE) == run_id:
                identity = identity_of(process.pid)
                if identity is not None and process.pid != os.getpid():
                    found.append(identity)
    return found


def stop_processes_of_run(run_id: str, grace_seconds: float) -> int:
    """Ask everything of a run to end, and end by force what does not; how many there were."""
    first = processes_of_run(run_id)
    for identity in first:
        send_signal(identity, signal.SIGTERM)
    deadline = time.monotonic() + grace_seconds
    for identity in first:
        wait_until_gone(identity, max(0.0, deadline - time.monotonic()))
    left = processes_of_run(run_id) if first else []
    for identity in left:
        send_signal(identity, signal.SIGKILL)
    for identity in left:
        wait_until_gone(identity, 5)
    return len(first)


def _start_time(pid: int) -> str | None:
    try:
        stat = (_PROC / str(pid) / "stat").read_bytes()
    except (FileNotFoundError, ProcessLookupError):
        return None if _PROC.joinpath("self").exists() else _start_by_psutil(pid)
    state, *fields = stat[stat.rindex(b")") + 2 :].split()
    # Ticks since boot are exact; a wall-clock start time moves when the clock is set.
    return None if state in (b"Z", b"X") else f"ticks-{int(fields[18])}"


def _start_by_psutil(pid: int) -> str | None:
    psutil = _psutil()
    try:
        process = psutil.Process(pid)
        if process.status() == psutil.STATUS_ZOMBIE:
            return None
        return f"time-{process.create_time():.2f}"
    except psutil.Error:
        return None


def _psutil() -> Any:
    import psutil  # type: ignore[import-untyped]

    return psutil
