"""What a server on a team's database has besides its tools: the gate, the audit, and its figures."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path

from clew.catalog.model import Tool
from clew.history.sync.clones import shown_url
from clew.kit.call import Call
from clew.kit.errors import UsageError
from clew.kit.git import git_line
from clew.kit.jsontext import JsonObject
from clew.kit.project import find_repository
from clew.protocol.http.guard import bare_host
from clew.team.history.store import PostgresHistory
from clew.team.identity.gate import TeamGate
from clew.team.identity.records import Records
from clew.team.identity.rights import PERSON, PROGRAM
from clew.team.operations.metrics import Metrics
from clew.team.operations.state import TeamState
from clew.team.syncing.webhooks import comparable, names_of

OPERATOR = "operator"  # whoever has the server's own token


class TeamServer:
    """Opened with a server, and closed with it."""

    def __init__(self, options: Mapping[str, str], tools: Mapping[str, Tool]) -> None:
        self._records = Records(options["database"])
        self._state = TeamState(options["database"])
        self._looking = threading.Lock()
        self._metrics = Metrics(TeamState(options["database"]))
        if "metrics_port" in options:
            host = bare_host(options.get("host", "127.0.0.1"))
            self._metrics.serve(host, options["metrics_port"])
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
        project = project_name(options["database"], find_repository(options))
        self.gate = TeamGate(self._records, sign_in, tools, project)

    def close(self) -> None:
        """Close the connections."""
        self._records.close()
        self._state.close()

    def why_unready(self) -> str:
        """Why the server cannot answer now: the database, or its schema."""
        with self._looking:
            return self._state.why_unready()

    def note(self, status: int, seconds: float) -> None:
        """Count a request."""
        self._metrics.request(status, seconds)

    @contextmanager
    def around_call(self, tool: Tool, arguments: JsonObject, call: Call) -> Iterator[None]:
        """Count the call; a write is in the audit before it begins."""
        began, outcome = time.perf_counter(), "failed"
        try:
            with self._audited(tool, arguments, call):
                yield
            outcome = "done"
        finally:
            self._metrics.call(tool.prefixed_name, outcome, time.perf_counter() - began)

    def _audited(
        self, tool: Tool, arguments: JsonObject, call: Call
    ) -> AbstractContextManager[None]:
        if tool.read_only:
            return nullcontext()
        person, client = call.settings.get(PERSON, OPERATOR), call.settings.get(PROGRAM, "")
        return self._records.audited(person, client, tool.prefixed_name, arguments)


def project_name(address: str, root: Path | None) -> str | None:
    """The name that the repository of a project has in the index; None without one."""
    url = git_line(root, "config", "--get", "remote.origin.url", check=False) if root else ""
    if root is None or not url:
        return None
    with PostgresHistory.read(address) as store:
        known = {repo.name: repo.remote_url for repo in store.repos()}
    return next(iter(names_of(frozenset({comparable(shown_url(url))}), known)), None)
