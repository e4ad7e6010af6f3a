"""Every call about specs looks whether a run was orphaned, so that no spec stays stuck.

It imports next to nothing: where nothing runs, it costs one look at a file.
"""

from __future__ import annotations

from contextlib import suppress

from clew.kit.errors import ClewError
from clew.kit.project import find_project
from clew.work.journal.active import has_active_runs

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


def repair_on_call(settings: Mapping[str, str]) -> None:
    """Repair orphaned runs in the project of a call; the call itself reports what is wrong."""
    with suppress(ClewError):
        repair_project(find_project(settings=settings))


def repair_project(root: Path) -> None:
    """Repair orphaned runs in this project."""
    if has_active_runs(root):
        from clew.work.runs.reconcile import reconcile
        from clew.work.workspace import Workspace

        with suppress(ClewError), Workspace(root) as work:
            reconcile(work)
