"""The watch: a thin reconciler over the journal. Whatever it does, every other command could.

Each look finishes what ended, merges what is completed, removes what has arrived and, only if that
was asked for, starts what is ready. It keeps nothing in memory, so it can be killed at any moment.
One watch a project: it holds a lock that the kernel frees however it ends.
"""

from __future__ import annotations

import os
import select
import sys
import time
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from clew.kit.errors import Cancelled, ClewError
from clew.specs.store.config import load_config
from clew.specs.store.store import SpecStore
from clew.work.journal.activity import has_open_runs
from clew.work.journal.journal import open_journal
from clew.work.journal.merges import MergeQueue
from clew.work.journal.status_files import read_watch_pid, remove_watch_pid
from clew.work.merging.cleanup import REMOVED, clean_up
from clew.work.merging.preconditions import branches
from clew.work.merging.queue import Merger
from clew.work.model import OPEN, now_text, second_text
from clew.work.paths import Places
from clew.work.processes.child import Signals
from clew.work.processes.daemon import be_detached
from clew.work.runs.reconcile import reconcile
from clew.work.scheduling.watch_control import tell_who_watches
from clew.work.worktrees.worktrees import owners

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from clew.specs.store.config import Config
    from clew.work.processes.startup_pipe import Handshake

_LOG = "watch.log"
_SHORTEST_POLL = 0.1


@dataclass(frozen=True)
class WatchOptions:
    """What the watch may do; `start` is how many specs it may have at work at once."""

    start: int = 0
    dry_run: bool = False
    poll_seconds: float | None = None
    idle_seconds: float | None = None


@dataclass
class Watch:
    """One project, looked at again and again."""

    places: Places
    options: WatchOptions = field(default_factory=WatchOptions)
    say: Callable[[str], None] = field(default=lambda _: None)
    stop: Callable[[], bool] = field(default=lambda: False)
    _told: dict[str, str] = field(default_factory=dict)

    def look(self) -> int:
        """Do what is to be done now; how many things that were."""
        try:
            config, store = load_config(self.places.root), SpecStore(self.places.root)
        except (ClewError, OSError) as error:  # being edited, or on a disk in trouble
            self.say(f"configuration: {error}")
            return 0
        deeds = 0
        steps = (self._reconcile, self._merge, self._clean_up, self._start)
        for step in steps:
            try:
                deeds += step(config, store)
            except Cancelled:
                return deeds
            except (ClewError, OSError) as error:
                self.say(f"{step.__name__.strip('_')}: {error}")
        return deeds

    def is_idle(self) -> bool:
        """Whether nothing is at work and nothing is waiting for its turn, as far as can be seen."""
        try:
            if has_open_runs(self.places.root):
                return False
            with open_journal(self.places) as journal:
                return not MergeQueue(journal.database).open_entries()
        except (ClewError, OSError):  # the steps have told of it; it may pass
            return False

    def _reconcile(self, config: Config, store: SpecStore) -> int:
        if self.options.dry_run:
            return 0
        done = reconcile(self.places)
        for deed in done:
            self.say(f"{deed.run.spec_id}: {deed.deed}")
        return len(done)

    def _merge(self, config: Config, store: SpecStore) -> int:
        if not config.flag("watch", "merge"):
            return 0
        found = branches(self.places, store, config)
        wanted = [branch.spec_id for branch in found if branch.is_due]
        with open_journal(self.places) as journal:
            queued = MergeQueue(journal.database).open_entries()
        waiting = {entry.spec_id for entry in queued}
        if self.options.dry_run:
            for name in wanted:
                self.say(f"{name}: would be merged")
            return 0
        merger = Merger(self.places, store, config, self._say_once(waiting), self.stop)
        results = merger.merge(wanted) if wanted else merger.work_off() if waiting else []
        return sum(result.is_merged for result in results)

    def _say_once(self, waiting: set[str]) -> Callable[[str], None]:
        """What waits for the user is told when it begins to, not at every look."""

        def say(text: str) -> None:
            name = text.partition(":")[0]
            if not (name in waiting and ": waiting" in text):
                self.say(text)

        return say

    def _clean_up(self, config: Config, store: SpecStore) -> int:
        if not config.flag("watch", "cleanup"):
            return 0
        done = store.snapshot().by_id
        merged = {b.spec_id for b in branches(self.places, store, config) if b.state == "merged"}
        ids = [name for name in merged if name in done and done[name].status == "completed"]
        known = [owner.spec_id for owner in owners(self.places.root) if owner.spec_id in ids]
        if not known:
            return 0
        cleaned = clean_up(self.places, config, known, dry_run=self.options.dry_run)
        for item in cleaned:
            note = f": {item.note}" if item.note else ""
            self._say_new(item.spec_id, f"{item.spec_id}: worktree {item.deed}{note}")
        return sum(item.deed == REMOVED for item in cleaned)

    def _start(self, config: Config, store: SpecStore) -> int:
        """Start what is ready, as far as there is room; the only step that can cost anything."""
        if not self.options.start:
            return 0
        from clew.work.runs.prepare import BRIEF, named_brief, start_work

        with open_journal(self.places) as journal:
            busy = {run.spec_id for run in journal.runs(phases=OPEN)}
        count = 0
        for spec_id in store.graph().ready():
            if len(busy) + count >= self.options.start or spec_id in busy:
                continue
            if self.options.dry_run:
                self.say(f"{spec_id}: would be started")
                continue
            try:
                brief = named_brief(self.places.root, BRIEF)
                start_work(self.places, store, spec_id, brief=brief)
                self.say(f"{spec_id}: started")
                count += 1
            except ClewError as error:
                self._say_new(spec_id, f"{spec_id}: not started: {error.message}")
        return count

    def _say_new(self, spec_id: str, text: str) -> None:
        """What is the same at every look is told once."""
        if self._told.get(spec_id) != text:
            self.say(text)
        self._told[spec_id] = text


def run_watch(watch: Watch, signals: Signals, *, once: bool = False) -> None:
    """Look again and again until somebody stops it or, for so long, there is nothing to do."""
    config = load_config(watch.places.root)
    poll = (
        watch.options.poll_seconds
        or float(config.number("watch", "poll_interval_ms") or 5000) / 1000
    )
    idle = watch.options.idle_seconds
    if idle is None:
        idle = float(config.number("watch", "idle_timeout_minutes") or 5) * 60
    busy_at = time.monotonic()
    if read_watch_pid(watch.places) != os.getpid():
        tell_who_watches(watch.places)
    try:
        watch.say(f"watch started (PID: {os.getpid()})")
        while not signals.stop_asked:
            deeds = watch.look()
            if once:
                break
            if deeds or not watch.is_idle():
                busy_at = time.monotonic()
            elif time.monotonic() - busy_at >= idle:
                watch.say("nothing to do; the watch ends")
                break
            if deeds == 0:
                _wait(signals, max(poll, _SHORTEST_POLL))
    finally:
        watch.say("watch ended")
        with suppress(OSError):
            remove_watch_pid(watch.places)


def _wait(signals: Signals, seconds: float) -> None:
    """Wait for a signal, or for so long."""
    select.select([signals], [], [], seconds)
    signals.clear()


def watch_log(places: Places) -> Callable[[str], None]:
    """Writes the watch's log; a full disk does not stop it."""
    path = places.chant / "logs" / _LOG

    def say(text: str) -> None:
        with suppress(OSError):
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("a", encoding="utf-8", errors="replace") as stream:
                stream.write(f"[{second_text(now_text())}] {text}\n")

    return say


def be_watch(directory: Path, ready: Handshake) -> None:
    """Be the watch of the project whose store this is; the lock came from the starter."""
    places = Places(directory.resolve().parents[1])
    with Signals().noted() as signals:
        tell_who_watches(places)
        ready.say("supervisor", pid=os.getpid())
        ready.say("started")
        watch = Watch(places, say=watch_log(places), stop=lambda: signals.stop_asked)
        run_watch(watch, signals)


def main(arguments: list[str]) -> int:
    """`python -m clew.work.scheduling.watch_loop STORE HANDSHAKE LOCK`, the latter descriptors."""
    return be_detached(arguments, be_watch)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
