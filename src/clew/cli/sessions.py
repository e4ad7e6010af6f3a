"""`clew sessions`: what agents were asked, and which lines came of it."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from clew.cli.core.app import command
from clew.cli.core.options import choice, flag, limit_option, option, project_option, timestamp
from clew.kit.errors import UsageError
from clew.kit.outcome import Hint, Outcome, Table
from clew.kit.project import find_project
from clew.kit.text.display import clipped
from clew.kit.times import day_text, utc_text

if TYPE_CHECKING:
    from clew.sessions.index.update import Report
    from clew.sessions.model import Filter, Session, Turn

_SHOWN = 100
_LONGEST_WORDS = 1500
_LONGEST = 1_000_000  # of what a hook hands over


def _project(project: str | None) -> Path:
    return find_project(project, {})


def _filter(project: str | None, *, everywhere: bool = False) -> Filter:
    from clew.sessions.model import Filter

    return Filter(None if everywhere else os.path.realpath(_project(project)))


def _notes(report: Report) -> list[str]:
    notes = []
    if report.is_off:
        notes.append("Sessions are turned off: `clew sessions on` turns them on.")
    if report.left:
        notes.append(f"{report.left} transcripts are not read yet: `clew sessions index` does it.")
    if report.unreadable:
        notes.append(f"{len(report.unreadable)} transcripts could not be read.")
    return notes


@command()
@flag("--all", "takes_all", "Sessions of all projects, not only of those you opened.")
@option("--file", "Only this transcript.", metavar="FILE")
@project_option
def index(*, takes_all: bool, file: str | None, project: str | None) -> Outcome:
    """Read what is new in the transcripts of agents.

    Other commands do this by themselves; this one reads transcripts of any size.
    """
    from clew.sessions.index.sqlite import opened_index
    from clew.sessions.room import updater

    only = str(Path(file).expanduser().absolute()) if file else None
    with opened_index() as found:
        report = updater(found, takes_all=takes_all).update(_project(project), only=only)
        known = found.sessions(_filter(project, everywhere=takes_all), 1_000_000)
    words = (
        f"Read {report.read} of {report.looked_at} transcripts; {len(known)} sessions are known."
    )
    return Outcome({**vars(report), "sessions": len(known)}, (words, *_notes(report)))


@command(name="list")
@flag("--all", "everywhere", "Sessions of all projects.")
@limit_option(20)
@project_option
def list_sessions(*, everywhere: bool, limit: int, project: str | None) -> Outcome:
    """List sessions, the latest first."""
    from clew.sessions.room import current_index, short_name

    with current_index(_project(project)) as (found, report):
        listed = found.sessions(_filter(project, everywhere=everywhere), limit)
        first = {one.id: found.turns(one.id, (1,)) for one in listed}
    rows = tuple(
        (
            short_name(one),
            day_text(int(one.ended)),
            one.model or "?",
            str(one.turns),
            str(one.edits),
            _short(first[one.id][0].request) if first[one.id] else "",
            one.imported,
        )
        for one in listed
    )
    heads = ("session", "date", "model", "turns", "edits", "first request", "from")
    shown = Table(heads, rows) if rows else "No sessions yet in this project."
    return Outcome({"sessions": [one.as_data() for one in listed]}, (shown, *_notes(report)))


def _short(text: str) -> str:
    return clipped(" ".join(text.split()), _SHOWN)


@command()
@click.argument("session")
@option("--turn", "Only this turn, in full.", type=int, metavar="N")
def show(session: str, turn: int | None) -> Outcome:
    """Show a SESSION by its id or the beginning of it: what was asked, said and done."""
    from clew.sessions.index.sqlite import opened_index
    from clew.sessions.room import named_session, turn_data

    with opened_index() as found:
        one = named_session(found, session)
        turns = found.turns(one.id, () if turn is None else (turn,))
    if turn is not None and not turns:
        raise UsageError(f"{session} has no turn {turn}", f"It has {one.turns}.")
    parts = [_head(one)]
    for each in turns:
        parts += _turn_lines(each, is_full=turn is not None)
    data = {**one.as_data(), "turns": [turn_data(one, each) for each in turns]}
    return Outcome(data, ("\n".join(parts),))


def _head(one: Session) -> str:
    cost = f", ${one.cost:.2f}" if one.cost else ""
    tokens = (
        f", {one.input_tokens:,} tokens in, {one.output_tokens:,} out" if one.input_tokens else ""
    )
    branch = f", branch {one.branch}" if one.branch else ""
    return (
        f"{one.name}{f' ({one.imported})' if one.imported else ''}\n{one.program} {one.version or ''}, model {one.model or '?'}, "
        f"{utc_text(one.started)[:16]} to {utc_text(one.ended)[:16]}{branch}{tokens}{cost}"
    )


def _turn_lines(turn: Turn, *, is_full: bool) -> list[str]:
    request = turn.request if is_full else clipped(turn.request, 400)
    lines = [
        f"\nTurn {turn.number}, {utc_text(turn.time)[:16]}\n> " + request.replace("\n", "\n> ")
    ]
    if turn.plan and is_full:
        lines.append(f"Plan:\n{turn.plan}")
    if turn.words:
        lines.append(clipped(turn.words, _LONGEST_WORDS if is_full else 300))
    if turn.files:
        lines.append(f"Edited: {', '.join(turn.files)}")
    shown = [one for one in turn.commands if is_full or one.exit_code]
    lines += [f"$ {clipped(one.text)}{_exit(one.exit_code)}" for one in shown]
    if turn.commits:
        lines.append(f"Commits: {', '.join(sha[:12] for sha in turn.commits)}")
    return lines


def _exit(code: int | None) -> str:
    return f"  (exit code {code})" if code else ""


@command()
@click.argument("query", nargs=-1, required=True)
@flag("--all", "everywhere", "Sessions of all projects.")
@limit_option(10)
@project_option
def search(query: tuple[str, ...], *, everywhere: bool, limit: int, project: str | None) -> Outcome:
    """Search what was asked and said."""
    from clew.sessions.room import current_index, short_name, turn_data

    with current_index(_project(project)) as (found, report):
        hits = found.search(" ".join(query), _filter(project, everywhere=everywhere), limit)
    rows = tuple(
        (
            short_name(hit.session),
            str(hit.turn.number),
            day_text(int(hit.turn.time)),
            _short(hit.turn.request),
        )
        for hit in hits
    )
    shown = Table(("session", "turn", "date", "request"), rows) if rows else "Nothing found."
    data = [{**turn_data(hit.session, hit.turn), "snippet": hit.snippet} for hit in hits]
    return Outcome({"hits": data}, (shown, *_notes(report)))


@command()
@flag("--all", "everywhere", "Sessions of all projects.")
@project_option
def stats(*, everywhere: bool, project: str | None) -> Outcome:
    """Count sessions, turns, edits, tokens and cost by program and model."""
    from clew.sessions.room import current_index

    with current_index(_project(project)) as (found, report):
        counted = found.counts(_filter(project, everywhere=everywhere))
    columns = "program model sessions turns edits input_tokens output_tokens cost"
    costs = (None if one["cost"] is None else f"{one['cost']:.4f}" for one in counted)
    shown = [{**one, "cost": cost} for one, cost in zip(counted, costs, strict=True)]
    table = Table.of(columns, shown) if shown else "No sessions yet."
    return Outcome({"counts": counted}, (table, *_notes(report)))


@command()
@click.argument("path", metavar="FILE")
@option("--rev", "Look at the file as of this commit.", default="HEAD")
@project_option
def blame(path: str, rev: str, project: str | None) -> Outcome:
    """Show the session and turn behind each line of FILE."""
    from clew.sessions.attribution.files import Repository, counted
    from clew.sessions.room import current_index, short_name

    root = _project(project)
    named = os.path.relpath(path, root) if Path(path).is_absolute() else path
    with current_index(root) as (found, report):
        lines = Repository(found, root).blame(named, rev)
        numbers = {line.origin.session for line in lines if line.origin}
        known = {number: found.session_by_number(number) for number in numbers}
    rows = []
    data: list[dict[str, Any]] = []
    for line in lines:
        origin = line.origin
        who = f"{short_name(known[origin.session])} turn {origin.turn}" if origin else ""
        who += " (imported)" if origin and origin.is_imported else ""
        rows.append(
            (str(line.number), line.commit[:9], who, origin.kind if origin else "", line.text)
        )
        data.append(
            {
                "line": line.number, "commit": line.commit, "text": line.text,
                "session": known[origin.session].name if origin else None,
                "turn": origin.turn if origin else None,
                "evidence": origin.kind if origin else None,
                "imported": bool(origin and origin.is_imported),
                "certainty": origin.certainty if origin else None,
            }
        )  # fmt: skip
    table = Table(("line", "commit", "session", "evidence", "text"), tuple(rows))
    counts = counted(lines)
    told = (
        f"{counts['session']} of {len(lines)} lines are as an agent wrote them, {counts['edited']} "
        f"were changed by a person since, {counts['unknown']} have no evidence."
    )
    return Outcome({"path": named, "lines": data, "counts": counts}, (table, told, *_notes(report)))


@command()
@click.argument("event", required=False)
def capture(event: str | None) -> Outcome:
    """Read the session that a hook of an agent program names, in EVENT or on standard input.

    `clew setup HOST --capture` has the program run this. It prints nothing, and it never fails: the
    agent must not notice.
    """
    from clew.sessions.room import captured

    given = event if event is not None else "" if sys.stdin.isatty() else sys.stdin.read(_LONGEST)
    report = captured(given)
    return Outcome(vars(report) if report else {"read": 0})


@command()
@option("--commit", "The requests behind this commit.", metavar="SHA")
@option("--range", "between", "The requests behind these commits.", metavar="A..B")
@option("--markdown", "target", "Write this file instead of notes.", metavar="FILE")
@flag("--dry-run", "Show what would be written, and write nothing.")
@project_option
def export(
    *,
    commit: str | None,
    between: str | None,
    target: str | None,
    dry_run: bool,
    project: str | None,
) -> Outcome:
    """Write the requests behind commits as git notes, for others to import.

    Only requests are written, without secrets and home paths, and which lines they led to. Nothing
    is pushed: `git push origin refs/notes/clew` does that.
    """
    from clew.sessions.room import current_index, refuse_off
    from clew.sessions.sharing import export as sharing

    if bool(commit) == bool(between):
        raise UsageError("Which commits?", "Give --commit SHA or --range A..B.")
    root = _project(project)
    commits = sharing.commits_of(root, commit=commit, between=between)
    with current_index(root) as (found, report):
        refuse_off(found)
        shared = sharing.shared_sessions(found, root, commits)
    count = f"{len(shared)} of {len(commits)} commits have requests of this machine."
    said = sharing.markdown(root, shared) if shared else "Nothing to share."
    if dry_run or not shared:
        told = (said, count, *_notes(report))
    elif target:
        Path(target).expanduser().write_text(said, encoding="utf-8")
        told = (f"Wrote {target}. {count}", *_notes(report))
    else:
        sharing.write_notes(root, shared)
        told = (said, f"Wrote notes. {count}", Hint(_PUSH), *_notes(report))
    data = {
        "commits": {
            sha: [sharing.session_data(one) for one in some] for sha, some in shared.items()
        },
        "looked_at": len(commits),
        "written": None if dry_run or not shared else target or sharing.CLEW,
    }
    return Outcome(data, told)


_PUSH = "Nothing is pushed. `git push origin refs/notes/clew` shares them."


@command(name="import")
@choice("--from", "source", "Only the notes of this program.", among="clew git-ai agent-note")
@project_option
def import_shared(*, source: str | None, project: str | None) -> Outcome:
    """Take over what others noted on commits: by Clew, git-ai or Agent Note.

    Read from refs/notes/clew, refs/notes/ai and refs/notes/agentnote of this repository, as far as
    they are fetched. What was imported is marked wherever it is shown.
    """
    from clew.sessions.index.sqlite import opened_index
    from clew.sessions.room import refuse_off
    from clew.sessions.sharing import CLEW
    from clew.sessions.sharing.foreign import AGENT_NOTE, GIT_AI
    from clew.sessions.sharing.imports import import_notes

    refs = {"clew": CLEW, "git-ai": GIT_AI, "agent-note": AGENT_NOTE}
    root = _project(project)
    with opened_index() as found:
        refuse_off(found)
        found.open_project(os.path.realpath(root))
        done = import_notes(found, root, [refs[source]] if source else list(refs.values()))
    words = f"{len(done.sessions)} sessions, {done.turns} requests, {done.lines} lines"
    parts = [f"Read {done.notes} notes: {words}."]
    if done.own:
        parts.append(f"{done.own} are about sessions of this machine, which knows more of them.")
    if done.changed:
        parts.append(f"{done.changed} files are not what the notes are about any more.")
    if done.unreadable:
        parts.append(f"{len(done.unreadable)} notes could not be read.")
    if not done.notes:
        parts.append("Fetch them first: `git fetch origin 'refs/notes/*:refs/notes/*'`.")
    return Outcome({**vars(done), "sessions": sorted(done.sessions)}, tuple(parts))


@command()
@flag("--keep", "Keep what is known; only read nothing new.")
def off(*, keep: bool) -> Outcome:
    """Read no transcripts any more, and remove what is known."""
    from clew.sessions.index.sqlite import opened_index
    from clew.sessions.index.update import OFF

    with opened_index() as found:
        found.set(OFF, "1")
        if not keep:
            found.clear()
    kept = "What is known is kept." if keep else "What was known is removed."
    return Outcome({"off": True, "kept": keep}, (f"No transcripts are read any more. {kept}",))


@command()
def on() -> Outcome:
    """Read transcripts again."""
    from clew.sessions.index.sqlite import opened_index
    from clew.sessions.index.update import OFF

    with opened_index() as found:
        found.set(OFF, None)
    return Outcome({"off": False}, ("Transcripts are read again, in the projects that you open.",))


@command()
@click.argument("session", required=False)
@option("--project", "of_project", "All sessions of this project.", metavar="DIRECTORY")
@option("--before", "All sessions that ended before this date.", metavar="DATE")
def forget(session: str | None, of_project: str | None, before: str | None) -> Outcome:
    """Remove a SESSION, those of a project, or old ones; they are not read again.

    The transcripts of the programs themselves stay.
    """
    from clew.sessions.index.sqlite import opened_index
    from clew.sessions.room import named_session

    if not (session or of_project or before):
        raise UsageError("What shall be forgotten?", "Give a session, --project or --before.")
    root = os.path.realpath(of_project) if of_project else None
    limit = timestamp(before)
    with opened_index() as found:
        number = named_session(found, session).id if session else None
        gone = found.forget(
            session=number, project=root, before=None if limit is None else float(limit)
        )
    return Outcome({"forgotten": gone}, (f"Forgot {gone} sessions.",))


@command()
@click.argument("patterns", nargs=-1)
@flag("--remove", "Take these patterns back.")
def exclude(patterns: tuple[str, ...], *, remove: bool) -> Outcome:
    """Leave out sessions in directories that match PATTERNS, or show the patterns."""
    from clew.sessions.index.sqlite import opened_index
    from clew.sessions.index.update import EXCLUDED

    given = [str(Path(one).expanduser().absolute()) for one in patterns]
    with opened_index() as found:
        kept = (found.setting(EXCLUDED) or "").splitlines()
        if remove:
            kept = [one for one in kept if one not in given]
        else:
            kept = list(dict.fromkeys([*kept, *given]))
            for one in given:
                found.forget(project=one)
        found.set(EXCLUDED, "\n".join(kept) or None)
    shown = "\n".join(kept) or "Nothing is excluded."
    return Outcome({"excluded": kept}, (shown,))
