"""Consent: which commands of a project a person approved, by the hash of their exact text.

A project's specs and settings name commands. None of them runs before a person consented to it: by
starting work at the command line, which lists them, or by approving them by name. The approvals
are in Clew's home, out of reach of whatever comes with a repository; a hash covers the project and
every character, so a changed command is another command.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from clew.kit import jsontext
from clew.kit.errors import Conflict, Invalid, NotFound
from clew.kit.files import private_directory, write_atomic
from clew.kit.locks import locked
from clew.kit.project import clew_home
from clew.kit.text.display import os_reason, shown_path, shown_text, terminal_text
from clew.kit.times import utc_now
from clew.specs.store.config import user_config

Command = str | Sequence[str]
TRUSTED = "work.trust_checks"
SHORT = 12  # characters of a hash that people see
_FILE = "approved-commands.json"
_SHORTEST = 6


@dataclass(frozen=True)
class Approval:
    """A person's word that one command may run in one project."""

    hash: str
    command: str
    project: str
    by: str
    at: str

    def __str__(self) -> str:
        return f"approved by {self.by}" + (f", {self.at}" if self.at else "")


class NeedsApproval(Conflict):
    """Commands that nobody has approved; names each of them and the command that approves it."""

    def __init__(self, root: Path, commands: Iterable[Command]) -> None:
        unique = dict.fromkeys(commands)
        self.listed = [readable(command) for command in unique]
        lines = "\n".join(f"  {text}" for text in self.listed)
        super().__init__(
            f"Needs approval: no person has approved these commands\n{lines}",
            f"Approve them: `{approving(root, unique)}`.",
        )


def approving(root: Path, commands: Iterable[Command]) -> str:
    """The command line that approves exactly these commands."""
    hashes = dict.fromkeys(command_hash(root, command)[:SHORT] for command in commands)
    return f"clew trust {' '.join(hashes)}"


def command_hash(root: Path, command: Command) -> str:
    """What stands for exactly this command in exactly this project."""
    return text_hash(os.fsencode(root.resolve()), command)


def text_hash(owner: bytes, command: Command) -> str:
    """What stands for exactly this command of that owner."""
    words = ["sh", command] if isinstance(command, str) else ["exec", *command]
    parts = [owner, *(word.encode("utf-8", "surrogatepass") for word in words)]
    return hashlib.sha256(b"".join(b"%d:%s," % (len(part), part) for part in parts)).hexdigest()


class Consent:
    """What may run in one project; the approvals are in Clew's home, or in another one's."""

    def __init__(self, root: Path, home: Path | None = None) -> None:
        self._root = root.resolve()
        self._home = home or clew_home()

    def to(self, command: Command) -> Approval | None:
        """Whose word allows this command; None if nobody's does."""
        wanted = command_hash(self._root, command)
        found = next((known for known in self._read() if known.hash == wanted), None)
        if found is None and user_config().flag("work", "trust_checks"):
            return Approval(wanted, readable(command), str(self._root), TRUSTED, "")
        return found

    def missing(self, commands: Iterable[Command]) -> tuple[Command, ...]:
        """Those of the commands that nobody approved."""
        wanted = dict.fromkeys(commands)
        return tuple(one for one in wanted if self.to(one) is None)

    def approve(self, commands: Iterable[Command], by: str) -> list[Approval]:
        """Approve these commands; those that were not approved before."""
        with locked(self._lock()):
            known = self._read()
            hashes = {approval.hash for approval in known}
            made = [
                Approval(found, readable(command), str(self._root), by, utc_now())
                for command in dict.fromkeys(commands)
                if (found := command_hash(self._root, command)) not in hashes
            ]
            if made:
                self._write([*known, *made])
        return made

    def approvals(self) -> list[Approval]:
        """Everything that is approved for this project, the oldest first."""
        return [known for known in self._read() if known.project == str(self._root)]

    def revoke(self, hashes: Iterable[str]) -> list[Approval]:
        """Take approvals of this project back; each is named by the first characters of its hash."""
        with locked(self._lock()):
            known = self._read()
            mine = {one.hash: one for one in known if one.project == str(self._root)}
            gone = [mine[full_hash(text, mine)] for text in hashes]
            self._write([one for one in known if one not in gone])
        return gone

    def _lock(self) -> Path:
        return private_directory(self._home / "locks") / "approved-commands.lock"

    def _read(self) -> list[Approval]:
        file = self._home / _FILE
        try:
            data = jsontext.loads(file.read_text(encoding="utf-8"))
            return [Approval(**entry) for entry in data["approved"]]
        except FileNotFoundError:
            return []
        except OSError as error:
            raise Invalid(f"The approved commands cannot be read: {os_reason(error)}") from error
        except (jsontext.JsonError, UnicodeDecodeError, KeyError, TypeError):
            shown = shown_path(file)
            raise Invalid(
                f"{shown} is damaged", f"Move it away (mv {shown} {shown}.old) and approve anew."
            ) from None

    def _write(self, approvals: list[Approval]) -> None:
        private_directory(self._home)
        data = {"approved": [asdict(approval) for approval in approvals]}
        write_atomic(self._home / _FILE, jsontext.pretty(data) + "\n", mode=0o600)


def full_hash(text: str, known: Iterable[str]) -> str:
    """The one hash that begins so."""
    found = [one for one in known if one.startswith(text.lower())]
    if len(text) < _SHORTEST or len(found) != 1:
        raise NotFound(
            f"No command here has the hash '{shown_text(text[:64])}'",
            "`clew trust` lists the commands with their hashes; a changed command has another one.",
        )
    return found[0]


def readable(command: Command) -> str:
    """The command on one line, with nothing in it that could hide a part of it."""
    text = command if isinstance(command, str) else " ".join(command)
    return terminal_text(text).replace("\n", "\\n").replace("\r", "\\r")
