"""The HTTP door of the product: who comes in, from where, and with how much."""

from __future__ import annotations

import asyncio
import hmac
import re
import resource
import socket
import sys
import threading
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from starlette.datastructures import Headers
from starlette.requests import Request

from clew.protocol.http import guard
from clew.team.syncing import webhooks
from clew.web import security
from tests.support.client import BIN
from tests.support.http import face_http, http_server, raw_connection, received
from tests.support.repos import Repository

PING = {"jsonrpc": "2.0", "id": 1, "method": "ping"}


@pytest.fixture(scope="module")
def door(tmp_path_factory):
    """A running server of a home of its own, and its token."""
    home = tmp_path_factory.mktemp("home")
    with http_server(face_http("clew", "serve"), env={"CLEW_HOME": str(home)}) as server:
        server.token = (home / "secrets" / "http-token").read_text().strip()
        yield server


def status(server, **headers):
    """How a ping with these headers is answered."""
    return server.post(PING, {name.replace("_", "-"): value for name, value in headers.items()})[0]


def test_with_the_token(door):
    assert status(door) == 200


@pytest.mark.parametrize(
    "value", ["", "Bearer", "Bearer wrong", "Basic {token}", "Bearer {token}x", "Bearer {head}"]
)
def test_without_the_token(door, value):
    given = value.format(token=door.token, head=door.token[:-1])
    assert status(door, Authorization=given) == 401


@pytest.mark.parametrize("name", ["Origin", "Host"])
@pytest.mark.parametrize("value", ["http://evil.example", "evil.example", "127.0.0.1.evil.example"])
def test_from_elsewhere(door, name, value):
    """A page in a browser, or a name that was bound anew, is turned away though it has the token."""
    assert status(door, **{name: value}) in {400, 403, 421}


def test_too_much(door):
    body = b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":"' + b"x" * 20_000_000 + b'"}}'
    try:
        code, _, _ = door.send("POST", body)
    except (BrokenPipeError, ConnectionResetError):
        code = 413  # refused before all of it was sent
    assert code == 413
    assert status(door) == 200


def test_the_token_is_for_its_owner_alone(private_home):
    with http_server(face_http("clew", "serve")):
        path = private_home / ".clew" / "secrets" / "http-token"
        assert path.stat().st_mode & 0o077 == 0
        assert path.parent.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("words", [("serve", "--http"), ("web",)])
def test_it_listens_on_this_machine_alone(tmp_path, words):
    (tmp_path / ".git").mkdir()
    command = (str(BIN / "clew"), *words, "--port", "0", "--project", str(tmp_path))
    with http_server(command) as server:
        assert server.address.hostname == "127.0.0.1"
        port = server.address.port
        listening = Path(f"/proc/{server.process.pid}/net/tcp")
        if listening.exists():
            places = re.findall(rf" ([0-9A-F]+):{port:04X} [0-9A-F:]+ 0A ", listening.read_text())
            assert places == ["0100007F"]


def test_sessions_cannot_be_guessed(door):
    hello = {
        "jsonrpc": "2.0", "id": 1, "method": "initialize",
        "params": {"protocolVersion": "2025-06-18", "capabilities": {},
                   "clientInfo": {"name": "x", "version": "1"}},
    }  # fmt: skip
    ids = [door.send("POST", hello)[1]["mcp-session-id"] for _ in range(20)]
    assert len(set(ids)) == 20
    assert min(map(len, ids)) >= 22  # 128 bits
    for one in (ids[0][:-1], ids[0].swapcase(), "1", "0" * len(ids[0])):
        assert status(door, Mcp_Session_Id=one, MCP_Protocol_Version="2025-06-18") == 404


def test_secrets_are_compared_in_constant_time(monkeypatch):
    """Every comparison of a secret with what a caller sent is the library's for that."""
    compared = []
    monkeypatch.setattr(hmac, "compare_digest", lambda a, b: compared.append(a) or a == b)
    headers = [(b"authorization", b"Bearer wrong")]
    asked = Request({"type": "http", "method": "GET", "path": "/", "headers": headers})
    assert guard.Guard("127.0.0.1", "token", 1).refuse_stranger(asked).status_code == 401
    assert compared == [b"wrong"]
    keys = security.Keys("token", "session")
    cookie = Headers({"cookie": "clew_1=wrong"})
    assert asyncio.run(security.TokenDoor(keys, 1).visitor(cookie)) is None
    first = {"query_string": b"token=other", "path": "/"}
    assert asyncio.run(security.TokenDoor(keys, 1).entry(first)).status_code == 401
    with pytest.raises(webhooks.Forged):
        webhooks.pushed_addresses({"X-Gitlab-Token": "guess"}, b"{}", "secret")
    assert compared[1:] == [b"wrong", b"other", b"guess"]


# The board behind the same door

HALF_OPEN = 1100


# Patience with strangers that does not grow with time: how busy the machine is decides nothing.
PATIENCE = """
import sys
from clew.protocol.http.guard import Strangers
from clew.faces import clew
Strangers.__init__.__defaults__ = (100, 0.0)
sys.exit(clew())
"""


@pytest.fixture
def board(tmp_path):
    """The board of a small project, and what it wrote to its standard error."""
    repo = Repository(tmp_path / "shop")
    repo.commit("first", {"README.md": "hello\n"})
    (repo.path / ".chant" / "specs").mkdir(parents=True)
    words = ("web", "--port", "0", "--project", str(repo.path))
    command = (sys.executable, "-c", PATIENCE, *words)
    with http_server(command) as server:
        said = []
        threading.Thread(target=lambda: said.extend(server.process.stderr), daemon=True).start()
        server.said = said
        yield server


@pytest.fixture
def many_files():
    """Room for more open files than a test usually has."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard < 2 * HALF_OPEN:
        pytest.skip("this system allows too few open files")
    resource.setrlimit(resource.RLIMIT_NOFILE, (2 * HALF_OPEN, hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def visit(server, path, **headers):
    """Status, headers and text of a page."""
    code, got, body = server.send("GET", None, headers, path)
    return code, got, body.decode()


def test_half_open_connections_do_not_lock_the_owner_out_of_the_board(
    board, many_files, record_property
):
    address = (board.address.hostname, board.address.port)
    with ExitStack() as held:
        for number in range(HALF_OPEN):
            connection = held.enter_context(socket.create_connection(address, timeout=60))
            connection.sendall(b"GET / HTTP/1.1\r\nX-a: " if number % 2 else b"")
        entry = urlsplit(board.url)
        code, headers, _ = visit(board, f"/?{entry.query}")
        assert code == 303
        cookie = headers["set-cookie"].partition(";")[0]
        assert visit(board, "/", Cookie=cookie)[0] == 200
    assert visit(board, "/", Cookie=cookie)[0] == 200
    assert len("".join(board.said)) < 4000
    record_property("connections held", HALF_OPEN)


def test_a_stranger_at_the_board_is_asked_to_slow_down_and_the_owner_is_not(board):
    entry = urlsplit(board.url)
    cookie = visit(board, f"/?{entry.query}")[1]["set-cookie"].partition(";")[0]
    codes = [visit(board, "/")[0] for _ in range(150)]
    assert codes[0] == 401
    assert codes[-1] == 429
    assert visit(board, "/", Cookie=cookie)[0] == 200


def test_a_connection_does_not_last_for_ever(tmp_path):
    code = "from clew.protocol.http import wire; wire.MOST_REQUESTS = 3"
    program = f"import sys\n{code}\nfrom tests.support.everything import main\nmain()"
    with http_server((sys.executable, "-c", program)) as server:
        asked = b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n"
        with raw_connection(server, asked * 4) as connection:
            answers = received(connection)
    assert answers.count(b"HTTP/1.1 200") == 3
    assert answers.count(b"connection: close") == 1
