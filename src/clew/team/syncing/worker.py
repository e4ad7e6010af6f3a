"""A worker that syncs: it takes repositories from the queue, fetches them, and reads them in."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from procrastinate import App

from clew.history.sync.ingest import SyncResult, sync_repo
from clew.kit.errors import ClewError, Invalid
from clew.team.history.store import PostgresHistory
from clew.team.queue import SYNC, SYNC_TASK, queue_app, queue_sync
from clew.team.syncing.clone_cache import CloneCache


@dataclass(frozen=True)
class SyncWorker:
    """One machine's part in the syncing."""

    address: str
    clones: CloneCache
    cron: str
    tell: Callable[[str], None]
    slots: int = 1

    def run(self, *, once: bool = False) -> None:
        """Work until told to stop; with `once` only until nothing waits."""
        app = self.app()
        app.run_worker(
            queues=[SYNC],
            concurrency=self.slots,
            wait=not once,
            delete_jobs="successful",
            fetch_job_polling_interval=5.0,
        )

    def app(self) -> App:
        """The queue with what this worker can do."""
        app = queue_app(self.address)

        @app.task(name=SYNC_TASK, queue=SYNC)
        def sync(name: str) -> None:
            self.sync(name)

        @app.periodic(cron=self.cron)
        @app.task(name="clew.look", queue=SYNC, queueing_lock="look")
        def look(timestamp: int) -> None:
            queue_every_repository(self.address)

        return app

    def sync(self, name: str) -> SyncResult:
        """Bring one repository up to date."""
        with PostgresHistory.open(self.address) as store:
            repo = store.find_repo(name)
            if not repo.remote_url:
                raise Invalid(f"'{name}' has no address", "Give it one: clew team add-repos.")
            try:
                with (
                    self.clones.fetched(name, repo.remote_url) as place,
                    store.locked(repo.repo_id),
                ):
                    done = sync_repo(store, replace(repo, local_path=str(place)))
            except ClewError as error:
                with store.writing():
                    store.set_state(repo.repo_id, None, None, error.message)
                self.tell(f"{name}: {error.message}")
                raise
        self.tell(f"{name}: {done.indexed} new commits")
        return done


def queue_every_repository(address: str, names: tuple[str, ...] = ()) -> int:
    """Ask for a sync of every repository that has an address, or of these; how many now wait."""
    with PostgresHistory.open(address) as store:
        chosen = [repo.name for repo in store.repos() if repo.remote_url]
    app = queue_app(address)
    with app.open():
        return queue_sync(app, [name for name in chosen if not names or name in names])


def cache_directory(address: str) -> Path:
    """Where this machine keeps the clones of a database's repositories."""
    from clew.team.history.store import local_place

    return local_place(address).parent / "clones"
