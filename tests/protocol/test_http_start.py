"""Before an HTTP server says it is there: its port, its host, its token."""

from __future__ import annotations

import os
import stat
import subprocess

import pytest

from clew.kit.errors import Invalid, Unavailable, UsageError
from clew.protocol.http.token import load_token, open_listener
from tests.support.client import WAIT_SECONDS
from tests.support.http import face_http, http_server

PING = {"jsonrpc": "2.0", "id": 1, "method": "ping"}


@pytest.mark.parametrize("port", ["²", "", "٣", "+1", "-1", "8_0", "1" * 5000, "65536"])
def test_a_port_is_a_plain_number(port):
    with pytest.raises(UsageError, match="Not a port"):
        open_listener("127.0.0.1", port)


def test_hosts_may_have_the_brackets_of_a_url():
    try:
        listener = open_listener("[::1]", "0")
    except Unavailable:
        pytest.skip("no IPv6 here")
    listener.close()
    assert load_token("[::1]", {"no_auth": "1"}) is None
    with http_server(face_http("clariad", "serve", "--no-auth", "--host", "[::1]")) as server:
        assert server.url.startswith("http://[::1]:")
        assert server.post(PING, {"Host": "[::1]"})[0] == 200


def test_a_host_that_cannot_be_a_name_is_refused():
    for host in ("a" * 64 + ".example", "[::1"):
        with pytest.raises(Unavailable, match="Cannot listen"):
            open_listener(host, "0")


@pytest.mark.parametrize("content", [b"one\ntwo\n", "t\xf6ken\n".encode(), b"a b\n", b"\xff\n"])
def test_a_token_that_can_never_match_is_refused(tmp_path, content):
    token = tmp_path / "token"
    token.write_bytes(content)
    token.chmod(0o600)
    with pytest.raises(Invalid, match="one line of ASCII"):
        load_token("127.0.0.1", {"token_file": str(token)})


def unusable_token_files(tmp_path):
    (tmp_path / "file").write_text("x\n", encoding="utf-8")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    os.mkfifo(tmp_path / "pipe", stat.S_IRUSR | stat.S_IWUSR)
    return {
        tmp_path: "is not a file",
        tmp_path / "pipe": "is not a file",
        tmp_path / "loop": "Cannot use",
        tmp_path / "file" / "token": "Cannot use",
        "~no-such-user-here/token": "Cannot use",
    }


def test_token_files_that_cannot_be_used_say_why(tmp_path):
    for path, words in unusable_token_files(tmp_path).items():
        with pytest.raises((Invalid, Unavailable), match=words) as caught:
            load_token("127.0.0.1", {"token_file": str(path)})
        assert caught.value.hint
        assert "chmod" not in caught.value.hint
    with pytest.raises(UsageError, match="names no file"):
        load_token("127.0.0.1", {"token_file": ""})


def test_a_token_file_that_cannot_be_read_says_why(tmp_path, monkeypatch):
    def refuse(self):
        raise PermissionError(13, "Permission denied")

    token = tmp_path / "token"
    token.touch(mode=0o600)
    monkeypatch.setattr(type(token), "read_bytes", refuse)
    with pytest.raises(Unavailable, match="Permission denied"):
        load_token("127.0.0.1", {"token_file": str(token)})


def test_a_directory_as_token_file_is_no_crash(tmp_path):
    done = subprocess.run(
        face_http("clariad", "serve", "--token-file", str(tmp_path)),
        capture_output=True,
        text=True,
        timeout=WAIT_SECONDS,
        check=False,
    )
    assert done.returncode == 1
    assert "is not a file" in done.stderr
