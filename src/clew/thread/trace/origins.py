"""Where the lines of commits come from: a spec, a session of an agent, or a person."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from clew.kit.errors import ClewError
from clew.sessions.attribution.files import Repository, counted
from clew.sessions.room import current_index, has_transcripts


def lines_of_sessions(root: Path, commits: Mapping[str, int], left_out: str) -> int:
    """How many of the lines that commits added an agent wrote; `commits` has how many each added."""
    try:
        if not commits or not has_transcripts(root):
            return 0
        with current_index(root) as (index, _):
            repository = Repository(index, root)
            added = repository.added_by(list(commits)) if repository.has_edits else {}
    except ClewError:
        return 0
    return sum(
        min(
            commits[commit],
            sum(
                counted(lines)["session"]
                for path, lines in files.items()
                if not path.startswith(left_out)
            ),
        )
        for commit, files in added.items()
    )
