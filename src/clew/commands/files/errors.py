"""The failures of commands: documented objects for programs, plain text for people."""

from __future__ import annotations

from clew.kit.errors import ClewError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class CommandFailure(ClewError):
    """A failure with the object that tools answer."""

    def __init__(self, message: str, hint: str | None, **body: str | list[str]) -> None:
        super().__init__(message, hint)
        self.body: dict[str, Any] = {**body, **({"hint": hint} if hint else {})}


class CommandNotFound(CommandFailure):
    """No command has this address."""

    code = "not_found"

    def __init__(self, address: tuple[str, str, str], hint: str, near: list[str]) -> None:
        c1, c2, c3 = address
        more = {"nearest": near} if near else {}
        text = f"Command not found: {c1} {c2} {c3}"
        super().__init__(text, hint, error="Command not found", c1=c1, c2=c2, c3=c3, **more)


class RegistryFailure(CommandFailure):
    """A registry that is named or present cannot be read."""

    code = "invalid"

    def __init__(self, path: str, details: str, hint: str) -> None:
        text = f"Failed to load registry {path}: {details}"
        super().__init__(text, hint, error="Failed to load registry", path=path, details=details)


class ExecutionFailure(CommandFailure):
    """The command exists, but its prompt cannot be rendered."""

    code = "invalid"

    def __init__(self, command: str, stderr: str, hint: str | None = None) -> None:
        super().__init__(stderr, hint, error="Execution failed", command=command, stderr=stderr)
