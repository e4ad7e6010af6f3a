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
    """Threads that are started when needed and kept for the next call.

    Where jobs name their client, each client has half of the threads at most. What more it asks
    waits behind its own calls, not in the way of others.
    """

    def __init__(self, threads: int = 16, waiting: int = 512) -> None:
        self._most_threads = threads
        self._most_waiting = waiting
        self._jobs: SimpleQueue[tuple[str, Callable[[], None]]] = SimpleQueue()
        self._lock = allocate_lock()
        self._started = 0
        self._unfinished = 0
        self._active: dict[str, int] = {}
        self._held: dict[str, list[Callable[[], None]]] = {}

    def submit(self, job: Callable[[], None], client: str = "") -> bool:
        """Run the job soon; False when too many are waiting already."""
        with self._lock:
            if self._unfinished >= self._most_threads + self._most_waiting:
                return False
            active = self._active.get(client, 0)
            if client and active >= self._most_threads // 2:
                held = self._held.setdefault(client, [])
                if len(held) >= self._most_waiting // 2:
                    return False
                held.append(job)
                self._unfinished += 1
                return True
            self._active[client] = active + 1
            self._unfinished += 1
            must_start = self._unfinished > self._started and self._started < self._most_threads
            if must_start:
                self._started += 1
        self._jobs.put((client, job))
        if must_start:
            start_thread(self._work)
        return True

    def _work(self) -> None:
        while True:
            client, job = self._jobs.get()
            try:
                job()
            finally:
                del job  # an idle worker holds nothing
                self._finish(client)

    def _finish(self, client: str) -> None:
        """Note that a job is over; the next one of its client takes its turn."""
        with self._lock:
            self._unfinished -= 1
            held = self._held.get(client)
            if held:
                self._jobs.put((client, held.pop(0)))
                return
            self._held.pop(client, None)
            self._active[client] -= 1
            if not self._active[client]:
                del self._active[client]


def start_thread(target: Callable[[], None]) -> None:
    """Start a thread that ends with the process."""
    # Imported late, because it costs more than the rest of a start; and here, in a thread
    # that was started properly, because Python takes its first importer for the main thread.
    import threading

    threading.Thread(target=target, daemon=True).start()
