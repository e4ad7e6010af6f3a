"""Helpers: calls that only read run in processes of their own, and no client gets all of them."""

from __future__ import annotations

import os
import signal
import sys
import threading

import psutil
import pytest

from clew.catalog.helpers import Helpers
from clew.kit.call import Call
from clew.kit.errors import Unavailable
from tests.history.index import new_index
from tests.support.http import face_http, http_server
from tests.support.repos import Repository
from tests.support.waiting import wait_until

# Answers with its process id; waits for a file, or ends, where the arguments say so.
SCRIPT = """
import json, os, sys, time
for line in sys.stdin:
    message = json.loads(line)
    given = message["params"]["arguments"]
    if given.get("die") and not os.path.exists(given["die"]):
        open(given["die"], "w").close()
        os._exit(1)
    if given.get("always_die"):
        os._exit(1)
    while "wait_for" in given and not os.path.exists(given["wait_for"]):
        time.sleep(0.01)
    content = [{"type": "text", "text": str(os.getpid())}]
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": {"content": content}}), flush=True)
"""


@pytest.fixture
def helpers():
    made = Helpers([sys.executable, "-c", SCRIPT], 2)
    yield made
    made.end()


def ask(helpers, client, name="x", **arguments):
    call = Call()
    call.client = client
    return helpers.call(name, arguments, call).text


def test_a_slow_client_does_not_get_the_last_helper(helpers, tmp_path):
    gate = tmp_path / "gate"
    slow = [
        threading.Thread(target=ask, args=(helpers, "slow"), kwargs={"wait_for": str(gate)})
        for _ in range(5)
    ]
    for thread in slow:
        thread.start()
    wait_until(lambda: helpers._held["slow"] == 1)
    assert ask(helpers, "quick")
    assert ask(helpers, "other")
    gate.touch()
    for thread in slow:
        thread.join()


def test_heavy_calls_of_many_clients_leave_a_helper_for_the_others(helpers, tmp_path):
    gate = tmp_path / "gate"
    for _ in range(50):
        ask(helpers, "usual")
    helpers._durations.note("heavy", 60.0)
    heavy = [
        threading.Thread(
            target=ask, args=(helpers, f"client {number}", "heavy"), kwargs={"wait_for": str(gate)}
        )
        for number in range(5)
    ]
    for thread in heavy:
        thread.start()
    wait_until(lambda: helpers._heavy == 1 and len(helpers._waiting) == 4)
    assert ask(helpers, "quick")
    gate.touch()
    for thread in heavy:
        thread.join()
    assert helpers._heavy == 0


def test_what_all_calls_take_is_not_heavy(helpers):
    for _ in range(100):
        helpers._durations.note("x", 9.0)
    assert not helpers._durations.is_heavy("x")


def test_a_helper_that_dies_is_replaced_and_asked_again(helpers, tmp_path):
    before = ask(helpers, "a")
    assert ask(helpers, "a", die=str(tmp_path / "died")) != before
    with pytest.raises(Unavailable, match="ended"):
        ask(helpers, "a", always_die=True)
    assert ask(helpers, "a")


@pytest.fixture
def server(tmp_path, private_home):
    repository = Repository(tmp_path / "r")
    repository.commit("Add a needle", {"a.txt": "hay\nneedle\n"})
    new_index(tmp_path / "db", repository).close()
    command = face_http("commitmux", "serve", "--db", str(tmp_path / "db"), "--workers", "2")
    with http_server(command) as running:
        token = private_home / ".clew" / "secrets" / "http-token"
        running.token = token.read_text().strip()
        yield running


def search(server):
    """What the server finds."""
    call = {"name": "commitmux_search", "arguments": {"query": "needle"}}
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}
    status, answer = server.post(body)
    assert status == 200, answer
    return answer["result"]


def test_a_real_server_answers_through_its_helpers_and_takes_them_with_it(server):
    first = search(server)
    assert "Add a needle" in first["content"][0]["text"]
    assert first["structuredContent"]["result"][0]["subject"] == "Add a needle"
    (helper,) = psutil.Process(server.process.pid).children()
    os.kill(helper.pid, signal.SIGKILL)
    assert search(server) == first
    (helper,) = psutil.Process(server.process.pid).children()
    server.process.send_signal(signal.SIGKILL)
    wait_until(lambda: not helper.is_running(), 60)


def test_the_number_of_workers_is_checked():
    import subprocess

    done = subprocess.run(
        face_http("commitmux", "serve", "--workers", "none"),
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 2
    assert "--workers must be from 1 to 64" in done.stderr
