"""The fast path: `climpt git group-commit unstaged-changes` without the command line framework.

It handles the common case. Everything else, and every failure, is left to the command line proper.
"""

from __future__ import annotations

import os
import sys

from clew.commands.files.layers import DEFAULT_AGENT
from clew.commands.files.templates import find_home
from clew.commands.render.arguments import read_words, request_from_words
from clew.commands.render.execute import execute, open_variables
from clew.commands.render.streams import read_standard_input, unread_input
from clew.kit.errors import ClewError
from clew.kit.text.display import terminal_text

_SLOW_OPTIONS = ("write", "project", "to")


def run(words: list[str]) -> int | None:
    """Print the prompt and return the exit code; None when the command line should do it."""
    try:
        os.fstat(1)
        os.fstat(2)
        found = read_words(words)
        if {"force", "copy"} & found.flags or any(o in found.options for o in _SLOW_OPTIONS):
            return None
        request = request_from_words(found)
        if os.isatty(0) and open_variables(request):
            return None
        request.read_input = read_standard_input
        result = execute(request)
        data = terminal_text(result.prompt).encode("utf-8")
    except (ClewError, OSError, UnicodeError):
        return None
    return _written(data, [*result.remarks, *unread_input(request.text)])


def is_a_prompt(words: list[str]) -> bool:
    """Whether words that begin like a command of the program address a prompt after all."""
    try:
        found = read_words(words)
        return find_home(DEFAULT_AGENT, request_from_words(found).address) is not None
    except (ClewError, OSError):
        return False


def _written(data: bytes, warnings: list[str]) -> int:
    try:
        while data:
            data = data[os.write(1, data) :]
    except BrokenPipeError:
        return 0
    except OSError as error:
        warnings = [f"The output cannot be written: {error.strerror}"]
    for warning in warnings:
        print(f"climpt: {terminal_text(warning)}", file=sys.stderr)
    return 1 if data else 0
