"""Where patches lie: each a zstd frame of its own, side by side in packs.

A row per patch would leave a tenth of the file unused, at the ends of pages. Every frame stays
readable by itself, through the view `patch_rows` and by any program that knows zstd.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence

from clew.history.model import IndexedCommit

_PACK = 32 * 1024


def write_patches(
    connection: sqlite3.Connection, commits: Sequence[IndexedCommit]
) -> dict[bytes, int]:
    """Store the patches that are new; the number of each patch by its digest."""
    numbers: dict[bytes, int] = {}
    fresh: list[IndexedCommit] = []
    size = 0
    for commit in {c.patch_digest: c for c in commits if c.patch_digest is not None}.values():
        assert commit.patch_digest is not None
        row = connection.execute(
            "SELECT patch_id FROM patch_places WHERE digest = ?", (commit.patch_digest,)
        ).fetchone()
        if row is not None:
            numbers[commit.patch_digest] = row[0]
            continue
        fresh.append(commit)
        size += len(commit.patch_blob or b"")
        if size >= _PACK:
            numbers |= _write_pack(connection, fresh)
            fresh, size = [], 0
    return numbers | _write_pack(connection, fresh) if fresh else numbers


def _write_pack(connection: sqlite3.Connection, commits: list[IndexedCommit]) -> dict[bytes, int]:
    frames = [commit.patch_blob or b"" for commit in commits]
    pack_id = _add_pack(connection, frames)
    numbers: dict[bytes, int] = {}
    start = 0
    for commit, frame in zip(commits, frames, strict=True):
        cursor = connection.execute(
            "INSERT INTO patch_places (digest, size, pack_id, start, length)"
            " VALUES (?, ?, ?, ?, ?)",
            (commit.patch_digest, commit.patch_size, pack_id, start, len(frame)),
        )
        assert commit.patch_digest is not None
        assert cursor.lastrowid is not None
        numbers[commit.patch_digest] = cursor.lastrowid
        start += len(frame)
    return numbers


def _add_pack(connection: sqlite3.Connection, frames: Iterable[bytes]) -> int | None:
    cursor = connection.execute("INSERT INTO patch_packs (frames) VALUES (?)", (b"".join(frames),))
    return cursor.lastrowid


def drop_patches(connection: sqlite3.Connection, patch_ids: Sequence[int]) -> None:
    """Take patches out of their packs; what else is in these packs is written anew."""
    packs: set[int] = set()
    for patch_id in patch_ids:
        row = connection.execute(
            "SELECT pack_id FROM patch_places WHERE patch_id = ?", (patch_id,)
        ).fetchone()
        packs.add(row[0])
        connection.execute("DELETE FROM patch_places WHERE patch_id = ?", (patch_id,))
    for pack_id in packs:
        _rewrite(connection, pack_id)


def _rewrite(connection: sqlite3.Connection, pack_id: int) -> None:
    kept = connection.execute(
        "SELECT p.patch_id, p.length, substr(k.frames, p.start + 1, p.length)"
        " FROM patch_places p JOIN patch_packs k ON k.pack_id = p.pack_id"
        " WHERE p.pack_id = ? ORDER BY p.start",
        (pack_id,),
    ).fetchall()
    connection.execute("DELETE FROM patch_packs WHERE pack_id = ?", (pack_id,))
    if not kept:
        return
    number = _add_pack(connection, [row[2] for row in kept])
    start = 0
    for patch_id, length, _ in kept:
        connection.execute(
            "UPDATE patch_places SET pack_id = ?, start = ? WHERE patch_id = ?",
            (number, start, patch_id),
        )
        start += length
