"""News for open pages as server-sent events: that something changed, and logs as they grow."""

from __future__ import annotations

import asyncio
import threading
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from starlette.concurrency import run_in_threadpool
from starlette.responses import StreamingResponse

from clew.kit.errors import ClewError
from clew.kit.jsontext import dumps
from clew.web.access import still_allowed
from clew.web.site import site_of
from clew.web.views.cards import last_log_line, open_runs
from clew.web.views.fleet import read_fleet
from clew.web.views.spec import log_part

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from starlette.requests import Request
    from starlette.responses import Response

    from clew.kit.paths import ProjectPaths
    from clew.specs.store.store import SpecStore
    from clew.web.site import Site

LOOK_SECONDS = 0.4
_RECONCILE_SECONDS = 3.0
_PING_SECONDS = 15.0
_LOG_LINES = 500
_MOST_WAITING = 100
_FLEET_SECONDS = 3.0  # a lease ends without a word


class Hub:
    """Looks at the project for all open pages together, as long as there are any."""

    def __init__(self, site: Site) -> None:
        self._site = site
        self._queues: set[asyncio.Queue[dict[str, Any] | None]] = set()
        self._task: asyncio.Task[None] | None = None
        self.is_closed = False  # the server stops
        self._looked = asyncio.Event()
        self._state: object = None
        self._lines: dict[str, str] = {}
        self._next_reconcile = 0.0

    async def join(self) -> asyncio.Queue[dict[str, Any] | None]:
        """A queue of what happens after this returns; None is its end."""
        queue: asyncio.Queue[dict[str, Any] | None] = asyncio.Queue(_MOST_WAITING)
        self._queues.add(queue)
        if self.is_closed:
            queue.put_nowait(None)
        elif self._task is None or self._task.done():
            self._looked.clear()
            self._task = asyncio.create_task(self._look())
        try:
            if not self.is_closed:
                await self._looked.wait()
        except asyncio.CancelledError:
            self.leave(queue)
            raise
        return queue

    def leave(self, queue: asyncio.Queue[dict[str, Any] | None]) -> None:
        """The page is gone."""
        self._queues.discard(queue)

    def close(self) -> None:
        """End every stream: the server stops."""
        self.is_closed = True
        for queue in self._queues:
            with suppress(asyncio.QueueFull):
                queue.put_nowait(None)

    async def _look(self) -> None:
        try:
            self._state, self._lines = await run_in_threadpool(self._state_now)
        finally:
            self._looked.set()
        while self._queues and not self.is_closed:
            await asyncio.sleep(LOOK_SECONDS)
            state, lines = await run_in_threadpool(self._state_now)
            if state != self._state:
                self._tell({"event": "changed"})
            if news := {
                name: line for name, line in lines.items() if self._lines.get(name) != line
            }:
                self._tell({"event": "lines", "lines": news})
            self._state, self._lines = state, lines

    def _tell(self, news: dict[str, Any]) -> None:
        for queue in self._queues:
            with suppress(asyncio.QueueFull):  # a page that does not read gets the next news
                queue.put_nowait(news)

    def _state_now(self) -> tuple[object, dict[str, str]]:
        """What a page shows of specs and runs, short; and the last lines of the logs."""
        try:
            paths = self._site.work()
            self._reconcile(paths)
            generation = self._site.specs().snapshot().generation
            runs = open_runs(paths)
        except ClewError as error:  # the pages themselves show it
            return error.message, {}
        lines = {name: last_log_line(paths, name) for name in runs}
        claims = sorted((run.run_id, run.phase, run.request or "") for run in runs.values())
        return (generation, claims), lines

    def _reconcile(self, paths: ProjectPaths) -> None:
        """Repair orphaned runs, as every command does."""
        from clew.work.runs.repair_on_call import repair_project

        if not self._site.read_only and time.monotonic() >= self._next_reconcile:
            repair_project(paths.root)
            self._next_reconcile = time.monotonic() + _RECONCILE_SECONDS


class FleetWatch:
    """Wakes open pages about the fleet when the database says that something changed there."""

    def __init__(self, site: Site) -> None:
        self._team = site.team
        self._pages: set[asyncio.Event] = set()
        self._thread: threading.Thread | None = None

    def join(self) -> asyncio.Event:
        """Set whenever something may have changed."""
        event = asyncio.Event()
        self._pages.add(event)
        if self._thread is None or not self._thread.is_alive():
            loop = asyncio.get_running_loop()
            self._thread = threading.Thread(target=self._listen, args=(loop,), daemon=True)
            self._thread.start()
        return event

    def leave(self, event: asyncio.Event) -> None:
        """The page is gone."""
        self._pages.discard(event)

    def _listen(self, loop: asyncio.AbstractEventLoop) -> None:
        assert self._team is not None
        with self._team.orders() as orders:
            for _ in orders.changes(_FLEET_SECONDS):
                if not self._pages or loop.is_closed():
                    return
                loop.call_soon_threadsafe(self._wake)

    def _wake(self) -> None:
        for event in self._pages:
            event.set()


async def board_events(request: Request) -> Response:
    """Tell the board when to look again."""
    return _stream(_events(request))


async def spec_events(request: Request) -> Response:
    """Send a spec's page its log from an offset on, and when to look again."""
    store = await run_in_threadpool(request.app.state.site.specs)
    offset = request.query_params.get("offset", "")
    start = int(offset) if offset.isdecimal() and len(offset) < 16 else 0
    return _stream(_events(request, (store, request.path_params["spec_id"], start)))


async def fleet_events(request: Request) -> Response:
    """Tell a page about the fleet when what its visitor sees there has changed."""
    return _stream(_fleet_events(request))


async def _fleet_events(request: Request) -> AsyncIterator[str]:
    watch: FleetWatch = request.app.state.fleet
    hub: Hub = request.app.state.hub
    changed, shown = watch.join(), None
    try:
        yield _event("hello", {})
        while not hub.is_closed and await still_allowed(request):
            with suppress(ClewError):  # the database is away: the page itself shows it
                now = (await run_in_threadpool(read_fleet, site_of(request))).fingerprint()
                if shown not in (None, now):
                    yield _event("changed", {})
                shown = now
            with suppress(TimeoutError):
                await asyncio.wait_for(changed.wait(), _FLEET_SECONDS)
            changed.clear()
            yield ": still here\n\n"
    finally:
        watch.leave(changed)


def _stream(events: AsyncIterator[str]) -> Response:
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    return StreamingResponse(events, media_type="text/event-stream", headers=headers)


async def _events(
    request: Request, followed: tuple[SpecStore, str, int] | None = None
) -> AsyncIterator[str]:
    """What happens; of a spec that is followed, its log from an offset on."""
    hub: Hub = request.app.state.hub
    queue = await hub.join()
    next_ping = time.monotonic() + _PING_SECONDS
    try:
        yield _event("hello", {})
        while await still_allowed(request):
            if followed is not None:
                store, spec_id, offset = followed
                text, offset = await run_in_threadpool(log_part, store, spec_id, _LOG_LINES, offset)
                followed = store, spec_id, offset
                if text:
                    yield _event("log", {"text": text, "offset": offset})
            with suppress(TimeoutError):
                patience = LOOK_SECONDS if followed is not None else _PING_SECONDS
                news = await asyncio.wait_for(queue.get(), patience)
                if news is None or not await still_allowed(request):
                    return
                if followed is None or news["event"] == "changed":
                    yield _event(news["event"], news)
            if time.monotonic() >= next_ping:
                next_ping = time.monotonic() + _PING_SECONDS
                yield ": still here\n\n"
    finally:
        hub.leave(queue)


def _event(name: str, data: dict[str, Any]) -> str:
    return f"event: {name}\ndata: {dumps(data)}\n\n"
