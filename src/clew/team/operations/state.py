"""The state of a team's database: what the metrics, the doctor and a readiness check ask for."""

from __future__ import annotations

from dataclasses import dataclass

from clew.kit.errors import ClewError
from clew.team.database import Database, require_schema


@dataclass(frozen=True)
class Backlog:
    """Jobs of a queue in one state."""

    queue: str
    state: str
    jobs: int
    oldest: float  # seconds since the first of them could have begun


@dataclass(frozen=True)
class IndexState:
    """How old the index is."""

    repositories: int
    never_synced: int
    failing: int
    oldest: float  # seconds since the sync that is longest ago


class TeamState:
    """What there is to know, by one connection; no answer names a repository."""

    def __init__(self, address: str, patience: float = 1.0) -> None:
        self.database = Database(address, patience=patience)

    def close(self) -> None:
        """Close the connection."""
        self.database.close()

    def why_unready(self) -> str:
        """Why a server on this database cannot answer now; empty if it can."""
        try:
            require_schema(self.database)
        except ClewError as error:
            return error.message
        return ""

    def backlog(self) -> list[Backlog]:
        """The jobs of each queue, by state."""
        rows = self.database.rows(
            "SELECT queue_name, status::text, count(*), coalesce(extract(epoch FROM"
            " now() - min(coalesce(j.scheduled_at, e.at))), 0) FROM procrastinate_jobs j"
            " LEFT JOIN LATERAL (SELECT min(at) AS at FROM procrastinate_events"
            "  WHERE job_id = j.id AND type = 'deferred') e ON true GROUP BY 1, 2 ORDER BY 1, 2"
        )
        return [Backlog(queue, state, jobs, float(age)) for queue, state, jobs, age in rows]

    def orders(self) -> dict[str, int]:
        """How many orders there are in each state; `lost` are those whose lease ended."""
        rows = self.database.rows(
            "SELECT CASE WHEN state = 'leased' AND leased_until <= now() THEN 'lost' ELSE state END,"
            " count(*) FROM work_orders GROUP BY 1"
        )
        return {"waiting": 0, "leased": 0, "lost": 0, **dict(rows)}

    def index(self) -> IndexState:
        """How old the index is."""
        row = self.database.row(
            "SELECT count(*), count(*) FILTER (WHERE s.last_synced_at IS NULL),"
            " count(*) FILTER (WHERE s.last_error IS NOT NULL),"
            " coalesce(extract(epoch FROM now()) - min(s.last_synced_at), 0)"
            " FROM repos r LEFT JOIN ingest_state s USING (repo_id)"
        )
        assert row is not None
        return IndexState(row[0], row[1], row[2], float(row[3]))

    def clock(self) -> float:
        """The database's time, in seconds since 1970."""
        row = self.database.row("SELECT extract(epoch FROM clock_timestamp())")
        assert row is not None
        return float(row[0])

    def server_version(self) -> int:
        """The version of PostgreSQL, as 150004."""
        row = self.database.row("SELECT current_setting('server_version_num')::integer")
        assert row is not None
        return int(row[0])

    def replica_lag(self) -> float | None:
        """How many seconds this server is behind the one it copies; None if it copies none."""
        row = self.database.row(
            "SELECT CASE WHEN NOT pg_is_in_recovery() THEN NULL"
            " WHEN pg_last_wal_receive_lsn() = pg_last_wal_replay_lsn() THEN 0"
            " ELSE extract(epoch FROM clock_timestamp() - pg_last_xact_replay_timestamp()) END"
        )
        assert row is not None
        return None if row[0] is None else float(row[0])
