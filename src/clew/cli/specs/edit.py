"""Specs on the command line, the writing half."""

from __future__ import annotations

from typing import Any

import click

from clew.cli.core.app import command
from clew.cli.core.editor import edit_file
from clew.cli.core.options import (
    flag,
    option,
    optional_spec_argument,
    project_option,
    repeatable,
    spec_argument,
)
from clew.cli.specs.read import opened, opened_work
from clew.kit.errors import Conflict, UsageError
from clew.kit.outcome import Outcome
from clew.specs.store.audit import own_name

ACTOR = "cli"  # the tool that changes something, for the audit trail


def message(data: dict[str, Any], *lines: str) -> Outcome:
    """What was done, in words and as data."""
    return Outcome({**data, "message": lines[0]}, lines)


@command()
@spec_argument
@option("--status", "New status: pending, in_progress, completed or failed.", metavar="STATUS")
@option("--output", "Append this under ## Output.", metavar="TEXT")
@flag("--replace-body", "Replace the body with the output instead.")
@repeatable("--depends-on", "Replace the list.", metavar="ID")
@repeatable("--label", "labels", "Replace the list.", metavar="LABEL")
@repeatable("--file", "target_files", "Replace the list.", metavar="PATH")
@option("--model", "Model for the agent.", metavar="NAME")
@option(
    "--expected-version", "Refuse if the spec has changed since this version.", metavar="VERSION"
)
@project_option
def update(  # noqa: PLR0913 - one parameter per option
    spec_id: str,
    status: str | None,
    output: str | None,
    *,
    replace_body: bool,
    depends_on: tuple[str, ...],
    labels: tuple[str, ...],
    target_files: tuple[str, ...],
    model: str | None,
    expected_version: str | None,
    project: str | None,
) -> Outcome:
    """Change a spec's status or fields, or append output."""
    from clew.specs.change.update import update_spec

    lists = {"depends_on": depends_on, "labels": labels, "target_files": target_files}
    fields: dict[str, Any] = {name: list(value) for name, value in lists.items() if value}
    if model:
        fields["model"] = model
    spec = update_spec(
        opened(project),
        spec_id,
        status=status,
        output=output,
        replace_body=replace_body,
        fields=fields,
        expected_version=expected_version,
        actor=ACTOR,
    )
    return message({"id": spec.id, "version": spec.version}, f"Updated spec: {spec.id}")


@command()
@spec_argument
@click.argument("number", type=int)
@flag("--off", "Uncheck the criterion.")
@option("--evidence", "Evidence that the criterion is met.", metavar="TEXT")
@project_option
def check(
    spec_id: str, number: int, *, off: bool, evidence: str | None, project: str | None
) -> Outcome:
    """Check one acceptance criterion by its number."""
    return set_box(project, spec_id, number, checked=not off, evidence=evidence)


def set_box(
    project: str | None, spec_id: str, number: int, *, checked: bool, evidence: str | None = None
) -> Outcome:
    """Check or uncheck one criterion, and say how many are left."""
    from clew.specs.change.update import check_criterion

    done = check_criterion(
        opened(project), spec_id, number, checked=checked, evidence=evidence, actor=ACTOR
    )
    mark = "x" if done["checked"] else " "
    return Outcome(done, (f"{number}. [{mark}] {done['text']} ({done['unchecked']} left)",))


@command()
@spec_argument
@click.option("--by", metavar="NAME", default=own_name, help="Name of the approver.")
@project_option
def approve(spec_id: str, by: str, project: str | None) -> Outcome:
    """Approve a spec, so that it can be worked on."""
    from clew.specs.change.approval import approve as give

    done = give(opened(project), spec_id, by=by, actor=ACTOR)
    words = "Approved spec" if done.changed else "Already approved"
    data = {"id": done.spec.id, "by": by, "changed": done.changed}
    return message(data, f"{words}: {done.spec.id}")


@command()
@spec_argument
@click.option("--by", metavar="NAME", default=own_name, help="Name of the reviewer.")
@option("--reason", "Reason for the rejection.", metavar="TEXT", required=True)
@project_option
def reject(spec_id: str, by: str, reason: str, project: str | None) -> Outcome:
    """Reject a spec with a reason."""
    from clew.specs.change.approval import reject as refuse

    store = opened(project)
    action = store.config().text("approval", "rejection_action") or "manual"
    done = refuse(store, spec_id, by=by, reason=reason, action=action, actor=ACTOR)
    lines = [f"Rejected spec: {done.spec.id}", *(f"Created spec: {new}" for new in done.created)]
    return message({"id": done.spec.id, "by": by, "created": list(done.created)}, *lines)


@command()
@spec_argument
@flag("--allow-no-commits", "Finalize even if no commit names the spec.")
@flag("--merge", "Then merge its branch into the main branch.")
@project_option
def finalize(spec_id: str, *, allow_no_commits: bool, merge: bool, project: str | None) -> Outcome:
    """Mark a spec as completed; every criterion must be checked."""
    from clew.specs.change.finalize import finalize as complete
    from clew.work.merging.queue import merge_finished

    with opened_work(project) as work:
        store, config = work.store, work.config()
        how: dict[str, Any] = {"actor": ACTOR, "allow_no_commits": allow_no_commits}
        done = complete(store, config, spec_id, **how)
        if merge:
            done["merged"] = merge_finished(work, done["id"]).commit
    lines = [f"Finalized spec: {done['id']}"]
    if merge:
        lines.append(f"  merged as {done['merged']}")
    lines += [f"  {label}: {', '.join(done[key])}" for key, label in _AFTER.items() if done[key]]
    if not store.load(done["id"]).head.criteria_total:
        lines.append("  nothing was checked: the spec has no acceptance criteria")
    return message(done, *lines)


_AFTER = {
    "commits": "commits",
    "unblocked": "now ready",
    "completed_groups": "groups completed with it",
}


@command()
@spec_argument
@project_option
def reset(spec_id: str, project: str | None) -> Outcome:
    """Reset a failed or stuck spec to pending; its agent is stopped, its branch stays."""
    from clew.work.runs.stop import reset_spec

    with opened_work(project) as work:
        spec = reset_spec(work, spec_id, actor=ACTOR)
    return message({"id": spec.id}, f"Reset spec '{spec.id}' to pending")


@command()
@spec_argument
@flag("--delete", "Also delete the file (it stays in git).")
@flag("--yes", "Cancel even if other specs depend on it.")
@project_option
def cancel(spec_id: str, *, delete: bool, yes: bool, project: str | None) -> Outcome:
    """Cancel a spec and stop its agent; the file stays, but lists and work ignore it."""
    from clew.work.runs.stop import cancel_spec, delete_spec

    with opened_work(project) as work:
        full = work.store.load(spec_id).id
        waiting = work.store.graph().dependents(full)
        if waiting and not yes:
            raise Conflict(
                f"Other specs wait for '{full}': {', '.join(waiting)}",
                "Cancel it all the same with --yes; they then count it as done.",
            )
        (delete_spec if delete else cancel_spec)(work, full, actor=ACTOR)
    verb = "Deleted" if delete else "Cancelled"
    return message({"id": full, "deleted": delete}, f"{verb} spec: {full}")


@command()
@optional_spec_argument
@option(
    "--older-than", "All specs completed at least DAYS ago.", type=click.IntRange(0), metavar="DAYS"
)
@flag("--dry-run", "Show what would be moved; move nothing.")
@flag("--force", "Also if its work is not merged.")
@project_option
def archive(
    spec_id: str | None,
    older_than: int | None,
    *,
    dry_run: bool,
    force: bool,
    project: str | None,
) -> Outcome:
    """Move a completed spec, or all specs completed long ago, to the archive."""
    from clew.specs.change.finalize import archivable
    from clew.work.merging.archiving import archive_spec
    from clew.work.worktrees.main_branch import branch_tips

    if (spec_id is None) == (older_than is None):
        raise UsageError("Give an ID or --older-than DAYS", "See: chant archive --help")
    moved, lines = {}, []
    with opened_work(project) as work:
        store = work.store
        names = [store.load(spec_id).id] if spec_id else archivable(store, older_than or 0)
        if dry_run:
            return Outcome({"would_archive": names}, tuple(names) or ("Nothing to archive.",))
        how: dict[str, Any] = {"force": force, "allow_cancelled": spec_id is None}
        how["tips"] = branch_tips(work.root)
        for name in names:
            try:
                path = archive_spec(work, name, actor=ACTOR, **how)
            except Conflict as error:
                if spec_id:
                    raise
                lines.append(f"Not archived: {error.message}")
            else:
                moved[name] = store.paths.relative(path)
                lines.append(f"Archived spec: {name} -> {moved[name]}")
    return Outcome({"archived": moved}, tuple(lines or ["Nothing to archive."]))


@command()
@spec_argument
@project_option
def edit(spec_id: str, project: str | None) -> Outcome:
    """Open a spec in your editor; an invalid spec is opened again."""
    store = opened(project)
    spec = store.load(spec_id)
    if spec.head.archived:
        raise Conflict(f"Spec '{spec.id}' is archived and cannot be changed")
    edit_file(str(store.paths.root / spec.head.path))
    changed = store.load(spec.id)
    words = "Changed" if changed.version != spec.version else "Unchanged"
    return message({"id": spec.id, "version": changed.version}, f"{words}: {spec.head.path}")
