"""Every call about specs looks whether a run was cut off, so that no spec stays stuck.

It imports next to nothing: where nothing runs, it costs one look at a file.
"""

from __future__ import annotations

from contextlib import suppress

from clew.kit.errors import ClewError
from clew.kit.project import find_project
from clew.work.journal.activity import has_open_runs

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


def attend(settings: Mapping[str, str]) -> None:
    """Put right what was cut off in the project of a call; troubles are for others to tell."""
    with suppress(ClewError):
        attend_project(find_project(settings=settings))


def attend_project(root: Path) -> None:
    """Put right what was cut off in this project."""
    if has_open_runs(root):
        from clew.work.paths import Places
        from clew.work.runs.reconcile import reconcile

        with suppress(ClewError):
            reconcile(Places(root))
