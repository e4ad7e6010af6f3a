"""Secrets of this user: made once, kept in CLEW_HOME, readable by the owner only."""

from __future__ import annotations

import os
import secrets

from clew.kit.files import private_directory
from clew.kit.project import clew_home


def load_secret(name: str) -> bytes:
    """The secret of that name, made at its first use; safe when two processes race."""
    path = private_directory(clew_home() / "secrets") / name
    fresh = path.with_name(f".{name}.{os.getpid()}.{secrets.token_hex(4)}")
    if not path.exists():
        descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            with os.fdopen(descriptor, "wb") as stream:
                stream.write(secrets.token_bytes(32))
            os.link(fresh, path)  # fails if another process was first; then its secret counts
        except FileExistsError:
            pass
        finally:
            fresh.unlink()
    return path.read_bytes()
