"""Secrets of this user: made once, kept in CLEW_HOME, readable by the owner only."""

from __future__ import annotations

import secrets
from contextlib import suppress

from clew.kit.files import private_directory, write_new
from clew.kit.project import clew_home


def load_secret(name: str) -> bytes:
    """The secret of that name, made at its first use; safe when two processes race."""
    path = private_directory(clew_home() / "secrets") / name
    if not path.exists():
        with suppress(FileExistsError):  # another process was first; then its secret counts
            write_new(path, secrets.token_bytes(32), mode=0o600)
    return path.read_bytes()
