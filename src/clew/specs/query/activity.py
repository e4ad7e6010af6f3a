"""What happened to specs and when: from the audit trail, and from git for what came before it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import accumulate
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple

from clew.kit.errors import ClewError
from clew.kit.git import run_git
from clew.kit.paths import ARCHIVE, SPECS
from clew.kit.times import parse_iso
from clew.specs.query.query import since_of
from clew.specs.store import audit
from clew.specs.store.store import SpecStore

DEFAULT_LIMIT = 50
_MOST_COMMITS = 5000
_SUBJECT = re.compile(r"chant\(([^)\s]{1,200})\):\s*(.*)")
_STATUS_ACTIONS = {
    "in_progress": "STARTED", "completed": "COMPLETED", "failed": "FAILED",
    "cancelled": "CANCELLED", "paused": "PAUSED", "needs_attention": "FLAGGED",
    "pending": "RESET",
}  # fmt: skip
_EVENTS = {
    "created": "CREATED", "archived": "ARCHIVED", "deleted": "DELETED",
    "taken_over": "TAKEN OVER", "released": "RELEASED",
}  # fmt: skip
_APPROVALS = {"approved": "APPROVED", "rejected": "REJECTED"}


class Event(NamedTuple):
    """One thing that happened to one spec."""

    time: str
    by: str
    action: str
    spec_id: str
    detail: str
    source: str

    def as_json(self) -> dict[str, Any]:
        """The fields by name, and `what` as one text."""
        what = f"{self.action} {self.detail}".strip()
        return {
            "time": self.time,
            "id": self.spec_id,
            "by": self.by,
            "action": self.action,
            "detail": self.detail,
            "what": what,
            "source": self.source,
        }


def recent(
    store: SpecStore,
    *,
    spec_id: str | None = None,
    by: str | None = None,
    since: str | None = None,
    limit: int = DEFAULT_LIMIT,
) -> list[dict[str, Any]]:
    """The events, the newest first; `by` is a part of a name, `since` leaves out what is older.

    What the audit trail says comes in the order of the trail, whatever the clock said.
    """
    begin = since_of(since) if since else None
    recorded = list(audit_events(store, spec_id))
    known = {(event.spec_id, event.action) for event in recorded}
    earlier = [e for e in git_events(store.project) if (e.spec_id, e.action) not in known]
    times = accumulate((_moment(event.time) for event in recorded), max)
    dated = [(_moment(event.time), event) for event in reversed(earlier)]
    dated += zip(times, recorded, strict=True)
    kept = [pair for pair in dated if spec_id in {None, pair[1].spec_id}]
    if by:
        kept = [pair for pair in kept if by.lower() in pair[1].by.lower()]
    if begin is not None:
        kept = [pair for pair in kept if _moment(pair[1].time) >= begin]
    newest = sorted(kept, key=itemgetter(0))[::-1][:limit]
    return [event.as_json() for _, event in newest]


def created_by(store: SpecStore, name: str) -> set[str]:
    """The specs that somebody of this name, or a part of it, created."""
    events = (*audit_events(store), *git_events(store.project))
    wanted = name.lower()
    return {e.spec_id for e in events if e.action == "CREATED" and wanted in e.by.lower()}


def active_since(store: SpecStore, since: str) -> set[str]:
    """The specs to which something happened since then."""
    begin = since_of(since)
    events = (*audit_events(store), *git_events(store.project))
    return {event.spec_id for event in events if _moment(event.time) >= begin}


def audit_events(store: SpecStore, spec_id: str | None = None) -> Iterator[Event]:
    """What the audit trail says, the oldest first."""
    for entry in audit.entries(store.paths, spec_id):
        fields = entry.get("fields")
        action, detail = _recorded(entry, fields if isinstance(fields, dict) else {})
        name, at, by, tool = (str(entry.get(key) or "") for key in ("spec", "at", "by", "tool"))
        if name and at:
            who = audit.user_name(by) if tool in ("", "cli") else f"{audit.user_name(by)} ({tool})"
            yield Event(at, who, action, name, detail, "audit")


def _recorded(entry: dict[str, Any], fields: dict[str, Any]) -> tuple[str, str]:
    event = str(entry.get("event") or "")
    note = str(entry.get("note") or entry.get("title") or "")
    if event in _EVENTS:
        return _EVENTS[event], note
    approval, status = _new(fields.get("approval")), _new(fields.get("status"))
    if isinstance(approval, dict) and approval.get("status") in _APPROVALS:
        return _APPROVALS[approval["status"]], note
    if isinstance(status, str) and status in _STATUS_ACTIONS:
        before = fields["status"][0]
        return _STATUS_ACTIONS[status], note or f"{before} -> {status}"
    changed = [*fields, *(["body"] if entry.get("body") else [])]
    return "CHANGED", note or ", ".join(changed)


def _new(change: Any) -> Any:
    return change[1] if isinstance(change, list) and len(change) == 2 else None


def git_events(project: Path) -> Iterator[Event]:
    """What git's history says, the newest first: who added, worked on, decided, moved."""
    try:
        raw = run_git(
            "log",
            "--all",
            f"-n{_MOST_COMMITS}",
            "--name-status",
            "--no-renames",
            "-z",
            "--format=%x01%cI%x00%an%x00%s",
            "--",
            SPECS,
            ARCHIVE,
            cwd=project,
        )
    except ClewError:
        return
    for record in raw.decode("utf-8", "replace").split("\x01")[1:]:
        parts = record.split("\0")
        if len(parts) >= 3:
            yield from _commit_events(parts[0], parts[1], parts[2].strip("\n"), parts[3:])


def _commit_events(at: str, by: str, subject: str, names: list[str]) -> Iterator[Event]:
    found = _SUBJECT.match(subject)
    if found:
        yield Event(at, by, _worked(found[2]), found[1], found[2], "git")
    changes = [name.strip("\n") for name in names if name.strip("\n")]
    for letter, path in zip(changes[::2], changes[1::2], strict=False):
        name = path.rpartition("/")[2]
        if not name.endswith(".md"):
            continue
        spec_id = name.removesuffix(".md")
        if letter == "A":
            action = "ARCHIVED" if path.startswith(ARCHIVE) else "CREATED"
            yield Event(at, by, action, spec_id, subject, "git")
        elif letter == "M" and not (found and found[1] == spec_id):
            yield Event(at, by, "CHANGED", spec_id, subject, "git")


def _worked(words: str) -> str:
    first = words.lower()
    decisions = (("approve", "APPROVED"), ("reject", "REJECTED"), ("finalize", "COMPLETED"))
    return next((action for word, action in decisions if first.startswith(word)), "WORKED")


def _moment(text: str) -> datetime:
    try:
        return parse_iso(text)
    except ValueError:
        return datetime.min.replace(tzinfo=UTC)
