"""The bearer token and the socket: what must be right before the server says it is there."""

from __future__ import annotations

import secrets
import socket
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from clew.kit.errors import Invalid, Unavailable, UsageError
from clew.kit.files import private_directory, write_atomic
from clew.kit.project import clew_home
from clew.protocol.http.guard import LOOPBACK

if TYPE_CHECKING:
    from collections.abc import Mapping


def load_token(host: str, options: Mapping[str, str]) -> str | None:
    """The token that callers must send; made, stored and shown once. None with `--no-auth`."""
    if "no_auth" in options:
        if host not in LOOPBACK:
            raise UsageError("--no-auth is for this machine only", "Leave --host at 127.0.0.1.")
        return None
    named = options.get("token_file")
    path = Path(named).expanduser() if named else clew_home() / "secrets" / "http-token"
    if path.exists():
        return _stored_token(path)
    token = secrets.token_urlsafe(32)
    private_directory(path.parent)
    write_atomic(path, token + "\n", mode=0o600)
    print(
        f"clew: made a token for HTTP clients, shown this once and kept in {path}:\n"
        f"clew:   Authorization: Bearer {token}",
        file=sys.stderr,
    )
    return token


def _stored_token(path: Path) -> str:
    if path.stat().st_mode & 0o077:
        raise Invalid(f"Others can read the token in {path}", f"Run: chmod 600 {path}")
    token = path.read_text(encoding="utf-8").strip()
    if not token:
        raise Invalid(f"{path} holds no token", "Delete the file: a new token is made.")
    print(f"clew: callers need the token in {path}.", file=sys.stderr)
    return token


def open_listener(host: str, port: str) -> socket.socket:
    """A listening socket, or an error that says what is in the way."""
    if not port.isdigit() or int(port) > 65535:
        raise UsageError(f"Not a port: {port}", "Ports are 0 to 65535; 0 picks a free one.")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, int(port)))
        listener.listen(128)
    except OSError as error:
        listener.close()
        reason = error.strerror or str(error)
        raise Unavailable(
            f"Cannot listen on {host}:{port}: {reason}", "Choose another with --port, or --port 0."
        ) from error
    return listener
