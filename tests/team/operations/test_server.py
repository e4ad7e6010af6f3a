"""What an operator sees of a server: whether it is well, its figures, and its log."""

from __future__ import annotations

import json
import socket
from contextlib import ExitStack, closing
from urllib.parse import urlsplit
from urllib.request import urlopen

import pytest

from clew.kit.errors import Unavailable
from clew.team.database import Database, migrations
from clew.team.operations.metrics import Metrics
from clew.team.operations.state import TeamState
from tests.support.client import WAIT_SECONDS
from tests.support.issuer import running_issuer
from tests.support.postgres import free_port
from tests.team.identity.conftest import running_team
from tests.team.test_visibility import MARK

HALF_OPEN = 600  # more than one address may have, whatever the system's limit


@pytest.fixture(scope="module")
def running(postgres, tmp_path_factory):
    """A server with metrics and a log for programs."""
    port = free_port()
    options = ("--metrics-port", str(port), "--log-format", "json")
    with (
        running_issuer() as issuer,
        running_team(postgres, tmp_path_factory.mktemp("team"), issuer, *options) as team,
    ):
        team.metrics = f"http://127.0.0.1:{port}/metrics"
        yield team


def figures(team):
    with urlopen(team.metrics, timeout=WAIT_SECONDS) as answer:
        text = answer.read().decode()
    lines = (line for line in text.splitlines() if not line.startswith("#"))
    return {name: float(value) for name, value in (line.rsplit(" ", 1) for line in lines)}


def test_it_says_that_it_lives_and_is_ready(running):
    for path, said in (("/healthz", "ok"), ("/health", "ok"), ("/readyz", "ready")):
        status, _, body = running.server.send("GET", path=path)
        assert (status, json.loads(body)["status"]) == (200, said)
        assert running.server.send("POST", {}, path=path)[0] == 405


def test_it_is_not_ready_for_a_schema_that_it_does_not_know(running):
    with closing(Database(running.address)) as database:
        database.run("UPDATE clew_schema SET version = 1")
        status, _, body = running.server.send("GET", path="/readyz")
        database.run("UPDATE clew_schema SET version = %s", (len(migrations()),))

    assert status == 503
    assert "schema 1" in json.loads(body)["reason"]
    assert running.server.send("GET", path="/readyz")[0] == 200
    assert running.server.send("GET", path="/healthz")[0] == 200


def test_its_figures_count_requests_tools_and_the_work_that_waits(running):
    before = figures(running)
    assert running.call(running.token(), "commitmux_list_repos")[0] == 200
    assert running.call("nonsense", "commitmux_list_repos")[0] == 401
    after = figures(running)

    called = 'clew_tool_calls_total{outcome="done",tool="commitmux_list_repos"}'
    for name in (called, 'clew_requests_total{status="200"}', 'clew_requests_total{status="401"}'):
        assert after[name] - before.get(name, 0) == 1
    assert after['clew_tool_seconds_count{tool="commitmux_list_repos"}'] >= 1
    assert after["clew_database_up"] == 1
    assert after["clew_repositories"] == 2
    assert after["clew_repositories_failing"] == 2
    assert after["clew_index_age_seconds"] > 0
    assert after['clew_orders{state="leased"}'] == 0
    told = " ".join(after)
    assert MARK not in told
    assert "secret" not in told


def test_silent_connections_do_not_keep_the_figures_from_others(running):
    address = urlsplit(running.metrics)
    with ExitStack() as held:
        silent = [
            held.enter_context(
                socket.create_connection((address.hostname, address.port), timeout=WAIT_SECONDS)
            )
            for _ in range(HALF_OPEN)
        ]
        assert figures(running)["clew_database_up"] == 1
        assert silent[0].recv(1) == b""  # the oldest made room


def test_a_port_of_figures_that_is_taken_is_named(running):
    with pytest.raises(Unavailable, match=r"Cannot listen on 127\.0\.0\.1:\d+") as error:
        Metrics(TeamState(running.address)).serve("127.0.0.1", str(urlsplit(running.metrics).port))
    assert "--metrics-port" in str(error.value.hint)


def test_its_log_is_one_object_on_each_line(postgres, tmp_path):
    with (
        running_issuer() as issuer,
        running_team(postgres, tmp_path, issuer, "--log-format", "json") as team,
    ):
        team.call(team.token(), "commitmux_list_repos")
        team.server.process.terminate()
        lines = [json.loads(line) for line in team.server.process.stderr]

    asked = next(line for line in lines if line.get("tool"))
    assert (asked["event"], asked["method"], asked["status"]) == ("request", "tools/call", 200)
    assert asked["tool"] == "commitmux_list_repos"
    assert asked["caller"] == "eve@example.com (u-1)"
    assert asked["seconds"] > 0
    assert {"time", "event"} <= set.intersection(*(set(line) for line in lines))
