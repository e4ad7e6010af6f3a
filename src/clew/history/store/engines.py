"""Where an index is, and which engine holds it: a file of SQLite, or what the program offers.

An address is the path of a file, or begins with the scheme of an engine: `postgresql://…`.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

from clew.history.store.interface import HistoryStore
from clew.kit.errors import Invalid


class Engine(Protocol):
    """What opens indexes by their address."""

    def create(self, address: str) -> HistoryStore:
        """The index for writing, made if there is none."""

    def open(self, address: str) -> HistoryStore:
        """An index that exists, for writing."""

    def read(self, address: str, visible: frozenset[int] | None = None) -> HistoryStore:
        """An index that exists, for reading; only these repositories of it, or all."""


_SCHEMES = ("postgresql://", "postgres://")
_offered: dict[str, tuple[Engine, str]] = {}


def offer(engine: Engine, pickaxe: str = "") -> None:
    """Let an engine hold indexes; and the module that runs the pickaxe on it in another process."""
    for scheme in _SCHEMES:
        _offered[scheme] = engine, pickaxe


def pickaxe_module(address: str) -> str:
    """The module that runs the pickaxe on an index in another process; empty for a file."""
    return _engine(address)[1] if is_remote(address) else ""


def is_remote(address: str) -> bool:
    """Whether an address names no file."""
    return address.startswith(_SCHEMES)


def index_address(settings: Mapping[str, str] | None = None) -> str:
    """Where the index is: what was asked for, then `CLEW_DATABASE`, then a file.

    The setting `db` may only repeat the environment; then `CLEW_DATABASE` goes before it.
    """
    given = settings or {}
    file = given.get("db")
    if file == os.environ.get("COMMITMUX_DB"):
        file = None
    named = given.get("database") or file or os.environ.get("CLEW_DATABASE")
    if named and is_remote(named):
        return named
    from clew.history.store.sqlite import database_path

    return str(database_path({"db": named} if named else given))


def create_index(address: str) -> HistoryStore:
    """The index for writing, made if there is none."""
    if is_remote(address):
        return _engine(address)[0].create(address)
    from clew.history.store.sqlite import SqliteHistory

    return SqliteHistory.create(Path(address))


def open_index(address: str) -> HistoryStore:
    """An index that exists, for writing."""
    if is_remote(address):
        return _engine(address)[0].open(address)
    from clew.history.store.sqlite import SqliteHistory

    return SqliteHistory.open(Path(address))


def read_index(address: str, visible: frozenset[int] | None = None) -> HistoryStore:
    """An index that exists, for reading: of a database, the replica that is named for that."""
    if is_remote(address):
        replica = os.environ.get("CLEW_DATABASE_READ")
        return _engine(address)[0].read(replica or address, visible)
    from clew.history.store.sqlite import SqliteHistory

    return SqliteHistory.read(Path(address))


def _engine(address: str) -> tuple[Engine, str]:
    for scheme, found in _offered.items():
        if address.startswith(scheme):
            return found
    raise Invalid(
        "This index is in PostgreSQL, which this program was not started for",
        "Install it with the extra 'team': pip install 'clew[team]'.",
    )
