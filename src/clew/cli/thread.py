"""The matrix on the command line: `clew trace`, as a table or a picture."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from clew.cli.core.app import command
from clew.cli.core.options import database_option, option, project_option
from clew.kit.errors import Invalid, UsageError
from clew.kit.outcome import Outcome, Table
from clew.thread.trace.trace import Trace

_MOST_ROWS = 200
_MOST_LISTED = 8


@command()
@option("--recent", "Number of commits that count as recent.", type=int, default=200)
@option("--picture", "Draw the graph: FILE.svg or FILE.html.", metavar="FILE")
@project_option
@database_option
def trace(recent: int, picture: str | None, **options: Any) -> Outcome:
    """Show the matrix of objectives, features, decisions, specs and commits, with its gaps."""
    from clew.thread.rooms import open_rooms
    from clew.thread.trace.trace import trace as follow

    rooms = open_rooms({name: place for name, place in options.items() if place})
    made = follow(rooms, recent=recent)
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
            f"{share['share']:.0%} hang on a spec; {share['lines_by_origin']['session']} of the "
            "others come from sessions of agents that are known here."
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
