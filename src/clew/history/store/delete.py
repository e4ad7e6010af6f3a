"""Taking commits out of the index again, and what nothing refers to any more."""

from __future__ import annotations

from typing import TYPE_CHECKING

import zstandard

from clew.history.git.raw_changes import indexed_texts
from clew.history.model import LARGEST_PATCH, first_id, last_id
from clew.history.store.packs import drop_patches
from clew.kit.errors import Unavailable

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable

    from clew.history.store.store import HistoryStore

_LARGEST_STORED = 4 * LARGEST_PATCH  # replacing secrets can make a patch longer
_PEOPLE_COLUMNS = ("person_id", "author_id", "committer_id")


def forget_repo_commits(store: HistoryStore, repo_id: int) -> int:
    """Forget all commits of a repository; how many. Call inside a transaction."""
    rows = store.connection.execute(
        "SELECT id FROM commit_rows WHERE id BETWEEN ? AND ?", (first_id(repo_id), last_id(repo_id))
    ).fetchall()
    return forget_commits(store, [row["id"] for row in rows])


def forget_commits(store: HistoryStore, ids: Iterable[int]) -> int:
    """Forget commits wherever they are mentioned; how many. Call inside a transaction."""
    connection = store.connection
    tables = [name for name, column in _columns(connection) if column == "commit_id"]
    count = 0
    for commit_id in ids:
        _forget_text(connection, commit_id)
        for table in tables:
            connection.execute(
                f"DELETE FROM {table} WHERE commit_id = ?",  # noqa: S608 - names from the schema
                (commit_id,),
            )
        count += connection.execute("DELETE FROM commit_rows WHERE id = ?", (commit_id,)).rowcount
    return count


def sweep_patches(connection: sqlite3.Connection) -> int:
    """Drop patches that no commit has; how many. Call inside a transaction."""
    rows = connection.execute(
        "SELECT patch_id FROM patch_places WHERE patch_id NOT IN"
        " (SELECT patch_id FROM commit_rows WHERE patch_id IS NOT NULL)"
    ).fetchall()
    drop_patches(connection, [row["patch_id"] for row in rows])
    return len(rows)


def sweep_paths(connection: sqlite3.Connection) -> int:
    """Drop paths that nothing refers to; how many. Call inside a transaction."""
    used = _references(connection, "paths", lambda column: column.endswith("path_id"))
    rows = connection.execute(
        f"SELECT path_id, path FROM paths WHERE path_id NOT IN ({used})"  # noqa: S608
    ).fetchall()
    for row in rows:
        connection.execute(
            "INSERT INTO paths_fts (paths_fts, rowid, path) VALUES ('delete', ?, ?)", tuple(row)
        )
        connection.execute("DELETE FROM paths WHERE path_id = ?", (row["path_id"],))
    return len(rows)


def sweep_people(connection: sqlite3.Connection) -> int:
    """Drop people that nothing refers to; how many. Call inside a transaction."""
    used = _references(connection, "people", lambda column: column in _PEOPLE_COLUMNS)
    return connection.execute(
        f"DELETE FROM people WHERE person_id NOT IN ({used})"  # noqa: S608
    ).rowcount


def raw_patch(blob: bytes) -> bytes:
    """A stored patch as bytes; one that is damaged, or says that it is huge, is refused."""
    try:
        if 0 <= zstandard.frame_content_size(blob) <= _LARGEST_STORED:
            return zstandard.ZstdDecompressor().decompress(blob)
        reason = "it says that it is larger than any can be"
    except zstandard.ZstdError as error:
        reason = str(error)
    raise Unavailable(
        f"A stored patch is damaged: {reason}", "`commitmux sync --full` reads everything anew."
    )


def _columns(connection: sqlite3.Connection) -> list[tuple[str, str]]:
    """Every ordinary table with each of its columns; not the text indexes' own."""
    rows = connection.execute(
        "SELECT m.name, c.name FROM sqlite_master m, pragma_table_info(m.name) c"
        " WHERE m.type = 'table' AND m.sql NOT LIKE 'CREATE VIRTUAL%' AND m.name NOT LIKE '%\\_fts\\_%'"
        " ESCAPE '\\'"
    )
    return [(row[0], row[1]) for row in rows]


def _references(connection: sqlite3.Connection, target: str, wanted: object) -> str:
    """A query for every number in columns that refer to a table."""
    assert callable(wanted)
    found = [(t, c) for t, c in _columns(connection) if t != target and wanted(c)]
    return " UNION ".join(
        f"SELECT {column} FROM {table} WHERE {column} IS NOT NULL"  # noqa: S608
        for table, column in found
    )


def _forget_text(connection: sqlite3.Connection, commit_id: int) -> None:
    """Take a commit out of the text indexes, which need to be told what they hold of it."""
    row = connection.execute(
        "SELECT c.subject, c.body, c.preview, length(c.parents) / 20 AS parents, p.blob"
        " FROM commit_rows c LEFT JOIN patch_rows p ON p.patch_id = c.patch_id WHERE c.id = ?",
        (commit_id,),
    ).fetchone()
    if row is None:
        return
    connection.execute(
        "INSERT INTO commits_fts (commits_fts, rowid, subject, body, patch_preview)"
        " VALUES ('delete', ?, ?, ?, ?)",
        (commit_id, row["subject"], row["body"], row["preview"]),
    )
    patch = raw_patch(row["blob"]) if row["blob"] is not None else None
    paths = connection.execute(
        "SELECT p.path FROM file_rows f JOIN paths p ON p.path_id = f.path_id"
        " WHERE f.commit_id = ? ORDER BY f.number",
        (commit_id,),
    )
    shown = "\n".join(path[0] for path in paths)
    connection.execute(
        "INSERT INTO search_fts (search_fts, rowid, subject, body, added, removed, context, paths)"
        " VALUES ('delete', ?, ?, ?, ?, ?, ?, ?)",
        (commit_id, row["subject"], row["body"], *indexed_texts(patch, row["parents"]), shown),
    )
