"""What happens around runs, on the command line: merge, watch, split, cleanup."""

from __future__ import annotations

import sys
from dataclasses import asdict
from typing import Any

import click

from clew.cli.core.app import command
from clew.cli.core.options import flag, option, project_option, spec_argument, specs_argument
from clew.cli.core.streams import say, write_out
from clew.cli.specs.read import opened_work
from clew.cli.work.trust import give_consent
from clew.kit.call import Call
from clew.kit.errors import NotFound, UsageError
from clew.kit.outcome import Hint, Outcome, Table, listing
from clew.specs.query.commands import settings_commands
from clew.specs.store.store import SpecStore
from clew.work.merging.preconditions import Branch
from clew.work.merging.queue import MergeResult
from clew.work.scheduling.watch import WatchOptions
from clew.work.workspace import Workspace


def _say(text: str) -> None:
    """What is going on, for people; standard output is for the result."""
    if sys.stderr.isatty():
        say(text)


@command()
@specs_argument
@flag("--all", "merge_all", "Merge every completed spec and everything queued.")
@flag("--list", "only_list", "List the branches and their state; merge nothing.")
@flag("--dry-run", "Show what would be merged and what conflicts.")
@flag("--rebase", "Rebase the commits instead of creating a merge commit.")
@flag("--delete-branch", "Remove worktree and branch after the merge.")
@project_option
def merge(
    ids: tuple[str, ...], *, merge_all: bool, dry_run: bool, project: str | None, **given: Any
) -> Outcome:
    """Merge finished specs into the main branch one at a time, after the checks pass.

    Exit code 0 if all of them were merged, else 1.
    """
    from clew.work.merging.preconditions import branches, expanded
    from clew.work.merging.queue import Merger
    from clew.work.processes.child import Signals

    only_list = given["only_list"]
    if not (ids or merge_all or only_list or dry_run):
        raise UsageError("Which specs?", "Name them, or use --all; --list shows what there is.")
    with opened_work(project) as work:
        config = work.config()
        if only_list or (dry_run and not ids):
            return _branch_list(branches(work, config), only_due=dry_run)
        wanted = expanded(work, config, list(ids))
        if dry_run or merge_all:
            found = branches(work, config)
            wanted += [b.spec_id for b in found if b.is_due and merge_all]
        if dry_run:
            return _branch_list([b for b in found if b.spec_id in wanted], only_due=False)
        give_consent(work, settings_commands(config), "clew merge")
        with Signals().noted() as signals:
            merger = Merger(work, config, _say, lambda: signals.stop_asked)
            results = merger.merge(
                list(dict.fromkeys(wanted)),
                strategy="rebase" if given["rebase"] else None,
                delete_branch=given["delete_branch"],
            )
            if merge_all:
                known = {result.spec_id for result in results}
                results += [one for one in merger.work_off() if one.spec_id not in known]
    return _merge_outcome(results)


def _merge_outcome(results: list[MergeResult]) -> Outcome:
    rows = tuple((r.spec_id, r.status, (r.commit or "")[:12], _first(r.note)) for r in results)
    parts: list[str | Table] = [Table(("id", "merge", "commit", "note"), rows)] if rows else []
    for result in results:
        if result.note and "\n" in result.note:
            parts.append(f"{result.spec_id}: {result.note}")
        if result.left_out:
            names = ", ".join(result.left_out)
            parts.append(f"{result.spec_id}: left out, specs are kept in the project: {names}")
        if result.hint:
            parts.append(Hint(f"{result.spec_id}: {result.hint}"))
    data = {"merges": [result.as_json() for result in results]}
    failed = any(not result.is_merged for result in results)
    return Outcome(data, tuple(parts or ["Nothing to merge."]), exit_code=int(failed))


def _branch_list(found: list[Branch], *, only_due: bool) -> Outcome:
    shown = [branch for branch in found if branch.is_due or not only_due]
    data = [{**asdict(branch), "files": list(branch.files)} for branch in shown]
    columns = "id:spec_id state commits branch note"
    return listing("branches", data, columns, "No branches of specs.")


def _first(note: str | None) -> str:
    return (note or "").partition("\n")[0]


@command()
@flag("--once", "Run one pass, then exit.")
@flag("--dry-run", "Run one pass that changes nothing.")
@option(
    "--start",
    "Also start ready specs, up to N in parallel. This calls agents.",
    type=click.IntRange(0),
    default=0,
    metavar="N",
)
@option("--poll-interval", "Polling interval.", type=click.IntRange(100), metavar="MS")
@flag("--background", "Run in the background.")
@flag("--stop", "stop_it", "Stop the running watch.")
@flag("--status", "only_status", "Show whether a watch is running.")
@project_option
def watch(*, once: bool, dry_run: bool, project: str | None, **given: Any) -> Outcome:
    """Finish, merge and clean up the work of agents, until Ctrl-C or a long idle time."""
    from clew.work.scheduling.start import start_watch
    from clew.work.scheduling.watch import WatchOptions, stop_watch, watch_status

    with opened_work(project) as work:
        if given["only_status"]:
            return _status_outcome(watch_status(work.paths))
        if given["stop_it"]:
            pid = stop_watch(work.paths, 30)
            return Outcome({"pid": pid}, (f"Sent stop signal to watch process (PID: {pid})",))
        poll = given["poll_interval"]
        options = WatchOptions(given["start"], dry_run, poll / 1000 if poll else None)
        if given["background"] and not dry_run:
            pid = start_watch(work, options)
            return Outcome({"pid": pid}, (f"Started watch process (PID: {pid})",))
    return _watched(work, options, once=once)


def _watched(work: Workspace, options: WatchOptions, *, once: bool) -> Outcome:
    from clew.work.processes.child import Signals
    from clew.work.scheduling.watch import Watch, run_watch, watch_lock, watch_log

    dry_run = options.dry_run
    lines: list[str] = []
    log = watch_log(work.paths)

    def say(text: str) -> None:
        lines.append(text)
        if not dry_run:
            log(text)
        if not (once or dry_run):
            write_out(text)

    lock = watch_lock(work.paths)
    try:
        with Signals().noted() as signals:
            looking = Watch(work.root, work.wiring, options, say, lambda: signals.stop_asked)
            if dry_run:
                looking.look()
            else:
                run_watch(looking, signals, once=once)
    finally:
        lock.release()
    shown = tuple(lines) if once or dry_run else ()
    return Outcome({"lines": lines}, shown or (("Nothing to do.",) if dry_run else ()))


def _status_outcome(status: dict[str, object]) -> Outcome:
    first = "A watch is running." if status["watch_running"] else "No watch is running."
    return Outcome(status, (first, *_worktree_table(status["worktrees"])))


def _worktree_table(views: Any) -> tuple[Table, ...]:
    rows = tuple((v["spec_id"], v["status"], str(len(v["commits"])), v["path"]) for v in views)
    return (Table(("id", "agent", "commits", "worktree"), rows),) if rows else ()


class _ShownCall(Call):
    """A call whose progress people see on a terminal, and that a signal stops."""

    def report_progress(self, done: float, total: float | None, message: str | None) -> None:
        """Show it."""
        if message:
            _say(message)


@command()
@spec_argument
@flag("--force", "Split even if the spec says that it is tightly coupled.")
@flag("--recursive", "Split members that are still too large.")
@option("--max-depth", "Maximum depth.", type=click.IntRange(1, 10), default=3)
@option("--model", "Model to use.", metavar="NAME")
@flag("--without-model", "Split by criteria and files, without a model.")
@flag("--dry-run", "Show the members; write nothing.")
@flag("--undo", "Undo the split if no member has been worked on.")
@project_option
def split(spec_id: str, *, undo: bool, project: str | None, **given: Any) -> Outcome:
    """Split a spec into members, by the configured agent or by its criteria and files."""
    from clew.work.split.split import SplitOptions, split_spec, undo_split

    with opened_work(project) as work:
        if undo:
            gone = undo_split(work.store, spec_id)
            return Outcome({"removed": gone}, (f"Undone; removed {', '.join(gone)}.",))
        done = split_spec(work, spec_id, SplitOptions(**given), call=_ShownCall()).as_json()
    rows = []
    for member in done["members"]:
        files, needs = ", ".join(member["target_files"]), ", ".join(member["depends_on"])
        count = str(len(member["acceptance_criteria"]))
        rows.append((member["id"], member["title"], count, files, needs))
    table = Table(("id", "title", "criteria", "files", "waits for"), tuple(rows))
    warnings = [f"warning: {text}" for text in done["warnings"]]
    return Outcome(done, (f"{done['message']} (by {done['method']}).", table, *warnings))


@command(name="status")
@project_option
def worktree_status(project: str | None) -> Outcome:
    """List the worktrees of specs and what happens there."""
    from clew.work.scheduling.watch import watch_status

    with opened_work(project) as work:
        views = watch_status(work.paths)["worktrees"]
    return Outcome({"worktrees": views}, _worktree_table(views) or ("No worktrees.",))


@command()
@specs_argument
@flag("--force", "Also remove dirty or unmerged work; it is kept under refs.")
@flag("--dry-run", "Show what would be removed; remove nothing.")
@project_option
def cleanup(ids: tuple[str, ...], *, force: bool, dry_run: bool, project: str | None) -> Outcome:
    """Remove worktrees and branches whose work is in the main branch.

    Exit code 1 if a named spec was refused.
    """
    from clew.work.merging.preconditions import REFUSED, clean_up

    if force and not ids:
        raise UsageError("--force needs the specs by name", "clew cleanup --force ID")
    with opened_work(project) as work:
        names, config = [_owned_name(work.store, name) for name in ids], work.config()
        if not dry_run:
            give_consent(work, settings_commands(config), "clew cleanup")
        found = clean_up(work, config, names, force=force, dry_run=dry_run)
    data = [item.as_json() for item in found]
    shown = listing("worktrees", data, "id:spec_id worktree:deed note path", "No worktrees.")
    kept = [f"{item.spec_id}: kept {', '.join(item.kept)}" for item in found if item.kept]
    refused = bool(ids) and any(item.deed == REFUSED for item in found)
    return Outcome(shown.data, (*shown.parts, *kept), exit_code=int(refused))


def _owned_name(store: SpecStore, name: str) -> str:
    """The full id; a worktree may outlive its spec."""
    try:
        return store.load(name).id
    except NotFound:
        return name
