"""HTTP from clients that are wrong, slow or hostile, and the end of a server that is busy."""

from __future__ import annotations

import asyncio
import json
import signal
import socket
import threading

import pytest
from starlette.requests import Request

from clew.protocol.http import guard, wire
from clew.protocol.http.answers import event
from clew.protocol.http.server import HttpService
from clew.protocol.http.token import open_listener
from clew.protocol.kernel.exchange import wire_bytes
from tests.support.client import WAIT_SECONDS, modern
from tests.support.everything import Everything, make_kernel
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

PING = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
MODERN = {"MCP-Protocol-Version": "2026-07-28"}
INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 0,
    "method": "initialize",
    "params": {"protocolVersion": "2025-11-25", "capabilities": {}},
}
SLOW = {
    "jsonrpc": "2.0",
    "id": "slow",
    "method": "tools/call",
    "params": {"name": "slow_compute", "arguments": {"seconds": 60}},
}
LISTEN = {
    "jsonrpc": "2.0",
    "id": "s",
    "method": "subscriptions/listen",
    "params": modern(notifications={}),
}


@pytest.fixture(scope="module")
def everything():
    with http_server(EVERYTHING_HTTP) as server:
        yield server


def new_session(server):
    return {"Mcp-Session-Id": server.send("POST", INITIALIZE)[1]["mcp-session-id"]}


# What is a message


@pytest.mark.parametrize("headers", [{}, MODERN])
@pytest.mark.parametrize(
    ("body", "request_id"),
    [
        (b"{}", None),
        (b'{"jsonrpc":"2.0"}', None),
        (b'{"jsonrpc":"2.0","id":5}', 5),
        (b'{"jsonrpc":"2.0","method":5}', None),
        (b'{"jsonrpc":"2.0","method":null}', None),
        (b'{"jsonrpc":"1.0","method":"notifications/initialized"}', None),
        (b'{"method":"notifications/initialized"}', None),
        (b'{"jsonrpc":"2.0","result":{}}', None),
        (b'{"id":"clew-1","result":{}}', "clew-1"),
    ],
)
def test_what_is_no_message_is_refused(everything, headers, body, request_id):
    status, answer = everything.post(body, headers)
    assert (status, answer["error"]["code"], answer["id"]) == (400, -32600, request_id)


@pytest.mark.parametrize("headers", [{}, MODERN])
@pytest.mark.parametrize(
    "body",
    [
        b'{"jsonrpc":"2.0","method":"notifications/initialized"}',
        b'{"jsonrpc":"2.0","method":"initialize"}',
        b'{"jsonrpc":"2.0","id":"clew-1","result":{}}',
        b'{"jsonrpc":"2.0","id":"clew-1","error":{"code":1,"message":"no"}}',
    ],
)
def test_notifications_and_responses_are_taken(everything, headers, body):
    assert everything.post(body, headers) == (202, None)


@pytest.mark.parametrize("name", [["a"], {"a": 1}, 5, None, True])
def test_a_name_that_is_no_name_is_the_clients_mistake(everything, name):
    body = {**SLOW, "params": modern(name=name, arguments={})}
    headers = {**MODERN, "Mcp-Method": "tools/call", "Mcp-Name": "x"}
    status, answer = everything.post(body, headers)
    assert (status, answer["error"]["code"]) == (200, -32602)


@pytest.mark.parametrize(
    ("kind", "status"),
    [
        ("application/JSON", 200),
        ("application/json; charset=utf-8", 200),
        (" Application/Json ;x=y", 200),
        ("text/plain; json", 415),
        ("application/jsonx", 415),
        ("multipart/form-data; x=application/json", 415),
    ],
)
def test_the_type_of_the_body_is_compared_whole(everything, kind, status):
    assert everything.post(PING, {"Content-Type": kind})[0] == status


def test_a_body_without_a_type_is_believed(everything):
    with raw_connection(everything, raw_post(PING, Connection="close")) as connection:
        assert received(connection).startswith(b"HTTP/1.1 200")


# Who may speak


@pytest.mark.parametrize(
    "host",
    [
        "user@localhost",
        "localhost#x.evil.example",
        "localhost/evil",
        "localhost@evil.example",
        "localhost.",
        "localhost:",
        "localhost:x",
        "localhost:99999",
        "[::1",
        "[localhost]",
        "::1",
    ],
)
def test_a_host_has_exactly_the_form_of_a_host(everything, host):
    assert everything.post(PING, {"Host": host})[0] == 403


@pytest.mark.parametrize("host", ["LocalHost:1", "[::1]", "[0:0:0:0:0:0:0:1]:8", "127.0.0.1:65535"])
def test_own_hosts_are_known_in_any_spelling(everything, host):
    assert everything.post(PING, {"Host": host})[0] == 200


@pytest.mark.parametrize(
    "origin",
    [
        "http://evil.example\\@localhost",
        "http://evil.example#@localhost",
        "javascript://localhost",
        "file://localhost",
        "http://user@localhost",
        "http://localhost/",
        "//localhost",
        "localhost",
        "",
    ],
)
def test_an_origin_has_exactly_the_form_of_an_origin(everything, origin):
    assert everything.post(PING, {"Origin": origin})[0] == 403


def test_every_origin_counts():
    def refused(host, *headers):
        request = Request({"type": "http", "headers": list(headers)})
        return guard.Guard(host, None, 80).refuse(request) is not None

    own, strange = (b"origin", b"http://a.example"), (b"origin", b"http://b.example")
    assert not refused("0.0.0.0", (b"host", b"a.example:1"), own)
    assert refused("0.0.0.0", (b"host", b"a.example:1"), own, strange)
    assert refused("0.0.0.0", (b"host", b"a.example/"))
    assert not refused("A.example", (b"host", b"a.Example"), own)


@pytest.mark.parametrize("method", ["HEAD", "OPTIONS", "PUT", "PATCH"])
def test_only_delete_ends_a_session(everything, method):
    session = new_session(everything)
    status, headers, _ = everything.send(method, headers=session)
    assert (status, headers["allow"]) == (405, "GET, POST, DELETE")
    assert everything.post(PING, session)[0] == 200


def test_other_paths_and_methods_are_refused_in_json(everything):
    status, headers, body = everything.send("GET", path="/nothing")
    assert (status, headers["content-type"]) == (404, "application/json")
    assert json.loads(body)["error"]["code"] == -32600
    assert everything.send("POST", PING, path="/health")[1]["allow"] == "GET, HEAD"
    assert everything.send("HEAD", path="/health")[0] == 200


# Answers


def test_the_older_dialect_streams_its_results():
    parameters = {"operation_name": "x", "duration_seconds": 1.2}
    params = {"name": "long_running_operation", "parameters": parameters}
    with http_server(face_http("clariad", "serve", "--no-auth")) as server:
        status, messages = server.post({**PING, "method": "invoke_tool", "params": params})
        assert status == 200
        assert {message["id"] for message in messages} == {1}
        *interim, last = [message["result"] for message in messages]
        assert len(interim) >= 2
        assert all(result["status"] == "in_progress" for result in interim)
        assert last.keys() == {"output"}
        status, answer = server.post({**PING, "method": "invoke_tool", "params": {}})
        assert (status, answer["error"]["code"]) == (200, -32602)


def test_what_json_cannot_say_is_an_error_with_the_requests_id():
    message = {"jsonrpc": "2.0", "id": 3, "result": {"path": "d\udcff"}}
    assert json.loads(wire_bytes(message))["error"]["code"] == -32603
    assert json.loads(event(message).partition(b"data: ")[2])["id"] == 3


class Broken(Everything):
    """A service whose tools answer what JSON cannot say, and whose schemas fail."""

    def call_tool(self, name, arguments, call):
        return super().call_tool(name, arguments, call).__class__("d\udcff")

    def input_schema(self, name):
        raise RuntimeError("a bug")


def ask_app(body, tmp_path, **headers):
    """Status, type and answer of the application itself, with a broken service."""
    kernel = make_kernel(tmp_path)
    kernel.service = Broken()
    sent = []
    data = json.dumps(body).encode()
    fields = {"host": "localhost", "content-length": str(len(data)), **headers}

    async def run():
        arriving = [{"type": "http.request", "body": data, "more_body": False}]

        async def receive():
            return arriving.pop() if arriving else await asyncio.Event().wait()

        async def send(message):
            sent.append(message)

        scope = {
            "type": "http",
            "method": "POST",
            "path": "/mcp",
            "headers": [
                (b"content-type", b"application/json"),
                *((k.lower().encode(), v.encode()) for k, v in fields.items()),
            ],
        }
        await HttpService(kernel, host="localhost", port=80, token=None).app(scope, receive, send)

    asyncio.run(run())
    return sent[0]["status"], dict(sent[0]["headers"])[b"content-type"], json.loads(sent[1]["body"])


def test_a_result_that_json_cannot_say_is_answered_over_http(tmp_path):
    call = {**SLOW, "params": {"name": "test_simple_text", "arguments": {}}}
    status, kind, answer = ask_app(call, tmp_path)
    assert (status, kind) == (200, b"application/json")
    assert (answer["id"], answer["error"]["code"]) == ("slow", -32603)


def test_a_bug_is_answered_in_json(tmp_path, capsys):
    call = {**SLOW, "params": modern(name="test_simple_text", arguments={})}
    status, kind, answer = ask_app(call, tmp_path, **modern_headers(call))
    assert (status, kind, answer["error"]["code"]) == (500, b"application/json", -32603)
    assert "a bug" in capsys.readouterr().err


@pytest.mark.parametrize("headers", [{}, modern_headers({**LISTEN, "method": "tools/list"})])
def test_a_client_that_closed_its_side_still_gets_a_quick_answer(everything, headers):
    params = modern() if headers else {}
    body = {**PING, "method": "tools/list", "params": params}
    with raw_connection(everything, raw_post(body, **headers)) as connection:
        connection.shutdown(socket.SHUT_WR)
        assert b'"tools":[' in received(connection)


def test_small_answers_are_sent_at_once():
    async def option():
        loop = asyncio.get_running_loop()
        found = loop.create_future()

        def accepted(_, writer):
            accepted_socket = writer.get_extra_info("socket")
            found.set_result(accepted_socket.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
            writer.close()

        listener = open_listener("127.0.0.1", "0")
        async with await asyncio.start_server(accepted, sock=listener):
            with socket.create_connection(listener.getsockname(), timeout=WAIT_SECONDS):
                return await found

    assert asyncio.run(option()) != 0


# Connections that ask nothing


def test_silent_connections_make_room():
    limited = ("bash", "-c", 'ulimit -n 160 && exec "$@"', "bash", *EVERYTHING_HTTP)
    with http_server(limited) as server:
        silent = []
        try:
            for _ in range(240):
                address = (server.address.hostname, server.address.port)
                silent.append(socket.create_connection(address, timeout=WAIT_SECONDS))
                silent[-1].sendall(b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nX-a: ")
            assert server.post(PING)[0] == 200
        finally:
            for connection in silent:
                connection.close()
        assert server.post(PING)[0] == 200
        server.process.terminate()
        assert "Traceback" not in server.process.stderr.read()


def test_more_connections_than_allowed_are_refused_when_all_are_busy():
    limited = ("bash", "-c", 'ulimit -n 144 && exec "$@"', "bash", *EVERYTHING_HTTP)
    with http_server(limited) as server:
        asked = raw_post(LISTEN, **modern_headers(LISTEN))
        streams = [server.open("POST", LISTEN, modern_headers(LISTEN)) for _ in range(16)]
        with raw_connection(server, asked) as connection:
            head, _, body = received(connection).partition(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 503")
        assert json.loads(body)["error"]["message"] == "Too many connections."
        close_all(streams)
        assert server.post(PING)[0] == 200


def serve_hastily(monkeypatch_code):
    """The command of a server whose patience is short."""
    program = f"import sys\n{monkeypatch_code}\nfrom tests.support.everything import main\nmain()"
    return (EVERYTHING_HTTP[0], "-c", program)


def test_a_head_that_never_ends_is_cut_off():
    command = serve_hastily("from clew.protocol.http import wire; wire.HEAD_SECONDS = 0.3")
    with (
        http_server(command) as server,
        raw_connection(server, b"POST /mcp HTTP/1.1\r\nX-a: ") as connection,
    ):
        assert received(connection) == b""
        assert server.post(PING)[0] == 200


def test_a_body_that_never_ends_is_cut_off():
    command = serve_hastily("from clew.protocol.http import guard; guard.BODY_SECONDS = 0.3")
    data = b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    data += b"Content-Length: 100\r\n\r\n{"
    with http_server(command) as server, raw_connection(server, data) as connection:
        head, _, body = received(connection).partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 408")
    assert json.loads(body)["error"]["code"] == -32600


def test_the_number_of_connections_follows_the_systems_limit(monkeypatch):
    for allowed, most in ((100, 16), (256, 128), (1 << 20, 1000), (-1, 1000)):
        monkeypatch.setattr(wire.resource, "getrlimit", lambda _, n=allowed: (n, n))
        wire.most_connections.cache_clear()
        assert wire.most_connections() == most
    wire.most_connections.cache_clear()


# The end


def close_all(streams):
    for connection, _ in streams:
        connection.close()


def test_streams_that_close_while_the_server_ends_do_not_hold_it_up():
    for _ in range(3):
        with http_server(EVERYTHING_HTTP) as server:
            streams = [server.open("POST", LISTEN, modern_headers(LISTEN)) for _ in range(150)]
            closing = threading.Thread(target=close_all, args=(streams,))
            closing.start()
            server.process.send_signal(signal.SIGTERM)
            assert server.process.wait(WAIT_SECONDS) == 0
            closing.join()
            assert "Traceback" not in server.process.stderr.read()


def test_calls_that_outlast_the_grace_are_told_so():
    progress = {**SLOW, "id": "told", "method": "tools/call"}
    command = serve_hastily("from clew.protocol.http import server; server._GRACE_SECONDS = 0.5")
    with http_server(command) as server:
        quiet, half = raw_post(SLOW), raw_post(progress)[:-5]
        with raw_connection(server, quiet) as first, raw_connection(server, half) as second:
            assert server.post(PING)[0] == 200
            server.process.send_signal(signal.SIGTERM)
            head, _, body = received(first).partition(b"\r\n\r\n")
            assert head.startswith(b"HTTP/1.1 503")
            assert b"application/json" in head
            answer = json.loads(body)
            assert (answer["id"], answer["error"]["code"]) == ("slow", -32603)
            assert received(second).startswith(b"HTTP/1.1 503")
        assert server.process.wait(WAIT_SECONDS) == 0
        assert "Traceback" not in server.process.stderr.read()


def test_a_stream_that_outlasts_the_grace_ends_with_an_error():
    parameters = {"operation_name": "x", "duration_seconds": 60}
    params = {"name": "long_running_operation", "parameters": parameters}
    with http_server(face_http("clariad", "serve", "--no-auth")) as server:
        connection, response = server.open(
            "POST", {**PING, "method": "invoke_tool", "params": params}
        )
        with connection_closing(connection):
            events = stream_messages(iter(response.readline, b""))
            assert next(events)["result"]["status"] == "in_progress"
            server.process.terminate()
            assert list(events)[-1]["error"]["code"] == -32603
        assert server.process.wait(WAIT_SECONDS) == 0
