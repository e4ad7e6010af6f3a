"""Outlines that were made before, by blob: the same text is parsed once, in whichever repository."""

from __future__ import annotations

import sqlite3
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from pathlib import Path

from clew.kit import jsontext
from clew.kit.errors import ClewError
from clew.kit.project import clew_home
from clew.kit.sqlite import json_list, open_database, read_migrations, writing
from clew.symbols.parser import Definition, Outline

# Another number when queries change: what an older Clew made is not used.
_VERSION = 1
_MIGRATIONS = Path(__file__).with_name("migrations")
_MOST = 200_000


def cache_file() -> Path:
    """Where outlines are kept; it may be deleted at any time."""
    return clew_home() / "symbols" / f"outlines-{_VERSION}.sqlite3"


@contextmanager
def outline_cache() -> Iterator[OutlineCache]:
    """The cache, open; one that cannot be used knows nothing and keeps nothing."""
    try:
        connection = open_database(cache_file(), read_migrations(_MIGRATIONS))
    except (sqlite3.Error, ClewError, OSError):
        yield OutlineCache(None)
        return
    with closing(connection):
        connection.execute("PRAGMA synchronous=OFF")
        yield OutlineCache(connection)


class OutlineCache:
    """Outlines by blob and language."""

    def __init__(self, connection: sqlite3.Connection | None) -> None:
        self._connection = connection

    def known(self, blobs: Iterable[str], language: str) -> dict[str, Outline]:
        """The outlines that are kept of these blobs."""
        if self._connection is None:
            return {}
        asked = (
            "SELECT blob, outline FROM outlines WHERE language = ?"
            " AND blob IN (SELECT value FROM json_each(?))"
        )
        try:
            rows = self._connection.execute(asked, (language, json_list(blobs))).fetchall()
            return {row["blob"]: _unpacked(row["outline"]) for row in rows}
        except (sqlite3.Error, zlib.error, ValueError, TypeError):
            return {}

    def keep(self, outlines: Mapping[str, Outline], language: str) -> None:
        """Keep outlines; a cache that is full begins anew."""
        if self._connection is None or not outlines:
            return
        rows = [(blob, language, _packed(outline)) for blob, outline in outlines.items()]
        with suppress(sqlite3.Error), writing(self._connection) as connection:
            (count,) = connection.execute("SELECT max(rowid) FROM outlines").fetchone()
            if (count or 0) > _MOST:
                connection.execute("DELETE FROM outlines")
            connection.executemany("INSERT OR REPLACE INTO outlines VALUES (?, ?, ?)", rows)


def _packed(outline: Outline) -> bytes:
    data = [[list(one) for one in outline.definitions], [list(one) for one in outline.calls]]
    return zlib.compress(jsontext.dumps(data).encode("utf-8", "replace"), 1)


def _unpacked(raw: bytes) -> Outline:
    definitions, calls = jsontext.loads(zlib.decompress(raw).decode("utf-8"))
    return Outline(
        tuple(Definition(n, kind, start, end, tuple(o)) for n, kind, start, end, o in definitions),
        tuple((name, line) for name, line in calls),
    )
