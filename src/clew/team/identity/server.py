"""What a server on a team's database has besides its tools: the gate, and the audit of writes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from clew.catalog.model import Tool
from clew.history.sync.clones import shown_url
from clew.kit.call import Call
from clew.kit.errors import UsageError
from clew.kit.git import git_line
from clew.kit.jsontext import JsonObject
from clew.kit.project import find_repository
from clew.team.history.store import PostgresHistory
from clew.team.identity.gate import PERSON, PROGRAM, TeamGate
from clew.team.identity.records import Records
from clew.team.syncing.webhooks import comparable, names_of

OPERATOR = "operator"  # whoever has the server's own token


class TeamServer:
    """Opened with a server, and closed with it."""

    def __init__(self, options: Mapping[str, str], tools: Mapping[str, Tool]) -> None:
        self._records = Records(options["database"])
        sign_in = self._records.sign_in()
        self.gate: TeamGate | None = None
        if sign_in is None:
            return
        for key in ("no_auth", "token_file"):
            if key in options:
                raise UsageError(
                    f"People sign in to this team, so --{key.replace('_', '-')} has no place",
                    "Leave it out. A program gets a token by: clew team token create NAME",
                )
        self.gate = TeamGate(self._records, sign_in, tools, _project_name(options))

    def close(self) -> None:
        """Close the connection."""
        self._records.close()

    @contextmanager
    def around_call(self, tool: Tool, arguments: JsonObject, call: Call) -> Iterator[None]:
        """A write is in the audit before it begins."""
        if tool.read_only:
            yield
            return
        person, client = call.settings.get(PERSON, OPERATOR), call.settings.get(PROGRAM, "")
        with self._records.audited(person, client, tool.prefixed_name, arguments):
            yield


def _project_name(options: Mapping[str, str]) -> str | None:
    """The name that the repository of the server's project has in the index; None without one."""
    root = find_repository(options)
    url = git_line(root, "config", "--get", "remote.origin.url", check=False) if root else ""
    if root is None or not url:
        return None
    with PostgresHistory.read(options["database"]) as store:
        known = {repo.name: repo.remote_url for repo in store.repos()}
    return next(iter(names_of(frozenset({comparable(shown_url(url))}), known)), None)
