"""Many clients on one index while it is synced: no error, no lock to be seen, and the times told."""

from __future__ import annotations

import http.client
import json
import os
import random
import subprocess
import sys
import threading
import time
from contextlib import ExitStack
from pathlib import Path

import pytest
from benchmarks.measurement.sampling import percentile

from clew.history.store.sqlite import SqliteHistory
from clew.history.sync.repositories import register
from tests.history.index import content, new_index
from tests.support.client import COMMITMUX, WAIT_SECONDS, StdioServer
from tests.support.http import face_http, http_server
from tests.support.proof import amount
from tests.support.repos import generate

SECONDS = amount(5, 60)
HTTP_CLIENTS = 64
STDIO_SERVERS = 16
PATIENCE = 60
# Commits for as long as it is let, and syncs after each batch.
SYNC = """
import sys, time
from pathlib import Path
from clew.history.sync.ingest import sync_repo
from clew.history.store.sqlite import SqliteHistory
from tests.support.repos import Repository
store = SqliteHistory.open(Path(sys.argv[1]))
repository, until, number = Repository(sys.argv[2]), time.monotonic() + float(sys.argv[3]), 0
while time.monotonic() < until:
    for _ in range(5):
        number += 1
        repository.commit(f"Later change {number}", {f"later{number % 9}.txt": f"word {number}"})
    for repo in store.repos():
        assert not sync_repo(store, repo).problems
print(number)
"""


@pytest.fixture
def index(tmp_path, monkeypatch):
    """An index of a repository that goes on growing."""
    repository = generate(tmp_path / "r", amount(300, 2000))
    new_index(tmp_path / "db", repository).close()
    monkeypatch.setenv("COMMITMUX_DB", str(tmp_path / "db"))
    return tmp_path / "db", repository


def calls(dice):
    """Endless calls of the four tools, as an agent makes them."""
    while True:
        yield "commitmux_search", {"query": f"word{dice.randrange(200)}", "limit": 10}
        yield "commitmux_search", {"query": f"part{dice.randrange(50)} number*"}
        yield "commitmux_touches", {"path_glob": f"file{dice.randrange(40)}.txt"}
        yield "commitmux_search", {"query": "later change"}


def message(number, name, arguments):
    """One call on the wire."""
    params = {"name": name, "arguments": arguments}
    return {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}


def check(answer):
    """An answer, and not a refusal of any kind."""
    assert "result" in answer, answer
    assert not answer["result"].get("isError"), answer


def ask_by_http(server, seed, until, times):
    """One client: a connection that stays open, one call after the other."""
    connection = http.client.HTTPConnection(
        server.address.hostname, server.address.port, timeout=PATIENCE
    )
    headers = {"Content-Type": "application/json", "Authorization": f"Bearer {server.token}"}
    for number, (name, arguments) in enumerate(calls(random.Random(seed))):
        if time.monotonic() > until:
            break
        begun = time.monotonic()
        body = json.dumps(message(number, name, arguments))
        connection.request("POST", server.address.path, body, headers)
        response = connection.getresponse()
        data = response.read()
        times.append(time.monotonic() - begun)
        assert response.status == 200, data
        check(json.loads(data))
    connection.close()


def ask_by_stdio(server, seed, until, times):
    """One client of a server of its own."""
    for number, (name, arguments) in enumerate(calls(random.Random(seed))):
        if time.monotonic() > until:
            break
        begun = time.monotonic()
        server.send(message(number, name, arguments))
        answer = server.answer_to(number, PATIENCE)
        times.append(time.monotonic() - begun)
        check(answer)


def start_all(ask, servers, until, times, errors):
    """A thread for each client."""

    def guarded(server, seed):
        try:
            ask(server, seed, until, times)
        except BaseException as error:  # noqa: BLE001 - the test shows them all
            errors.append(error)

    threads = [
        threading.Thread(target=guarded, args=(server, seed)) for seed, server in enumerate(servers)
    ]
    for thread in threads:
        thread.start()
    return threads


def told(name, times):
    """The times of many calls in one line."""
    spread = ", ".join(f"p{p} {percentile(times, p) * 1000:.0f} ms" for p in (50, 95, 99))
    return f"{name}: {len(times)} calls, {len(times) / SECONDS:.0f} a second, {spread}"


def test_http_clients_and_stdio_servers_during_a_sync(index, private_home, record_property):
    path, repository = index
    by_http, by_stdio, errors = [], [], []
    with ExitStack() as stack:
        server = stack.enter_context(http_server(face_http("commitmux", "serve")))
        server.token = (private_home / ".clew" / "secrets" / "http-token").read_text().strip()
        servers = [stack.enter_context(StdioServer(COMMITMUX)) for _ in range(STDIO_SERVERS)]
        syncing = stack.enter_context(
            subprocess.Popen(
                [sys.executable, "-c", SYNC, path, repository.path, str(SECONDS)],
                stdout=subprocess.PIPE,
                cwd=Path(__file__).parents[2],
                env=os.environ,
            )
        )
        for one in servers:  # every server has answered once before times are taken
            one.send(message("first", *next(calls(random.Random(0)))))
        for one in servers:
            check(one.answer_to("first", PATIENCE))
        ask_by_http(server, 0, time.monotonic() + 0.1, [])
        until = time.monotonic() + SECONDS
        threads = start_all(ask_by_http, [server] * HTTP_CLIENTS, until, by_http, errors)
        threads += start_all(ask_by_stdio, servers, until, by_stdio, errors)
        for thread in threads:
            thread.join(SECONDS + PATIENCE + WAIT_SECONDS)
        made = int(syncing.communicate(timeout=PATIENCE)[0])
        said = b"".join(one.stderr for one in servers)
    assert errors == []
    assert b"locked" not in said
    assert b"Traceback" not in said
    assert made > 0
    assert len(by_http) >= HTTP_CLIENTS
    assert len(by_stdio) >= STDIO_SERVERS
    assert_complete(path, repository)
    record_property("load", told(f"{HTTP_CLIENTS} HTTP clients", by_http))
    record_property("load", told(f"{STDIO_SERVERS} stdio servers", by_stdio))
    record_property("load", f"synced meanwhile: {made} commits")


def assert_complete(path, repository):
    """The index that all of them used is that of a quiet sync."""
    store, clean = SqliteHistory.open(path), SqliteHistory.create(path.with_name("clean"))
    from clew.history.sync.ingest import sync_repo

    sync_repo(store, store.find_repo("r"))
    sync_repo(clean, register(clean, repository.path, name="r"))
    assert content(store) == content(clean)
    store.close()
    clean.close()
