"""The origin of each line: the candidates of a blob, and which of them a commit can have had."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

from clew.kit import jsontext
from clew.sessions.attribution.alignment import (
    BLOCK,
    EDITED,
    EXACT,
    FORMATTED,
    NORMALISED,
    matches,
    strength,
)
from clew.sessions.index.fingerprints import prints_of
from clew.sessions.index.interface import SessionIndex
from clew.sessions.model import KeptEdit

_RANK = {EXACT: 0, NORMALISED: 1, FORMATTED: 2, EDITED: 3}
_SLACK = 2.0  # git counts whole seconds
_MOST_KEPT = 8  # candidates for a line
_FEWEST_SHARED = 2  # lines that a path which is gone must share to be an earlier name
_LONGEST_FILE = 50_000


@dataclass(frozen=True)
class Origin:
    """The edit behind a line, and how that is known.

    `edited` means that the edit wrote the line and a person changed it since.
    """

    edit: int
    session: int
    turn: int
    time: float
    kind: str
    certainty: float
    is_blind: bool = False

    @property
    def is_agents(self) -> bool:
        """Whether the line is as the agent wrote it."""
        return self.kind != EDITED


@dataclass(frozen=True)
class Bounds:
    """When a commit was written and when it was last rewritten; what is later cannot be in it."""

    authored: float
    committed: float


class Attribution:
    """The lines of one project's files, explained by the edits that the index has."""

    def __init__(self, index: SessionIndex, project: str, gone: Sequence[str] = ()) -> None:
        self._index, self._project = index, project
        self._gone = gone  # paths that agents edited and that the project does not have any more

    def candidates(self, path: str, blob: str, lines: Sequence[str]) -> list[list[Origin]]:
        """Every edit that can explain each line; kept for the blob as long as its edits stay."""
        edits, paths = self._edits(path)
        known = f"{len(edits)}:{max((edit.id for edit in edits), default=0)}"
        kept = self._index.explained(blob, path, f"{known}:{paths}") if blob else None
        by_id = {edit.id: edit for edit in edits}
        if kept is not None:
            return _unpacked(kept, by_id)
        if not edits or len(lines) > _LONGEST_FILE:
            return [[] for _ in lines]
        file = prints_of(lines)
        edits = [edit for edit in edits if edit.path == path] + self._earlier(edits, path, lines)
        edits.sort(key=lambda edit: (edit.time, edit.id))
        found = [
            [(edits[one.edit].id, one.kind, one.certainty) for one in some][-_MOST_KEPT:]
            for some in matches(edits, file)
        ]
        if blob:
            data = jsontext.dumps(found).encode()
            self._index.keep_explained(blob, path, f"{known}:{paths}", data)
        return _origins(found, by_id)

    def _edits(self, path: str) -> tuple[list[KeptEdit], str]:
        edits = self._index.edits(self._project, [path, *self._gone])
        digest = hashlib.blake2b("\0".join(self._gone).encode("utf-8", "replace"), digest_size=8)
        return edits, digest.hexdigest()

    @staticmethod
    def _earlier(edits: Sequence[KeptEdit], path: str, lines: Sequence[str]) -> list[KeptEdit]:
        """The edits of paths that share enough with the file to be its earlier names."""
        by_path: dict[str, list[KeptEdit]] = {}
        for edit in edits:
            if edit.path != path:
                by_path.setdefault(edit.path, []).append(edit)
        if not by_path:
            return []
        file = prints_of(lines)
        same = [some for some in by_path.values() if strength(some, file) >= _FEWEST_SHARED]
        return [edit for some in same for edit in some]

    def origins(
        self, path: str, blob: str, lines: Sequence[str], bounds: Sequence[Bounds | None]
    ) -> list[Origin | None]:
        """The origin of each line, by the commit that brought it; None without evidence."""
        found = self.candidates(path, blob, lines)
        chosen = [chosen_origin(some, bound) for some, bound in zip(found, bounds, strict=True)]
        return with_blocks(chosen, lines)


def chosen_origin(candidates: Sequence[Origin], bounds: Bounds | None) -> Origin | None:
    """The latest edit that the commit can have had, the surest form first.

    What was written before the commit's author date counts first: rewriting keeps that date, so it
    cannot bring in later edits of the same text.
    """
    some = list(candidates)
    if bounds is not None:
        some = [one for one in some if one.time <= bounds.committed + _SLACK]
        early = [one for one in some if one.time <= bounds.authored + _SLACK]
        some = early or sorted(some, key=lambda one: -one.time)
    if not some:
        return None
    best = min(_RANK[one.kind] for one in some)
    some = [one for one in some if _RANK[one.kind] == best]
    # Who writes a whole file repeats what was there.
    sighted = [one for one in some if not one.is_blind]
    return max(sighted or some, key=lambda one: (one.time, one.edit))


def with_blocks(chosen: Sequence[Origin | None], lines: Sequence[str]) -> list[Origin | None]:
    """Blank lines and brackets go with their block: what is around them on both sides."""
    filled = list(chosen)
    at = 0
    while at < len(lines):
        if filled[at] is not None or any(map(str.isalnum, lines[at])):
            at += 1
            continue
        end = at
        while end < len(lines) and filled[end] is None and not any(map(str.isalnum, lines[end])):
            end += 1
        above = filled[at - 1] if at else None
        below = filled[end] if end < len(lines) else None
        if above and below and (above.session, above.turn) == (below.session, below.turn):
            values = {**vars(above), "kind": BLOCK, "certainty": 0.8}
            filled[at:end] = [Origin(**values)] * (end - at)
        at = end
    return filled


def _origins(
    found: Sequence[Sequence[Sequence[object]]], edits: dict[int, KeptEdit]
) -> list[list[Origin]]:
    return [
        [
            Origin(
                edit.id,
                edit.session,
                edit.turn,
                edit.time,
                str(kind),
                float(str(certainty)),
                edit.is_blind,
            )
            for number, kind, certainty in some
            if (edit := edits.get(int(str(number)))) is not None
        ]
        for some in found
    ]


def _unpacked(data: bytes, edits: dict[int, KeptEdit]) -> list[list[Origin]]:
    return _origins(jsontext.loads_bytes(data), edits)
