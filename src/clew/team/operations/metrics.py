"""What a server or a worker measures, for Prometheus; on a port of its own, which is not for people."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator

import uvicorn
from prometheus_client import CollectorRegistry, Counter, Histogram, make_asgi_app
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from clew.kit.errors import ClewError
from clew.protocol.http.server import door
from clew.protocol.http.token import open_listener
from clew.team.operations.state import TeamState

_GRACE_SECONDS = 1
_BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)


class _DatabaseFigures(Collector):
    """Asked of the database when somebody asks for metrics; `clew_database_up` says if it answered."""

    def __init__(self, state: TeamState) -> None:
        self._state = state
        self._lock = threading.Lock()

    def collect(self) -> Iterable[Metric]:
        """The figures now."""
        with self._lock:
            try:
                found = list(self._figures())
            except ClewError:
                found = []
        yield GaugeMetricFamily(
            "clew_database_up", "Whether the database answers.", value=float(bool(found))
        )
        yield from found

    def _figures(self) -> Iterator[Metric]:
        jobs = GaugeMetricFamily("clew_queue_jobs", "Jobs of a queue.", labels=["queue", "state"])
        waits = GaugeMetricFamily(
            "clew_queue_oldest_seconds", "How long the oldest job waits.", labels=["queue"]
        )
        for one in self._state.backlog():
            jobs.add_metric([one.queue, one.state], one.jobs)
            if one.state == "todo":
                waits.add_metric([one.queue], one.oldest)
        orders = GaugeMetricFamily("clew_orders", "Orders; lost ones wait for another worker.",
                                   labels=["state"])  # fmt: skip
        for state, count in self._state.orders().items():
            orders.add_metric([state], count)
        index = self._state.index()
        yield from (jobs, waits, orders)
        for name, text, value in (
            ("clew_repositories", "Repositories of the index.", index.repositories),
            ("clew_repositories_unsynced", "Never synced.", index.never_synced),
            ("clew_repositories_failing", "Whose last sync failed.", index.failing),
            ("clew_index_age_seconds", "Since the sync that is longest ago.", index.oldest),
        ):
            yield GaugeMetricFamily(name, text, value=value)


class Metrics:
    """The figures of one process, and of the database it works on."""

    def __init__(self, state: TeamState) -> None:
        self.registry = CollectorRegistry()
        self.registry.register(_DatabaseFigures(state))
        self._requests = Counter(
            "clew_requests", "Requests over HTTP.", ["status"], registry=self.registry
        )
        self._request_seconds = Histogram(
            "clew_request_seconds", "How long they took.", buckets=_BUCKETS, registry=self.registry
        )
        self._calls = Counter(
            "clew_tool_calls", "Calls of tools.", ["tool", "outcome"], registry=self.registry
        )
        self._call_seconds = Histogram(
            "clew_tool_seconds", "How long they took.", ["tool"], buckets=_BUCKETS,
            registry=self.registry,
        )  # fmt: skip

    def request(self, status: int, seconds: float) -> None:
        """Count a request."""
        self._requests.labels(str(status)).inc()
        self._request_seconds.observe(seconds)

    def call(self, tool: str, outcome: str, seconds: float) -> None:
        """Count a call."""
        self._calls.labels(tool, outcome).inc()
        self._call_seconds.labels(tool).observe(seconds)

    def serve(self, host: str, port: str) -> None:
        """Answer Prometheus from now on, with the limits that every server of ours has."""
        listener = open_listener(host, port, "--metrics-port")
        server = uvicorn.Server(door(make_asgi_app(self.registry), _GRACE_SECONDS))
        threading.Thread(target=server.run, args=([listener],), daemon=True).start()
