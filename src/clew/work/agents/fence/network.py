"""The one way out of a closed fence: a proxy that connects to the named hosts, and to no other.

It runs outside, in the process that owns the run, and resolves names there. Inside there is only a
loopback interface; the sockets that listen on it come from `gateway`, which hands them out here.
"""

from __future__ import annotations

import ipaddress
import re
import socket
import sys
import threading
from collections.abc import Iterable
from contextlib import closing, suppress
from dataclasses import dataclass

from clew.kit.errors import Invalid
from clew.work.agents.fence import gateway

_HOST = re.compile(r"(\*\.)?([a-z0-9_-]+(?:\.[a-z0-9_-]+)*|\[[0-9a-f:.]+\])(?::([0-9]{1,5}))?")
_USUAL_PORTS = frozenset({443, 80})
_LOOPBACK = ("127.0.0.1", "localhost", "::1")
_LONGEST_HEAD = 64 * 1024
_MOST_CONNECTIONS = 128
_MOST_TOLD = 50
_MOST_LOCAL = 64
_FIRST_FREE_PORT = 1024  # below it, only root may listen
_HEAD_SECONDS = 30.0
_CONNECT_SECONDS = 30.0
_CHUNK = 1 << 16
# What speaks for one connection only is not passed on; the connection ends with its answer, so that
# no second request on it can name another host.
_HOP = re.compile(rb"(?i)(?:connection|keep-alive|proxy-[a-z-]+|host)[ \t]*:")
_TARGET = re.compile(r"(?:(http)://)?([^/?#@\s]+)((?:[/?#]\S*)?)")


@dataclass(frozen=True)
class Place:
    """A host and a port."""

    host: str
    port: int

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"

    @property
    def is_loopback(self) -> bool:
        """Whether it is this machine by its usual name."""
        return self.host in _LOOPBACK


class Hosts:
    """The places that may be reached, as the user's settings name them."""

    def __init__(self, words: Iterable[str]) -> None:
        self.words = tuple(words)
        self._exact: set[Place] = set()
        self._below: set[Place] = set()
        for word in self.words:
            match = _HOST.fullmatch(word.strip().lower().removesuffix("."))
            if match is None or int(match[3] or 0) > 65535:
                raise Invalid(
                    f"work.sandbox_hosts: not a host: {word}",
                    "Write api.example.com, *.example.com or 127.0.0.1:8080.",
                )
            ports = {int(match[3])} if match[3] else _USUAL_PORTS
            places = {Place(_canonical(match[2]), port) for port in ports}
            (self._below if match[1] else self._exact).update(places)

    def allows(self, place: Place) -> bool:
        """Whether that place is named."""
        above = (place.host[at + 1 :] for at, sign in enumerate(place.host) if sign == ".")
        return place in self._exact or any(Place(name, place.port) in self._below for name in above)

    def local(self) -> list[Place]:
        """The named places of this machine; inside, the same ports lead there without a proxy."""
        found = {one.port: one for one in self._exact if one.is_loopback}
        return [found[port] for port in sorted(found) if port >= _FIRST_FREE_PORT][:_MOST_LOCAL]


class Proxy:
    """Takes connections from inside, refuses what is not named, and tells what it refused."""

    def __init__(self, hosts: Hosts) -> None:
        self._hosts = hosts
        self._room = threading.BoundedSemaphore(_MOST_CONNECTIONS)
        self._lock = threading.Lock()
        self._open: set[socket.socket] = set()
        self._told: set[Place] = set()
        self._untold: list[str] = []
        self._is_over = False
        self._near, self._far = socket.socketpair()

    @property
    def descriptor(self) -> int:
        """What the gateway hands its sockets out by."""
        return self._far.fileno()

    def gateway(self) -> list[str]:
        """The words before those of the agent, inside."""
        _thread(self._take_sockets)
        ports = ",".join(map(str, self.local_ports()))
        return [sys.executable, "-P", "-m", gateway.__name__, str(self.descriptor), ports]

    def local_ports(self) -> list[int]:
        """The ports of this machine that may be reached."""
        return [one.port for one in self._hosts.local()]

    def listen_here(self) -> int:
        """Serve on this machine's own loopback, where a fence has no other; the port."""
        listener = socket.create_server(("127.0.0.1", 0))
        self.serve(listener)
        return int(listener.getsockname()[1])

    def _take_sockets(self) -> None:
        with suppress(OSError):
            _, found, _, _ = socket.recv_fds(self._near, 1, 1 + _MOST_LOCAL)
            for descriptor, to in zip(found, (None, *self._hosts.local()), strict=False):
                self.serve(socket.socket(fileno=descriptor), to)

    def serve(self, listener: socket.socket, to: Place | None = None) -> None:
        """Take connections from now on: to that place, or to where each asks for."""
        _thread(self._accept, listener, to)

    def refused(self) -> list[str]:
        """What was refused since the last look, each place once."""
        with self._lock:
            untold, self._untold = self._untold, []
        return untold

    def close(self) -> None:
        """End everything that is open."""
        with self._lock:
            self._is_over = True
            ending = list(self._open)
        for one in (*ending, self._near):
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
        self._near.close()
        self._far.close()

    def _accept(self, listener: socket.socket, to: Place | None) -> None:
        with closing(listener), suppress(OSError):
            while self._keep(listener):
                client, _ = listener.accept()
                if self._room.acquire(blocking=False):
                    _thread(self._serve, client, to)
                else:
                    client.close()

    def _serve(self, client: socket.socket, to: Place | None) -> None:
        try:
            with closing(client), suppress(OSError):
                if self._keep(client):
                    self._pass_on(client, to)
        finally:
            self._room.release()
            with self._lock:
                self._open.discard(client)

    def _keep(self, one: socket.socket) -> bool:
        """Note a socket that `close` ends; False when all is over."""
        with self._lock:
            self._open.add(one)
            return not self._is_over

    def _pass_on(self, client: socket.socket, to: Place | None) -> None:
        first, is_tunnel = b"", False
        if to is None:
            client.settimeout(_HEAD_SECONDS)
            head, rest = _head(client)
            to, is_tunnel, begin = _asked(head)
            first = rest if is_tunnel else begin + rest
        if to is None:
            client.sendall(_refusal(400, "This proxy takes CONNECT and http:// addresses."))
            return
        try:
            server = _connected(to) if self._hosts.allows(to) else None
        except OSError as error:
            client.sendall(_refusal(502, f"{to} cannot be reached: {error.strerror or error}"))
            return
        if server is None:
            self._note(to)
            client.sendall(_refusal(403, f"{to} is not in work.sandbox_hosts."))
            return
        with closing(server):
            self._keep(server)
            if is_tunnel:
                client.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
            server.sendall(first)
            client.settimeout(None)
            back = _thread(_pump, server, client)
            _pump(client, server)
            back.join()
            with self._lock:
                self._open.discard(server)

    def _note(self, place: Place) -> None:
        with self._lock:
            if place not in self._told and len(self._told) < _MOST_TOLD:
                self._told.add(place)
                self._untold.append(str(place))


def _thread(target: object, *arguments: object) -> threading.Thread:
    thread = threading.Thread(target=target, args=arguments, daemon=True)  # type: ignore[arg-type]
    thread.start()
    return thread


def _canonical(host: str) -> str:
    """One spelling of each host: lower case, no dot at its end, addresses as they are usual."""
    name = host.lower().removesuffix(".")
    with suppress(ValueError):
        return ipaddress.ip_address(name.removeprefix("[").removesuffix("]")).compressed
    return name


def _head(client: socket.socket) -> tuple[bytes, bytes]:
    """A request's head without its empty line, and what came behind it."""
    data = b""
    while b"\r\n\r\n" not in data:
        chunk = client.recv(_CHUNK)
        if not chunk or len(data) > _LONGEST_HEAD:
            raise ConnectionAbortedError
        data += chunk
    head, _, rest = data.partition(b"\r\n\r\n")
    return head, rest


def _asked(head: bytes) -> tuple[Place | None, bool, bytes]:
    """Where a request leads, whether by a tunnel, and how it begins there."""
    line, *fields = head.split(b"\r\n")
    method, _, rest = line.decode("latin-1").partition(" ")
    target, _, version = rest.partition(" ")
    match = _TARGET.fullmatch(target)
    is_tunnel = method == "CONNECT"
    if match is None or not version.startswith("HTTP/1.") or is_tunnel == bool(match[1]):
        return None, is_tunnel, b""
    place = _place(match[2], None if is_tunnel else 80)
    kept = [one for one in fields if not _HOP.match(one)]
    host = match[2].encode("latin-1")
    path = match[3] if match[3].startswith("/") else f"/{match[3]}"
    begin = f"{method} {path} {version}".encode("latin-1")
    head = b"\r\n".join([begin, b"Host: " + host, *kept, b"Connection: close", b"", b""])
    return place, is_tunnel, head


def _place(authority: str, usual_port: int | None) -> Place | None:
    host, colon, port = authority.rpartition(":")
    if not colon or authority.endswith("]"):
        host, port = authority, str(usual_port or "")
    if not (host and port.isascii() and port.isdecimal() and int(port) <= 65535):
        return None
    return Place(_canonical(host), int(port))


def _connected(place: Place) -> socket.socket:
    """A connection; a name that leads to this machine or its link is somebody's trick."""
    error: OSError = ConnectionRefusedError(0, "its address is one of this machine")
    is_name = not (place.is_loopback or _is_address(place.host))
    for family, kind, number, _, address in socket.getaddrinfo(
        place.host, place.port, type=socket.SOCK_STREAM
    ):
        if is_name and _is_near(str(address[0])):
            continue
        one = socket.socket(family, kind, number)
        try:
            one.settimeout(_CONNECT_SECONDS)
            one.connect(address)
            one.settimeout(None)
        except OSError as problem:
            one.close()
            error = problem
        else:
            return one
    raise error


def _is_address(host: str) -> bool:
    with suppress(ValueError):
        return bool(ipaddress.ip_address(host))
    return False


def _is_near(address: str) -> bool:
    found = ipaddress.ip_address(address.partition("%")[0])
    real = getattr(found, "ipv4_mapped", None) or found
    return bool(real.is_loopback or real.is_link_local or real.is_unspecified or real.is_multicast)


def _pump(source: socket.socket, target: socket.socket) -> None:
    """Pass on what comes until it ends, then say so to the other side."""
    with suppress(OSError):
        while chunk := source.recv(_CHUNK):
            target.sendall(chunk)
    with suppress(OSError):
        target.shutdown(socket.SHUT_WR)


def _refusal(status: int, words: str) -> bytes:
    reason = {400: "Bad Request", 403: "Forbidden", 502: "Bad Gateway"}[status]
    body = f"clew: {words}\n".encode("utf-8", "replace")
    head = f"HTTP/1.1 {status} {reason}\r\nContent-Type: text/plain\r\nConnection: close\r\n"
    return f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body
