"""A terminal as people want it: its width, colour where it has any, lines that break at words."""

from __future__ import annotations

import os
import shutil
import sys
import textwrap
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import TextIO

_NARROWEST = 40


def is_terminal(stream: TextIO) -> bool:
    """Whether a person watches this stream."""
    return stream.isatty() and os.environ.get("TERM") != "dumb"


def width() -> int:
    """How many columns there are."""
    return max(_NARROWEST, shutil.get_terminal_size().columns)


def styled(text: str, **style: Any) -> str:
    """The text in colour, bold or dimmed where a person watches standard output."""
    coloured = is_terminal(sys.stdout) and not os.environ.get("NO_COLOR")
    return click.style(text, **style) if coloured and text else text


def wrapped(
    text: str, indent: str = "", later: str | None = None, *, stream: TextIO | None = None
) -> str:
    """The text broken at words where a person watches; as it is in a pipe."""
    if not is_terminal(stream or sys.stdout):
        return f"{indent}{text}"
    follow = indent if later is None else later
    lines: list[str] = []
    for number, line in enumerate(text.split("\n")):
        begin = follow if number else indent
        lines += textwrap.wrap(
            line, width() - 1, initial_indent=begin, subsequent_indent=follow,
            break_long_words=False, break_on_hyphens=False,
        ) or [""]  # fmt: skip
    return "\n".join(lines)


def headed(cells: Iterable[tuple[str, Mapping[str, Any]]], title: str) -> str:
    """Short cells, each in its style, and a title behind them that breaks at words."""
    shown = [(cell, style) for cell, style in cells if cell]
    plain = "".join(f"{cell}  " for cell, _ in shown)
    begin = "".join(f"{styled(cell, **style)}  " for cell, style in shown)
    return begin + styled(wrapped(title, plain, "    ")[len(plain) :], bold=True)
