"""Checks of the agent hosts on this machine: is Clew registered, and does its command start."""

from __future__ import annotations

import shutil
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from clew.catalog.faces import FACES
from clew.doctor.machine import is_this_installation
from clew.doctor.model import Check, Status, Subject, shell_path, show_path
from clew.hosts import register
from clew.hosts.files.formats import ConfigText
from clew.hosts.files.ledger import read_bytes, read_ledger
from clew.hosts.model import Host, ServerWords
from clew.hosts.paths import checkout_root_or_none, config_path, look_around
from clew.hosts.register import Report, Target, is_ours
from clew.kit.errors import ClewError
from clew.kit.project import followed

_STATUSES: dict[str, Status] = {"ok": "ok", "different": "warn"}


@dataclass(frozen=True)
class _Entry:
    """An entry in a host's file that bears the name of one of our faces."""

    target: Target
    words: ServerWords | None

    @property
    def name(self) -> str:
        face = self.target.face.name
        key = self.target.host.key
        return f"host {key}" if face == "clew" else f"host {key} {face}"

    @property
    def place(self) -> str:
        return f"{self.target.face.name} in {show_path(self.target.path)}"

    @property
    def is_ours(self) -> bool:
        return is_ours(self.words, self.target.face)


def hosts(subject: Subject) -> list[Check]:
    """Every host on this machine, with what is registered there.

    A host that Clew is registered with counts, even if the host itself is not found.
    """
    project = _project(subject)
    recorded = _recorded(project)
    present: list[Host] = []
    entries: dict[str, list[_Entry]] = {}
    troubles: list[Check] = []
    for found in look_around(project):
        host, trouble = found.host, list[Check]()
        own = _entries(host, project, trouble)
        if found.sign or host.key in recorded or any(entry.is_ours for entry in own):
            present.append(host)
            entries[host.key] = own
            troubles += trouble
    if not present:
        return [Check("hosts", "ok", "No agent host found on this machine")]
    everything = [entry for found in entries.values() for entry in found]
    with ThreadPoolExecutor(max_workers=8) as pool:
        checked = list(pool.map(lambda entry: _check(entry, subject), everything))
    troubled = {check.name for check in troubles}
    missing = [
        _unregistered(host, subject, project, any_registered=bool(everything))
        for host in present
        if not entries[host.key] and f"host {host.key}" not in troubled
    ]
    return [*checked, *troubles, *missing]


def _project(subject: Subject) -> Path | None:
    try:
        return checkout_root_or_none(subject.project or subject.settings.get("project"))
    except ClewError:
        return None


def _recorded(project: Path | None) -> set[str | None]:
    """The hosts into whose files, here or in the user's own, Clew wrote."""
    try:
        records = read_ledger().records.values()
    except (ClewError, OSError):
        return set()
    return {record.host for record in records if record.project in (None, str(project))}


def _entries(host: Host, project: Path | None, troubles: list[Check]) -> list[_Entry]:
    """Our entries in all files of this host; a file that cannot be read goes to the troubles."""
    found = []
    for scope in host.scopes:
        if scope == "project" and project is None:
            continue
        path = config_path(host, scope, project)
        try:
            config = ConfigText.from_bytes(path, host.format, read_bytes(Path(followed(path))))
            for face in FACES.values():
                entry = config.entry((*host.container, face.name))
                if entry is not None:
                    target = register.make_target(host, scope, face, project)
                    found.append(_Entry(target, host.shape.words(entry)))
        except (ClewError, OSError) as error:
            summary = f"The file of {host.title} is not usable: {str(error).strip().partition(chr(10))[0]}"
            fix = f'"${{EDITOR:-vi}}" {shell_path(path)}'
            troubles.append(Check(f"host {host.key}", "fail", summary, fix=fix))
    return found


def _unregistered(
    host: Host, subject: Subject, project: Path | None, *, any_registered: bool
) -> Check:
    command = register.make_target(host, None, FACES["clew"], project).setup_line(subject.project)
    if any_registered:
        detail = f"To register: {command}"
        return Check(f"host {host.key}", "ok", f"Not registered with {host.title}", detail=detail)
    return Check(f"host {host.key}", "warn", f"Not registered with {host.title}", fix=command)


def _check(entry: _Entry, subject: Subject) -> Check:
    if not entry.is_ours:
        started = entry.words.line if entry.words else "no local program"
        summary = f"{entry.place} is not Clew: it starts {started}"
        return Check(
            entry.name, "warn", summary, fix=f"{entry.target.setup_line(subject.project)} --force"
        )
    if not subject.start_commands:
        return Check(entry.name, "ok", f"{entry.place}; not started here")
    reason = _why_not_started(entry)
    if reason:
        detail = "A project's file may come from others, so only plain Clew is started from it."
        return Check(entry.name, "ok", f"{entry.place}; not started: {reason}", detail=detail)
    return _as_check(entry, register.check(entry.target), entry.target.setup_line(subject.project))


def _why_not_started(entry: _Entry) -> str | None:
    """Why starting an entry's command is not safe, or None.

    Files in a project come with the repository, and looking at a repository must not run what
    it says. So there the command must be this installation's own, with harmless options and
    nothing added to its environment.
    """
    words = entry.words
    if entry.target.scope == "user" or words is None:
        return None
    program = shutil.which(words.command)
    if not (is_this_installation(Path(program)) if program else words.command in FACES):
        return f"{words.command} is not this installation"
    if words.env:
        return f"the file sets {', '.join(words.env)}"
    return register.why_not_started(entry.target, words)


def _as_check(entry: _Entry, report: Report, fix: str) -> Check:
    status = _STATUSES.get(report.status, "fail")
    if status == "ok" and report.greeting:
        return Check(entry.name, "ok", f"{entry.place}; {report.greeting.line}")
    problem = report.problem or report.status
    first, _, detail = problem.strip().partition("\n")
    return Check(entry.name, status, f"{entry.place}: {first}", detail=detail, fix=fix)
