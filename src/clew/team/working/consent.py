"""The team's consent: which commands of a project its workers may run, and whose word that is.

Who can push to a project's main branch names its commands. So a worker runs none that nobody of the
team has approved, by exactly its text: it says what it came upon, and the order waits.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from clew.kit.errors import Invalid, NotFound
from clew.specs.model import Spec
from clew.specs.query.commands import NamedCommand
from clew.specs.store.config import Config, user_config
from clew.specs.store.consent import full_hash, text_hash
from clew.team.database import Database
from clew.work.agents.options import WorkOptions, workers_of
from clew.work.agents.programs import AGENTS
from clew.work.model import AgentChoice
from clew.work.scheduling.start import Mode, commands_of
from clew.work.workspace import Workspace

_COLUMNS = "project, hash, command, place, asked_at, approved_by, approved_at, refused_by"
_LONGEST_PLACE = 500


@dataclass(frozen=True)
class TeamCommand:
    """A command of a project, and who approved it when, or refused it."""

    project: str
    hash: str
    command: str
    place: str
    asked_at: str
    approved_by: str | None
    approved_at: str | None
    refused_by: str | None

    @property
    def is_open(self) -> bool:
        """Whether nobody has decided on it."""
        return self.approved_by is None and self.refused_by is None


class TeamConsent:
    """What the workers of a team may run."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def ask(self, project: str, named: Iterable[NamedCommand]) -> list[TeamCommand]:
        """Say which commands there are; what is known of each."""
        places: dict[str, list[str]] = {}
        for one in named:
            places.setdefault(one.command, []).append(one.place)
        hashes = {team_hash(project, text): text for text in places}
        for digest, text in hashes.items():
            self._database.run(
                "INSERT INTO team_commands (project, hash, command, place) VALUES (%s, %s, %s, %s)"
                " ON CONFLICT DO NOTHING",
                (project, digest, _storable(text), _storable("; ".join(places[text]))[:_LONGEST_PLACE]),
            )  # fmt: skip
        return self._found("project = %s AND hash = ANY(%s)", (project, list(hashes)))

    def commands(self, project: str) -> list[TeamCommand]:
        """Every command of a project that workers came upon, the oldest first."""
        return self._found("project = %s", (project,))

    def every(self) -> list[TeamCommand]:
        """Every command of every project, the oldest first."""
        return self._found("true", ())

    def decide(self, deed: str, project: str, hashes: Sequence[str], by: str) -> None:
        """Approve, refuse or revoke these."""
        deeds = {
            "approve": lambda: self.approve(project, hashes, by),
            "refuse": lambda: self.refuse(project, hashes, by),
            "revoke": lambda: self.revoke(project, hashes),
        }
        if deed not in deeds or not hashes:
            raise Invalid("Which commands, and what about them?", f"There are: {', '.join(deeds)}.")
        deeds[deed]()

    def approve(self, project: str, hashes: Sequence[str], by: str) -> list[TeamCommand]:
        """Let these run from now on; orders that waited for nothing else go on."""
        chosen = self._chosen(project, hashes)
        with self._database.transaction():
            self._database.run(
                "UPDATE team_commands SET approved_by = %s, approved_at = now(), refused_by = NULL,"
                " refused_at = NULL"
                " WHERE project = %s AND hash = ANY(%s) AND approved_by IS NULL",
                (by, project, chosen),
            )
            self._database.run(
                "UPDATE work_orders o SET state = 'waiting', waits_for = '{}', note = NULL"
                " WHERE project = %s AND state = 'paused' AND waits_for <> '{}'"
                " AND NOT EXISTS (SELECT 1 FROM team_commands c WHERE c.project = o.project"
                "  AND c.hash = ANY(o.waits_for) AND c.approved_by IS NULL)",
                (project,),
            )
            self._database.run("NOTIFY clew_orders")
        return self._found("project = %s AND hash = ANY(%s)", (project, chosen))

    def revoke(self, project: str, hashes: Sequence[str]) -> list[TeamCommand]:
        """Let these run no more: not in a turn that begins from now on, nor in its merge."""
        chosen = self._chosen(project, hashes)
        self._database.run(
            "UPDATE team_commands SET approved_by = NULL, approved_at = NULL"
            " WHERE project = %s AND hash = ANY(%s)",
            (project, chosen),
        )
        return self._found("project = %s AND hash = ANY(%s)", (project, chosen))

    def refuse(self, project: str, hashes: Sequence[str], by: str) -> list[TeamCommand]:
        """Never let these run; orders that wait for one end, and so do later ones that need it."""
        chosen = self._chosen(project, hashes)
        with self._database.transaction():
            self._database.run(
                "UPDATE team_commands SET refused_by = %s, refused_at = now(), approved_by = NULL,"
                " approved_at = NULL WHERE project = %s AND hash = ANY(%s)",
                (by, project, chosen),
            )
            self._database.run(
                "UPDATE work_orders SET state = 'failed', waits_for = '{}', ended_at = now(), note = %s"
                " WHERE project = %s AND state = 'paused' AND waits_for && %s",
                (f"a command that it needs was refused by {by}", project, chosen),
            )
            self._database.run("NOTIFY clew_orders")
        return self._found("project = %s AND hash = ANY(%s)", (project, chosen))

    def _chosen(self, project: str, hashes: Sequence[str]) -> list[str]:
        known = [one.hash for one in self.commands(project)]
        if not known:
            raise NotFound(
                f"No worker has come upon a command of '{project}'",
                "Order work there: `clew team order`. The order then waits for your approval.",
            )
        return [full_hash(text, known) for text in hashes]

    def _found(self, where: str, values: tuple[object, ...]) -> list[TeamCommand]:
        rows = self._database.rows(
            f"SELECT {_COLUMNS} FROM team_commands WHERE {where} ORDER BY asked_at, hash", values
        )
        found = [TeamCommand(*row) for row in rows]
        return [
            replace(one, asked_at=_moment(one.asked_at) or "", approved_at=_moment(one.approved_at))
            for one in found
        ]


def team_hash(project: str, command: str) -> str:
    """What stands for exactly this command in exactly this project of a team."""
    return text_hash(project.encode("utf-8", "surrogatepass"), command)


def order_commands(clone: Path, spec_id: str, agent: str | None) -> list[NamedCommand]:
    """Every command that an order may come to run: the project's own program for an agent, too."""
    with Workspace(clone) as work:
        config, spec = work.config(), work.store.load(spec_id)
        return [
            *commands_of(work, (spec_id,), Mode()),
            *_agent_commands(config, spec, WorkOptions(agent=agent)),
        ]


def _agent_commands(config: Config, spec: Spec, options: WorkOptions) -> Iterator[NamedCommand]:
    """Programs that the project names as its agents; one that this machine's user named is theirs."""
    own = [_words(one.choice) for one in workers_of(user_config(), options, spec)]
    for worker in workers_of(config, options, spec):
        words = _words(worker.choice)
        if words and words not in own and words != (AGENTS[worker.choice.name].program,):
            yield NamedCommand(shlex.join(words), f"agent {worker.name}")


def _words(choice: AgentChoice) -> tuple[str, ...]:
    return choice.command or ((choice.program, *choice.extra) if choice.program else ())


def _moment(when: object) -> str | None:
    return str(when or "")[:19] or None


def _storable(text: str) -> str:
    """A text as PostgreSQL can hold it; one that cannot be is nobody's to approve."""
    return text.encode("utf-8", "backslashreplace").decode().replace("\x00", "\\0")
