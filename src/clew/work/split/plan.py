"""How a piece of work is divided: what a division must hold, and one that needs no model."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from math import ceil
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from clew.kit.errors import Invalid
from clew.kit.text.display import clipped

if TYPE_CHECKING:
    from collections.abc import Sequence

MOST_CRITERIA = 5
MOST_FILES = 5
MOST_MEMBERS = 6  # of one level, where we divide ourselves; a model may have twice as many
_LONGEST_TITLE = 80
_WORD = re.compile(r"[a-z0-9]{3,}")


@dataclass(frozen=True)
class Demand:
    """One acceptance criterion, and the command that checks it."""

    text: str
    check: str | None = None


@dataclass(frozen=True)
class Piece:
    """Something that can be divided: a spec, or a member that is still too much."""

    title: str
    description: str
    criteria: tuple[Demand, ...]
    files: tuple[str, ...]

    @property
    def is_large(self) -> bool:
        """Whether it is more than one member should be."""
        return len(self.criteria) > MOST_CRITERIA or len(self.files) > MOST_FILES


@dataclass(frozen=True)
class Member(Piece):
    """A part of a piece; `covers` and `depends_on` count from 1."""

    covers: tuple[int, ...] = ()
    depends_on: tuple[int, ...] = ()
    members: tuple[Member, ...] = ()


def divide(piece: Piece) -> list[Member]:
    """Divide by criteria and files, always the same way.

    Criteria that name the same file stay together. Members whose files are known and distinct are
    independent; otherwise each waits for the one before it.
    """
    clusters = _clusters(piece)
    if len(clusters) < 2:
        raise Invalid(
            "There is nothing to divide: one criterion, one file or less",
            "Write down more acceptance criteria or target files, each on its own line.",
        )
    bins = _packed(clusters, _member_count(piece, len(clusters)))
    known = [files for _, files in bins]
    apart = all(known) and sum(map(len, known)) == len({name for group in known for name in group})
    return [
        _member(piece, numbers, files, () if apart or index == 0 else (index,))
        for index, (numbers, files) in enumerate(bins)
    ]


def problems(piece: Piece, members: Sequence[Member]) -> list[str]:
    """What is wrong with a division; nothing may be written while there is something."""
    found = []
    if not 2 <= len(members) <= 2 * MOST_MEMBERS:
        found.append(f"There must be 2 to {2 * MOST_MEMBERS} members, not {len(members)}")
    for number, member in enumerate(members, start=1):
        found += [f"Member {number}: {what}" for what in _member_problems(piece, member, members)]
    covered = {number for member in members for number in member.covers}
    for number, demand in enumerate(piece.criteria, start=1):
        if number not in covered:
            found.append(f"No member covers criterion {number}: {demand.text}")
    ring = cycle_of(members)
    if ring:
        found.append(f"Members wait for each other: {' -> '.join(map(str, ring))}")
    return found


def cycle_of(members: Sequence[Member]) -> list[int]:
    """Members that wait for each other in a circle, by their numbers; nothing if none do."""
    done: set[int] = set()
    for start in range(1, len(members) + 1):
        path: list[int] = []
        trail = [(start, 0)]
        while trail:
            number, place = trail.pop()
            del path[len(trail) :]
            if number in path:
                return [*path[path.index(number) :], number]
            wanted = [n for n in members[number - 1].depends_on if 1 <= n <= len(members)]
            if number in done or place >= len(wanted):
                done.add(number)
                continue
            path.append(number)
            trail += [(number, place + 1), (wanted[place], 0)]
    return []


def put_right(piece: Piece, members: Sequence[Member]) -> tuple[list[Member], list[str]]:
    """Keep the checks of covered criteria, and have members that share a file wait their turn."""
    kept = [_with_checks(piece, member) for member in members]
    warnings = []
    for later in range(2, len(kept) + 1):
        for earlier in range(1, later):
            shared = sorted(set(kept[later - 1].files) & set(kept[earlier - 1].files))
            if shared and not (_waits(kept, later, earlier) or _waits(kept, earlier, later)):
                member = kept[later - 1]
                kept[later - 1] = replace(member, depends_on=(*member.depends_on, earlier))
                names = ", ".join(shared)
                warnings.append(f"Members {earlier} and {later} both change {names}: in this order")
    return kept, warnings


def _member_problems(piece: Piece, member: Member, members: Sequence[Member]) -> list[str]:
    found = []
    if not member.title.strip():
        found.append("it has no title")
    if not member.criteria:
        found.append("it has no acceptance criteria")
    if any(not 1 <= number <= len(members) for number in member.depends_on):
        found.append(f"it depends on members that do not exist: {list(member.depends_on)}")
    if any(not 1 <= number <= len(piece.criteria) for number in member.covers):
        found.append(f"it covers criteria that do not exist: {list(member.covers)}")
    found += [f"not a file in the project: {name}" for name in member.files if not _is_inside(name)]
    return found


def _is_inside(name: str) -> bool:
    path = PurePosixPath(name)
    return name.isprintable() and not path.is_absolute() and ".." not in path.parts


def _with_checks(piece: Piece, member: Member) -> Member:
    criteria = list(member.criteria)
    for number in member.covers:
        demand = piece.criteria[number - 1]
        if demand.check is None or any(mine.check == demand.check for mine in criteria):
            continue
        same = [place for place, mine in enumerate(criteria) if mine.text == demand.text]
        if same:
            criteria[same[0]] = demand
        else:
            criteria.append(demand)
    return replace(member, criteria=tuple(criteria))


def _waits(members: Sequence[Member], one: int, other: int) -> bool:
    """Whether one member waits for another, directly or not."""
    seen, todo = set[int](), [one]
    while todo:
        for number in members[todo.pop() - 1].depends_on:
            if number == other:
                return True
            if number not in seen:
                seen.add(number)
                todo.append(number)
    return False


_Cluster = tuple[list[int], list[str]]  # numbers of criteria, files


def _clusters(piece: Piece) -> list[_Cluster]:
    """Criteria that belong together because of their files, in the order of the first of each."""
    named = [[f for f in piece.files if _mentions(d.text, f)] for d in piece.criteria]
    clusters: list[_Cluster] = []
    for number, files in enumerate(named, start=1):
        touching = [c for c in clusters if set(c[1]) & set(files)]
        merged: _Cluster = ([n for c in touching for n in c[0]] + [number], [])
        merged[1].extend(dict.fromkeys([f for c in touching for f in c[1]] + files))
        clusters = [c for c in clusters if c not in touching] + [merged]
    if len(clusters) == 1 and len(piece.criteria) > 1:  # all share files: one after the other
        clusters = [([number], files) for number, files in enumerate(named, start=1)]
    clusters.sort(key=lambda cluster: cluster[0][0])
    left = [name for name in piece.files if not any(name in files for _, files in clusters)]
    if not clusters:
        return [([], [name]) for name in left]
    for name in left:
        min(clusters, key=lambda cluster: _distance(piece, cluster, name))[1].append(name)
    return clusters


def _mentions(text: str, name: str) -> bool:
    last = PurePosixPath(name).name
    return name in text or bool(re.search(rf"(?<![\w.]){re.escape(last)}(?![\w])", text))


def _distance(piece: Piece, cluster: _Cluster, name: str) -> tuple[int, int, int]:
    """How little a file has to do with a cluster: by common words, then by how many it has."""
    words = set(_WORD.findall(name.lower()))
    said = " ".join(piece.criteria[number - 1].text.lower() for number in cluster[0])
    return (-len(words & set(_WORD.findall(said))), len(cluster[1]), cluster[0][0])


def _member_count(piece: Piece, clusters: int) -> int:
    wanted = max(2, ceil(len(piece.criteria) / MOST_CRITERIA), ceil(len(piece.files) / MOST_FILES))
    return min(wanted, MOST_MEMBERS, clusters)


def _packed(clusters: list[_Cluster], count: int) -> list[_Cluster]:
    """The clusters in their order, in so many members of about the same size."""
    weights = [max(1, len(numbers)) for numbers, _ in clusters]
    bins: list[_Cluster] = [([], [])]
    weight, total = 0, sum(weights)
    for place, (numbers, files) in enumerate(clusters):
        must_begin = len(clusters) - place == count - len(bins)
        is_full = weight >= total * len(bins) / count
        if bins[-1] != ([], []) and len(bins) < count and (must_begin or is_full):
            bins.append(([], []))
        bins[-1][0].extend(numbers)
        bins[-1][1].extend(name for name in files if name not in bins[-1][1])
        weight += weights[place]
    return bins


def _member(piece: Piece, numbers: list[int], files: list[str], after: tuple[int, ...]) -> Member:
    criteria = tuple(piece.criteria[number - 1] for number in numbers)
    if criteria:
        title = clipped(criteria[0].text.rstrip("."), _LONGEST_TITLE)
        more = len(criteria) - 1
        title += f" (and {more} more)" if more else ""
    else:
        title = f"{piece.title}: {', '.join(PurePosixPath(name).name for name in files)}"
        criteria = tuple(Demand(f"`{name}` does what the spec asks of it") for name in files)
    return Member(title, piece.description, criteria, tuple(files), tuple(numbers), after)
