"""Starting work on one spec: everything is checked before anything changes, then it is claimed.

Exactly one starter wins. What is there of an earlier attempt is gone on with: the same branch, the
same worktree with its uncommitted files and, where the agent can, the same session.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from clew.kit.errors import ClewError, Conflict, Invalid
from clew.kit.files import private_directory, write_atomic
from clew.kit.jsontext import JsonObject
from clew.kit.locks import HeldLock, try_lock
from clew.kit.paths import ProjectPaths
from clew.specs.change.lifecycle import after_move, check_move, move_fields
from clew.specs.check.lint import lint_specs
from clew.specs.check.lint_rules import ERROR
from clew.specs.files.criteria import parse_criteria
from clew.specs.model import GROUP_TYPES, Changes, Spec
from clew.specs.query.commits import branch_of as spec_branch
from clew.specs.store.config import Config
from clew.specs.store.store import SpecStore
from clew.work.agents.options import (
    WorkOptions,
    limits_of,
    pick_worker,
    price_table,
    workers_of,
    worktree_settings,
)
from clew.work.agents.programs import agent_named, check_agent
from clew.work.agents.prompt import build_prompt, prompt_name
from clew.work.model import (
    TRANSIENT,
    ClaimLost,
    FailureClass,
    Phase,
    Run,
    RunPlan,
    RunRequest,
    check_spec_id,
    lost_claim,
    new_run_id,
)
from clew.work.paths import git_common_directory
from clew.work.processes.daemon import start_detached
from clew.work.runs.reconcile import update_spec_statuses
from clew.work.workspace import Workspace
from clew.work.worktrees.main_branch import main_branch, tip_of
from clew.work.worktrees.worktrees import branch_of, is_merged, resolve_base

START_SECONDS = 2.0
_SUPERVISOR = ("clew.work.runs.supervisor",)
FINISHER = "verdict"
ACTOR = "work"
_NOT_STARTED = ("completed", "cancelled")


def preflight(paths: ProjectPaths, request: RunRequest) -> RunRequest:
    """The request with its agent's program; everything a run needs is checked, nothing changed."""
    settings = request.plan.worktree
    check_spec_id(request.spec_id)
    git_common_directory(paths.root)
    branch_of(request.spec_id, settings.branch_prefix)
    resolve_base(paths.root, settings.base_ref)
    program = check_agent(request.plan.agent, request.prompt)
    return replace(request, plan=replace(request.plan, program=program))


Claim = Callable[[], Run]


def start_run(
    work: Workspace,
    request: RunRequest,
    seconds: float = START_SECONDS,
    claiming: Callable[[Claim], Run] = lambda claim: claim(),
) -> Run:
    """Start a run and wait a moment for its agent; a failure to start is raised in its own words.

    When the moment passes, because a worktree takes long to set up, the run goes on by itself.
    `claiming` makes the claim, with what belongs to it.
    """
    work.paths.refuse_links_out()
    if not request.plan.program:
        request = preflight(work.paths, request)
    run_id = new_run_id()
    directory = private_directory(work.paths.run_directory(run_id))
    lock = try_lock(work.paths.run_lock(run_id))
    assert lock is not None  # nobody else knows the id

    claimed: list[Run] = []

    def claim() -> Run:
        named: dict[str, Any] = {"run_id": run_id, "attempt": request.attempt}
        run = work.journal.claim(request.spec_id, request.plan, mode=request.mode, **named)
        claimed.append(run)
        return run

    try:
        run = claiming(claim)
        write_atomic(directory / "prompt.md", request.prompt, mode=0o600)
        start_supervisor(work.paths, run, lock, seconds)
    except BaseException as error:
        lock.release()
        if not claimed:
            shutil.rmtree(directory, ignore_errors=True)
        elif isinstance(error, OSError | ClewError):
            _give_back(work, claimed[0], str(error))
        raise
    return work.journal.get(run.run_id)


def start_supervisor(
    paths: ProjectPaths, run: Run, lock: HeldLock, seconds: float = START_SECONDS
) -> None:
    """Start a run's supervisor and listen to it; the run's lock goes over to it.

    A run whose agent has exited gets one again, to finish it.
    """
    start_detached(_SUPERVISOR, paths.run_directory(run.run_id), lock, seconds, "supervisor")


def continuation(request: RunRequest, earlier: Run) -> RunRequest:
    """The request as one that goes on with an earlier run's work and, if it can, its session."""
    agent = request.plan.agent
    can_resume = agent.name == earlier.agent and agent_named(earlier.agent).resume
    if can_resume and earlier.session_id and not agent.session:
        agent = replace(agent, session=earlier.session_id)
    return replace(request, plan=replace(request.plan, agent=agent, continues=earlier.run_id))


def _give_back(work: Workspace, run: Run, reason: str) -> None:
    """Let go of a claim that came to nothing, unless the supervisor recorded the end already."""
    now = work.journal.get(run.run_id)
    if now.phase is Phase.PREPARED and now.owner == run.owner:
        known: JsonObject = {"failure_class": FailureClass.SUPERVISOR, "failure": reason}
        work.journal.move(run.run_id, Phase.FAILED, note=reason, **known)


class NoFreeAgent(Conflict):
    """Every agent of the configuration has as many runs as it may have."""


class NoCriteria(Invalid):
    """A spec says nothing by which its work could be judged."""


class UnmergedDependency(Conflict):
    """What a spec builds on is done, but not in what its work would start from."""

    def __init__(self, spec_id: str, missing: list[str], base: str) -> None:
        names = ", ".join(missing)
        super().__init__(
            f"Spec '{spec_id}' builds on {names}, whose work is not in {base} yet",
            f"Merge it first: `clew merge {' '.join(missing)}`.",
        )
        self.missing = missing


def start_work(
    work: Workspace,
    spec_id: str,
    options: WorkOptions | None = None,
    *,
    mode: str = "single",
    seconds: float = START_SECONDS,
) -> Run:
    """Start an agent on a spec; a failure to start is raised in its own words."""
    request = prepare_work(work, spec_id, options, mode=mode)
    try:
        return start_run(work, request, seconds, partial(take, work, request))
    except ClaimLost:
        raise
    except (ClewError, OSError):
        update_spec_statuses(work)  # if there was a run, its spec follows at once
        raise


def prepare_work(
    work: Workspace, spec_id: str, options: WorkOptions | None = None, *, mode: str = "single"
) -> RunRequest:
    """Everything that a run of this spec needs, checked; nothing is changed."""
    options, config = options or WorkOptions(), work.config()
    spec, earlier = startable(work, spec_id, options)
    if not options.skip_criteria:
        check_quality(work.store, config, spec)
        _check_criteria(config, spec, options)
    settings = worktree_settings(config, options, usual_base(work.root, config))
    if not options.skip_deps:
        _check_merged(work, config, spec, settings.base_ref)
    strategy = config.text("defaults", "rotation_strategy") or "none"
    workers = workers_of(config, options, spec)
    journal = work.journal if work.paths.journal.exists() else None
    running, before = (journal.running_by_worker(), journal.count()) if journal else ({}, 0)
    worker = pick_worker(workers, strategy, running, before)
    if worker is None:
        raise NoFreeAgent("Every configured agent is at work", "Wait, or raise max_concurrent.")
    name = prompt_name(config, spec, options.prompt)
    plan = RunPlan(
        prompt_name=name,
        agent=worker.choice,
        worker=worker.name,
        worktree=settings,
        limits=limits_of(config),
        prices=price_table(config),
        finisher=FINISHER,
        spec_file=str(work.root / spec.head.path),
        criteria=tuple((item.text, item.check) for item in parse_criteria(spec.body).items),
        check_seconds=float(config.number("work", "check_seconds") or 600),
        allow_no_commits=options.allow_no_commits,
    )
    brief = partial(work.wiring.brief, work.root) if work.wiring.brief else None
    prompt = build_prompt(work.paths, config, spec, plan, earlier=earlier, brief=brief)
    request = RunRequest(spec.id, prompt, plan, mode, earlier.attempt + 1 if earlier else 1)
    return preflight(work.paths, _continued(request, earlier) if earlier else request)


def startable(work: Workspace, spec_id: str, options: WorkOptions) -> tuple[Spec, Run | None]:
    """The spec and its newest run, if their state allows work now."""
    spec = work.store.load(spec_id)
    earlier = work.journal.latest(spec.id) if work.paths.journal.exists() else None
    if earlier is not None and earlier.is_open:
        raise lost_claim(earlier)
    if earlier is not None and earlier.settled_at is None:
        update_spec_statuses(work)
        spec = work.store.load(spec.id)
    check_startable(work.store, spec, options, earlier)
    return spec, earlier


def usual_base(root: Path, config: Config) -> str:
    """Where work starts from: what it will be merged into, whatever is checked out just now."""
    try:
        return main_branch(root, config)
    except ClewError:
        return "HEAD"


def refuse_ended(spec: Spec) -> None:
    """Refuse a spec that is over and done with."""
    if spec.head.archived:
        raise Conflict(f"Spec '{spec.id}' is archived", "Choose another one: `chant ready`.")
    if spec.status in _NOT_STARTED:
        raise Conflict(
            f"Spec '{spec.id}' is {spec.status}",
            f"To work on it again, put it back: `chant update {spec.id} --status pending`.",
        )


def check_startable(
    store: SpecStore, spec: Spec, options: WorkOptions, earlier: Run | None
) -> None:
    """Refuse a spec whose state does not allow work now."""
    refuse_ended(spec)
    if spec.type in GROUP_TYPES and not store.graph().members(spec.id):
        raise Invalid(
            f"Driver spec '{spec.id}' has no member specs. Cannot execute an empty driver.",
            "Add members, or split it.",
        )
    if spec.status == "in_progress" and not _was_left(earlier):
        raise Conflict(
            f"Spec '{spec.id}' is in progress, but Clew has no run for it",
            f"If nobody works on it, put it back first: `chant reset {spec.id}`.",
        )
    _check_blockers(store, spec, options)


def check_quality(store: SpecStore, config: Config, spec: Spec) -> None:
    """Refuse a spec that has lint errors."""
    findings = lint_specs(store, config, [spec]).findings
    errors = [finding for finding in findings if finding.severity == ERROR]
    if errors:
        listed = "\n".join(finding.as_text("  ") for finding in errors)
        raise Invalid(
            f"Spec validation failed with {len(errors)} error(s). Fix the issues before running "
            f"'chant work'.\n{listed}",
            f"Or start it all the same: `chant work {spec.id} --skip-criteria`.",
        )


def _check_criteria(config: Config, spec: Spec, options: WorkOptions) -> None:
    """Refuse a spec that says nothing by which its work could be judged."""
    is_allowed = options.allow_no_criteria or config.flag("work", "allow_no_criteria")
    if not spec.head.criteria_total and not is_allowed:
        raise NoCriteria(
            f"Spec '{spec.id}' has no acceptance criteria, so nothing could be checked",
            f'Add one: `chant criterion add {spec.id} "what must hold"`. Or start it all the same: '
            f"`chant work {spec.id} --allow-no-criteria`.",
        )


def _check_blockers(store: SpecStore, spec: Spec, options: WorkOptions) -> None:
    """What a spec waits for counts for every status from which work starts anew."""
    found = store.graph().waits_for(spec.id)
    approval = [blocker for blocker in found if blocker.reason == "approval"]
    if approval and not options.skip_approval:
        state = spec.head.approval_status or "pending"
        said = "was rejected" if state == "rejected" else f"has to be approved first ({state})"
        raise Conflict(f"Spec '{spec.id}' {said}", f"Approve it: `chant approve {spec.id}`.")
    others = [blocker for blocker in found if blocker.reason != "approval"]
    if others and not options.skip_deps:
        names = ", ".join(blocker.id for blocker in others)
        raise Conflict(
            f"Spec '{spec.id}' is blocked by dependencies: {names}",
            f"Finish these first, or have all of it worked: `chant work {spec.id} --chain`.",
        )


def _check_merged(work: Workspace, config: Config, spec: Spec, base: str) -> None:
    """Refuse a spec whose dependencies' branches are not in the base, unless its own has begun."""
    if tip_of(work.root, spec_branch(spec, config)) is not None:
        return
    found, missing = work.store.snapshot(), []
    for name in sorted(found.graph().needs(spec.id)):
        head = found.by_id.get(name)
        if head is None or head.status != "completed" or head.branch is None:
            continue
        tip = tip_of(work.root, head.branch)
        if tip is not None and not is_merged(work.root, tip, base):
            missing.append(name)
    if missing:
        raise UnmergedDependency(spec.id, missing, base)


def _was_left(earlier: Run | None) -> bool:
    """Whether a run was stopped, so that a new one goes on with its work."""
    return earlier is not None and earlier.phase not in (Phase.FINISHED, Phase.CANCELLED)


def _continued(request: RunRequest, earlier: Run) -> RunRequest:
    """The request that goes on with an earlier run; its session only if it was not to blame."""
    following = continuation(request, earlier)
    was_stopped = earlier.phase in (Phase.PAUSED, Phase.INTERRUPTED)
    if was_stopped or earlier.failure_class in TRANSIENT:
        return following
    return replace(following, plan=replace(following.plan, agent=request.plan.agent))


def take(work: Workspace, request: RunRequest, claim: Claim) -> Run:
    """Claim the spec while its lock is held: it is as it was checked, and nobody else has it.

    With the claim it is in progress, on its branch.
    """
    branch = branch_of(request.spec_id, request.plan.worktree.branch_prefix)
    claimed: list[Run] = []

    def edit(spec: Spec) -> Changes:
        refuse_ended(spec)
        check_move(spec.status, "in_progress")
        run = claimed[0] if claimed else claim()
        claimed[:] = [run]
        fields = {**move_fields(spec, "in_progress"), "branch": branch}
        return Changes(fields, note=f"run {run.run_id} by pid {os.getpid()}")

    after_move(work.store, work.store.change(request.spec_id, edit, actor=ACTOR), actor=ACTOR)
    return claimed[0]
