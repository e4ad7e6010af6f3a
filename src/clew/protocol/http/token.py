"""The bearer token and the socket: what must be right before the server says it is there."""

from __future__ import annotations

import re
import secrets
import socket
import stat
import sys
from collections.abc import Mapping
from pathlib import Path

from clew.kit.errors import Invalid, Unavailable, UsageError
from clew.kit.files import private_directory, write_atomic
from clew.kit.project import clew_home
from clew.protocol.http.guard import LOOPBACK, bare_host
from clew.protocol.http.notes import tell

_TOKEN = re.compile(rb"[\x21-\x7e]+")
_PORT = re.compile("[0-9]{1,5}")


def load_token(host: str, options: Mapping[str, str]) -> str | None:
    """The token that callers must send; made, stored and shown once. None with `--no-auth`."""
    if "no_auth" in options:
        if bare_host(host) not in LOOPBACK:
            raise UsageError("--no-auth is for this machine only", "Leave --host at 127.0.0.1.")
        return None
    named = options.get("token_file")
    if named == "":
        raise UsageError("--token-file names no file", "Name one, or leave the option out.")
    path = Path(named) if named else clew_home() / "secrets" / "http-token"
    try:
        path = path.expanduser()
        return _stored_token(path) or _new_token(path)
    except (OSError, RuntimeError) as error:  # RuntimeError: links in a circle, unknown ~user
        reason = getattr(error, "strerror", None) or str(error)
        raise Unavailable(
            f"Cannot use the token file {path}: {reason}", "Name another with --token-file FILE."
        ) from error


def _stored_token(path: Path) -> str | None:
    """The token in the file; None when there is no file yet."""
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        return None
    if not stat.S_ISREG(mode):
        raise Invalid(f"{path} is not a file", "Name a file with --token-file FILE.")
    if mode & 0o077:
        raise Invalid(f"Others can read the token in {path}", f"Run: chmod 600 {path}")
    token = path.read_bytes().strip()
    if not token:
        raise Invalid(f"{path} holds no token", "Delete the file: a new token is made.")
    if not _TOKEN.fullmatch(token):
        raise Invalid(
            f"{path} holds no usable token: it must be one line of ASCII without spaces",
            "Delete the file: a new token is made.",
        )
    tell(f"callers need the token in {path}.")
    return token.decode("ascii")


def _new_token(path: Path) -> str:
    token = secrets.token_urlsafe(32)
    private_directory(path.parent)
    write_atomic(path, token + "\n", mode=0o600)
    print(
        f"clew: made a token for HTTP clients, shown this once and kept in {path}:\n"
        f"clew:   Authorization: Bearer {token}",
        file=sys.stderr,
    )
    return token


def open_listener(host: str, port: str, option: str = "--port") -> socket.socket:
    """A listening socket, or an error that says what is in the way."""
    if not _PORT.fullmatch(port) or int(port) > 65535:
        raise UsageError(
            f"Not a port: {port or 'nothing'}", "Ports are 0 to 65535; 0 picks a free one."
        )
    host = bare_host(host)
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # asyncio sends small answers at once only on a socket that says it is TCP.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, int(port)))
        listener.listen(128)
    except (OSError, UnicodeError) as error:
        listener.close()
        reason = getattr(error, "strerror", None) or str(error)
        raise Unavailable(
            f"Cannot listen on {host}:{port}: {reason}",
            f"Choose another with {option}, or {option} 0.",
        ) from error
    return listener
