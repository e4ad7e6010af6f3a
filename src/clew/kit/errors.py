"""The error tree: everything Clew raises on purpose.

ClewError            expected failure; the message says what happened, the hint what to do next
├── UsageError       the command or its arguments are wrong (exit code 2)
├── NotFound         a named thing does not exist
├── Invalid          a value or a file does not have the form it must have
├── Conflict         something changed meanwhile, or exists already
├── Unavailable      something this needs is missing here (program, feature, permission)
└── Cancelled        the caller asked to stop

Anything else that reaches the top is a bug: exit code 3 and a crash report.
"""

from __future__ import annotations


class ClewError(Exception):
    """An expected failure with a message for people and, where there is one, the next step."""

    code = "failed"
    exit_code = 1

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def full_text(self) -> str:
        """The message and, on a line of its own, the hint."""
        return f"{self.message}\n{self.hint}" if self.hint else self.message


class UsageError(ClewError):
    """The command or its arguments are wrong."""

    code = "usage"
    exit_code = 2


class NotFound(ClewError):
    """A named thing does not exist."""

    code = "not_found"


class Invalid(ClewError):
    """A value or a file does not have the form it must have."""

    code = "invalid"


class Conflict(ClewError):
    """Something changed meanwhile, or exists already."""

    code = "conflict"


class Unavailable(ClewError):
    """Something this needs is missing here."""

    code = "unavailable"


class Cancelled(ClewError):
    """The caller asked to stop."""

    code = "cancelled"

    def __init__(self, message: str = "Cancelled", hint: str | None = None) -> None:
        super().__init__(message, hint)
