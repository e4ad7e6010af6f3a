"""A hook of an agent program that has Clew read the session that just ended, and its removal."""

from __future__ import annotations

import json
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from clew.catalog.faces import FACES
from clew.hosts.files.formats import ConfigText
from clew.hosts.files.ledger import Ledger, Owner, open_ledger, read_bytes, remove_part, write_part
from clew.hosts.model import Capture, Host
from clew.hosts.paths import filled, short
from clew.hosts.register import server_words
from clew.kit.errors import Conflict, UsageError

CAPTURE = "capture"  # the part of a file that the ledger knows
_WORDS = ("sessions", "capture")


@dataclass(frozen=True)
class HookReport:
    """What was found or done with a host's hook."""

    host: Host
    path: Path
    status: str
    command: tuple[str, ...] = ()

    def data(self) -> dict[str, Any]:
        """The report for programs."""
        return {
            "host": self.host.key,
            "path": str(self.path),
            "status": self.status,
            "command": list(self.command) or None,
        }


def add_hook(host: Host, project: Path | None, *, dry_run: bool = False) -> HookReport:
    """Register the hook in the user's own file; the hooks of others stay."""
    capture, path = _place(host)
    command = _command(host)
    with open_ledger() as ledger:
        before = read_bytes(path)
        config = ConfigText.from_bytes(path, capture.format, before)
        held = config.entry(capture.member)
        if _has_ours(held):
            return HookReport(host, path, "already", command)
        wanted = _with_ours(capture, held, command, path)
        if dry_run:
            return HookReport(host, path, "written", command)
        if capture.version and config.entry(("version",)) is None:
            text = config.put(("version",), capture.version).text
            config = ConfigText(path, config.format, text, config.bom)
        edit = config.put(capture.member, wanted)
        trace = {**edit.trace, "from": [str(project) if project else ""]}
        owner = Owner("host", None, host.key, "user")
        after = config.to_bytes(edit.text)
        write_part(ledger, path, owner, CAPTURE, trace, before=before, after=after)
        return HookReport(host, path, "written", command)


def remove_hook(host: Host, *, dry_run: bool = False) -> HookReport:
    """Take the hook out again."""
    _, path = _place(host)
    with open_ledger() as ledger:
        return remove_hook_in(ledger, host, path, dry_run=dry_run)


def remove_hook_in(ledger: Ledger, host: Host, path: Path, *, dry_run: bool) -> HookReport:
    """`remove_hook` with the ledger already open."""
    capture, _ = _place(host)
    current = read_bytes(path)
    config = ConfigText.from_bytes(path, capture.format, current)
    held = config.entry(capture.member)
    if current is None or not _has_ours(held):
        if not dry_run:
            ledger.forget(path, CAPTURE)
        return HookReport(host, path, "absent")
    if dry_run:
        return HookReport(host, path, "removed")
    rest = [] if capture.is_command else [one for one in held if not _has_ours(one)]
    if rest:
        reduced = config.put(capture.member, rest).text
    else:
        reduced = config.remove(capture.member, ledger.trace(path, CAPTURE))
    status = remove_part(
        ledger, path, CAPTURE,
        current=current, reduced=config.to_bytes(reduced), blank=config.is_blank(reduced),
    )  # fmt: skip
    return HookReport(host, path, status)


def _place(host: Host) -> tuple[Capture, Path]:
    if host.capture is None:
        raise UsageError(
            f"{host.title} has no hook that Clew knows",
            "Its sessions are read when you ask: `clew why`, `clew sessions`.",
        )
    return host.capture, filled(host.capture.file, host, None)


def _command(host: Host) -> tuple[str, ...]:
    words = server_words(FACES["clew"], host, "user")
    return (words.command, *words.args[:-1], *_WORDS)


def _has_ours(value: object) -> bool:
    """Whether a hook, or one of several, runs `clew sessions capture`."""
    if isinstance(value, list) and all(isinstance(one, str) for one in value):
        return tuple(value[-2:]) == _WORDS
    return value is not None and f"clew {shlex.join(_WORDS)}" in json.dumps(value, default=str)


def _with_ours(capture: Capture, held: Any, command: tuple[str, ...], path: Path) -> Any:
    if capture.is_command:
        if held is not None:
            raise Conflict(
                f"{path} already runs another program: {json.dumps(held, default=str)}",
                f"Nothing was changed. Let that program run `{shlex.join(_WORDS)}` of Clew too.",
            )
        return list(command)
    if held is not None and not isinstance(held, list):
        raise Conflict(f"{short(path)} has hooks of another form", "Nothing was changed.")
    return [*(held or ()), capture.entry(shlex.join(command))]
