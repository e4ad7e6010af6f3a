"""The watch from outside: whether one runs, starting and stopping it, and what it looks at."""

from __future__ import annotations

import signal
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from clew.kit.errors import Conflict, NotFound
from clew.kit.git import GitError, guard, run_git
from clew.kit.locks import HeldLock, is_locked, try_lock
from clew.kit.paths import ProjectPaths
from clew.work.journal.journal import read_journal
from clew.work.journal.status_files import (
    agent_status_view,
    read_agent_status,
    remove_watch_pid,
    write_watch_pid,
)
from clew.work.model import second_text
from clew.work.processes.daemon import not_started, start_detached
from clew.work.processes.identity import (
    ProcessIdentity,
    is_alive,
    own_identity,
    send_signal,
    wait_until_gone,
)
from clew.work.worktrees.worktrees import owners

if TYPE_CHECKING:
    from clew.kit.jsontext import JsonObject
    from clew.work.journal.journal import Journal
    from clew.work.paths import Places
    from clew.work.worktrees.worktrees import Owner

ALREADY_RUNNING = "Watch is already running"
NOT_RUNNING = "Watch is not running"
_MODULE = "clew.work.scheduling.watch_loop"
_LOCK = "watch.lock"
_ERRORS = "watch.stderr"
_START_SECONDS = 10.0
_PID_SECONDS = 2.0
_LOOK_SECONDS = 0.05


def watch_lock(places: Places) -> HeldLock:
    """The right to be the watch of this project.

    A killed watch may have been about to start a program, which then has the lock for a moment.
    """
    ProjectPaths(places.root).make_store()
    deadline = time.monotonic() + _PID_SECONDS
    while (lock := try_lock(places.store / _LOCK)) is None:
        if is_alive(_watcher(places)) or time.monotonic() > deadline:
            raise Conflict(ALREADY_RUNNING)
        time.sleep(_LOOK_SECONDS)
    return lock


def is_watched(places: Places) -> bool:
    """Whether a watch runs; its lock says so, whatever a pid file claims."""
    return is_locked(places.store / _LOCK)


def tell_who_watches(places: Places) -> None:
    """Say that this process is the watch: to us by all that names it, to other programs by pid."""
    own = own_identity()
    # Into the lock's own file, which must stay the same one.
    (places.store / _LOCK).write_text(f"{own.pid} {own.started} {own.boot}\n", encoding="ascii")
    write_watch_pid(places)


def _watcher(places: Places) -> ProcessIdentity | None:
    """The process that last was the watch; a pid alone may be somebody else's on this machine."""
    try:
        pid, started, boot = (places.store / _LOCK).read_text(encoding="ascii").split()
        return ProcessIdentity(int(pid), started, boot)
    except (OSError, ValueError):
        return None


def start_watch(places: Places) -> int:
    """Start a watch that outlives this process; its pid."""
    lock = watch_lock(places)
    remove_watch_pid(places)
    heard = start_detached(_MODULE, places.store, lock, _START_SECONDS, _ERRORS)
    if heard.event != "started" or heard.pid is None:
        raise not_started(heard, places.store / _ERRORS, "watch")
    return heard.pid


def stop_watch(places: Places, seconds: float = 0) -> int:
    """Ask the watch to end, and wait so long for it; its pid."""
    deadline = time.monotonic() + _PID_SECONDS
    while is_watched(places):
        process = _watcher(places)
        if process is not None and send_signal(process, signal.SIGTERM):
            send_signal(process, signal.SIGCONT)  # one that is stopped would not hear it
            if seconds:
                wait_until_gone(process, seconds)
            return process.pid
        if time.monotonic() > deadline:
            raise Conflict(
                "The watch runs, but not as a process that can be seen from here",
                "Stop it where it was started: on another machine, or in a container.",
            )
        time.sleep(_LOOK_SECONDS)
    with suppress(OSError):
        remove_watch_pid(places)
    raise NotFound(NOT_RUNNING)


def watch_status(places: Places) -> JsonObject:
    """Whether a watch runs, and every worktree with what its agent is doing."""
    views = _worktree_views(places)
    return {
        "watch_running": is_watched(places),
        "worktrees": views,
        "worktree_count": len(views),
    }


def _worktree_views(places: Places) -> list[JsonObject]:
    with read_journal(places) as journal:
        return [
            _view(places, journal, owner)
            for owner in owners(places.root)
            if Path(owner.path).is_dir()
        ]


def _view(places: Places, journal: Journal | None, owner: Owner) -> JsonObject:
    """One worktree as the documented status of an agent; the journal knows it best."""
    run = journal.latest(owner.spec_id) if journal is not None else None
    said = agent_status_view(run) if run is not None else None
    said = said or read_agent_status(Path(owner.path)) or {}
    updated = run.heartbeat_at or run.created_at if run is not None else said.get("updated_at")
    if run is not None and run.ended_at:
        updated = run.ended_at
    return {
        "spec_id": owner.spec_id,
        "path": owner.path,
        "status": said.get("status", "unknown"),
        "updated_at": second_text(updated) if updated else None,
        "error": said.get("error") if said else "No status file found",
        "commits": _commits(places, owner),
    }


def _commits(places: Places, owner: Owner) -> list[str]:
    """Short ids of the commits on the branch, the oldest first."""
    words = ("log", "--reverse", "--format=%h", f"refs/heads/{guard(owner.branch)}")
    with suppress(GitError):
        out = run_git(*words, f"^{guard(owner.base_commit)}", "--", cwd=places.root)
        return out.decode("ascii").split()
    return []
