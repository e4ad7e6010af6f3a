"""What a board on a team's database has besides its pages: whose project it shows, the audit, the fleet."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, closing, contextmanager
from pathlib import Path

from clew.team.database import Database, require_schema
from clew.team.identity.records import Records, SignIn
from clew.team.identity.rights import Grants
from clew.team.operations.server import OPERATOR, project_name
from clew.team.working.consent import TeamCommand, TeamConsent
from clew.team.working.fleet import FleetRun, fleet_runs
from clew.team.working.orders import Orders

_CLIENT = "board"


class TeamBoard:
    """Opened with a board, and closed with it; any thread may ask."""

    def __init__(self, address: str, root: Path) -> None:
        self.address = address
        self.records = Records(address)
        self.grants = Grants(self.records)
        with self.database() as database:
            require_schema(database)
        self.project = project_name(address, root)

    def close(self) -> None:
        """Close the connection."""
        self.records.close()

    def sign_in(self) -> SignIn | None:
        """How people of the team sign in; None where that was not set up."""
        return self.records.sign_in()

    @contextmanager
    def database(self) -> Iterator[Database]:
        """A connection for one page."""
        with closing(Database(self.address)) as database:
            yield database

    @contextmanager
    def consent(self) -> Iterator[TeamConsent]:
        """What the team's workers may run."""
        with self.database() as database:
            yield TeamConsent(database)

    @contextmanager
    def orders(self) -> Iterator[Orders]:
        """What the fleet is to work on."""
        with closing(Orders(self.address)) as orders:
            yield orders

    def fleet(self, is_seen: Callable[[str], bool]) -> tuple[list[FleetRun], list[TeamCommand]]:
        """Runs of the fleet and commands of projects that are seen."""
        with self.database() as database:
            commands = [one for one in TeamConsent(database).every() if is_seen(one.project)]
            return fleet_runs(database, is_seen), commands

    def audited(
        self, person: str, deed: str, arguments: Mapping[str, str]
    ) -> AbstractContextManager[None]:
        """A line of the audit around something that is done on the board."""
        return self.records.audited(person or OPERATOR, _CLIENT, f"board {deed}", arguments)
