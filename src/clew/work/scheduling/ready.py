"""What comes next: which specs are ready, and whether and when one that failed is tried again."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

from clew.kit.errors import Invalid
from clew.kit.text.patterns import first_match
from clew.kit.times import parse_iso
from clew.specs.index.index import Snapshot
from clew.specs.model import DONE_STATUSES, GROUP_TYPES, OPEN_STATUSES, Head
from clew.specs.store.config import Config
from clew.work.model import TRANSIENT, FailureClass, Run

_GLOB = frozenset("*?[")
STOP, SKIP, RETRY = "stop", "skip", "retry"
# Trying again would end the same way: somebody has to put something right first.
PERMANENT = (
    FailureClass.AUTH,
    FailureClass.PROGRAM,
    FailureClass.WORKTREE,
    FailureClass.SETUP,
    FailureClass.COST,
    FailureClass.FINISHING,
    FailureClass.APPROVAL,
)
_LONGEST_DELAY = 3600.0


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


def open_ids(found: Snapshot, wanted: Wanted) -> list[str]:
    """Every spec that is meant now or later: also what has to wait for its turn."""
    later = () if wanted.only else (h.id for h in found.active if _is_labelled(h, wanted))
    return [
        name
        for name in dict.fromkeys((*wanted_ids(found, wanted), *later))
        if found.by_id[name].status not in DONE_STATUSES
    ]


def choose(found: Snapshot, wanted: Wanted, *, done: Iterable[str], busy: Iterable[str]) -> Choice:
    """What can start now: not done yet, nothing unfinished before it, no file in common.

    `done` is what this schedule is done with, `busy` what anybody works on at this moment.
    """
    graph, choice = found.graph(), Choice()
    passed_by, at_work = set(done), list(busy)
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


@dataclass(frozen=True)
class Policy:
    """What is done about failures.

    Services that are busy are asked again under every policy. `retry` also repeats what an agent
    did wrong; when that does not help, `after_retries` says how the others go on.
    """

    on_failure: str = SKIP
    retries: int = 3
    delay_seconds: float = 60.0
    multiplier: float = 2.0
    after_retries: str = SKIP
    patterns: tuple[str, ...] = ()

    def is_transient(self, run: Run) -> bool:
        """Whether trying again later is likely to help."""
        said = run.failure or ""
        return run.failure_class in TRANSIENT or any(
            _has(pattern, said) for pattern in self.patterns
        )

    @property
    def stops(self) -> bool:
        """Whether a spec that finally failed stops the others from being started."""
        return (self.after_retries if self.on_failure == RETRY else self.on_failure) == STOP


def policy_of(config: Config, mode: str, on_failure: str | None, retries: int | None) -> Policy:
    """The policy that was asked for, else the configured one, else the mode's own."""
    usual = STOP if mode == "chain" else SKIP
    most = config.number("watch", "failure", "max_retries")
    delay = config.number("watch", "failure", "retry_delay_ms")
    return Policy(
        on_failure or config.text("work", "on_failure") or usual,
        int(most or 0) if retries is None else retries,
        float(delay or 0) / 1000,
        max(1.0, float(config.number("watch", "failure", "backoff_multiplier") or 1)),
        config.text("watch", "failure", "on_permanent_failure") or SKIP,
        tuple(map(_pattern, config.words("watch", "failure", "retryable_patterns"))),
    )


def _has(pattern: str, said: str) -> bool:
    try:
        return first_match(pattern, said, re.IGNORECASE) is not None
    except Invalid:  # it takes too long
        return False


def _pattern(text: str) -> str:
    """The text as a regular expression; what is none stands for itself."""
    try:
        re.compile(text)
    except re.error:
        return re.escape(text)
    return text


def retry_time(policy: Policy, failed: list[Run], now: float) -> float | None:
    """When a spec is tried again, given its failed runs of this schedule, the newest first.

    None is never. What a service asked for is waited for, however long it is.
    """
    latest = failed[0]
    kind = latest.failure_class
    is_transient = policy.is_transient(latest)
    if len(failed) > policy.retries or kind in PERMANENT:
        return None
    if not is_transient and policy.on_failure != RETRY:
        return None
    if not is_transient:
        return now
    delay = policy.delay_seconds * policy.multiplier ** (len(failed) - 1)
    return max(
        _moment(latest.ended_at, now) + min(delay, _LONGEST_DELAY), _moment(latest.retry_at, 0)
    )


def _moment(text: str | None, otherwise: float) -> float:
    return parse_iso(text).timestamp() if text else otherwise
