"""The failures of commands: documented objects for programs, plain text for people."""

from __future__ import annotations

from clew.kit.errors import ClewError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from clew.kit.jsontext import JsonObject


class CommandFailure(ClewError):
    """A failure with the object that tools answer."""

    def __init__(self, message: str, hint: str | None, body: JsonObject) -> None:
        super().__init__(message, hint)
        self.body = {**body, **({"hint": hint} if hint else {})}


class CommandNotFound(CommandFailure):
    """No command has this address."""

    code = "not_found"

    def __init__(self, address: tuple[str, str, str], hint: str, near: list[str]) -> None:
        c1, c2, c3 = address
        body: JsonObject = {"error": "Command not found", "c1": c1, "c2": c2, "c3": c3}
        if near:
            body["nearest"] = near
        super().__init__(f"Command not found: {c1} {c2} {c3}", hint, body)


class RegistryFailure(CommandFailure):
    """A registry that is named or present cannot be read."""

    code = "invalid"

    def __init__(self, path: str, details: str, hint: str) -> None:
        body: JsonObject = {"error": "Failed to load registry", "path": path, "details": details}
        super().__init__(f"Failed to load registry {path}: {details}", hint, body)


class ExecutionFailure(CommandFailure):
    """The command exists, but its prompt cannot be rendered."""

    code = "invalid"

    def __init__(self, command: str, stderr: str, hint: str | None = None) -> None:
        body: JsonObject = {"error": "Execution failed", "command": command, "stderr": stderr}
        super().__init__(stderr, hint, body)
