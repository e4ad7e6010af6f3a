"""The origin of each line: the candidates of a blob, and which of them a commit can have had."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property

from clew.kit import jsontext
from clew.sessions.attribution.alignment import (
    BLOCK,
    EDITED,
    EXACT,
    FORMATTED,
    NORMALISED,
    Written,
    matches,
)
from clew.sessions.index.fingerprints import prints_of
from clew.sessions.index.sqlite import SessionIndex
from clew.sessions.model import KeptEdit

_RANK = {EXACT: 0, NORMALISED: 1, FORMATTED: 2, EDITED: 3}
_SLACK = 2.0  # git counts whole seconds
_MOST_KEPT = 8  # candidates for a line
_LONGEST_FILE = 50_000
_FORM = 2  # of comparing; what an older one found is not used any more


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
    is_imported: bool = False

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

    def candidates(
        self, path: str, blob: str, lines: Sequence[str], names: Collection[str] = ()
    ) -> list[list[Origin]]:
        """Every edit that can explain each line; kept for the blob as long as its edits stay.

        `names` are those that git says the file had before.
        """
        known_names = frozenset((path, *names))
        edits = self._index.edits(self._project, sorted(known_names))
        lost = {name: some for name, some in self._lost.items() if name not in known_names}
        every = [*edits, *(edit for some in lost.values() for edit in some.edits)]
        known = self._known(known_names, every)
        kept = self._index.explained(blob, path, known) if blob else None
        by_id = {edit.id: edit for edit in every}
        if kept is not None:
            return _origins(jsontext.loads_bytes(kept), by_id)
        if not every or len(lines) > _LONGEST_FILE:
            return [[] for _ in lines]
        file = prints_of(lines)
        edits += [edit for some in lost.values() if some.is_about(file) for edit in some.edits]
        edits.sort(key=lambda edit: (edit.time, edit.id))
        found = [
            [(edits[one.edit].id, one.kind, one.certainty) for one in some][-_MOST_KEPT:]
            for some in matches(edits, file)
        ]
        if blob:
            data = jsontext.dumps(found).encode()
            self._index.keep_explained(blob, path, known, data)
        return _origins(found, by_id)

    @cached_property
    def _lost(self) -> dict[str, Written]:
        """What was written under paths that are gone; one of them may be an earlier name."""
        by_path: dict[str, list[KeptEdit]] = {}
        for edit in self._index.edits(self._project, self._gone) if self._gone else ():
            by_path.setdefault(edit.path, []).append(edit)
        return {path: Written.of(some) for path, some in by_path.items()}

    def _known(self, names: frozenset[str], edits: Sequence[KeptEdit]) -> str:
        """What the candidates of a blob depend on."""
        digest = "\0".join([*sorted(names), "", *self._gone]).encode("utf-8", "replace")
        newest = max((edit.id for edit in edits), default=0)
        return f"{_FORM}:{len(edits)}:{newest}:{hashlib.blake2b(digest, digest_size=8).hexdigest()}"

    def origins(
        self,
        path: str,
        blob: str,
        lines: Sequence[str],
        bounds: Sequence[Bounds | None],
        names: Collection[str] = (),
    ) -> list[Origin | None]:
        """The origin of each line, by the commit that brought it; None without evidence."""
        found = self.candidates(path, blob, lines, names)
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
    # What this machine saw counts before what a note says.
    some = [one for one in some if not one.is_imported] or some
    # Who writes a whole file repeats what was there.
    some = [one for one in some if one.is_agents and not one.is_blind] or some
    best = min(_RANK[one.kind] for one in some)
    some = [one for one in some if _RANK[one.kind] == best]
    if best == _RANK[FORMATTED] and len({one.session for one in some}) > 1:
        return None  # the same words of two sessions: nothing tells which of them it was
    return max(some, key=lambda one: (one.time, one.edit))


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
        # The bracket of what a person changed is theirs too.
        is_ours = above is not None and (above.is_agents or not "".join(lines[at:end]).strip())
        if is_ours and above and below and _turn(above) == _turn(below):
            values = {**vars(above), "kind": BLOCK, "certainty": 0.8}
            filled[at:end] = [Origin(**values)] * (end - at)
        at = end
    return filled


def _turn(origin: Origin) -> tuple[int, int]:
    return origin.session, origin.turn


def _origins(
    found: Sequence[Sequence[tuple[int, str, float]]], edits: dict[int, KeptEdit]
) -> list[list[Origin]]:
    return [
        [
            Origin(
                one.id,
                one.session,
                one.turn,
                one.time,
                kind,
                certainty,
                one.is_blind,
                one.is_imported,
            )
            for number, kind, certainty in some
            if (one := edits.get(number)) is not None
        ]
        for some in found
    ]
