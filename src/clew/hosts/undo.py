"""Undoing what the ledger says Clew wrote."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from clew.catalog.faces import FACES
from clew.hosts.instructions import BLOCK, remove_block, remove_skill
from clew.hosts.ledger import open_ledger
from clew.hosts.register import Report, Target, unregister_in
from clew.hosts.table import find_host
from clew.kit.errors import ClewError

if TYPE_CHECKING:
    from clew.hosts.ledger import Ledger, Record
    from clew.hosts.model import Scope

Action = dict[str, Any]


def undo(project: Path | None, *, everything: bool = False, dry_run: bool = False) -> list[Action]:
    """Undo this project's records, or all of them; one action per thing that was ours."""
    with open_ledger() as ledger:
        return [
            _undo_part(ledger, record, part, dry_run=dry_run)
            for record in chosen_records(ledger, project, everything=everything)
            for part in record.parts
        ]


def chosen_records(ledger: Ledger, project: Path | None, *, everything: bool) -> list[Record]:
    """The records that belong to this project, or all."""
    records = [ledger.records[path] for path in sorted(ledger.records)]
    if everything:
        return records
    return [record for record in records if project and record.project == str(project)]


def _undo_part(ledger: Ledger, record: Record, part: str, *, dry_run: bool) -> Action:
    try:
        status, problem = _undone(ledger, record, part, dry_run=dry_run)
    except ClewError as error:
        status, problem = "failed", error.full_text()
    return {
        "path": record.path,
        "kind": record.kind,
        "host": record.host,
        "part": part,
        "status": status,
        "problem": problem,
    }


def _undone(ledger: Ledger, record: Record, part: str, *, dry_run: bool) -> tuple[str, str | None]:
    if record.kind == "host":
        report = _unregistered(ledger, record, part, dry_run=dry_run)
        return report.status, report.problem
    remove = remove_block if record.kind == BLOCK else remove_skill
    done = remove(ledger, Path(record.path), dry_run=dry_run)
    return done.status, done.problem


def _unregistered(ledger: Ledger, record: Record, face: str, *, dry_run: bool) -> Report:
    project = Path(record.project) if record.project else None
    scope: Scope = "project" if record.scope == "project" else "user"
    target = Target(find_host(str(record.host)), scope, FACES[face], Path(record.path), project)
    return unregister_in(ledger, target, force=False, dry_run=dry_run)
