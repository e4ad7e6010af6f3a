"""Outcomes on a screen: tables and colour on a terminal, plain text in a pipe, JSON on request."""

from __future__ import annotations

import json
import os
import sys
from typing import TYPE_CHECKING

from clew.cli.core.streams import write_out
from clew.cli.core.terminal import is_terminal, styled, wrapped
from clew.kit.outcome import Day, Drawn, Hint, Hits, Outcome, Table
from clew.kit.text.display import shown_text, terminal_text
from clew.kit.times import ago_text

if TYPE_CHECKING:
    from rich.table import Table as RichTable
    from rich.text import Text


NARROW = 60  # below this many columns a table is drawn as one block for each row


def print_outcome(outcome: Outcome, command: str, *, as_json: bool) -> None:
    """Write a command's result to standard output in the form its reader wants."""
    if as_json:
        write_out(json_text(outcome.envelope(command)))
    elif outcome.parts:
        write_out(Drawn("\n".join(map(_part_text, outcome.parts))))


def json_text(value: object) -> str:
    """JSON in plain ASCII, which every stream can carry and every reader decodes."""
    return json.dumps(_sayable(value), indent=2)


def _sayable(value: object) -> object:
    """The value with every text as UTF-8 can say it."""
    if isinstance(value, str):
        return shown_text(value)
    if isinstance(value, dict):
        return {_sayable(key): _sayable(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_sayable(item) for item in value]
    return value


def _part_text(part: str | Table) -> str:
    if isinstance(part, Hint):
        from clew.cli.core.hints import own_commands

        return styled(wrapped(terminal_text(own_commands(part))), dim=True)
    if isinstance(part, str):
        return part if isinstance(part, Drawn) else terminal_text(part)
    if is_terminal(sys.stdout):
        return _drawn(_without_empty(part))
    return _plain_hits(part) if isinstance(part, Hits) else plain_table(_safe(part))


def _plain_hits(hits: Hits) -> str:
    """One line for each hit, as short as it can be: no headings, no padding, no authors."""
    signs = [
        (column if column in ("+", "-") else "", column == "author") for column in hits.columns
    ]
    return "\n".join(
        " ".join(
            f"{sign}{terminal_text(cell)}"
            for cell, (sign, is_author) in zip(row, signs, strict=True)
            if cell and not is_author
        )
        for row in hits.rows
    )


def _without_empty(table: Table) -> Table:
    """The table without columns that say nothing."""
    rows = table.rows
    kept = [at for at in range(len(table.columns)) if not rows or any(row[at] for row in rows)]
    return Table(
        tuple(table.columns[at] for at in kept),
        tuple(tuple(row[at] for at in kept) for row in rows),
        table.title,
    )


def _safe(table: Table) -> Table:
    return Table(
        tuple(map(terminal_text, table.columns)),
        tuple(tuple(map(terminal_text, row)) for row in table.rows),
        terminal_text(table.title),
    )


def plain_table(table: Table) -> str:
    """The table as aligned columns without decoration."""
    rows = [tuple(column.upper() for column in table.columns), *table.rows]
    widths = [max(len(row[index]) for row in rows) for index in range(len(table.columns))]
    lines = [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]
    return "\n".join([*([table.title] if table.title else []), *lines])


def _drawn(table: Table) -> str:
    """The table as a terminal shows it."""
    from rich.console import Console

    aged = tuple(tuple(_aged(cell) for cell in row) for row in table.rows)
    shown = _safe(Table(table.columns, aged, table.title))
    console = Console(color_system=None if os.environ.get("NO_COLOR") else "auto")
    shown = _without_addresses(shown, console.width)
    drawn = _blocks(shown) if console.width < NARROW else _grid(shown, console.width)
    with console.capture() as captured:
        if table.title:
            console.print(shown.title, markup=False, emoji=False, highlight=False)
        console.print(drawn)
    lines = captured.get().removesuffix("\n").split("\n")
    return "\n".join(line.rstrip() for line in lines).strip("\n")


def _without_addresses(table: Table, width: int) -> Table:
    """The table without the addresses of its authors, if it is too wide with them."""
    rows = (table.columns, *table.rows)
    wide = sum(max(len(row[at]) for row in rows) + 2 for at in range(len(table.columns)))
    if wide - 2 <= width or not {"author", "email"}.issubset(table.columns):
        return table
    at = table.columns.index("email")
    columns, *rest = (row[:at] + row[at + 1 :] for row in rows)
    return Table(columns, tuple(rest), table.title)


def _aged(cell: str) -> str:
    return ago_text(cell.seconds) if isinstance(cell, Day) else cell


def _grid(table: Table, width: int) -> RichTable:
    """Columns as wide as they need; the one that says most gets the room and breaks at words."""
    from rich.table import Table as RichTable

    drawn = RichTable(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="dim")
    lengths = [
        max([len(head), *(len(row[at]) for row in table.rows)])
        for at, head in enumerate(table.columns)
    ]
    roomy = lengths.index(max(lengths)) if lengths else 0
    room = max(20, (width - 24) // max(1, len(lengths)))
    for at, column in enumerate(table.columns):
        if at == roomy:
            drawn.add_column(column, overflow="fold", ratio=1)
        else:
            drawn.add_column(
                column,
                no_wrap=lengths[at] <= room,
                max_width=max(room, len(column)),
                overflow="fold",
            )
    for row in table.rows:
        drawn.add_row(
            *(_coloured(cell, column) for cell, column in zip(row, table.columns, strict=True))
        )
    return drawn


def _blocks(table: Table) -> RichTable:
    """One block for each row, one line for each cell that says something."""
    from rich.table import Table as RichTable
    from rich.text import Text

    drawn = RichTable.grid(padding=(0, 2))
    drawn.add_column(no_wrap=True)
    drawn.add_column(overflow="fold")
    for row in table.rows:
        for column, cell in zip(table.columns, row, strict=True):
            if cell:
                drawn.add_row(Text(column, style="dim"), _coloured(cell, column))
        drawn.add_row("", "")
    return drawn


_COLOURS = {
    "ok": "green", "warn": "yellow", "fail": "red", "written": "green", "removed": "green",
    "completed": "green", "in_progress": "yellow", "failed": "red", "ready": "green",
    "blocked": "dim", "cancelled": "dim",
}  # fmt: skip
_TONES = {"commit": "yellow", "date": "dim", "repo": "cyan", "author": "dim", "id": "yellow"}


def _coloured(cell: str, column: str = "") -> Text:
    from rich.text import Text

    return Text(cell, style=_COLOURS.get(cell) or _TONES.get(column, ""))
