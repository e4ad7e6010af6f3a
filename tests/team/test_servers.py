"""Servers without state: the requests of one client go to whichever server, in turn."""

from __future__ import annotations

import itertools
import json
import signal
from contextlib import ExitStack, closing

import pytest

from clew.protocol.http.callers import Caller
from clew.protocol.http.sessions import Sessions
from clew.team.database import Database, migrate
from clew.team.servers.sessions import PostgresSessions
from clew.team.servers.shared_secret import shared_secret
from clew.team.servers.tasks import PostgresTasks
from tests.protocol.test_http import PING, initialize
from tests.support.client import TASKS
from tests.support.http import (
    EVERYTHING_HTTP,
    connection_closing,
    face_http,
    http_server,
    stream_messages,
)
from tests.support.waiting import wait_until

CAPABLE = {"elicitation": {}, "extensions": {TASKS: {}}}


@pytest.fixture
def address(team_database):
    with closing(Database(team_database)) as database:
        migrate(database)
    return team_database


@pytest.fixture
def pair(address):
    """Two servers on one database."""
    with ExitStack() as opened:
        command = (*EVERYTHING_HTTP, "--database", address)
        yield tuple(opened.enter_context(http_server(command)) for _ in range(2))


def state_of(server, task_id):
    return server.modern("tasks/get", CAPABLE, taskId=task_id)[1]["result"]


def test_a_session_is_known_to_both(pair):
    one, two = pair
    session = initialize(one)
    note = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    assert two.send("POST", note, session)[0] == 202
    for server, _ in zip(itertools.cycle(pair), range(6), strict=False):
        status, answer = server.post({**PING, "method": "tools/list"}, session)
        assert (status, "resultType" in answer["result"]) == (200, False)
    assert two.send("DELETE", headers=session)[0] == 204
    assert one.post(PING, session)[0] == 404
    assert one.send("DELETE", headers=session)[0] == 404


def test_an_answer_to_the_other_servers_question_reaches_it(pair):
    one, two = pair
    session = initialize(two, elicitation={})
    params = {"name": "test_input_required_result_elicitation", "arguments": {}}
    call = {"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params}
    connection, response = one.open("POST", call, session)
    with connection_closing(connection):
        events = stream_messages(iter(response.readline, b""))
        question = next(events)
        reply = {"action": "accept", "content": {"name": "Alice"}}
        answer = {"jsonrpc": "2.0", "id": question["id"], "result": reply}
        assert two.send("POST", answer, session)[0] == 202
        assert next(events)["result"]["content"][0]["text"] == "Hello, Alice!"


def test_a_stream_carries_what_the_other_server_has_to_say(pair):
    one, two = pair
    session = initialize(one)
    connection, response = one.open("GET", headers=session)
    with connection_closing(connection):
        call = {"name": "test_trigger_tool_change", "arguments": {}}
        two.post({**PING, "method": "tools/call", "params": call}, session)
        note = next(stream_messages(iter(response.readline, b"")))
        assert note["method"] == "notifications/tools/list_changed"


def test_state_that_one_sealed_the_other_opens(pair):
    one, two = pair
    name = "test_input_required_result_elicitation"
    asked = one.modern("tools/call", CAPABLE, name=name, arguments={})[1]["result"]
    answers = {"user_name": {"action": "accept", "content": {"name": "Bob"}}}
    given = {"inputResponses": answers, "requestState": asked["requestState"]}
    done = two.modern("tools/call", CAPABLE, name=name, arguments={}, **given)[1]["result"]
    assert done["content"][0]["text"] == "Hello, Bob!"


def test_a_task_is_followed_and_cancelled_anywhere(pair):
    one, two = pair
    words = {"name": "slow_compute", "arguments": {"seconds": 0.3}}
    task_id = one.modern("tools/call", CAPABLE, **words)[1]["result"]["taskId"]
    wait_until(lambda: state_of(two, task_id)["status"] == "completed")
    assert state_of(one, task_id)["status"] == "completed"

    words["arguments"]["seconds"] = 600
    long = one.modern("tools/call", CAPABLE, **words)[1]["result"]["taskId"]
    two.modern("tasks/cancel", CAPABLE, taskId=long)
    assert state_of(one, long)["status"] == "cancelled"


def test_a_killed_servers_task_is_told_to_be_interrupted_by_the_other(pair):
    one, two = pair
    words = {"name": "slow_compute", "arguments": {"seconds": 600}}
    task_id = one.modern("tools/call", CAPABLE, **words)[1]["result"]["taskId"]
    assert state_of(two, task_id)["status"] == "working"
    session = initialize(one)
    one.process.send_signal(signal.SIGKILL)
    wait_until(lambda: state_of(two, task_id)["status"] == "failed", limit=60)
    assert two.post(PING, session)[0] == 200


def test_a_conversation_goes_on_at_the_other_server(address, private_home, tmp_path):
    places = {"CLEW_HOME": str(tmp_path / "a")}, {"CLEW_HOME": str(tmp_path / "b")}
    options = ("--no-auth", "--project", str(tmp_path), "--database", address)
    command = face_http("clariad", "serve", *options)
    with http_server(command, places[0]) as one, http_server(command, places[1]) as two:

        def say(server, text):
            params = {
                "name": "vision_agent",
                "arguments": {"project_description": text, "conversation_id": "c"},
            }
            body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
            return server.post(body)[1]["result"]

        first = say(one, "A board for tram drivers. Goal: fewer late trams.")
        assert not first.get("isError"), first
        second = say(two, "Budget is 40,000 euro.")
        assert "tram" in json.dumps(second)
        assert "40,000" in json.dumps(second)


@pytest.fixture(params=["memory", "postgresql"])
def books(request):
    """What gives each server its sessions."""
    if request.param == "memory":
        yield lambda: None
        return
    address = request.getfixturevalue("address")
    with ExitStack() as opened:
        yield lambda: opened.enter_context(closing(PostgresSessions(address)))


def test_sessions_of_every_kind(books):
    sessions = Sessions(books())
    me = Caller("me")
    made = sessions.create(me)
    made.connection.version, made.connection.log_level = "2025-06-18", "error"
    made.connection.subscribed.add("x:1")
    sessions.keep(made)
    found = sessions.find(made.id, me)
    assert found is made
    assert (found.connection.version, found.connection.log_level) == ("2025-06-18", "error")
    assert found.connection.subscribed == {"x:1"}
    heard = []
    found.connection.send({"n": 1})
    assert found.attach(heard.append)
    found.connection.send({"n": 2})
    assert heard == [{"n": 1}, {"n": 2}]
    assert not found.attach(heard.append)
    assert sessions.find("another", me) is None
    assert sessions.find(made.id, Caller("somebody else")) is None
    assert sessions.end(made.id)
    assert heard[-1] is None
    assert (sessions.find(made.id, me), sessions.end(made.id)) == (None, False)


@pytest.fixture(params=["sqlite", "postgresql"])
def task_stores(request, tmp_path):
    """What opens a store of tasks as another server would."""
    from clew.protocol.kernel.task_store import SqliteTasks

    if request.param == "sqlite":
        make = lambda: SqliteTasks(tmp_path)  # noqa: E731
    else:
        address = request.getfixturevalue("address")
        make = lambda: PostgresTasks(address, alive_seconds=6)  # noqa: E731
    with ExitStack() as opened:
        yield lambda: opened.enter_context(closing(make()))


def test_stores_of_tasks_of_every_kind(task_stores):
    one, two = task_stores(), task_stores()
    asked = {"a": {}, "b": {}}
    state = {"taskId": "t", "status": "input_required", "inputRequests": asked}
    one.create(state, {"answers": {}, "text": "nul \x00"}, "me")
    assert two.read("t") == (state, {"answers": {}, "text": "nul \x00"})
    assert two.answer("t", {"c": {}}) is None
    half = two.answer("t", {"a": {"n": 1}})
    assert half[0] == {"taskId": "t", "status": "input_required", "inputRequests": {"b": {}}}
    whole = one.answer("t", {"b": {"n": 2}})
    assert whole[0] == {"taskId": "t", "status": "working"}
    assert two.read("t")[1]["answers"] == {"a": {"n": 1}, "b": {"n": 2}}
    assert two.write({"taskId": "t", "status": "completed", "result": 1})
    assert not one.write({"taskId": "t", "status": "cancelled"})
    assert one.read("t")[0]["result"] == 1
    assert not one.write({"taskId": "unknown", "status": "working"})


def test_the_secret_is_one(address):
    assert shared_secret(address, "a") == shared_secret(address, "a") != shared_secret(address, "b")
