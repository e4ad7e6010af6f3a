"""HTTP: who may speak, what is refused, both eras, streams, and a clean end."""

from __future__ import annotations

import json
import signal
import subprocess
from http.client import HTTPConnection

import pytest

from tests.support.client import TASKS, WAIT_SECONDS, modern
from tests.support.http import (
    EVERYTHING_HTTP,
    connection_closing,
    face_http,
    http_server,
    modern_headers,
    raw_connection,
    raw_post,
    received,
    stream_messages,
)
from tests.support.waiting import wait_until

PING = {"jsonrpc": "2.0", "id": 1, "method": "ping"}


@pytest.fixture(scope="module")
def everything():
    with http_server(EVERYTHING_HTTP) as server:
        yield server


@pytest.fixture
def guarded(private_home):
    with http_server(face_http()) as server:
        server.token_file = private_home / ".clew" / "secrets" / "http-token"
        yield server


def test_a_token_is_needed_and_made_for_the_owner_only(guarded):
    assert guarded.post(PING)[0] == 401
    assert guarded.send("POST", PING)[1]["www-authenticate"].startswith("Bearer")
    for wrong in ("Bearer x", "Basic abc", "Bearer", "é"):
        assert guarded.post(PING, {"Authorization": wrong.encode().decode("latin-1")})[0] == 401
    assert guarded.token_file.stat().st_mode & 0o777 == 0o600
    guarded.token = guarded.token_file.read_text(encoding="utf-8").strip()
    assert len(guarded.token) >= 40
    assert guarded.post(PING) == (200, {"jsonrpc": "2.0", "id": 1, "result": {}})


def test_the_token_is_shown_once_and_then_kept(private_home):
    with http_server(face_http()) as server:
        pass
    token = (private_home / ".clew/secrets/http-token").read_text(encoding="utf-8").strip()
    with http_server(face_http()) as server:
        server.token = token
        assert server.post(PING)[0] == 200


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--port", "99999"), "Not a port"),
        (("--port", "x"), "Not a port"),
        (("--no-auth", "--host", "0.0.0.0"), "this machine only"),
        (("--host", "192.0.2.1"), "Cannot listen"),
    ],
)
def test_wrong_options_say_what_to_do(options, words):
    done = subprocess.run(
        (*face_http()[:3], *options),
        capture_output=True,
        text=True,
        timeout=WAIT_SECONDS,
        check=False,
    )
    assert done.returncode in (1, 2)
    assert words in done.stderr
    assert "Traceback" not in done.stderr


def test_a_token_that_others_can_read_is_refused(tmp_path):
    token = tmp_path / "token"
    token.write_text("secret\n", encoding="utf-8")
    token.chmod(0o644)
    done = subprocess.run(
        face_http("clariad", "serve", "--token-file", str(token)),
        capture_output=True,
        text=True,
        timeout=WAIT_SECONDS,
        check=False,
    )
    assert done.returncode == 1
    assert "chmod 600" in done.stderr


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example", "", "[::1"])
def test_unknown_hosts_are_refused(everything, host):
    assert everything.post(PING, {"Host": host})[0] == 403
    assert everything.send("GET", path="/health", headers={"Host": host})[0] == 403


@pytest.mark.parametrize(
    ("origin", "status"),
    [
        ("http://evil.example", 403),
        ("null", 403),
        ("http://localhost:{port}", 200),
        ("http://127.0.0.1:{port}", 200),
        ("http://[::1]:{port}", 200),
        ("http://localhost:3000", 403),  # another server of this machine may show anybody's pages
        ("http://127.0.0.1", 403),
        ("https://[::1]:9", 403),
        ("http://localhost.evil.example:{port}", 403),
    ],
)
def test_without_a_token_only_the_servers_own_origin_counts(everything, origin, status):
    given = origin.format(port=everything.address.port)
    assert everything.post(PING, {"Origin": given})[0] == status


def test_without_a_token_a_body_must_say_that_it_is_json(everything):
    for kind, status in ((None, b"415"), ("text/plain", b"415"), ("application/json", b"200")):
        asked = raw_post(PING, **{"Content-Type": kind, "Connection": "close"})
        with raw_connection(everything, asked) as connection:
            assert received(connection).startswith(b"HTTP/1.1 " + status)


def test_the_body_is_limited_in_size_and_kind(everything):
    assert everything.send("POST", b"x" * 10, {"Content-Type": "text/plain"})[0] == 415
    assert everything.send("POST", b"{}", {"Content-Length": str(1 << 30)})[0] == 413
    status, answer = everything.post(b"not json")
    assert (status, answer["error"]["code"]) == (400, -32700)


def test_a_body_that_hides_its_size_is_cut_off(everything):
    connection = HTTPConnection(
        everything.address.hostname, everything.address.port, timeout=WAIT_SECONDS
    )
    chunks = (b" " * (1 << 20) for _ in range(17))
    with connection_closing(connection):
        headers = {"Content-Type": "application/json"}
        connection.request("POST", "/mcp", chunks, headers, encode_chunked=True)
        assert connection.getresponse().status == 413


def test_health_needs_no_token(guarded):
    status, _, body = guarded.send("GET", path="/health")
    assert (status, json.loads(body)["status"]) == (200, "ok")


def test_modern_requests_over_http(everything):
    status, answer = everything.modern("tools/list")
    assert status == 200
    assert answer["result"]["resultType"] == "complete"
    status, answer = everything.modern("nope/nope")
    assert (status, answer["error"]["code"]) == (404, -32601)
    status, answer = everything.modern("tools/call", name="no_such_tool", arguments={})
    assert (status, answer["error"]["code"]) == (200, -32602)
    assert everything.modern("resources/read", uri="test://static-text")[0] == 200


def test_headers_must_agree_with_the_body(everything):
    body = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": modern(name="greet", arguments={"name": "A"}),
    }
    right = modern_headers(body)
    assert everything.post(body, right)[0] == 200
    assert everything.post(body, {**right, "Mcp-Name": "=?base64?Z3JlZXQ=?="})[0] == 200
    wrong = [
        {**right, "MCP-Protocol-Version": "2031-01-01"},
        {**right, "Mcp-Method": "tools/list"},
        {**right, "Mcp-Name": "other"},
        {**right, "Mcp-Name": "=?base64?###?="},
        {k: v for k, v in right.items() if k != "Mcp-Name"},
        {k: v for k, v in right.items() if k != "Mcp-Method"},
        {k: v for k, v in right.items() if k != "MCP-Protocol-Version"},
    ]
    for headers in wrong:
        status, answer = everything.post(body, headers)
        assert (status, answer["error"]["code"], answer["id"]) == (400, -32020, 1)
    bare = {"jsonrpc": "2.0", "id": 4, "method": "tools/list", "params": {}}
    headers = {"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/list"}
    status, answer = everything.post(bare, headers)
    assert (status, answer["error"]["code"]) == (400, -32602)


def test_mirrored_parameters_are_checked(everything):
    def region(value, **headers):
        body = {
            "jsonrpc": "2.0",
            "id": 1,
            "method": "tools/call",
            "params": modern(name="greet_region", arguments={"name": value}),
        }
        return everything.post(body, {**modern_headers(body), **headers})

    assert region("west", **{"Mcp-Param-Region": "west"})[0] == 200
    assert region("west", **{"Mcp-Param-Region": "east"})[1]["error"]["code"] == -32020
    assert region("west")[1]["error"]["code"] == -32020


def test_progress_streams_as_events(everything):
    status, messages = everything.modern(
        "tools/call",
        name="test_tool_with_progress",
        arguments={},
        _meta={"progressToken": 5},
    )
    assert status == 200
    assert [m.get("method") for m in messages] == ["notifications/progress"] * 3 + [None]
    assert messages[-1]["result"]["content"][0]["text"] == "done"


def initialize(server, version="2025-11-25", **capabilities):
    body = {
        "jsonrpc": "2.0",
        "id": 0,
        "method": "initialize",
        "params": {"protocolVersion": version, "capabilities": capabilities},
    }
    status, headers, data = server.send("POST", body)
    assert status == 200
    assert json.loads(data)["result"]["protocolVersion"] == version
    return {"Mcp-Session-Id": headers["mcp-session-id"], "MCP-Protocol-Version": version}


def test_a_legacy_session_from_beginning_to_end(everything):
    session = initialize(everything)
    note = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    assert everything.send("POST", note, session)[0] == 202
    status, answer = everything.post({**PING, "method": "tools/list"}, session)
    assert status == 200
    assert "resultType" not in answer["result"]
    assert everything.send("DELETE", headers=session)[0] == 204
    assert everything.send("DELETE", headers=session)[0] == 404
    assert everything.post(PING, session)[0] == 404
    assert everything.send("GET")[0] == 405
    assert everything.send("DELETE")[0] == 405


def test_a_legacy_question_goes_out_on_the_calls_own_stream(everything):
    session = initialize(everything, elicitation={})
    call = {
        "jsonrpc": "2.0",
        "id": 7,
        "method": "tools/call",
        "params": {"name": "test_input_required_result_elicitation", "arguments": {}},
    }
    connection, response = everything.open("POST", call, session)
    with connection_closing(connection):
        events = stream_messages(iter(response.readline, b""))
        question = next(events)
        assert question["method"] == "elicitation/create"
        reply = {"action": "accept", "content": {"name": "Alice"}}
        answer = {"jsonrpc": "2.0", "id": question["id"], "result": reply}
        assert everything.send("POST", answer, session)[0] == 202
        assert next(events)["result"]["content"][0]["text"] == "Hello, Alice!"


def test_the_legacy_stream_carries_changes(everything):
    session = initialize(everything)
    connection, response = everything.open("GET", headers=session)
    with connection_closing(connection):
        assert response.status == 200
        assert everything.send("GET", headers=session)[0] == 409
        call = {"name": "test_trigger_tool_change", "arguments": {}}
        everything.post({**PING, "method": "tools/call", "params": call}, session)
        note = next(stream_messages(iter(response.readline, b"")))
        assert note["method"] == "notifications/tools/list_changed"


def test_batches_over_http_belong_to_their_version(everything):
    session = initialize(everything, "2025-03-26")
    batch = [PING, {**PING, "id": 2, "method": "tools/list"}]
    status, answers = everything.post(batch, session)
    assert status == 200
    assert {m["id"] for m in answers} == {1, 2}
    assert everything.post(batch, initialize(everything))[0] == 400


def test_hanging_up_cancels_a_modern_call(everything):
    body = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": modern(name="slow_compute", arguments={"seconds": 60}),
    }
    for _ in range(40):
        connection = HTTPConnection(everything.address.hostname, everything.address.port)
        headers = {**modern_headers(body), "Content-Type": "application/json"}
        connection.request("POST", "/mcp", json.dumps(body), headers)
        connection.close()
    status, answer = everything.modern("tools/call", name="greet", arguments={"name": "A"})
    assert status == 200, "forty calls of a minute each must not hold the workers"
    assert answer["result"]["content"][0]["text"] == "Hello, A!"


def test_tasks_over_http(everything):
    capable = {"extensions": {TASKS: {}}}
    call = {"name": "slow_compute", "arguments": {"seconds": 0.2}}
    _, created = everything.modern("tools/call", capable, **call)
    task_id = created["result"]["taskId"]

    def completed():
        status, answer = everything.modern("tasks/get", capable, taskId=task_id)
        assert status == 200
        return answer["result"] if answer["result"]["status"] == "completed" else None

    assert wait_until(completed)["result"]["content"][0]["text"] == "computed"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_graceful_end_answers_what_is_under_way(number):
    with http_server(EVERYTHING_HTTP) as server:
        wanted = {"toolsListChanged": True}
        body = {
            "jsonrpc": "2.0",
            "id": "s",
            "method": "subscriptions/listen",
            "params": modern(notifications=wanted),
        }
        connection, response = server.open("POST", body, modern_headers(body))
        with connection_closing(connection):
            events = stream_messages(iter(response.readline, b""))
            assert next(events)["method"] == "notifications/subscriptions/acknowledged"
            server.process.send_signal(number)
            assert next(events)["result"]["resultType"] == "complete"
        assert server.process.wait(WAIT_SECONDS) == 0


def test_http_without_its_extra_says_how_to_get_it(tmp_path):
    (tmp_path / "uvicorn.py").write_text("raise ImportError('not here')\n", encoding="utf-8")
    done = subprocess.run(
        face_http(),
        capture_output=True,
        text=True,
        timeout=WAIT_SECONDS,
        check=False,
        env={"PYTHONPATH": str(tmp_path), "PATH": "/usr/bin:/bin", "HOME": str(tmp_path)},
    )
    assert done.returncode == 1
    assert "clew[web]" in done.stderr
