"""A worker that works: it leases an order, clones, has the agent work, pushes, and merges.

On its machine a run is what it is everywhere else: `clew work` in a clone of the worker's own. What
the team sees of it is the lease, the branch on the remote and the log. Only who has the lease pushes.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from clew.history.sync.clones import shown_url
from clew.kit.errors import ClewError, Conflict
from clew.kit.files import private_directory
from clew.kit.git import GitError, run_git, run_network_git
from clew.kit.locks import HeldLock, try_lock
from clew.specs.query.commands import NamedCommand
from clew.specs.store.config import user_config
from clew.specs.store.consent import Consent
from clew.team.history.store import PostgresHistory
from clew.team.working.consent import TeamCommand, TeamConsent, order_commands
from clew.team.working.merging import (
    SECRETS,
    ChecksFailed,
    MergeConflict,
    Stopped,
    merge_to_remote,
    merged_as,
)
from clew.team.working.orders import LeaseLost, Order, Orders

PROTOCOLS = ("https", "http", "ssh", "git", "file")
_LOOK_SECONDS = 2.0
_PATIENCE = 120.0  # for a remote that cannot be reached
_AGAIN_SECONDS = 1.0
_CHUNK = 16 * 1024
_STOPPED = {"pause": "paused", "takeover": "paused", "cancel": "cancelled"}


@dataclass(frozen=True)
class WorkWorker:
    """One machine's part in the working."""

    address: str
    name: str
    agents: tuple[str, ...]
    labels: tuple[str, ...]
    directory: Path
    tell: Callable[[str], None]
    lease_seconds: float = 30.0
    trusts: bool = False

    def run(self, slots: int, *, once: bool = False) -> None:
        """Work until the process ends; with `once` only until nothing waits."""
        private_directory(self.directory)
        self._clear_left_over()
        threads = [
            threading.Thread(target=self._slot, args=(f"{self.name}/{number}", once))
            for number in range(slots)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def _slot(self, worker: str, once: bool) -> None:  # noqa: FBT001 - an argument of a thread
        with closing(Orders(self.address, self.lease_seconds)) as orders:
            for _ in orders.changes(_LOOK_SECONDS):
                try:
                    while (order := orders.lease(worker, self.agents, self.labels)) is not None:
                        self._work(orders, order)
                except ClewError as error:  # the database is away: look again
                    self.tell(f"{worker}: {error.message}")
                    continue
                if once and not orders.is_any_open():
                    return

    def _work(self, orders: Orders, order: Order) -> None:
        place = self.directory / f"order-{order.order_id}-{order.turn}"
        lock = _own(place)
        try:
            with self._kept(order):
                _Turn(self, orders, order, place).work()
        except LeaseLost as error:
            self.tell(f"{order.spec_id}: {error.message}; another worker has it")
        except (ClewError, OSError) as error:
            self.tell(f"{order.spec_id}: {error}")
            with suppress(LeaseLost):
                orders.end(order, "failed", str(error)[:500])
        finally:
            _stop_and_remove(place, order.spec_id)
            lock.release()

    @contextmanager
    def _kept(self, order: Order) -> Iterator[None]:
        """Renew a lease meanwhile, however long git or the agent's program take to answer."""
        is_over = threading.Event()

        def renew() -> None:
            with closing(Orders(self.address, self.lease_seconds)) as orders:
                while not is_over.wait(self.lease_seconds / 4):
                    with suppress(ClewError):  # whether it was lost, the turn itself finds out
                        orders.renew(order)

        thread = threading.Thread(target=renew)
        thread.start()
        try:
            yield
        finally:
            is_over.set()
            thread.join()

    def _clear_left_over(self) -> None:
        """End what a worker of this machine that died has left, and remove it."""
        for place in self.directory.glob("order-*-*"):
            lock = try_lock(place.with_suffix(".lock")) if place.is_dir() else None
            if lock is not None:
                _stop_and_remove(
                    place, (place / "spec").read_text() if (place / "spec").exists() else ""
                )
                lock.release()


class _Turn:
    """One worker's time with one order."""

    def __init__(self, worker: WorkWorker, orders: Orders, order: Order, place: Path) -> None:
        self._worker = worker
        self._orders = orders
        self._order = order
        self._place = place
        self._clone = place / "clone"
        self._branch = f"chant/{order.spec_id}"
        self._pushed: str | None = None
        self._read = 0
        self._said = 0
        self._renewed = time.monotonic()

    def work(self) -> None:
        self._insist(self._fetch)
        if (merged := merged_as(self._clone, self._order)) is not None:
            self._orders.end(self._order, "finished", f"merged as {merged}")
            return
        try:
            self._consent()
        except _Unapproved as error:
            self._orders.wait_for(self._order, error.hashes, error.message)
            return
        except _Refused as error:
            self._orders.end(self._order, "failed", error.message)
            return
        process = self._start()
        asked = None
        for _ in self._orders.changes(min(_LOOK_SECONDS, self._worker.lease_seconds / 4)):
            request = self._told()
            if request is not None and asked is None:
                asked = request
                _clew("pause", self._order.spec_id, cwd=self._clone)
            if process.poll() is not None:
                break
        self._insist(self._tell_all)
        self._insist(lambda: self._finish(process.returncode, asked))

    def _told(self) -> str | None:
        """What is asked of this turn; while the database or the remote is away, nothing."""
        try:
            return self._tell_all()
        except LeaseLost:
            raise
        except ClewError:
            if time.monotonic() - self._renewed > self._worker.lease_seconds:
                raise LeaseLost("The database is away for longer than the lease") from None
            return None

    def _tell_all(self) -> str | None:
        """Put what there is on the remote and in the database; what is asked of this turn."""
        self._orders.renew(self._order)
        self._renewed = time.monotonic()
        self._push()
        request = self._orders.renew(self._order, branch=self._branch, snapshot=self._pushed)
        self._send_log()
        return request

    def _insist(self, what: Callable[[], object]) -> None:
        """Do it until it is done or the lease is lost, though something is away for a while."""
        limit = time.monotonic() + _PATIENCE
        while True:
            try:
                what()
            except LeaseLost:
                raise
            except ClewError as error:
                if time.monotonic() > limit:
                    raise
                self._worker.tell(f"{self._order.spec_id}: {error.message}; trying again")
                time.sleep(_AGAIN_SECONDS)
            else:
                return

    def _fetch(self) -> None:
        with closing(PostgresHistory.read(self._worker.address)) as store:
            url = store.find_repo(self._order.project).remote_url or ""
        shutil.rmtree(self._clone, ignore_errors=True)
        _git("clone", "--quiet", "--", url, str(self._clone), cwd=self._place)
        (self._place / "spec").write_text(self._order.spec_id, encoding="utf-8")
        remote = f"refs/remotes/origin/{self._branch}"
        tip = run_git("rev-parse", "--verify", "--quiet", remote, cwd=self._clone, check=False)
        if tip:  # another turn's work
            self._pushed = tip.decode().strip()
            run_git("branch", self._branch, remote, cwd=self._clone)

    def _consent(self) -> None:
        """Give the run the team's word for its commands, or say which of them nobody gave."""
        if self._worker.trusts:
            return
        named = order_commands(self._clone, self._order.spec_id, self._agent)
        for one in self._approved(named):
            home = Path(_environment(self._clone)["CLEW_HOME"])
            Consent(self._clone, home).approve([one.command], f"{one.approved_by} for the team")

    def _approved(self, named: Sequence[NamedCommand]) -> list[TeamCommand]:
        found = TeamConsent(self._orders.database).ask(self._order.project, named)
        refused = [one for one in found if one.refused_by is not None]
        if refused:
            raise _Refused(f"refused by {refused[0].refused_by}: {refused[0].command}")
        missing = [one for one in found if one.approved_by is None]
        if missing and not user_config().flag("work", "trust_checks"):
            raise _Unapproved(self._order.project, missing)
        return [one for one in found if one.approved_by is not None]

    def _allow(self, commands: Sequence[str]) -> None:
        """Refuse merge checks that nobody of the team has approved, as they are now."""
        if not self._worker.trusts:
            self._approved([NamedCommand(one, "before the merge") for one in commands])

    @property
    def _agent(self) -> str | None:
        return None if self._order.agent == "default" else self._order.agent

    def _start(self) -> subprocess.Popen[bytes]:
        words = ["work", self._order.spec_id, "--no-watch", "--no-merge"]
        words += [] if self._worker.trusts else ["--approved-only"]
        words += ["--agent", self._agent] if self._agent else []
        return subprocess.Popen(
            _command(*words), cwd=self._clone, env=_environment(self._clone),
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip

    def _push(self) -> None:
        """Put what is committed on the remote, if there is anything new."""
        ref = f"refs/heads/{self._branch}"
        tip = run_git("rev-parse", "--verify", "--quiet", ref, cwd=self._clone, check=False)
        commit = tip.decode().strip()
        if not commit or commit == self._pushed:
            return
        # By what was there: a worker whose lease ended unnoticed overwrites nothing.
        lease = f"--force-with-lease={ref}:{self._pushed or ''}"
        # This commit and not the branch: the agent may have committed again meanwhile.
        _git("push", "--quiet", lease, "origin", f"{commit}:{ref}", cwd=self._clone)
        self._pushed = commit

    def _send_log(self) -> None:
        log = self._clone / ".chant" / "logs" / f"{self._order.spec_id}.log"
        if not log.exists():
            return
        with log.open("rb") as file:
            file.seek(self._read)
            while chunk := file.read(_CHUNK):
                self._orders.log(self._order, self._said + 1, chunk.decode("utf-8", "replace"))
                self._said += 1
                self._read += len(chunk)

    def _finish(self, code: int | None, asked: str | None) -> None:
        if asked is not None:
            note = f"{asked}: git fetch origin {self._branch}"
            self._orders.end(self._order, _STOPPED[asked], note)
            return
        if code != 0:
            self._orders.end(self._order, "failed", f"clew work ended with {code}")
            return
        try:
            merged = merge_to_remote(
                self._orders, self._order, self._clone, self._branch, self._allow
            )
        except _Unapproved as error:
            self._orders.wait_for(self._order, error.hashes, error.message)
            return
        except Stopped as error:
            note = f"{error.message}: git fetch origin {self._branch}"
            self._orders.end(self._order, _STOPPED[error.request], note)
            return
        except (ChecksFailed, MergeConflict, _Refused) as error:
            self._orders.end(self._order, "failed", error.message)
            return
        self._orders.end(self._order, "finished", f"merged as {merged}")


class _Unapproved(Conflict):
    """Commands that nobody of the team has approved."""

    def __init__(self, project: str, missing: Sequence[TeamCommand]) -> None:
        super().__init__(f"needs approval of {len(missing)} commands: clew trust --team {project}")
        self.hashes = [one.hash for one in missing]


class _Refused(Conflict):
    """A command that a person of the team refused."""


def _git(*words: str, cwd: Path) -> bytes:
    try:
        return run_network_git(*words, cwd=cwd, protocols=PROTOCOLS)
    except GitError as error:
        raise ClewError(shown_url(error.message)) from error


def _command(*words: str) -> list[str]:
    return [sys.executable, "-m", "clew", *words]


def _environment(clone: Path) -> dict[str, str]:
    """Worktrees and state of this turn lie beside its clone; the user's settings stay."""
    kept = {name: value for name, value in os.environ.items() if name not in SECRETS}
    return {**kept, "CLEW_HOME": str(clone.parent / "home")}


def _clew(*words: str, cwd: Path) -> None:
    subprocess.run(
        _command(*words),
        cwd=cwd,
        env=_environment(cwd),
        capture_output=True,
        check=False,
        timeout=120,
    )


def _own(place: Path) -> HeldLock:
    place.mkdir(parents=True)
    lock = try_lock(place.with_suffix(".lock"))
    assert lock is not None
    return lock


def _stop_and_remove(place: Path, spec_id: str) -> None:
    if spec_id and (place / "clone").is_dir():
        with suppress(subprocess.TimeoutExpired):
            _clew("pause", spec_id, cwd=place / "clone")
    shutil.rmtree(place, ignore_errors=True)
    place.with_suffix(".lock").unlink(missing_ok=True)
