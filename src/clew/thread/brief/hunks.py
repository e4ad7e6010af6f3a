"""The part of a commit's patch that matters: by the files and the words that are asked about."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clew.history.lookup import patch_text
from clew.kit.text.diff import file_diffs

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clew.history.store.interface import HistoryStore

_LARGEST_PATCH = 200_000
_MOST_LINES = 14
_LONGEST_LINE = 120


def telling_hunk(
    store: HistoryStore, commit_id: int, words: Sequence[str], paths: Sequence[str]
) -> str:
    """The hunk with most of the words, of the files asked about if it touches them; or nothing."""
    best, most = "", (0, 0)
    files = file_diffs(patch_text(store, commit_id, _LARGEST_PATCH) or "")
    for path, hunk in ((file.path, hunk) for file in files for hunk in file.hunks):
        lowered = hunk.lower()
        score = (int(path in paths), sum(word in lowered for word in words))
        if score > most:
            best, most = _shown(path, hunk), score
    return best


def _shown(path: str, hunk: str) -> str:
    """The changed lines with one line around, not too many and not too long."""
    lines = hunk.rstrip("\n").split("\n")[1:]
    changed = [n for n, line in enumerate(lines) if line[:1] in ("+", "-")]
    near = [n for n in range(len(lines)) if any(abs(n - one) <= 1 for one in changed)]
    kept = [lines[n][:_LONGEST_LINE] for n in near]
    more = [f"… {len(kept) - _MOST_LINES} more lines"] if len(kept) > _MOST_LINES else []
    return "\n".join([path, *kept[:_MOST_LINES], *more])
