"""The watch: a thin reconciler over the journal. Whatever it does, every other command could.

Each look repairs what is orphaned, merges what is completed, removes what has arrived and, only if
that was asked for, starts what is ready. It keeps nothing in memory, so it can be killed at any
moment. One watch a project: it holds a lock that the kernel frees however it ends, and the lock,
not a pid file, says whether one runs.
"""

from __future__ import annotations

import os
import select
import signal
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from clew.kit.errors import Cancelled, ClewError, Conflict, NotFound
from clew.kit.files import itself, write_atomic
from clew.kit.git import GitError, guard, run_git
from clew.kit.jsontext import JsonObject
from clew.kit.locks import HeldLock, is_locked, try_lock
from clew.kit.paths import ProjectPaths
from clew.kit.text.display import terminal_text
from clew.specs.store.config import Config
from clew.work.journal.interface import Journal
from clew.work.journal.sqlite import read_journal
from clew.work.journal.status_files import agent_status_view, read_agent_status
from clew.work.merging.preconditions import REMOVED, branches, clean_up
from clew.work.merging.queue import Merger
from clew.work.model import OPEN, now_text, second_text
from clew.work.processes.child import Signals
from clew.work.processes.identity import (
    ProcessIdentity,
    is_alive,
    own_identity,
    send_signal,
    wait_until_gone,
)
from clew.work.runs.prepare import start_work
from clew.work.runs.reconcile import reconcile
from clew.work.scheduling.picture import Picture, Sight
from clew.work.workspace import Wiring, Workspace
from clew.work.worktrees.worktrees import Owner, owners

ALREADY_RUNNING = "Watch is already running"
NOT_RUNNING = "Watch is not running"
_LOCK = "watch.lock"
_LOG = "watch.log"
_SHORTEST_POLL = 0.1
_PID_SECONDS = 2.0
_LOOK_SECONDS = 0.05
_AGAIN = 60.0  # seconds until a look for what no picture shows


@dataclass(frozen=True)
class WatchOptions:
    """What the watch may do; `start` is how many specs it may have at work at once."""

    start: int = 0
    dry_run: bool = False
    poll_seconds: float | None = None
    idle_seconds: float | None = None


@dataclass
class Watch:
    """One project, looked at again whenever something changed."""

    root: Path
    wiring: Wiring = field(default_factory=Wiring)
    options: WatchOptions = field(default_factory=WatchOptions)
    say: Callable[[str], None] = field(default=lambda _: None)
    stop: Callable[[], bool] = field(default=lambda: False)
    is_idle: bool = False  # nothing was at work or waited for its turn
    _reported: dict[str, str] = field(default_factory=dict)
    _picture: Picture = ()
    _looked_at: float = 0.0
    _waits: bool = False
    _unmerged: bool = False

    def __post_init__(self) -> None:
        self.paths = ProjectPaths(self.root)
        self._sight = Sight(self.paths)

    def look(self) -> int:
        """Do what is to be done now; how many things that were."""
        return self._steps((self._reconcile, self._merge, self._clean_up, self._start))

    def _steps(self, steps: Sequence[Callable[[Workspace, Config], int]]) -> int:
        done = 0
        try:
            with Workspace(self.root, self.wiring) as work:
                config = work.config()
                for step in steps:
                    try:
                        done += step(work, config)
                    except Cancelled:
                        return done
                    except (ClewError, OSError) as error:
                        self.say(f"{step.__name__.strip('_')}: {error}")
        except (ClewError, OSError) as error:  # being edited, or on a disk in trouble
            self.say(f"configuration: {error}")
        return done

    def look_if_changed(self) -> int:
        """Look if anything changed since the last look, or if that cannot be seen."""
        picture = self._sight.picture()  # before the look: what changes meanwhile is not missed
        is_due = self._waits or (self._unmerged and time.monotonic() - self._looked_at >= _AGAIN)
        if picture == self._picture and not is_due:
            return 0 if self.is_idle else self._repair()
        done = self.look()
        self._picture, self._looked_at = picture, time.monotonic()
        self._rest()
        return done

    def _repair(self) -> int:
        """What runs may have lost its process, which no file shows."""
        done = self._steps((self._reconcile,))
        self._rest()
        return done

    def _rest(self) -> None:
        """See whether anything is at work or waits for its turn."""
        try:
            with read_journal(self.paths) as journal:
                self._waits = journal is not None and bool(journal.merges())
                self.is_idle = not self._waits and not (journal is not None and journal.is_active())
        except (ClewError, OSError):  # the steps have reported it; it may pass
            self.is_idle = False

    def _reconcile(self, work: Workspace, config: Config) -> int:
        done = [] if self.options.dry_run else reconcile(work)
        for repaired in done:
            self.say(f"{repaired.run.spec_id}: {repaired.note}")
        return len(done)

    def _merge(self, work: Workspace, config: Config) -> int:
        if not config.flag("watch", "merge"):
            return 0
        found = branches(work, config)
        self._unmerged = any(branch.state != "merged" for branch in found)
        wanted = [branch.spec_id for branch in found if branch.is_due]
        if self.options.dry_run:
            for name in wanted:
                self.say(f"{name}: would be merged")
            return 0
        waiting = {entry.spec_id for entry in work.journal.merges()}
        merger = Merger(work, config, self._say_once(waiting), self.stop)
        results = merger.merge(wanted) if wanted else merger.work_off() if waiting else []
        return sum(result.is_merged for result in results)

    def _say_once(self, waiting: set[str]) -> Callable[[str], None]:
        """What waits for the user is reported when it begins to, not at every look."""

        def say(text: str) -> None:
            name = text.partition(":")[0]
            if not (name in waiting and ": waiting" in text):
                self.say(text)

        return say

    def _clean_up(self, work: Workspace, config: Config) -> int:
        if not config.flag("watch", "cleanup"):
            return 0
        known = work.store.snapshot().by_id
        merged = {b.spec_id for b in branches(work, config) if b.state == "merged"}
        arrived = {name for name in merged if name in known and known[name].status == "completed"}
        ids = [owner.spec_id for owner in owners(self.root) if owner.spec_id in arrived]
        if not ids:
            return 0
        cleaned = clean_up(work, config, ids, dry_run=self.options.dry_run)
        for item in cleaned:
            note = f": {item.note}" if item.note else ""
            self._say_new(item.spec_id, f"{item.spec_id}: worktree {item.deed}{note}")
        return sum(item.deed == REMOVED for item in cleaned)

    def _start(self, work: Workspace, config: Config) -> int:
        """Start what is ready, as far as there is room; the only step that can cost anything."""
        if not self.options.start:
            return 0
        busy = {run.spec_id for run in work.journal.runs(phases=OPEN)}
        count = 0
        for spec_id in work.store.graph().ready():
            if len(busy) + count >= self.options.start or spec_id in busy:
                continue
            if self.options.dry_run:
                self.say(f"{spec_id}: would be started")
                continue
            try:
                start_work(work, spec_id)
                self.say(f"{spec_id}: started")
                count += 1
            except ClewError as error:
                self._say_new(spec_id, f"{spec_id}: not started: {error.message}")
        return count

    def _say_new(self, spec_id: str, text: str) -> None:
        """What is the same at every look is reported once."""
        if self._reported.get(spec_id) != text:
            self.say(text)
        self._reported[spec_id] = text


def run_watch(watch: Watch, signals: Signals, *, once: bool = False) -> None:
    """Look whenever something changed, until somebody stops it or nothing happens for long."""
    with Workspace(watch.root) as work:
        config = work.config()
    every = float(config.number("watch", "poll_interval_ms") or 5000) / 1000
    poll = max(watch.options.poll_seconds or every, _SHORTEST_POLL)
    idle = watch.options.idle_seconds
    if idle is None:
        idle = float(config.number("watch", "idle_timeout_minutes") or 5) * 60
    busy_at = time.monotonic()
    if _watcher(watch.paths) != own_identity():  # a detached one has said so already
        name_watcher(watch.paths)
    try:
        watch.say(f"watch started (PID: {os.getpid()})")
        while not signals.stop_asked and watch.paths.chant.is_dir():  # else the project is gone
            done = watch.look_if_changed()
            if once:
                break
            if done or not watch.is_idle:
                busy_at = time.monotonic()
            elif time.monotonic() - busy_at >= idle:
                watch.say("nothing to do; the watch ends")
                break
            if done == 0:
                _sleep(signals, poll)
    finally:
        watch.say("watch ended")
        with suppress(OSError):
            watch.paths.watch_pid.unlink(missing_ok=True)


def _sleep(signals: Signals, seconds: float) -> None:
    """Sleep until the time is over or somebody asks for the end.

    The ends of git's processes during a look are signals, too: they must not wake it.
    """
    signals.clear()
    if not signals.stop_asked:
        select.select([signals], [], [], seconds)


def watch_log(paths: ProjectPaths) -> Callable[[str], None]:
    """Writes the watch's log; a full disk does not stop it."""
    path = paths.chant / "logs" / _LOG

    def say(text: str) -> None:
        with suppress(OSError):
            path.parent.mkdir(exist_ok=True)  # but not the project, if that is gone
            with open(path, "a", encoding="utf-8", errors="replace", opener=itself) as stream:
                stream.write(f"[{second_text(now_text())}] {terminal_text(text)}\n")

    return say


def watch_lock(paths: ProjectPaths) -> HeldLock:
    """The right to be the watch of this project.

    A killed watch may have been about to start a program, which then has the lock for a moment.
    """
    paths.make_store()
    deadline = time.monotonic() + _PID_SECONDS
    while (lock := try_lock(paths.store / _LOCK)) is None:
        if is_alive(_watcher(paths)) or time.monotonic() > deadline:
            raise Conflict(ALREADY_RUNNING)
        time.sleep(_LOOK_SECONDS)
    return lock


def is_watched(paths: ProjectPaths) -> bool:
    """Whether a watch runs; its lock says so, whatever a pid file claims."""
    return is_locked(paths.store / _LOCK)


def name_watcher(paths: ProjectPaths) -> None:
    """Say that this process is the watch: to us by all that names it, to other programs by pid."""
    own = own_identity()
    # Into the lock's own file, which must stay the same one.
    (paths.store / _LOCK).write_text(f"{own.pid} {own.started} {own.boot}\n", encoding="ascii")
    write_atomic(paths.watch_pid, f"{own.pid}\n")


def _watcher(paths: ProjectPaths) -> ProcessIdentity | None:
    """The process that last was the watch; a pid alone may be somebody else's on this machine."""
    try:
        pid, started, boot = (paths.store / _LOCK).read_text(encoding="ascii").split()
        return ProcessIdentity(int(pid), started, boot)
    except (OSError, ValueError):
        return None


def stop_watch(paths: ProjectPaths, seconds: float = 0) -> int:
    """Ask the watch to end, and wait so long for it; its pid."""
    deadline = time.monotonic() + _PID_SECONDS
    while is_watched(paths):
        process = _watcher(paths)
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
        paths.watch_pid.unlink(missing_ok=True)
    raise NotFound(NOT_RUNNING)


def watch_status(paths: ProjectPaths) -> JsonObject:
    """Whether a watch runs, and every worktree with what its agent is doing."""
    there = [owner for owner in owners(paths.root) if Path(owner.path).is_dir()]
    with read_journal(paths) as journal:
        views = [_view(paths, journal, owner) for owner in there]
    return {
        "watch_running": is_watched(paths),
        "worktrees": views,
        "worktree_count": len(views),
    }


def _view(paths: ProjectPaths, journal: Journal | None, owner: Owner) -> JsonObject:
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
        "commits": _commits(paths, owner),
    }


def _commits(paths: ProjectPaths, owner: Owner) -> list[str]:
    """Short ids of the commits on the branch, the oldest first."""
    words = ("log", "--reverse", "--format=%h", f"refs/heads/{guard(owner.branch)}")
    with suppress(GitError):
        out = run_git(*words, f"^{guard(owner.base_commit)}", "--", cwd=paths.root)
        return out.decode("ascii").split()
    return []
