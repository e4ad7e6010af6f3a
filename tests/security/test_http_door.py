"""The HTTP door of the product: who comes in, from where, and with how much."""

from __future__ import annotations

import pytest

from tests.support.http import face_http, http_server

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
