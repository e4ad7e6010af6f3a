"""A bounded pool of threads: slow calls never block quick ones, floods are refused."""

from __future__ import annotations

from _thread import allocate_lock

try:
    from _queue import SimpleQueue  # `queue` would bring `threading` along
except ImportError:
    from queue import SimpleQueue

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable


class Workers:
    """Threads that are started when needed and kept for the next call."""

    def __init__(self, threads: int = 16, waiting: int = 512) -> None:
        self._most_threads = threads
        self._most_waiting = waiting
        self._jobs: SimpleQueue[Callable[[], None]] = SimpleQueue()
        self._lock = allocate_lock()
        self._started = 0
        self._unfinished = 0

    def submit(self, job: Callable[[], None]) -> bool:
        """Run the job soon; False when too many are waiting already."""
        with self._lock:
            if self._unfinished >= self._most_threads + self._most_waiting:
                return False
            self._unfinished += 1
            must_start = self._unfinished > self._started and self._started < self._most_threads
            if must_start:
                self._started += 1
        self._jobs.put(job)
        if must_start:
            start_thread(self._work)
        return True

    def _work(self) -> None:
        while True:
            job = self._jobs.get()
            try:
                job()
            finally:
                del job  # an idle worker holds nothing
                with self._lock:
                    self._unfinished -= 1


def start_thread(target: Callable[[], None]) -> None:
    """Start a thread that ends with the process."""
    # Imported late, because it costs more than the rest of a start; and here, in a thread
    # that was started properly, because Python takes its first importer for the main thread.
    import threading

    threading.Thread(target=target, daemon=True).start()
