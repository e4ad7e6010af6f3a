"""HTTP servers under test and a plain client for them; loopback only."""

from __future__ import annotations

import http.client
import json
import os
import socket
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

from tests.support.client import BIN, WAIT_SECONDS, modern

EVERYTHING_HTTP = (sys.executable, "-m", "tests.support.everything", "--port", "0")


def face_http(name="clariad", word="serve", *options):
    """The command of a face's HTTP server on a free port."""
    return (str(BIN / name), word, "--http", "--port", "0", *options)


class HttpServer:
    """A running HTTP server."""

    def __init__(self, process, url):
        self.process = process
        self.address = urlsplit(url)
        self.url = url
        self.token = None

    def open(self, method, body=None, headers=None, path=None):
        """Send a request; the response is still open."""
        connection = http.client.HTTPConnection(
            self.address.hostname, self.address.port, timeout=WAIT_SECONDS
        )
        sent = {"Content-Type": "application/json"} if body is not None else {}
        if self.token:
            sent["Authorization"] = f"Bearer {self.token}"
        sent |= headers or {}
        data = body if isinstance(body, (bytes, type(None))) else json.dumps(body).encode()
        connection.request(method, path or self.address.path, data, sent)
        return connection, connection.getresponse()

    def send(self, method, body=None, headers=None, path=None):
        """Status, headers and body of a whole response."""
        connection, response = self.open(method, body, headers, path)
        with connection_closing(connection):
            return response.status, dict(response.headers), response.read()

    def post(self, body, headers=None):
        """Status and parsed answer: one object, or the list of a stream's messages."""
        status, got, data = self.send("POST", body, headers)
        if got.get("content-type", "").startswith("text/event-stream"):
            return status, list(stream_messages(data.splitlines()))
        return status, json.loads(data) if data else None

    def modern(self, method, capabilities=None, **params):
        """A modern request with the headers that belong to it."""
        body = {
            "jsonrpc": "2.0",
            "id": 1,
            "method": method,
            "params": modern(capabilities, **params),
        }
        return self.post(body, modern_headers(body))


def modern_headers(body):
    """The headers that a modern request must carry."""
    params = body["params"]
    headers = {"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": body["method"]}
    named = next((params[key] for key in ("name", "uri", "taskId") if key in params), None)
    return headers if named is None else {**headers, "Mcp-Name": named}


@contextmanager
def connection_closing(connection):
    """Close the connection in the end."""
    try:
        yield connection
    finally:
        connection.close()


def stream_messages(lines):
    """The messages of an event stream."""
    for line in lines:
        if line.startswith(b"data: "):
            yield json.loads(line.removeprefix(b"data: "))


@contextmanager
def http_server(command=EVERYTHING_HTTP, env=None):
    """A running server; ended in the end."""
    process = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **(env or {})},
        cwd=Path(__file__).parents[2],
    )
    try:
        url = process.stdout.readline().strip()
        assert url, process.stderr.read()
        yield HttpServer(process, url)
    finally:
        if process.poll() is None:
            process.terminate()
        try:
            process.wait(WAIT_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        process.stdout.close()
        process.stderr.close()


@contextmanager
def raw_connection(server, data=b""):
    """A plain socket to the server, on which this was sent already."""
    address = (server.address.hostname, server.address.port)
    with socket.create_connection(address, timeout=WAIT_SECONDS) as connection:
        connection.sendall(data)
        yield connection


def raw_post(body, **headers):
    """The bytes of a POST, complete; a header that is None is left out."""
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    usual = {"Host": "localhost", "Content-Type": "application/json", "Content-Length": len(data)}
    fields = {**usual, **headers}
    lines = [f"{name}: {value}\r\n" for name, value in fields.items() if value is not None]
    return f"POST /mcp HTTP/1.1\r\n{''.join(lines)}\r\n".encode() + data


def received(connection):
    """Everything that comes until the server closes the connection."""
    return b"".join(iter(lambda: connection.recv(65536), b""))
