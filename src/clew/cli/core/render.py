"""Outcomes on a screen: tables and colour on a terminal, plain text in a pipe, JSON on request."""

from __future__ import annotations

import json
import os
import sys
from typing import TYPE_CHECKING

from clew.cli.core.streams import write_out
from clew.kit.outcome import Drawn, Outcome, Table
from clew.kit.text.display import shown_text, terminal_text

if TYPE_CHECKING:
    from typing import TextIO

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
    if isinstance(part, str):
        return part if isinstance(part, Drawn) else terminal_text(part)
    table = Table(
        tuple(map(terminal_text, part.columns)),
        tuple(tuple(map(terminal_text, row)) for row in part.rows),
        terminal_text(part.title),
    )
    return _drawn(table) if is_terminal(sys.stdout) else plain_table(table)


def is_terminal(stream: TextIO) -> bool:
    """Whether a person watches this stream."""
    return stream.isatty() and os.environ.get("TERM") != "dumb"


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

    console = Console(color_system=None if os.environ.get("NO_COLOR") else "auto")
    drawn = _blocks(table) if console.width < NARROW else _grid(table)
    with console.capture() as captured:
        if table.title:
            console.print(table.title, markup=False, emoji=False, highlight=False)
        console.print(drawn)
    return captured.get().removesuffix("\n")


def _grid(table: Table) -> RichTable:
    from rich import box
    from rich.table import Table as RichTable

    drawn = RichTable(box=box.SIMPLE_HEAD)
    for column in table.columns:
        drawn.add_column(column, overflow="fold")
    for row in table.rows:
        drawn.add_row(*map(_coloured, row))
    return drawn


def _blocks(table: Table) -> RichTable:
    """One block for each row, one line for each cell that says something."""
    from rich.table import Table as RichTable

    drawn = RichTable.grid(padding=(0, 2))
    drawn.add_column(no_wrap=True)
    drawn.add_column(overflow="fold")
    for row in table.rows:
        for column, cell in zip(table.columns, row, strict=True):
            if cell:
                drawn.add_row(column, _coloured(cell))
        drawn.add_row("", "")
    return drawn


_COLOURS = {"ok": "green", "warn": "yellow", "fail": "red", "written": "green", "removed": "green"}


def _coloured(cell: str) -> Text:
    from rich.text import Text

    return Text(cell, style=_COLOURS.get(cell, ""))
