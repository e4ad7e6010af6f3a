"""Whether anything runs here: asked by every command, so it imports next to nothing."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pathlib import Path

IS_ACTIVE = (
    "SELECT EXISTS (SELECT 1 FROM runs WHERE settled_at IS NULL OR phase NOT IN"
    " ('held', 'finished', 'paused', 'interrupted', 'failed', 'cancelled'))"
    " OR EXISTS (SELECT 1 FROM schedules WHERE status = 'running')"
    " OR EXISTS (SELECT 1 FROM merges WHERE status IN ('merging', 'moving'))"
)


def has_active_runs(root: Path) -> bool:
    """Whether a run, schedule or merge is under way, or was when its process died.

    So does a run whose spec does not have its status yet. `reconcile` tells which it is; it also
    explains a journal that cannot be read.
    """
    path = f"{root}/.chant/.store/runs.sqlite3"
    if not os.path.exists(path):  # noqa: PTH110 (pathlib is not loaded on every path here)
        return False
    import sqlite3
    from contextlib import closing

    from clew.kit.sqlite import open_read_only

    try:
        with closing(open_read_only(root / ".chant" / ".store" / "runs.sqlite3")) as connection:
            return bool(connection.execute(IS_ACTIVE).fetchone()[0])
    except sqlite3.Error:
        return True
