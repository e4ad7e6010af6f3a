"""The thread on the command line: `clew why|brief|recall|trace`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from clew.cli.core.app import command
from clew.cli.core.options import (
    combined,
    database_option,
    limit_option,
    project_option,
    repeatable,
)
from clew.cli.history.sync import timestamp
from clew.kit.errors import Invalid, UsageError
from clew.kit.outcome import Outcome, Table
from clew.thread.model import Pack
from clew.thread.rooms import Rooms
from clew.thread.trace.trace import Trace

_MOST_ROWS = 200
_MOST_LISTED = 8


_on_project = combined(project_option, database_option)


def _budget(default: int) -> Callable[[Any], Any]:
    return click.option(
        "--budget", type=int, default=default, show_default=True, help="Maximum number of tokens."
    )


def _rooms(options: dict[str, Any]) -> Rooms:
    from clew.thread.rooms import open_rooms

    given = {name: options[name] for name in ("db", "project") if options.get(name)}
    return open_rooms(given)


def _pack_outcome(pack: Pack) -> Outcome:
    from clew.thread.budget import pack_data, pack_text

    return Outcome(pack_data(pack), (pack_text(pack),))


@command()
@click.argument("target")
@click.option("--repo", metavar="NAME", help="A registered repository (default: the current one).")
@_budget(1500)
@_on_project
def why(target: str, repo: str | None, budget: int, **options: Any) -> Outcome:
    """Show why TARGET is there: PATH, PATH:LINE, PATH:LINE-LINE, a symbol or a SHA.

    From the line to its commit, spec, run, decision and vision; with what changed together, later
    fixes and reverts, and alternatives that were rejected. Every statement names its source.
    """
    from clew.thread.why.why import why as follow

    return _pack_outcome(follow(_rooms(options), target, repo=repo, budget=budget))


@command()
@click.argument("task", nargs=-1, required=True)
@_budget(2000)
@_on_project
def brief(task: tuple[str, ...], budget: int, **options: Any) -> Outcome:
    """Show what to know before starting TASK: a spec id or a description."""
    from clew.thread.brief.brief import brief as pack

    return _pack_outcome(pack(_rooms(options), " ".join(task), budget=budget))


@command()
@click.argument("question", nargs=-1, required=True)
@click.option(
    "--kind",
    "kinds",
    multiple=True,
    type=click.Choice(["commit", "spec", "run", "command", "document"]),
    help="Only these kinds.",
)
@repeatable("--repo", "repos", "Only these repositories.", metavar="NAME")
@click.option("--since", metavar="DATE", help="Earliest date: 2024-01-31 or '2 weeks ago'.")
@click.option("--until", metavar="DATE", help="Latest date, in the same forms.")
@limit_option(10)
@_on_project
def recall(question: tuple[str, ...], **options: Any) -> Outcome:
    """Find where something was done before: in commits, specs, logs, commands and documents."""
    from clew.thread.recall.recall import KINDS, RecallRequest, recalled_text
    from clew.thread.recall.recall import recall as find

    asked = RecallRequest(
        " ".join(question),
        kinds=tuple(options["kinds"]) or KINDS,
        repos=tuple(options["repos"]),
        since=timestamp(options["since"]),
        until=timestamp(options["until"]),
        limit=options["limit"],
    )
    found = find(_rooms(options), asked)
    return Outcome(found.as_data(), (recalled_text(found),))


@command()
@click.option(
    "--recent",
    type=int,
    default=200,
    show_default=True,
    help="Number of commits that count as recent.",
)
@click.option("--picture", metavar="FILE", help="Draw the graph: FILE.svg or FILE.html.")
@_on_project
def trace(recent: int, picture: str | None, **options: Any) -> Outcome:
    """Show the matrix of objectives, features, decisions, specs and commits, with its gaps."""
    from clew.thread.trace.trace import trace as follow

    made = follow(_rooms(options), recent=recent)
    parts: list[str | Table] = [*_matrix(made), *_gap_lines(made), *made.missing]
    if picture is not None:
        parts.append(f"Drawn: {_write_picture(made, picture)}")
    return Outcome(made.as_data(), tuple(parts))


def _matrix(made: Trace) -> list[str | Table]:
    rows = tuple(
        (
            row.objective or "-",
            row.feature or "-",
            row.text,
            " ".join(row.decisions) or "-",
            " ".join(row.specs) or "-",
            _few(row.commits) or "-",
            row.gap,
        )
        for row in made.rows[:_MOST_ROWS]
    )
    if not rows:
        return ["Nothing to trace: there are neither features nor specs."]
    table = Table(("objective", "feature", "what", "decisions", "specs", "commits", "gap"), rows)
    more = len(made.rows) - len(rows)
    return [table, f"{more} more rows; --json has all."] if more else [table]


def _gap_lines(made: Trace) -> list[str]:
    lines = [
        f"{kind.replace('_', ' ').capitalize()}: {len(names)} ({_few(tuple(names))})"
        for kind, names in made.gaps.items()
        if names
    ]
    share = made.share()
    if share["share"] is not None:
        lines.append(
            f"Of the {share['lines']} lines that the last {share['commits']} commits added, "
            f"{share['share']:.0%} hang on a spec."
        )
    return lines


def _few(names: tuple[str, ...]) -> str:
    shown = " ".join(name[:24] if "-" in name else name[:12] for name in names[:_MOST_LISTED])
    return f"{shown} …" if len(names) > _MOST_LISTED else shown


def _write_picture(made: Trace, name: str) -> str:
    from clew.kit.files import write_atomic
    from clew.thread.trace.picture import picture_html, picture_svg

    path = Path(name).expanduser()
    makers = {".svg": picture_svg, ".html": picture_html}
    if path.suffix.lower() not in makers:
        raise UsageError(f"Not a picture that can be drawn: {name}", "Use FILE.svg or FILE.html.")
    if path.is_dir():
        raise Invalid(f"{name} is a directory", "Name a file.")
    write_atomic(path, makers[path.suffix.lower()](made))
    return str(path)
