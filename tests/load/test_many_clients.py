"""Many clients on one index while it is synced: no error, no lock to be seen, and the times told."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import threading
import time
from contextlib import ExitStack, contextmanager
from pathlib import Path

import psutil
import pytest
from benchmarks.measurement.sampling import percentile

from clew.history.store.sqlite import SqliteHistory
from clew.history.sync.repositories import register
from tests.history.index import content, new_index
from tests.load.clients import calls, message
from tests.support.client import COMMITMUX, WAIT_SECONDS, StdioServer
from tests.support.http import face_http, http_server
from tests.support.proof import amount
from tests.support.repos import generate

SECONDS = amount(4, 30)
HTTP_CLIENTS = 64
STDIO_SERVERS = 16
PATIENCE = 60
ROOT = Path(__file__).parents[2]
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


@contextmanager
def syncing(index, record_property):
    """Commits and syncs during the block; afterwards the index is that of a quiet sync."""
    path, repository = index
    words = [sys.executable, "-c", SYNC, path, repository.path, str(SECONDS)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, cwd=ROOT, env=os.environ) as process:
        yield
        made = int(process.communicate(timeout=SECONDS + PATIENCE)[0])
    assert made > 0
    record_property("load", f"synced meanwhile: {made} commits")
    assert_complete(path, repository)


def told(name, times):
    """The times of many calls in one line."""
    spread = ", ".join(f"p{p} {percentile(times, p) * 1000:.0f} ms" for p in (50, 95, 99))
    return f"{name}: {len(times)} calls, {len(times) / SECONDS:.0f} a second, {spread}"


def processor(process):
    """What a process and its children have taken so far."""
    taken = [one.cpu_times() for one in (process, *process.children())]
    return [one.user + one.system for one in taken]


@pytest.mark.parametrize("workers", ["1", "2"])
def test_http_clients_during_a_sync(index, private_home, record_property, workers):
    command = face_http("commitmux", "serve", "--workers", workers)
    with http_server(command) as server:
        token = (private_home / ".clew" / "secrets" / "http-token").read_text().strip()
        place = (server.address.hostname, str(server.address.port), token)
        words = [sys.executable, "-m", "tests.load.clients", *place]
        subprocess.run([*words, "4", "0.1"], cwd=ROOT, check=True, capture_output=True)
        process = psutil.Process(server.process.pid)
        with syncing(index, record_property):
            before = processor(process)
            done = subprocess.run(
                [*words, str(HTTP_CLIENTS), str(SECONDS)], cwd=ROOT, check=True, capture_output=True
            )
            after = processor(process)
    said = json.loads(done.stdout)
    assert said["wrong"] == []
    assert len(said["times"]) >= HTTP_CLIENTS
    each = 1000 / len(said["times"])
    front = (after[0] - before[0]) * each
    helpers = (sum(after[1:]) - sum(before[1:])) * each
    record_property("load", told(f"{HTTP_CLIENTS} HTTP clients, {workers} workers", said["times"]))
    record_property(
        "load",
        f"processor a call: server {front:.2f} ms, its helpers {helpers:.2f} ms,"
        f" client {said['cpu'] * each:.2f} ms",
    )


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


def check(answer):
    """An answer, and not a refusal of any kind."""
    assert "result" in answer, answer
    assert not answer["result"].get("isError"), answer


def test_stdio_servers_during_a_sync(index, private_home, record_property):
    times, errors = [], []

    def guarded(server, seed, until):
        try:
            ask_by_stdio(server, seed, until, times)
        except BaseException as error:  # noqa: BLE001 - the test shows them all
            errors.append(error)

    with ExitStack() as stack:
        servers = [stack.enter_context(StdioServer(COMMITMUX)) for _ in range(STDIO_SERVERS)]
        for one in servers:  # every server has answered once before times are taken
            one.send(message("first", *next(calls(random.Random(0)))))
        for one in servers:
            check(one.answer_to("first", PATIENCE))
        with syncing(index, record_property):
            until = time.monotonic() + SECONDS
            threads = [
                threading.Thread(target=guarded, args=(server, seed, until))
                for seed, server in enumerate(servers)
            ]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join(SECONDS + PATIENCE + WAIT_SECONDS)
        said = b"".join(one.stderr for one in servers)
    assert errors == []
    assert b"locked" not in said
    assert b"Traceback" not in said
    assert len(times) >= STDIO_SERVERS
    record_property("load", told(f"{STDIO_SERVERS} stdio servers", times))


def assert_complete(path, repository):
    """The index that all of them used is that of a quiet sync."""
    store, clean = SqliteHistory.open(path), SqliteHistory.create(path.with_name("clean"))
    from clew.history.sync.ingest import sync_repo

    sync_repo(store, store.find_repo("r"))
    sync_repo(clean, register(clean, repository.path, name="r"))
    assert content(store) == content(clean)
    store.close()
    clean.close()
