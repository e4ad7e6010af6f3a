"""Which project a session belongs to: its root, its worktrees, and those that are gone."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path

from clew.kit.project import clew_home

_LONGEST = 4096


@dataclass(frozen=True)
class Places:
    """One project and every directory that is a checkout of it."""

    root: str
    checkouts: tuple[str, ...]
    parents: tuple[str, ...]  # what is directly below is a checkout, there or gone

    def relative(self, path: str, cwd: str) -> str | None:
        """A path from the root of the checkout that it is in; None where it is elsewhere."""
        whole = os.path.normpath(os.path.join(cwd or self.root, path))  # noqa: PTH118
        for checkout in self.checkouts:
            if whole.startswith(checkout + os.sep):
                return whole[len(checkout) + 1 :]
        for parent in self.parents:
            if whole.startswith(parent + os.sep):
                _, _, rest = whole[len(parent) + 1 :].partition(os.sep)
                return rest or None
        return None

    def has(self, directory: str) -> bool:
        """Whether a directory is in a checkout."""
        return self.relative(os.path.join(directory, "x"), "") is not None  # noqa: PTH118


def places_of(root: Path) -> Places:
    """The project at a root, by git's own files and Clew's."""
    names = {str(root), os.path.realpath(root)}
    git = root / ".git"
    try:
        linked = [
            (entry / "gitdir").read_text(encoding="utf-8", errors="replace")[:_LONGEST].strip()
            for entry in (git / "worktrees").iterdir()
        ]
    except OSError:
        linked = []
    names |= {str(Path(one).parent) for one in linked if one}
    names |= {os.path.realpath(name) for name in names}
    digest = hashlib.sha256(os.fsencode(os.path.realpath(git))).hexdigest()[:10]
    home = clew_home().absolute() / "worktrees"
    try:
        made = [str(one) for one in home.iterdir() if one.name.endswith(f"-{digest}")]
    except OSError:
        made = []
    # The deeper ones first: a worktree may be below the project.
    return Places(os.path.realpath(root), tuple(sorted(names, key=len, reverse=True)), tuple(made))
