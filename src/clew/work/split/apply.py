"""Members written as one transaction: all of them and the group, or nothing; and taken back.

What is going to be written is on disk before the first file is. A split that was cut off is taken
back by the next one; one that is whole can be undone as long as nobody has worked on its members.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from clew.kit import jsontext
from clew.kit.errors import ClewError, Conflict, NotFound
from clew.kit.files import write_atomic
from clew.kit.locks import locked
from clew.specs.model import Changes

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path
    from typing import Any

    from clew.kit.jsontext import JsonObject
    from clew.specs.model import Spec
    from clew.specs.store.store import SpecStore
    from clew.work.split.plan import Member

ACTOR = "split"
_BEGUN, _DONE = "begun", "done"


@dataclass(frozen=True)
class NewSpec:
    """A member as it is going to be written."""

    spec_id: str
    fields: dict[str, Any]
    body: str
    member: Member

    def as_json(self) -> JsonObject:
        """The member for programs."""
        return {
            "id": self.spec_id,
            "title": self.member.title,
            "type": self.fields["type"],
            "depends_on": self.fields["depends_on"],
            "target_files": self.fields["target_files"],
            "acceptance_criteria": [demand.text for demand in self.member.criteria],
            "covers": list(self.member.covers),
        }


def write_members(store: SpecStore, parent: Spec, members: Sequence[NewSpec]) -> None:
    """Write all members and make the parent their group; on any failure nothing of it stays."""
    with _alone(store):
        take_back_unfinished(store)
        for member in members:
            if member.spec_id in store.snapshot().by_id:
                raise Conflict(f"Spec '{member.spec_id}' exists already", "Nothing was changed.")
        direct = [m.spec_id for m in members if m.spec_id.rpartition(".")[0] == parent.id]
        record: JsonObject = {
            "spec_id": parent.id,
            "state": _BEGUN,
            "before": {name: parent.fields.get(name) for name in ("type", "members")},
            "members": {member.spec_id: None for member in members},
        }
        _write(store, record)
        try:
            for member in members:
                made = store.create(member.fields, member.body, actor=ACTOR, spec_id=member.spec_id)
                record["members"][member.spec_id] = made.version
            changed = store.change(
                parent.id,
                lambda _: Changes({"type": "group", "members": direct}, note="split"),
                expected_version=parent.version,
                actor=ACTOR,
            )
        except (ClewError, OSError):
            _take_back(store, record)
            raise
        _write(store, {**record, "state": _DONE, "after": changed.version})


def undo_split(store: SpecStore, spec_id: str) -> list[str]:
    """Take a split back; refused once anybody has changed what it made. Gives what is gone."""
    with _alone(store):
        take_back_unfinished(store)
        parent = store.load(spec_id)
        record = _read(_file(store, parent.id))
        if record is None:
            raise NotFound(f"No split of '{parent.id}' can be undone", "It was not split here.")
        changed = [i for i, version in record["members"].items() if not _is_as(store, i, version)]
        changed += [] if parent.version == record["after"] else [parent.id]
        if changed:
            raise Conflict(
                f"Changed since the split: {', '.join(changed)}",
                "It can no longer be undone as a whole; cancel the members that are not wanted.",
            )
        _restore_parent(store, record)
        return _take_back(store, record)


def take_back_unfinished(store: SpecStore) -> list[str]:
    """Take back what a split that was cut off left; the caller holds the lock."""
    gone = []
    for file in sorted(_home(store).glob("*.json")):
        record = _read(file)
        if record is not None and record["state"] == _BEGUN:
            _restore_parent(store, record)
            gone += _take_back(store, record)
    return gone


def _restore_parent(store: SpecStore, record: JsonObject) -> None:
    def edit(spec: Spec) -> Changes:
        listed = spec.fields.get("members") or []
        if spec.type != "group" or not set(listed) & set(record["members"]):
            return Changes()
        return Changes(record["before"], note="split undone")

    try:
        store.change(record["spec_id"], edit, actor=ACTOR)
    except NotFound:
        return


def _take_back(store: SpecStore, record: JsonObject) -> list[str]:
    """Delete the members that are still as they were made."""
    gone = []
    for spec_id, version in reversed(record["members"].items()):
        if _is_as(store, spec_id, version):
            store.delete(spec_id, actor=ACTOR)
            gone.append(spec_id)
    _file(store, record["spec_id"]).unlink(missing_ok=True)
    return list(reversed(gone))


def _is_as(store: SpecStore, spec_id: str, version: str | None) -> bool:
    """Whether a member is as it was made; one whose making was cut off is told by its status."""
    head = store.snapshot().by_id.get(spec_id)
    if head is None or head.archived:
        return False
    spec = store.read(head)
    return spec.version == version if version is not None else spec.status == "pending"


def _alone(store: SpecStore) -> Any:
    return locked(store.paths.make_store() / "split.lock")


def _home(store: SpecStore) -> Path:
    return store.paths.store / "splits"


def _file(store: SpecStore, spec_id: str) -> Path:
    return _home(store) / f"{spec_id}.json"


def _write(store: SpecStore, record: JsonObject) -> None:
    write_atomic(_file(store, record["spec_id"]), jsontext.pretty(record) + "\n")


def _read(file: Path) -> JsonObject | None:
    try:
        value = jsontext.loads_bytes(file.read_bytes())
    except (OSError, jsontext.JsonError):
        return None
    return value if isinstance(value, dict) and "members" in value else None
