"""Outcomes on a screen: tables and colour on a terminal, plain text in a pipe, JSON on request."""

from __future__ import annotations

import json
import os
import sys
from typing import TYPE_CHECKING

from clew.kit.outcome import Outcome, Table

if TYPE_CHECKING:
    from typing import TextIO


def print_outcome(outcome: Outcome, command: str, *, as_json: bool) -> None:
    """Write a command's result to standard output in the form its reader wants."""
    if as_json:
        print(json.dumps(outcome.envelope(command), ensure_ascii=False, indent=2))
        return
    for part in outcome.parts:
        if isinstance(part, str):
            print(part)
        elif is_terminal(sys.stdout):
            _draw(part)
        else:
            print(plain_table(part))


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


def _draw(table: Table) -> None:
    from rich import box
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table as RichTable

    drawn = RichTable(title=table.title or None, box=box.SIMPLE_HEAD, title_justify="left")
    for column in table.columns:
        drawn.add_column(column)
    for row in table.rows:
        drawn.add_row(*(_coloured(escape(cell)) for cell in row))
    Console().print(drawn)


_COLOURS = {"ok": "green", "warn": "yellow", "fail": "red", "written": "green", "removed": "green"}


def _coloured(cell: str) -> str:
    colour = _COLOURS.get(cell)
    return f"[{colour}]{cell}[/{colour}]" if colour else cell
