"""A person approves commands, and the runs that waited for that are finished."""

from __future__ import annotations

from collections.abc import Iterable

from clew.specs.model import DONE_STATUSES
from clew.specs.query.commands import NamedCommand, settings_commands, spec_commands
from clew.specs.store.consent import Approval, Consent, command_hash, full_hash
from clew.work.model import FailureClass, Phase, Run
from clew.work.runs.stop import release_finished, take_over
from clew.work.workspace import Workspace


def named_commands(work: Workspace) -> list[NamedCommand]:
    """What the settings, the open specs and the runs that wait for an approval name."""
    heads = [head for head in work.store.snapshot().active if head.status not in DONE_STATUSES]
    specs = [work.store.load(head.id) for head in heads]
    waiting = [one for run in _waiting(work) for one in commands_of_run(run)]
    return [*settings_commands(work.config()), *spec_commands(specs), *waiting]


def approve_hashes(
    work: Workspace, hashes: Iterable[str], by: str
) -> tuple[list[Approval], list[str]]:
    """Approve the commands that have these hashes now; the new approvals, and the specs finished."""
    known = {command_hash(work.root, one.command): one.command for one in named_commands(work)}
    chosen = [known[full_hash(text, known)] for text in hashes]
    made = Consent(work.root).approve(chosen, by)
    return made, [run.spec_id for run in _finish_approved(work)]


def _finish_approved(work: Workspace) -> list[Run]:
    """Finish the runs that only waited for an approval that is there now."""
    consent, finished = Consent(work.root), []
    for run in _waiting(work):
        if not consent.missing(one.command for one in commands_of_run(run)):
            take_over(work, run.spec_id, force=True)
            finished.append(release_finished(work, run.spec_id))
    return finished


def waits_for_approval(run: Run) -> bool:
    """Whether only commands that nobody has approved keep the run from being done."""
    return run.phase is Phase.FAILED and run.failure_class == FailureClass.APPROVAL


def _waiting(work: Workspace) -> list[Run]:
    failed = work.journal.runs(phases=(Phase.FAILED,)) if work.paths.journal.exists() else []
    ours = [run for run in failed if waits_for_approval(run)]
    return [run for run in ours if work.journal.latest(run.spec_id) == run]


def commands_of_run(run: Run) -> list[NamedCommand]:
    """The set-up and check commands that were fixed when the run began."""
    place = f"run {run.run_id} of {run.spec_id}"
    setup = [line for line in run.plan.worktree.setup if isinstance(line, str)]
    checks = [check for _text, check in run.plan.criteria if check]
    return [NamedCommand(command, place) for command in (*setup, *checks)]
