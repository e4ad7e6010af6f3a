"""The queue of a team's workers: Procrastinate, in the same database.

A job says that there is something to do; what is under way is decided by locks that end with
their connection. So a job whose worker died stops nobody (Procrastinate's own locks would, until
its sweep finds the job, and that misses some: its issue 1518).
"""

from __future__ import annotations

from procrastinate import App, PsycopgConnector
from procrastinate.exceptions import AlreadyEnqueued
from procrastinate.schema import SchemaManager

from clew.team.database import Database

SYNC = "sync"
SYNC_TASK = "clew.sync"


def make_tables(database: Database) -> None:
    """Make the queue's tables, if there are none."""
    row = database.row("SELECT to_regclass('procrastinate_jobs') IS NOT NULL")
    if row is None or not row[0]:
        with database.transaction():
            database.script(SchemaManager.get_schema())


def queue_app(address: str) -> App:
    """The queue for a process that works on it."""
    return App(connector=PsycopgConnector(conninfo=address, min_size=1, max_size=4))


def queue_sync(app: App, names: list[str]) -> int:
    """Ask for a sync of these repositories; one that waits already is not asked for twice."""
    count = 0
    for name in names:
        deferrer = app.configure_task(SYNC_TASK, queue=SYNC, queueing_lock=f"{SYNC}:{name}")
        try:
            deferrer.defer(name=name)
        except AlreadyEnqueued:
            continue
        count += 1
    return count
