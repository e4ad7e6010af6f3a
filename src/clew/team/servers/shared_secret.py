"""The secret that servers of one database seal state with: what one gave out, another opens."""

from __future__ import annotations

import secrets
from contextlib import closing

from clew.team.database import Database, require_schema


def shared_secret(address: str, name: str) -> bytes:
    """The secret of that name, made at its first use; safe when two servers race."""
    with closing(Database(address)) as database:
        require_schema(database)
        database.run(
            "INSERT INTO server_secrets VALUES (%s, %s) ON CONFLICT DO NOTHING",
            (name, secrets.token_bytes(32)),
        )
        row = database.row("SELECT value FROM server_secrets WHERE name = %s", (name,))
        assert row is not None
        return bytes(row[0])
