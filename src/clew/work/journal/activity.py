"""Whether anything runs here: asked by every command, so it imports next to nothing."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pathlib import Path

AT_REST = ("held", "finished", "paused", "interrupted", "failed", "cancelled")


def has_open_runs(root: Path) -> bool:
    """Whether a run of this project is under way, or was when it was cut off.

    A run that ended while its spec was not told yet counts too, and so does a schedule. If so, `reconcile` tells which it is. A journal that cannot be read is for it to explain.
    """
    path = f"{root}/.chant/.store/runs.sqlite3"
    if not os.path.exists(path):  # noqa: PTH110 (pathlib is not loaded on every path here)
        return False
    import sqlite3

    from clew.kit.sqlite import open_read_only

    marks = ", ".join("?" * len(AT_REST))
    query = (
        f"SELECT EXISTS (SELECT 1 FROM runs WHERE phase NOT IN ({marks}) OR settled_at IS NULL)"  # noqa: S608
        " OR EXISTS (SELECT 1 FROM schedules WHERE status = 'running')"
        " OR EXISTS (SELECT 1 FROM merges WHERE status IN ('merging', 'moving'))"
    )
    try:
        connection = open_read_only(root / ".chant" / ".store" / "runs.sqlite3")
        try:
            return bool(connection.execute(query, AT_REST).fetchone()[0])
        finally:
            connection.close()
    except sqlite3.Error:
        return True
