"""The fleet as a visitor sees it: its runs, and the commands that wait for a word of the team."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from clew.kit.errors import NotFound

if TYPE_CHECKING:
    from clew.team.working.consent import TeamCommand
    from clew.team.working.fleet import FleetRun
    from clew.web.site import Site

_OPEN = ("leased", "lost", "waiting", "paused")


@dataclass(frozen=True)
class Asked:
    """A command, the orders that wait for it, and whether this visitor has a say in it."""

    command: TeamCommand
    orders: tuple[int, ...]
    may_decide: bool


@dataclass(frozen=True)
class Fleet:
    """Runs and commands of the projects that the visitor may see."""

    runs: tuple[FleetRun, ...]
    asked: tuple[Asked, ...]
    decided: tuple[Asked, ...]

    @property
    def open_runs(self) -> list[FleetRun]:
        """What is worked on, or waits."""
        return [run for run in self.runs if run.state in _OPEN]

    @property
    def ended(self) -> list[FleetRun]:
        """What ended lately."""
        return [run for run in self.runs if run.state not in _OPEN]

    def fingerprint(self) -> object:
        """What a page shows of it; a lease that is renewed is no news."""
        return tuple(replace(run, lease_left=None) for run in self.runs), self.asked, self.decided


def read_fleet(site: Site) -> Fleet:
    """The fleet, for the visitor of a site."""
    if site.team is None:
        raise NotFound("This board is of one machine", "A team's board: clew web --database …")
    visitor = site.visitor
    runs, commands = site.team.fleet(lambda project: visitor.may("read", project))
    waiting: dict[str, list[int]] = {}
    for run in runs:
        for digest in run.waits_for:
            waiting.setdefault(digest, []).append(run.order_id)
    asked = [
        Asked(one, tuple(waiting.get(one.hash, ())), visitor.may("admin", one.project))
        for one in commands
    ]
    return Fleet(
        tuple(runs),
        tuple(one for one in asked if one.command.is_open),
        tuple(one for one in asked if not one.command.is_open),
    )
