"""The proxy of a closed fence: who is reached through it, with real sockets."""

from __future__ import annotations

import http.server
import socket
import threading
from contextlib import closing, contextmanager, suppress

import pytest

from clew.kit.errors import Invalid
from clew.work.agents.fence.network import Hosts, Place, Proxy

SECONDS = 60


class Page(http.server.BaseHTTPRequestHandler):
    """Answers with what it was asked."""

    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        said = f"{self.path} {self.headers['Host']} {sorted(self.headers)} {body.decode()}".encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(said)))
        self.end_headers()
        self.wfile.write(said)

    def log_message(self, *words):
        """Say nothing."""


@pytest.fixture
def page():
    """A server on every address of the loopback network; its port."""
    with http.server.ThreadingHTTPServer(("0.0.0.0", 0), Page) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield server.server_port
        server.shutdown()


@contextmanager
def proxy(*hosts):
    """A proxy to these hosts, and how to send something to it."""
    made = Proxy(Hosts(hosts))
    port = made.listen_here()

    def send(*pieces):
        """All that comes back."""
        with closing(socket.create_connection(("127.0.0.1", port), SECONDS)) as one:
            for piece in pieces:
                one.sendall(piece)
            one.shutdown(socket.SHUT_WR)
            return b"".join(iter(lambda: one.recv(65536), b""))

    try:
        yield made, send
    finally:
        made.close()


def asked(method, target, *fields, body=b""):
    """A request."""
    lines = [f"{method} {target} HTTP/1.1", *fields, f"Content-Length: {len(body)}", "", ""]
    return "\r\n".join(lines).encode() + body


def test_a_named_host_is_reached_by_tunnel_and_by_address(page):
    place = f"127.0.0.2:{page}"
    with proxy(place) as (made, send):
        inner = asked("POST", "/a", f"Host: {place}", "Connection: close", body=b"hello")
        tunnel = send(asked("CONNECT", place), inner)
        assert tunnel.startswith(b"HTTP/1.1 200 Connection established\r\n\r\nHTTP/1.")
        assert tunnel.endswith(b"hello")
        plain = send(
            asked("POST", f"http://{place}/b?c=d", "Host: evil.example", "Proxy-Authorization: x",
                  "X-Own: y", body=b"again")
        )  # fmt: skip
        assert f"/b?c=d {place}".encode() in plain
        assert b"X-Own" in plain
        assert b"Proxy-Authorization" not in plain
        assert plain.endswith(b"again")
        assert made.refused() == []


@pytest.mark.parametrize(
    "target",
    [
        "evil.example:443", "127.0.0.1:{port}", "localhost:{port}", "0:{port}", "127.2:{port}",
        "2130706434:{port}", "0x7f000002:{port}", "[::ffff:127.0.0.2]:{port}", "[::1]:{port}",
        "127.0.0.2:1", "127.0.0.2.evil.example:{port}", "169.254.169.254:80",
    ],
)  # fmt: skip
def test_everything_else_is_refused_and_told_once(page, target):
    target = target.format(port=page)
    with proxy(f"127.0.0.2:{page}", "*.good.example") as (made, send):
        for _ in range(2):
            assert send(asked("CONNECT", target)).startswith(b"HTTP/1.1 403 ")
            assert send(asked("GET", f"http://{target}/")).startswith(b"HTTP/1.1 403 ")
        assert len(made.refused()) == 1
        assert made.refused() == []


def test_a_second_request_on_one_connection_cannot_name_another_host(page):
    place, other = f"127.0.0.2:{page}", f"127.0.0.3:{page}"
    with proxy(place) as (_, send):
        first = asked("POST", f"http://{place}/first", "Connection: keep-alive")
        second = asked("POST", f"http://{other}/second", f"Host: {other}")
        assert other.encode() not in send(first + second)


@pytest.mark.parametrize(
    "words",
    [
        b"nonsense\r\n\r\n", b"GET / HTTP/1.1\r\n\r\n", b"CONNECT http://a/ HTTP/1.1\r\n\r\n",
        b"CONNECT a HTTP/1.1\r\n\r\n", b"CONNECT a:99999 HTTP/1.1\r\n\r\n", b"\r\n\r\n",
        b"GET ftp://a/ HTTP/1.1\r\n\r\n", b"GET http://127.0.0.2@evil/ HTTP/1.1\r\n\r\n",
        b"CONNECT \xff\xfe:\xb2 HTTP/1.1\r\n\r\n", b"GET https://a/ HTTP/1.1\r\n\r\n",
    ],
)  # fmt: skip
def test_what_is_no_request_is_refused(words):
    with proxy("a", "127.0.0.2:80") as (_, send):
        assert send(words).startswith(b"HTTP/1.1 400 ")


def test_a_head_without_end_is_cut_off():
    with proxy("a") as (_, send):
        came = b""
        with suppress(ConnectionResetError, BrokenPipeError):  # the other ways to hear it
            came = send(*(b"x" * 65536 for _ in range(64)))
        assert came == b""
        assert send(b"x\r\n\r\n").startswith(b"HTTP/1.1 400 ")


def test_a_name_that_leads_to_this_machine_is_not_followed(page, monkeypatch):
    real, name = socket.getaddrinfo, "api.good.example"
    # The system's resolver is somebody else's: this is what a hostile one answers.
    monkeypatch.setattr(
        socket,
        "getaddrinfo",
        lambda host, *words, **more: real("127.0.0.1" if host == name else host, *words, **more),
    )
    with proxy(f"{name}:{page}") as (_, send):
        assert send(asked("CONNECT", f"{name}:{page}")).startswith(b"HTTP/1.1 502 ")


def test_names_ports_and_everything_below_a_name():
    hosts = Hosts(["API.Example.com.", "*.deep.example:8443", "[::1]:9000", "127.0.0.1:8080"])
    for host, port in (
        ("api.example.com", 443), ("api.example.com", 80), ("a.b.deep.example", 8443), ("::1", 9000),
    ):  # fmt: skip
        assert hosts.allows(Place(host, port)), (host, port)
    for host, port in (
        ("example.com", 443), ("api.example.com", 22), ("deep.example", 8443),
        ("xdeep.example", 8443), ("a.deep.example", 443), ("", 443),
    ):  # fmt: skip
        assert not hosts.allows(Place(host, port)), (host, port)
    assert hosts.local() == [Place("127.0.0.1", 8080), Place("::1", 9000)]


@pytest.mark.parametrize("word", ["", "*", "https://a", "a:b", "a:99999", "a/b", "*.", "a b"])
def test_a_setting_that_names_no_host_is_refused(word):
    with pytest.raises(Invalid, match="not a host"):
        Hosts([word])
