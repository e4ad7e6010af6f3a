"""Undoing what the ledger says Clew wrote."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from clew.catalog.faces import FACES
from clew.hosts.capture import CAPTURE, remove_hook_in
from clew.hosts.files.instructions import BLOCK, remove_block, remove_skill
from clew.hosts.files.ledger import Ledger, Record, open_ledger, read_ledger
from clew.hosts.model import Scope
from clew.hosts.paths import short
from clew.hosts.register import Target, unregister_in
from clew.hosts.table import find_host
from clew.kit.errors import ClewError

Action = dict[str, Any]


def undo(project: Path | None, *, everything: bool = False, dry_run: bool = False) -> list[Action]:
    """Undo what belongs to this project, or everything; one action per thing that was ours.

    An entry in a user's own file belongs to the projects from which it was asked for, and goes
    with the last of them.
    """
    with open_ledger() as ledger:
        actions = []
        for record, part in chosen_parts(ledger, project, everything=everything):
            others = [] if everything else _other_origins(record, part, project)
            if others:
                actions.append(_kept(ledger, record, part, others, dry_run=dry_run))
            else:
                actions.append(_undo_part(ledger, record, part, dry_run=dry_run))
        return actions


def chosen_parts(
    ledger: Ledger, project: Path | None, *, everything: bool = False
) -> list[tuple[Record, str]]:
    """What belongs to this project, or all there is."""
    return [
        (record, part)
        for _, record in sorted(ledger.records.items())
        for part in record.parts
        if everything or _belongs(record, part, project)
    ]


def _belongs(record: Record, part: str, project: Path | None) -> bool:
    here = str(project)
    return project is not None and (record.project == here or here in record.origins(part))


def _other_origins(record: Record, part: str, project: Path | None) -> list[str]:
    return [origin for origin in record.origins(part) if origin != str(project)]


def undoable(project: Path | None) -> set[tuple[str, str]]:
    """The path and part of everything that `undo` removes for this project."""
    return {
        (record.path, part)
        for record, part in chosen_parts(read_ledger(), project)
        if not _other_origins(record, part, project)
    }


def left_over(actions: list[Action]) -> list[Action]:
    """The entries in the user's own files that these actions leave, and what removes each."""
    gone = {(action["path"], action["part"]) for action in actions if action["status"] != "kept"}
    return [
        {
            "path": record.path,
            "host": record.host,
            "part": part,
            "undo": f"{_setup_line(record, part)} --remove",
        }
        for record, part in chosen_parts(read_ledger(), None, everything=True)
        if record.kind == "host" and not record.project and (record.path, part) not in gone
    ]


def _kept(ledger: Ledger, record: Record, part: str, others: list[str], *, dry_run: bool) -> Action:
    """Leave an entry to the other places that asked for it."""
    if not dry_run:
        ledger.put(ledger.records[record.path].with_origins(part, others))
    places = [short(Path(origin)) if origin else "outside of a project" for origin in others]
    return _action(record, part, "kept", f"also set up from {', '.join(places)}")


def _undo_part(ledger: Ledger, record: Record, part: str, *, dry_run: bool) -> Action:
    try:
        status, problem = _undone(ledger, record, part, dry_run=dry_run)
    except ClewError as error:
        status, problem = "failed", error.full_text()
    return _action(record, part, status, problem)


def _action(record: Record, part: str, status: str, problem: str | None) -> Action:
    return {
        "path": record.path,
        "kind": record.kind,
        "host": record.host,
        "part": part,
        "status": status,
        "problem": problem,
    }


def _undone(ledger: Ledger, record: Record, part: str, *, dry_run: bool) -> tuple[str, str | None]:
    if part == CAPTURE:
        host, path = find_host(str(record.host)), Path(record.path)
        return remove_hook_in(ledger, host, path, dry_run=dry_run).status, None
    if record.kind == "host":
        report = unregister_in(ledger, _target(record, part), force=False, dry_run=dry_run)
        return report.status, report.problem
    remove = remove_block if record.kind == BLOCK else remove_skill
    done = remove(ledger, Path(record.path), dry_run=dry_run)
    return done.status, done.problem


def _setup_line(record: Record, part: str) -> str:
    if part == CAPTURE:
        return f"clew setup {record.host} --capture"
    return _target(record, part).setup_line()


def _target(record: Record, face: str) -> Target:
    project = Path(record.project) if record.project else None
    scope: Scope = "project" if record.scope == "project" else "user"
    return Target(find_host(str(record.host)), scope, FACES[face], Path(record.path), project)
