"""The file of the vectors, beside the index: it can be deleted and built again.

It is a file of its own so that the index stays as it is documented and as small as it was,
and so that making vectors never keeps a sync waiting.
"""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING

from clew.kit.errors import ClewError, Unavailable
from clew.kit.sqlite import open_database, open_read_only, writing

if TYPE_CHECKING:
    from pathlib import Path

    from clew.history.model import Repo
    from clew.history.store.store import HistoryStore

EMBED_HINT = "Run 'commitmux embed'."
WITH_SYNC = "with_sync"
_MIGRATIONS = (
    """
    CREATE TABLE about (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
    CREATE TABLE chunks (
        chunk_id INTEGER PRIMARY KEY,
        repo_id INTEGER NOT NULL,
        count INTEGER NOT NULL,
        last_id INTEGER NOT NULL,
        ids BLOB NOT NULL,
        marks BLOB NOT NULL,
        times BLOB NOT NULL,
        scales BLOB NOT NULL,
        vectors BLOB NOT NULL
    );
    CREATE INDEX chunk_repo ON chunks (repo_id, chunk_id)
    """,
)


def vectors_path(index: Path) -> Path:
    """The file of an index's vectors."""
    return index.with_name(f"{index.name}.vectors")


def open_for_writing(path: Path) -> sqlite3.Connection:
    """The file, made if there is none."""
    try:
        connection = open_database(path, _MIGRATIONS)
        connection.execute("PRAGMA synchronous=NORMAL")  # it can be built again
    except sqlite3.DatabaseError as error:
        raise _damaged("open", path, error) from error
    return connection


def open_for_reading(path: Path) -> sqlite3.Connection:
    """The file, which must be there."""
    if not path.exists():
        raise Unavailable("There are no vectors yet", EMBED_HINT)
    connection = open_read_only(path)
    try:
        about(connection)
    except sqlite3.DatabaseError as error:
        connection.close()
        raise _damaged("read", path, error) from error
    return connection


def _damaged(what: str, path: Path, error: sqlite3.DatabaseError) -> Unavailable:
    hint = f"Delete the file. {EMBED_HINT}"
    return Unavailable(f"Cannot {what} the vectors at {path}: {error}", hint)


def about(connection: sqlite3.Connection) -> dict[str, str]:
    """What is recorded of the vectors: the model, its numbers, the recipe, and settings."""
    return dict(connection.execute("SELECT key, value FROM about").fetchall())


def choose_with_sync(index: Path, *, is_wanted: bool) -> None:
    """Record whether every sync makes vectors too."""
    connection = open_for_writing(vectors_path(index))
    try:
        with writing(connection):
            connection.execute("DELETE FROM about WHERE key = ?", (WITH_SYNC,))
            if is_wanted:
                connection.execute("INSERT INTO about VALUES (?, 'yes')", (WITH_SYNC,))
    finally:
        connection.close()


def embed_after_sync(store: HistoryStore, repo: Repo) -> str | None:
    """Make a repository's new vectors if the user wants that; what went wrong, if anything.

    A sync is not spoilt by a model that does not answer.
    """
    try:
        if not _is_with_sync(vectors_path(store.path)):
            return None
        from clew.models.embedding import load_embedder

        embedder = load_embedder()
        from clew.history.semantic.vectors import embed_commits

        embed_commits(store, embedder, [repo])
    except ClewError as error:
        return f"no vectors: {error.message}"
    return None


def _is_with_sync(path: Path) -> bool:
    if not path.exists():
        return False
    connection = open_for_reading(path)
    try:
        return WITH_SYNC in about(connection)
    finally:
        connection.close()
