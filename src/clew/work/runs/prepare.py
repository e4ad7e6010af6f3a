"""Starting work on one spec: everything is checked before anything changes, then it is claimed.

What is there of an earlier attempt is gone on with: the same branch, the same worktree with its
uncommitted files and, where the agent can, the same session.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING

from clew.kit.errors import ClewError, Conflict, Invalid
from clew.specs.change.lifecycle import after_move, check_move, move_fields
from clew.specs.check.lint import lint_specs
from clew.specs.check.lint_rules import ERROR
from clew.specs.files.criteria import parse_criteria
from clew.specs.model import GROUP_TYPES, Changes
from clew.specs.query.commits import branch_of as spec_branch
from clew.specs.store.config import load_config
from clew.work.agents.options import (
    WorkOptions,
    limits_of,
    pick_worker,
    workers_of,
    worktree_settings,
)
from clew.work.agents.run_prompt import build_prompt, prompt_name
from clew.work.journal.journal import read_journal
from clew.work.model import FailureClass, Phase, RunRequest
from clew.work.runs.launch import START_SECONDS, continuation, preflight, start_run
from clew.work.runs.ready import needs_of
from clew.work.runs.reconcile import reconcile
from clew.work.worktrees.ancestry import is_merged
from clew.work.worktrees.main_branch import main_branch, tip_of
from clew.work.worktrees.worktrees import branch_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from clew.specs.model import Spec
    from clew.specs.store.config import Config
    from clew.specs.store.store import SpecStore
    from clew.work.agents.options import Worker
    from clew.work.model import Run, WorktreeSettings
    from clew.work.paths import Places

    Brief = Callable[[str], str]

FINISHER = "clew.work.runs.verdict:finish"
BRIEF = "clew.thread.brief.brief:for_prompt"  # a function of the project's root and a spec's id
ACTOR = "work"
_NOT_STARTED = {
    "completed": "Reset it first to work on it again: `chant reset`.",
    "cancelled": "Put it back to pending first: `chant update ID --status pending`.",
}
_SAME_SESSION = (FailureClass.RATE_LIMIT, FailureClass.NETWORK)


class NoFreeAgent(Conflict):
    """Every agent of the configuration has as many runs as it may have."""


class UnmergedDependency(Conflict):
    """What a spec builds on is done, but not in what its work would start from."""

    def __init__(self, spec_id: str, missing: list[str], base: str) -> None:
        names = ", ".join(missing)
        super().__init__(
            f"Spec '{spec_id}' builds on {names}, whose work is not in {base} yet",
            f"Merge it first: `clew merge {' '.join(missing)}`.",
        )
        self.missing = missing


@dataclass(frozen=True)
class Prepared:
    """A run that could start at once: nothing that can be known is in its way."""

    spec: Spec
    request: RunRequest
    warnings: tuple[str, ...]


def start_work(
    places: Places,
    store: SpecStore,
    spec_id: str,
    options: WorkOptions | None = None,
    *,
    mode: str = "single",
    brief: Brief | None = None,
    seconds: float = START_SECONDS,
) -> Run:
    """Start an agent on a spec; a failure to start is raised in its own words."""
    reconcile(places)
    prepared = prepare_work(places, store, spec_id, options, mode=mode, brief=brief)
    branch = branch_of(prepared.spec.id, prepared.request.worktree.branch_prefix)
    try:
        return start_run(
            places,
            prepared.request,
            seconds,
            on_claim=lambda run: _take(store, run, branch),
        )
    except (ClewError, OSError):
        reconcile(places)  # tell the spec at once how its run ended, if there was one
        raise


def prepare_work(
    places: Places,
    store: SpecStore,
    spec_id: str,
    options: WorkOptions | None = None,
    *,
    mode: str = "single",
    brief: Brief | None = None,
) -> Prepared:
    """Everything that a run of this spec needs, checked; nothing is changed."""
    options = options or WorkOptions()
    config = load_config(places.root)
    spec = store.load(spec_id)
    earlier, running, before = _journal_facts(places, spec.id)
    check_startable(store, spec, options, earlier)
    warnings = check_quality(store, config, spec, skip=options.skip_criteria)
    settings = worktree_settings(config, options, usual_base(places, config))
    if not options.skip_deps:
        _check_merged(places, store, config, spec, settings.base_ref)
    workers = workers_of(config, options, spec)
    strategy = config.text("defaults", "rotation_strategy") or "none"
    worker = pick_worker(workers, strategy, running, before)
    if worker is None:
        raise NoFreeAgent("Every configured agent is at work", "Wait, or raise max_concurrent.")
    request = _request(places, config, spec, options, worker, settings, earlier, mode, brief)
    preflight(places, request)
    return Prepared(spec, request, tuple(warnings))


def usual_base(places: Places, config: Config) -> str:
    """Where work starts from: what it will be merged into, whatever is checked out just now."""
    try:
        return main_branch(places.root, config)
    except ClewError:
        return "HEAD"


def named_brief(root: Path, name: str = BRIEF) -> Brief | None:
    """The function of that dotted name, bound to the project; None where it is not installed."""
    module, colon, function = name.partition(":")
    if not colon or not module.startswith("clew."):
        raise Invalid(f"Not a brief of ours: {name}")
    try:
        if find_spec(module) is None:
            return None
    except ModuleNotFoundError:
        return None
    return partial(getattr(import_module(module), function), root)


def refuse_ended(spec: Spec) -> None:
    """Refuse a spec that is over and done with."""
    if spec.head.archived:
        raise Conflict(f"Spec '{spec.id}' is archived", "Work on an active spec.")
    if spec.status in _NOT_STARTED:
        raise Conflict(f"Spec '{spec.id}' is {spec.status}", _NOT_STARTED[spec.status])


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
            f"Spec '{spec.id}' is in progress, but no run of ours is behind it",
            "If nobody works on it, put it back first: `chant reset`.",
        )
    _check_blockers(store, spec, options)


def check_quality(store: SpecStore, config: Config, spec: Spec, *, skip: bool) -> list[str]:
    """Refuse a spec that has lint errors, unless that is to be skipped; gives the warnings."""
    findings = lint_specs(store, config, [spec]).findings
    errors = [finding for finding in findings if finding.severity == ERROR]
    if errors and not skip:
        listed = "\n".join(finding.as_text("  ") for finding in errors)
        raise Invalid(
            f"Spec validation failed with {len(errors)} error(s). Fix the issues before running "
            f"'chant work'.\n{listed}",
            "Or start it all the same with --skip-criteria.",
        )
    return [finding.as_text() for finding in findings]


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
            "Finish these first; `--chain` works through all of them.",
        )


def _check_merged(places: Places, store: SpecStore, config: Config, spec: Spec, base: str) -> None:
    """Refuse a spec whose dependencies' branches are not in the base, unless its own has begun."""
    found = store.snapshot()
    if tip_of(places.root, spec_branch(spec, config)) is not None:
        return
    missing = []
    for name in sorted(needs_of(found, spec.head)):
        head = found.by_id.get(name)
        if head is None or head.status != "completed" or head.branch is None:
            continue
        tip = tip_of(places.root, head.branch)
        if tip is not None and not is_merged(places.root, tip, base):
            missing.append(name)
    if missing:
        raise UnmergedDependency(spec.id, missing, base)


def _was_left(earlier: Run | None) -> bool:
    """Whether a run was stopped, so that a new one goes on with its work."""
    return earlier is not None and earlier.phase not in (Phase.FINISHED, Phase.CANCELLED)


def _journal_facts(places: Places, spec_id: str) -> tuple[Run | None, dict[str, int], int]:
    """The spec's latest run, how many runs each agent has now, and how many there ever were."""
    with read_journal(places) as journal:
        if journal is None:
            return None, {}, 0
        return journal.latest(spec_id), journal.running_by_worker(), journal.count()


def _request(  # noqa: PLR0913, PLR0917 - the parts of one request
    places: Places,
    config: Config,
    spec: Spec,
    options: WorkOptions,
    worker: Worker,
    settings: WorktreeSettings,
    earlier: Run | None,
    mode: str,
    brief: Brief | None,
) -> RunRequest:
    agent, name = worker.choice, prompt_name(config, spec, options.prompt)
    text = build_prompt(
        places,
        config,
        spec,
        name,
        settings=settings,
        model=agent.model,
        earlier=earlier,
        brief=brief,
    )
    request = RunRequest(
        spec.id,
        text,
        prompt_name=name,
        agent=agent,
        worker=worker.name,
        worktree=settings,
        limits=limits_of(config),
        mode=mode,
        finisher=FINISHER,
        spec_file=places.root / spec.head.path,
        criteria=tuple((item.text, item.check) for item in parse_criteria(spec.body).items),
        check_seconds=float(config.number("work", "check_seconds") or 600),
        allow_no_commits=options.allow_no_commits,
    )
    return _continued(request, earlier) if earlier is not None else request


def _continued(request: RunRequest, earlier: Run) -> RunRequest:
    """The request that goes on with an earlier run; its session only if it was not to blame."""
    following = continuation(request, earlier)
    was_stopped = earlier.phase in (Phase.PAUSED, Phase.INTERRUPTED)
    if was_stopped or earlier.failure_class in _SAME_SESSION:
        return following
    return RunRequest(**{**vars(following), "agent": request.agent})


def _take(store: SpecStore, run: Run, branch: str) -> None:
    """The spec follows the claim: in progress, on its branch."""

    def edit(spec: Spec) -> Changes:
        check_move(spec.status, "in_progress")
        fields = {**move_fields(spec, "in_progress"), "branch": branch}
        return Changes(fields, note=f"run {run.run_id} by pid {os.getpid()}")

    after_move(store, store.change(run.spec_id, edit, actor=ACTOR), actor=ACTOR)
