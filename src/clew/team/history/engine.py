"""PostgreSQL as an engine of indexes; nothing of it is imported before one is opened."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from clew.team.history.store import PostgresHistory


class PostgresEngine:
    """Opens indexes in PostgreSQL."""

    def create(self, address: str) -> PostgresHistory:
        """The index for writing, made if there is none."""
        return _store().create(address)

    def open(self, address: str) -> PostgresHistory:
        """An index that exists, for writing."""
        return _store().open(address)

    def read(self, address: str, visible: frozenset[int] | None = None) -> PostgresHistory:
        """An index that exists, for reading; only these repositories of it, or all."""
        return _store().read(address, visible)


def _store() -> type[PostgresHistory]:
    from clew.team.history.store import PostgresHistory

    return PostgresHistory
