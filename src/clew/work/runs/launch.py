"""Starting a run: everything that can be wrong is told first, then exactly one starter wins."""

from __future__ import annotations

import shutil
from dataclasses import replace
from typing import TYPE_CHECKING

from clew.kit.errors import ClewError
from clew.kit.files import private_directory, write_atomic
from clew.kit.locks import try_lock
from clew.kit.paths import ProjectPaths
from clew.work.agents.table import check_agent
from clew.work.journal.journal import open_journal
from clew.work.model import FailureClass, Phase, check_spec_id, new_run_id
from clew.work.paths import git_common_directory
from clew.work.processes.daemon import not_started, start_detached
from clew.work.worktrees.worktrees import branch_of, resolve_base

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from clew.kit.locks import HeldLock
    from clew.work.model import Run, RunRequest
    from clew.work.paths import Places
    from clew.work.processes.startup_pipe import Heard

START_SECONDS = 2.0
SUPERVISOR_LOG = "supervisor.log"
_SUPERVISOR = "clew.work.runs.supervisor"


def preflight(places: Places, request: RunRequest) -> str:
    """Everything a run needs, checked before anything changes; the agent's program."""
    check_spec_id(request.spec_id)
    git_common_directory(places.root)
    branch_of(request.spec_id, request.worktree.branch_prefix)
    resolve_base(places.root, request.worktree.base_ref)
    return check_agent(request.agent, request.prompt)


def start_run(
    places: Places,
    request: RunRequest,
    seconds: float = START_SECONDS,
    on_claim: Callable[[Run], None] | None = None,
) -> Run:
    """Start a run and wait a moment for its agent; a failure to start is raised in its own words.

    When the moment passes, because a worktree takes long to set up, the run goes on by itself.
    `on_claim` is called once the spec is claimed; what it raises gives the claim back.
    """
    ProjectPaths(places.root).refuse_links_out()
    program = preflight(places, request)
    run_id = new_run_id()
    directory = private_directory(places.run_directory(run_id))
    lock = try_lock(places.run_lock(run_id))
    assert lock is not None  # nobody else knows the id
    with open_journal(places) as journal:
        try:
            run = journal.claim(
                request.spec_id,
                mode=request.mode,
                agent=request.agent.name,
                model=request.agent.model,
                plan={**request.as_plan(), "program": program},
                run_id=run_id,
            )
        except BaseException:
            lock.release()
            shutil.rmtree(directory, ignore_errors=True)
            raise
        try:
            if on_claim is not None:
                on_claim(run)
            write_atomic(directory / "prompt.md", request.prompt, mode=0o600)
            heard = start_supervisor(directory, lock, seconds)
            if heard.event == "failed" or (heard.is_closed and heard.event != "started"):
                raise not_started(heard, directory / SUPERVISOR_LOG, "run's supervisor")
        except (OSError, ClewError) as error:
            lock.release()
            _give_back(places, run, str(error))
            raise
        return journal.get(run.run_id)


def resume_finishing(places: Places, run: Run, lock: HeldLock) -> Heard:
    """Give a run whose agent has exited a supervisor again, to finish it."""
    return start_supervisor(places.run_directory(run.run_id), lock, START_SECONDS)


def continuation(request: RunRequest, earlier: Run) -> RunRequest:
    """The request as one that goes on with an earlier run's work and, if it can, its session."""
    from clew.work.agents.table import agent_named

    can_resume = request.agent.name == earlier.agent and agent_named(earlier.agent).resume
    agent = request.agent
    if can_resume and earlier.session_id and not agent.session:
        agent = replace(agent, session=earlier.session_id)
    return replace(request, agent=agent, continues=earlier.run_id)


def start_supervisor(directory: Path, lock: HeldLock, seconds: float) -> Heard:
    """Start a run's supervisor and listen to it; the run's lock goes over to it."""
    return start_detached(_SUPERVISOR, directory, lock, seconds, SUPERVISOR_LOG)


def _give_back(places: Places, run: Run, reason: str) -> None:
    """Let go of a claim that came to nothing, unless the supervisor recorded the end already."""
    with open_journal(places) as journal:
        now = journal.get(run.run_id)
        if now.phase is Phase.PREPARED and now.owner == run.owner:
            journal.move(
                run.run_id,
                Phase.FAILED,
                note=reason,
                failure_class=FailureClass.SUPERVISOR,
                failure=reason,
            )
