"""Who reads the input: calls run where they were read, and reading never waits for a slow one.

Handing every call to another thread would double the time of a quick one. So the thread that
reads a call also runs it. A watcher looks every few milliseconds; when a call takes longer than
that, the watcher becomes the reader, and calls go to the worker threads until the slow one is
done. While nothing is called the watcher sleeps.
"""

from __future__ import annotations

from _thread import allocate_lock
from time import sleep

from clew.protocol.workers import start_thread

TYPE_CHECKING = False
if TYPE_CHECKING:
    from _thread import LockType
    from collections.abc import Callable, Iterable

    from clew.protocol.workers import Workers

PATIENCE_SECONDS = 0.005
_ROUNDS_BEFORE_REST = 200


class Reading:
    """The reading of one input by one thread at a time."""

    def __init__(
        self,
        lines: Iterable[bytes | None],
        take: Callable[[bytes | None], bool],
        workers: Workers,
        at_end: Callable[[], None],
    ) -> None:
        self._lines = iter(lines)
        self._take = take
        self._workers = workers
        self._at_end = at_end
        self._lock = allocate_lock()
        self._turn = 0
        self._begun = 0
        self._busy = False
        self._has_slow_call = False
        self._watched = False
        self._resting = False
        self._bell = _closed_lock()
        self._ended = _closed_lock()

    def run(self) -> None:
        """Read until the input ends, in this thread or in one that took over."""
        self._read()
        self._ended.acquire()

    def run_call(self, job: Callable[[], None]) -> bool:
        """Run a call that was just read; False when it must be refused."""
        if self._has_slow_call:
            return self._workers.submit(job)
        self._call_watcher()
        turn = self._turn
        self._begun += 1
        self._busy = True
        try:
            job()
        finally:
            with self._lock:
                if self._turn == turn:
                    self._busy = False
                else:
                    self._has_slow_call = False
        return True

    def _read(self) -> None:
        turn = self._turn
        try:
            for line in self._lines:
                if not self._take(line):
                    break
                if self._turn != turn:
                    return
        finally:
            if self._turn == turn:
                self._end()

    def _end(self) -> None:
        # By the thread that read the end: the first one may still run a slow call.
        try:
            self._at_end()
        finally:
            self._ended.release()

    def _call_watcher(self) -> None:
        if not self._watched:
            self._watched = True
            start_thread(self._watch)
        elif self._resting:
            self._resting = False
            self._bell.release()

    def _watch(self) -> None:
        quiet = 0
        while True:
            seen = self._begun
            sleep(PATIENCE_SECONDS)
            if self._take_over(seen):
                start_thread(self._watch)
                self._read()
                return
            quiet = quiet + 1 if self._begun == seen else 0
            if quiet >= _ROUNDS_BEFORE_REST:
                self._rest(seen)
                quiet = 0

    def _take_over(self, seen: int) -> bool:
        with self._lock:
            if not self._busy or self._begun != seen:
                return False
            self._turn += 1
            self._busy = False
            self._has_slow_call = True
            return True

    def _rest(self, seen: int) -> None:
        self._resting = True
        if self._begun == seen and not self._busy:
            self._bell.acquire()
        elif self._resting:
            self._resting = False
        else:
            self._bell.acquire()  # a call rang in between


def _closed_lock() -> LockType:
    lock = allocate_lock()
    lock.acquire()
    return lock
