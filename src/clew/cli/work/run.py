"""Work on the command line: `clew work …` and the same under `chant`."""

from __future__ import annotations

import time
from typing import Any

import click

from clew.cli.core.app import command
from clew.cli.core.hints import own_commands
from clew.cli.core.options import (
    choice,
    combined,
    flag,
    limit_option,
    option,
    optional_spec_argument,
    project_option,
    repeatable,
    spec_argument,
    specs_argument,
)
from clew.cli.core.streams import say
from clew.cli.specs.read import follow_log, opened, opened_work
from clew.cli.work.trust import give_consent
from clew.kit.errors import ClewError, NotFound, UsageError
from clew.kit.outcome import Outcome, Table
from clew.specs.store.settings import SANDBOXES
from clew.work.journal.interface import Journal
from clew.work.model import Run
from clew.work.scheduling.start import Begun, Mode
from clew.work.workspace import Workspace

_on_agent = combined(
    flag("--approved-only", "Approve nothing by this: run only commands that are approved."),
    flag("--no-watch", "Do not start the watch that merges completed specs."),
    flag("--detach", "Return immediately; the work continues in the background."),
    flag("--allow-no-commits", "Complete the spec even if there are no commits."),
    flag("--allow-no-criteria", "Start a spec without acceptance criteria."),
    option("--prompt", "Prompt for the agent.", metavar="NAME"),
    option("--agent", "Agent to use (default: as configured).", metavar="NAME"),
    option("--model", "Model for the agent.", metavar="NAME"),
    choice(
        "--sandbox",
        "Keep the agent in its worktree (default: where that can be had), or offline, too.",
        among=SANDBOXES,
    ),
    option("--base", "Starting point (default: the main branch).", metavar="REF"),
)


@command()
@specs_argument
@flag("--chain", "Work on the specs one after the other, then on all ready ones.")
@option("--chain-max", "Maximum number of specs.", type=click.IntRange(1), metavar="N")
@option("--parallel", "Number of parallel runs.", type=click.IntRange(1, 64), metavar="N")
@repeatable("--label", "labels", "Only ready specs with this label.", metavar="LABEL")
@choice(
    "--on-failure",
    "What to do with the remaining specs when one fails; retry retries it first.",
    among="stop skip retry",
)
@option("--retries", "Maximum number of retries.", type=click.IntRange(0), metavar="N")
@flag("--no-merge", "Do not merge the branches.")
@flag("--skip-criteria", "Start despite lint errors or missing criteria.")
@flag("--skip-deps", "Start despite unfinished dependencies.")
@flag("--skip-approval", "Start without approval.")
@_on_agent
@project_option
def work(
    ids: tuple[str, ...],
    *,
    detach: bool,
    no_watch: bool,
    approved_only: bool,
    project: str | None,
    **given: Any,
) -> Outcome:
    """Have an agent work on specs, each in a git worktree of its own.

    Ctrl-C leaves the work running; `clew pause ID` stops it and loses nothing.
    """
    from clew.work.scheduling.start import begin_work, commands_of

    mode = _mode(given)
    if not ids and mode.name == "single":
        raise UsageError(
            "No spec is named", "Name one, or use --chain or --parallel N for all that is ready."
        )
    with opened_work(project) as workspace:
        if not approved_only:
            give_consent(workspace, commands_of(workspace, ids, mode), "clew work")
        begun = begin_work(workspace, ids, mode, _options(given))
        if not no_watch and begun.run_id is not None:
            _start_watch(workspace)
        return _outcome(workspace, begun, detach=detach)


@command()
@spec_argument
@_on_agent
@project_option
def resume(
    spec_id: str,
    *,
    detach: bool,
    no_watch: bool,
    approved_only: bool,
    project: str | None,
    **given: Any,
) -> Outcome:
    """Continue a paused, interrupted or failed spec on the same branch and files."""
    from clew.work.scheduling.start import Mode, begin_work, commands_of

    with opened_work(project) as work:
        full = work.store.load(spec_id).id
        if work.journal.latest(full) is None:
            raise NotFound(f"No agent has worked on spec '{full}'", f"Start: `clew work {full}`.")
        if not approved_only:
            give_consent(work, commands_of(work, (full,), Mode()), "clew resume")
        begun = begin_work(work, (full,), Mode(), _options(given))
        if not no_watch:
            _start_watch(work)
        return _outcome(work, begun, detach=detach)


def _mode(given: dict[str, Any]) -> Mode:
    from clew.work.scheduling.start import Mode

    return Mode(
        chain=given["chain"] or given["chain_max"] is not None,
        parallel=given["parallel"],
        most=given["chain_max"],
        merge=not given["no_merge"],
        on_failure=given["on_failure"],
        retries=given["retries"],
        labels=given["labels"],
    )


def _options(given: dict[str, Any]) -> Any:
    from clew.work.agents.options import WorkOptions

    names = WorkOptions.__dataclass_fields__
    return WorkOptions(**{name: value for name, value in given.items() if name in names})


def _start_watch(work: Workspace) -> None:
    """Have finished work merged; that this cannot start must not keep anybody from working."""
    from clew.work.scheduling.start import keep_watched

    reason = keep_watched(work)
    if reason:
        say(f"warning: the watch was not started: {reason}")


def _outcome(work: Workspace, begun: Begun, *, detach: bool) -> Outcome:
    """What became of the work; of detached work, where to look at it."""
    from clew.cli.work.follow import follow_run, follow_schedule
    from clew.work.journal.status_files import run_data
    from clew.work.scheduling.watch import is_watched

    def data_of(run: Run) -> dict[str, Any]:
        return {**run_data(run), "spec_status": work.store.load(run.spec_id).status}

    record = begun.record
    if detach:
        pid = f" (PID {record['pid']})" if record["pid"] else ""
        words = f"Started {record['mode']} work on {record['spec_id']}{pid}."
        shows = f"`clew logs -f {record['spec_id']}` shows it."
        return Outcome(record, (words, own_commands(shows)))
    if begun.run_id is not None:
        data = data_of(follow_run(work, begun.run_id))
        ending = _ending(data, watched=is_watched(work.paths))
        return Outcome(data, (ending,), 0 if data["spec_status"] == "completed" else 1)
    schedule, runs = follow_schedule(work, str(begun.schedule_id))
    ended = {"status": schedule.status, "note": schedule.note, "runs": [data_of(r) for r in runs]}
    parts: list[str | Table] = [_runs_table(runs)] if runs else []
    parts.append(f"{schedule.mode}: {schedule.note}")
    return Outcome({**record, **ended}, tuple(parts), 0 if schedule.status == "completed" else 1)


def _ending(data: dict[str, Any], *, watched: bool) -> str:
    from clew.work.runs.verdict import NOTHING_CHECKED

    said = f"{data['spec_id']}: {data['spec_status'].replace('_', ' ')}"
    if data["spec_status"] == "completed":
        said += "" if data["criteria"] else f", but {NOTHING_CHECKED}"
        after = "the watch merges it" if watched else f"merge it: `clew merge {data['spec_id']}`"
        return own_commands(f"{said}; the work is on branch {data['branch']}, {after}.")
    if data["failure"]:
        said += f"\n{data['failure']}"
    where = f"; it is in {data['worktree']}" if data["worktree"] else ""
    return f"{said}\n" + own_commands(f"`clew resume {data['spec_id']}` goes on with it{where}.")


@command()
@optional_spec_argument
@flag("--all", "everything", "Pause all work and start no more.")
@project_option
def pause(spec_id: str | None, *, everything: bool, project: str | None) -> Outcome:
    """Stop the agent of a spec. Nothing is lost: `clew resume` continues from there."""
    from clew.work.runs.stop import pause as stop

    if (spec_id is None) is not everything:
        raise UsageError("Name one spec, or use --all", "`clew runs` shows what is at work.")
    with opened_work(project) as work:
        names = _at_work(work) if everything else [str(spec_id)]
        done = [stop(work, name) for name in names]
    lines = [f"Successfully paused work for spec '{run.spec_id}'" for run in done]
    data = {"paused": [{"id": run.spec_id, "worktree": run.worktree} for run in done]}
    return Outcome(data, tuple(lines or ["Nothing was at work."]))


def _at_work(work: Workspace) -> list[str]:
    """Have the scheduler start nothing more; the specs that are at work now."""
    from clew.work.journal.schedules import stop_schedules
    from clew.work.model import FINISHING, RUNNING

    stop_schedules(work.paths, work.journal)
    deadline = time.monotonic() + 20
    while work.journal.schedules(running=True) and time.monotonic() < deadline:
        time.sleep(0.1)
    return [run.spec_id for run in work.journal.runs(phases=(*RUNNING, *FINISHING))]


@command()
@spec_argument
@flag("--force", "Take over even if no agent is working on it.")
@project_option
def takeover(spec_id: str, *, force: bool, project: str | None) -> Outcome:
    """Stop the agent of a spec, reserve the spec for yourself, and show its state."""
    from clew.work.runs.stop import take_over

    with opened_work(project) as work:
        try:
            data = take_over(work, spec_id, force=force).as_json()
        except NotFound as error:
            full = work.store.load(spec_id).id
            has_run = work.journal.latest(full) is not None
            error.hint = (
                f"`clew takeover {full} --force` does so all the same." if has_run else None
            )
            error.hint = error.hint or f"No agent has worked on it yet: `clew work {full}`."
            raise
    parts = [data["analysis"], ""]
    if data["facts"]["diffstat"]:
        parts += [data["facts"]["diffstat"], ""]
    if data["log_tail"]:
        parts += ["The end of its log:", data["log_tail"], ""]
    return Outcome(data, (*parts, own_commands(data["suggestion"])))


@command()
@spec_argument
@flag("--continue", "goes_on", "Let an agent continue from your commits.")
@flag("--finish", "Check your work and complete the spec.")
@flag("--detach", "Return immediately; the work continues in the background.")
@project_option
def release(
    spec_id: str, *, goes_on: bool, finish: bool, detach: bool, project: str | None
) -> Outcome:
    """Hand back a spec that you took over."""
    from clew.work.journal.status_files import process_view
    from clew.work.runs.stop import held_run, release_finished
    from clew.work.runs.stop import release as hand_back
    from clew.work.scheduling.start import Begun, Mode, begin_work, commands_of

    if goes_on and finish:
        raise UsageError("--continue and --finish exclude each other", "Choose one of them.")
    with opened_work(project) as work:
        if finish or goes_on:
            held_run(work, work.store.load(spec_id))  # before anything is approved for it
            give_consent(work, commands_of(work, (spec_id,), Mode()), "clew release")
        run = (release_finished if finish else hand_back)(work, spec_id)
        if finish:
            begun = Begun(process_view(run), run.run_id, None)
            return _outcome(work, begun, detach=detach)
        if goes_on:
            begun = begin_work(work, (run.spec_id,), Mode())
            return _outcome(work, begun, detach=detach)
    words = f"Released {run.spec_id}; `clew resume {run.spec_id}` has an agent go on with it."
    return Outcome({"id": run.spec_id, "phase": str(run.phase)}, (own_commands(words),))


@command()
@optional_spec_argument
@limit_option(20, click.IntRange(1))
@project_option
def runs(spec_id: str | None, limit: int, project: str | None) -> Outcome:
    """List the project's runs, newest first, or all steps of one spec's runs."""
    from clew.kit.paths import ProjectPaths
    from clew.work.journal.sqlite import read_journal
    from clew.work.journal.status_files import run_data

    store = opened(project)
    full = store.load(spec_id).id if spec_id else None
    with read_journal(ProjectPaths(store.project)) as journal:
        found = journal.runs(spec_id=full, limit=limit) if journal is not None else []
        data: dict[str, Any] = {"runs": [run_data(run) for run in found]}
        if journal is None or not found:
            return Outcome(data, (own_commands("No runs yet. `clew work ID` starts one."),))
        parts: list[str | Table] = [_runs_table(found)]
        if full is not None:
            parts += _latest_details(journal, found[0], data)
    return Outcome(data, tuple(parts))


def _runs_table(found: list[Run]) -> Table:
    from clew.cli.work.follow import duration

    rows = tuple(
        (
            run.spec_id,
            str(run.attempt),
            str(run.phase),
            run.agent,
            (run.started_at or run.created_at)[:19].replace("T", " "),
            duration(run),
            "" if run.cost_usd is None else f"${run.cost_usd:.2f}",
            (run.failure or "").split("\n")[0][:80],
        )
        for run in found
    )
    columns = ("spec", "attempt", "phase", "agent", "started (UTC)", "took", "cost", "failure")
    return Table(columns, rows)


def _latest_details(journal: Journal, run: Run, data: dict[str, Any]) -> list[str | Table]:
    """Every step of the newest run, and its checks."""
    moves, checks = journal.history(run.run_id), journal.checks(run.run_id)
    data["moves"] = [vars(move) for move in moves]
    data["checks"] = [vars(check) for check in checks]
    steps = tuple((move.at[:19].replace("T", " "), move.after, move.note or "") for move in moves)
    parts: list[str | Table] = [Table(("at (UTC)", "phase", "note"), steps)]
    if checks:
        rows = tuple(
            (str(c.number), "passed" if c.passed else "FAILED", f"{c.seconds:.1f} s", c.command)
            for c in checks
        )
        parts.append(Table(("criterion", "check", "took", "command"), rows))
    return parts


@command()
@spec_argument
@option("-n", "--lines", "Number of lines.", type=click.IntRange(0), default=100)
@option("--since", "Only lines after this time (ISO).", metavar="TIME")
@flag("-f", "--follow", "Follow the log until the run ends.")
@project_option
def logs(
    spec_id: str, lines: int, since: str | None, *, follow: bool, project: str | None
) -> Outcome:
    """Show what the agent of a spec did and said."""
    from clew.specs.query.logs import read_log

    with opened_work(project) as work:
        full = work.store.load(spec_id).id
        path = work.paths.log_file(full)
        page = read_log(path, full, lines=lines, since=since)
        if not follow:
            return Outcome({"spec_id": full, **page._asdict()}, (page.content.rstrip("\n"),))
        offset = follow_log(path, full, page, lambda: not _is_worked_on(work, full))
    return Outcome({"spec_id": full, "byte_offset": offset})


def _is_worked_on(work: Workspace, spec_id: str) -> bool:
    from clew.work.runs.reconcile import current_run

    try:
        latest = work.journal.latest(spec_id)
        return latest is not None and current_run(work, latest.run_id).settled_at is None
    except ClewError:  # a journal that cannot be read; the log can
        return True
