"""The HTTP door of the product: who comes in, from where, and with how much."""

from __future__ import annotations

import resource
import socket
import sys
import threading
from contextlib import ExitStack
from urllib.parse import urlsplit

import pytest

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


# The board behind the same door

HALF_OPEN = 1100


@pytest.fixture
def board(tmp_path):
    """The board of a small project, and what it wrote to its standard error."""
    repo = Repository(tmp_path / "shop")
    repo.commit("first", {"README.md": "hello\n"})
    (repo.path / ".chant" / "specs").mkdir(parents=True)
    command = (str(BIN / "clew"), "web", "--port", "0", "--project", str(repo.path))
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
