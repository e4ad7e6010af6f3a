"""Which specs come next: in the order asked for, when nothing they need or touch is in the way."""

from __future__ import annotations

from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from clew.specs.files.ids import sort_key
from clew.specs.model import DONE_STATUSES, GROUP_TYPES, OPEN_STATUSES

if TYPE_CHECKING:
    from collections.abc import Iterable

    from clew.specs.index.index import Snapshot
    from clew.specs.model import Head

_GLOB = frozenset("*?[")


@dataclass(frozen=True)
class Wanted:
    """Which specs a schedule is about: these in this order and, unless `only`, all that are ready.

    Labels narrow what is ready.
    """

    ids: tuple[str, ...] = ()
    only: bool = False
    labels: tuple[str, ...] = ()


@dataclass
class Choice:
    """What can start now, in order, and what waits only for files that others are changing."""

    startable: list[str] = field(default_factory=list)
    waiting: dict[str, str] = field(default_factory=dict)


def wanted_ids(found: Snapshot, wanted: Wanted) -> list[str]:
    """Every spec that is meant, in order; a driver stands for its members, then for itself."""
    graph = found.graph()
    listed: list[str] = []
    for name in wanted.ids:
        listed += [*graph.members(name), name]
    if not wanted.only:
        listed += [name for name in graph.ready() if _is_labelled(found.by_id[name], wanted)]
    return [name for name in dict.fromkeys(listed) if _is_work(found, name)]


def choose(
    found: Snapshot, wanted: Wanted, *, settled: Iterable[str], busy: Iterable[str]
) -> Choice:
    """What can start now: not settled yet, nothing unfinished before it, no file in common.

    `settled` is what this schedule is done with, `busy` what anybody works on at this moment.
    """
    graph, choice = found.graph(), Choice()
    passed_by, at_work = set(settled), list(busy)
    for name in wanted_ids(found, wanted):
        if name in passed_by or name in at_work or graph.waits_for(name):
            continue
        if found.by_id[name].status not in OPEN_STATUSES and name not in _asked(found, wanted):
            continue
        other = next((b for b in at_work if _overlap(found, name, b)), None)
        if other is None:
            choice.startable.append(name)
            at_work.append(name)
        else:
            choice.waiting[name] = other
    return choice


def needs_of(found: Snapshot, head: Head) -> set[str]:
    """Everything that a spec builds on: what it names, what its drivers name, its elder siblings."""
    graph = found.graph()
    needs = set(head.depends_on or ())
    for driver in graph.drivers_of(head.id):
        needs |= set(found.by_id[driver].depends_on or ())
        if head.depends_on is None:
            needs |= {name for name in graph.members(driver) if sort_key(name) < sort_key(head.id)}
    return needs - {head.id}


def share_files(one: Iterable[str], other: Iterable[str]) -> bool:
    """Whether two lists of files, directories and patterns may mean the same file."""
    theirs = [_normal(name) for name in other]
    return any(_same(_normal(mine), name) for mine in one for name in theirs)


def _asked(found: Snapshot, wanted: Wanted) -> set[str]:
    """The specs that were asked for by name, or through their driver: any status may start."""
    graph = found.graph()
    return {name for given in wanted.ids for name in (given, *graph.members(given))}


def _is_labelled(head: Head, wanted: Wanted) -> bool:
    return not wanted.labels or not set(wanted.labels).isdisjoint(head.labels)


def _is_work(found: Snapshot, name: str) -> bool:
    head = found.by_id.get(name)
    if head is None or head.archived or head.status in DONE_STATUSES:
        return False
    is_group = head.type == "group" or (head.type in GROUP_TYPES and not head.criteria_total)
    return not is_group


def _overlap(found: Snapshot, one: str, other: str) -> bool:
    theirs = found.by_id.get(other)
    return theirs is not None and share_files(found.by_id[one].target_files, theirs.target_files)


def _normal(name: str) -> str:
    return name.removeprefix("./").rstrip("/")


def _same(one: str, other: str) -> bool:
    if one == other or one.startswith(f"{other}/") or other.startswith(f"{one}/"):
        return True
    if _GLOB & set(one) or _GLOB & set(other):
        return fnmatchcase(one, other) or fnmatchcase(other, one)
    return False
