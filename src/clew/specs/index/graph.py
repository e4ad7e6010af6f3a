"""What waits for what: ready and blocked specs with the reasons, groups, cycles. In linear time.

A spec whose stored status is open (pending, blocked, ready) is blocked by

- `missing`: a dependency that is neither active nor archived;
- `unfinished`: a dependency that is neither completed nor cancelled (archived ones are done);
- `cycle`: an unfinished dependency that waits for this very spec;
- `sibling`: a member without `depends_on` waits for the members before it; the first one is named;
- `member`: a driver that has criteria of its own waits for its members;
- `approval`: it has to be approved first.

Members also wait for what their driver depends on, its own members aside.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import NamedTuple

from clew.specs.files.ids import ancestors_of, member_numbers, sort_key
from clew.specs.model import DONE_STATUSES, OPEN_STATUSES, Head


class Blocker(NamedTuple):
    """Which spec is in the way, and how."""

    id: str
    reason: str


class Derived(NamedTuple):
    """A spec's state as it follows from the others: `ready`, `blocked`, or the stored status."""

    status: str
    blocked_by: tuple[Blocker, ...]


class Graph:
    """The dependencies among these specs; ids that come later do not replace earlier ones."""

    def __init__(self, heads: Iterable[Head]) -> None:
        self._heads: dict[str, Head] = {}
        for head in heads:
            self._heads.setdefault(head.id, head)
        self._states: dict[str, Derived] = {}
        self._inherited: dict[str, tuple[Blocker, ...]] = {}
        self._ready: list[str] | None = None

    def _is_done(self, spec_id: str) -> bool | None:
        """Whether nothing has to wait for a spec; None where there is no such spec."""
        head = self._heads.get(spec_id)
        return None if head is None else head.archived or head.status in DONE_STATUSES

    # Each of these looks at every spec, and many questions are about a few.

    @cached_property
    def _dependents(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for spec_id, head in self._heads.items():
            for wanted in head.depends_on or ():
                found.setdefault(wanted, []).append(spec_id)
        return found

    @cached_property
    def _nested(self) -> list[str]:
        return [spec_id for spec_id in self._heads if "." in spec_id]

    @cached_property
    def _members(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for spec_id in self._nested:
            for ancestor in ancestors_of(spec_id):
                if ancestor in self._heads:
                    found.setdefault(ancestor, []).append(spec_id)
        return found

    @cached_property
    def _rings(self) -> list[frozenset[str]]:
        return _rings(self._heads, self._knotted())

    @cached_property
    def _ring_of(self) -> dict[str, int]:
        return {spec_id: n for n, ring in enumerate(self._rings) for spec_id in ring}

    def _knotted(self) -> list[str]:
        """The specs that remain when those that wait for none of the rest are taken off."""
        if self._looks_back():
            return []
        waits = {
            head.id: sum(other in self._heads for other in head.depends_on)
            for head in self._heads.values()
            if head.depends_on
        }
        free = [spec_id for spec_id in self._dependents if not waits.get(spec_id)]
        for spec_id in free:
            if spec_id in self._heads:
                for other in self._dependents.get(spec_id, ()):
                    waits[other] -= 1
                    if not waits[other]:
                        free.append(other)
        return [spec_id for spec_id, count in waits.items() if count]

    def _looks_back(self) -> bool:
        """Whether all specs depend only on earlier ones, as most do; then there is no cycle."""
        seen: set[str] = set()
        for head in sorted(self._heads.values(), key=lambda head: not head.archived):
            seen.add(head.id)
            for other in head.depends_on or ():
                if (other not in seen and other in self._heads) or other == head.id:
                    return False
        return True

    @cached_property
    def _first_open(self) -> dict[str, tuple[int, str]]:
        """For each parent the unfinished member with the lowest number, itself or one below it."""
        found: dict[str, tuple[int, str]] = {}
        for spec_id in self._nested:
            if self._is_done(spec_id):
                continue
            parents = reversed(ancestors_of(spec_id))
            for parent, number in zip(parents, member_numbers(spec_id), strict=False):
                if parent not in found or number < found[parent][0]:
                    found[parent] = (number, spec_id)
        return found

    def status(self, spec_id: str) -> str:
        """The status alone, which needs no look at all the others where a dependency decides."""
        head = self._heads[spec_id]
        if head.archived or head.status not in OPEN_STATUSES:
            return head.status
        if not all(map(self._is_done, head.depends_on or ())):
            return "blocked"
        return self.state(spec_id).status

    def state(self, spec_id: str) -> Derived:
        """What the spec's state is, given all the others."""
        known = self._states.get(spec_id)
        if known is None:
            known = self._states[spec_id] = self._derive(self._heads[spec_id])
        return known

    def _derive(self, head: Head) -> Derived:
        if head.archived or head.status not in OPEN_STATUSES:
            return Derived(head.status, ())
        blockers = [*self._unmet(head, head.depends_on or ()), *self._from_drivers(head)]
        if head.depends_on is None:
            blockers += self._sibling(head.id)
        if head.criteria_total:
            open_members = [m for m in self._members.get(head.id, ()) if not self._is_done(m)]
            blockers += [Blocker(member, "member") for member in open_members]
        if head.approval_required and head.approval_status != "approved":
            blockers.append(Blocker(head.id, "approval"))
        first: dict[str, Blocker] = {}
        for blocker in blockers:
            first.setdefault(blocker.id, blocker)
        return Derived("blocked" if first else "ready", tuple(first.values()))

    def _unmet(self, head: Head, wanted: Sequence[str]) -> list[Blocker]:
        blockers = []
        for other in wanted:
            done = self._is_done(other)
            if done is None:
                blockers.append(Blocker(other, "missing"))
            elif not done:
                ring = self._ring_of.get(head.id)
                same = ring is not None and self._ring_of.get(other) == ring
                blockers.append(Blocker(other, "cycle" if same else "unfinished"))
        return blockers

    def _from_drivers(self, head: Head) -> list[Blocker]:
        """What the drivers of this member still wait for, outside of their groups."""
        found: list[Blocker] = []
        for driver_id in ancestors_of(head.id) if "." in head.id else ():
            if driver_id in self._heads:
                if driver_id not in self._inherited:
                    self._inherited[driver_id] = self._outer_needs(self._heads[driver_id])
                found += self._inherited[driver_id]
        return [blocker for blocker in found if blocker.id != head.id]

    def _outer_needs(self, driver: Head) -> tuple[Blocker, ...]:
        own = f"{driver.id}."
        outer = [wanted for wanted in driver.depends_on or () if not wanted.startswith(own)]
        return tuple(self._unmet(driver, outer))

    def _sibling(self, spec_id: str) -> list[Blocker]:
        """The first unfinished member that comes before this one."""
        if "." not in spec_id:
            return []
        parents = reversed(ancestors_of(spec_id))
        for parent, number in zip(parents, member_numbers(spec_id), strict=False):
            first = self._first_open.get(parent)
            if first is not None and first[0] < number:
                return [Blocker(first[1], "sibling")]
        return []

    def waits_for(self, spec_id: str) -> tuple[Blocker, ...]:
        """What the spec would wait for if it were pending, whatever its status is."""
        return self._derive(self._heads[spec_id]._replace(status="pending")).blocked_by

    def ready(self) -> list[str]:
        """The specs that can be worked on now, in order; pure groups are no work."""
        if self._ready is None:
            self._ready = [
                spec_id
                for spec_id, head in self._heads.items()
                if head.type != "group"
                and head.status in OPEN_STATUSES
                and not head.archived
                and not self.state(spec_id).blocked_by
            ]
        return list(self._ready)

    def cycles(self) -> list[tuple[str, ...]]:
        """One shortest cycle of each knot, from its first id on; those before others come first."""
        found = [_path(self._heads, min(ring, key=sort_key), ring) for ring in self._rings]
        return sorted(found, key=lambda cycle: sort_key(cycle[0]))

    def dependencies(self, spec_id: str) -> tuple[str, ...]:
        """The specs that this one declares to depend on, as far as they exist."""
        return tuple(_edges(self._heads, spec_id)) if spec_id in self._heads else ()

    def dependents(self, spec_id: str) -> tuple[str, ...]:
        """The specs that declare a dependency on this one."""
        return tuple(self._dependents.get(spec_id, ()))

    def members(self, spec_id: str) -> tuple[str, ...]:
        """The members of this spec, at any depth."""
        return tuple(self._members.get(spec_id, ()))

    def open_members(self, spec_id: str) -> tuple[str, ...]:
        """The members that are neither completed, cancelled nor archived."""
        return tuple(m for m in self._members.get(spec_id, ()) if not self._is_done(m))

    def drivers_of(self, spec_id: str) -> tuple[str, ...]:
        """The specs that this one is a member of, the nearest first."""
        return tuple(a for a in ancestors_of(spec_id) if a in self._heads)

    def needs(self, spec_id: str) -> set[str]:
        """Everything a spec builds on: what it names, what its drivers name, earlier siblings."""
        depends_on = self._heads[spec_id].depends_on
        found = set(depends_on or ())
        for driver in self.drivers_of(spec_id):
            found |= set(self._heads[driver].depends_on or ())
            if depends_on is None:
                own = sort_key(spec_id)
                found |= {name for name in self.members(driver) if sort_key(name) < own}
        return found - {spec_id}


def _edges(heads: dict[str, Head], spec_id: str) -> list[str]:
    wanted = heads[spec_id].depends_on
    return [other for other in wanted if other in heads] if wanted else []


def _rings(heads: dict[str, Head], knotted: list[str]) -> list[frozenset[str]]:
    """The strongly connected knots of more than one spec, and specs that depend on themselves."""
    forward: dict[str, list[str]] = {name: [] for name in knotted}
    backward: dict[str, list[str]] = {name: [] for name in knotted}
    for name in knotted:
        for other in _edges(heads, name):
            if other in backward:
                forward[name].append(other)
                backward[other].append(name)
    seen: set[str] = set()
    finished = [name for start in knotted for name in _reached(start, forward, seen)]
    seen = set()
    knots = [(start, _reached(start, backward, seen)) for start in reversed(finished)]
    return [
        frozenset(knot) for start, knot in knots if knot[1:] or (knot and start in forward[start])
    ]


def _reached(start: str, edges: dict[str, list[str]], seen: set[str]) -> list[str]:
    """What can be reached from here and was not seen before; each behind all that follows it."""
    found: list[str] = []
    work = [] if start in seen else [(start, iter(edges[start]))]
    seen.add(start)
    while work:
        name, rest = work[-1]
        following = next((other for other in rest if other not in seen), None)
        if following is None:
            found.append(name)
            work.pop()
        else:
            seen.add(following)
            work.append((following, iter(edges[following])))
    return found


def _path(heads: dict[str, Head], start: str, within: frozenset[str]) -> tuple[str, ...]:
    """The shortest way from a spec back to itself; nothing if there is none."""
    came_from: dict[str, str] = {}
    waiting = deque([start])
    while waiting:
        current = waiting.popleft()
        for other in sorted(_edges(heads, current), key=sort_key):
            if other == start:
                path = [current]
                while path[-1] != start:
                    path.append(came_from[path[-1]])
                return tuple(reversed(path))
            if other in within and other not in came_from:
                came_from[other] = current
                waiting.append(other)
    return ()
