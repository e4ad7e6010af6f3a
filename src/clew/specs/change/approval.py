"""Approving and rejecting specs, with who decided, when, and what was said.

After a rejection `approval.rejection_action` says what follows: `manual` nothing, `dependency` a
new spec for what has to be fixed, on which the rejected one then depends, `group` one member
for each criterion, and the rejected spec leads them.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any, NamedTuple

from clew.kit.errors import Conflict, Invalid
from clew.kit.text.markdown import HEADING, TEXT, Blocks
from clew.kit.times import utc_now
from clew.specs.files.criteria import append_section, parse_criteria
from clew.specs.model import DONE_STATUSES, GROUP_TYPES, Changes, Spec
from clew.specs.store.store import SpecStore

ACTIONS = ("manual", "dependency", "group")
DISCUSSION = "Approval Discussion"
ASKED = {"required": "true", "status": "pending"}


class Decision(NamedTuple):
    """The spec after a decision, whether it changed, and the specs that were made of it."""

    spec: Spec
    changed: bool
    created: tuple[str, ...] = ()


def approve(store: SpecStore, spec_id: str, *, by: str, actor: str) -> Decision:
    """Let a spec be worked on; approving twice changes nothing."""
    name = _one_line(by, "who approves")
    spec = store.load(spec_id)
    if _status_of(spec) == "approved":
        return Decision(spec, changed=False)

    def edit(current: Spec) -> Changes:
        if _status_of(current) == "approved":
            raise Conflict(f"Spec '{current.id}' has just been approved by someone else")
        entry = f"**{name}** - {_local_time()} - APPROVED"
        fields = {"approval": _decided(current, "approved", name)}
        return Changes(fields, add_entry(current.body, entry), note=f"approved by {name}")

    return Decision(store.change(spec.id, edit, actor=actor), changed=True)


def reject(
    store: SpecStore, spec_id: str, *, by: str, reason: str, action: str = "manual", actor: str
) -> Decision:
    """Keep a spec from being worked on, and do what is to follow."""
    name, words = _one_line(by, "who rejects"), reason.strip()
    if not words:
        raise Invalid("A rejection needs a reason", "Say what has to change.")
    if action not in ACTIONS:
        raise Invalid(f"Unknown rejection action '{action}'", f"Use {', '.join(ACTIONS)}.")
    spec = store.load(spec_id)
    if spec.status in DONE_STATUSES and _status_of(spec) != "pending":
        raise Conflict(f"Spec '{spec.id}' is {spec.status} and cannot be rejected")
    if action == "group" and spec.type in GROUP_TYPES:
        action = "manual"  # it has members already
    parts = _parts(spec) if action == "group" else []

    def edit(current: Spec) -> Changes:
        entry = f"**{name}** - {_local_time()} - REJECTED\n{_as_text(words)}"
        fields: dict[str, Any] = {"approval": _decided(current, "rejected", name)}
        if parts:
            fields |= {
                "type": "driver",
                "members": [f"{spec.id}.{number}" for number in range(1, len(parts) + 1)],
            }
        return Changes(fields, add_entry(current.body, entry), note=f"rejected by {name}: {words}")

    rejected = store.change(spec.id, edit, actor=actor)
    if action == "dependency":
        return _with_fix(store, rejected, words, actor)
    created = [
        _create_member(store, rejected, number, text, actor) for number, text in enumerate(parts, 1)
    ]
    return Decision(rejected, changed=True, created=tuple(created))


def add_entry(body: str, entry: str) -> str:
    """The body with one more entry in its discussion."""
    section: int | None = None
    end = len(body)
    for block in Blocks(body):
        if block.kind != HEADING:
            continue
        if section is not None and block.level <= 2:
            end = block.start
            break
        if block.level == 2 and block.words == DISCUSSION:
            section = block.end
    if section is None:
        return append_section(body, DISCUSSION, entry)
    before = body[:end].rstrip("\n")
    after = body[end:]
    return f"{before}\n\n{entry}\n{chr(10) if after else ''}{after}"


def _status_of(spec: Spec) -> str | None:
    return spec.head.approval_status


def _decided(spec: Spec, status: str, by: str) -> dict[str, Any]:
    known = spec.fields.get("approval")
    given = dict(known) if isinstance(known, dict) else {"required": "true"}
    return {**given, "status": status, "by": by, "at": utc_now()}


def _with_fix(store: SpecStore, rejected: Spec, words: str, actor: str) -> Decision:
    body = (
        f"# Fix rejection issues for {rejected.id}\n\n"
        f"{_as_text(words)}\n\n## Acceptance Criteria\n\n"
        "- [ ] The issues named above are fixed\n"
        f"- [ ] {rejected.id} is ready to be looked at again\n"
    )
    fix = store.create({"type": "code", "labels": ["rejection"]}, body, actor=actor)

    def wait(current: Spec) -> Changes:
        return Changes({"depends_on": [*current.words("depends_on"), fix.id]})

    return Decision(store.change(rejected.id, wait, actor=actor), changed=True, created=(fix.id,))


def _parts(spec: Spec) -> list[str]:
    """What each member is to do: the outermost criteria that are not yet met."""
    items = parse_criteria(spec.body).open_items
    outermost = min((item.indent for item in items), default=0)
    parts = [item.text for item in items if item.indent == outermost and item.text]
    if not parts:
        raise Invalid(
            f"Spec '{spec.id}' has no open acceptance criteria to make members of",
            "Add criteria, or reject it with another rejection_action.",
        )
    return parts


def _create_member(store: SpecStore, driver: Spec, number: int, text: str, actor: str) -> str:
    fields: dict[str, Any] = {
        "type": "code",
        "depends_on": [f"{driver.id}.{number - 1}"] if number > 1 else [],
    }
    for name in ("labels", "prompt", "model"):
        if driver.fields.get(name):
            fields[name] = driver.fields[name]
    body = f"# {text}\n\n## Acceptance Criteria\n\n- [ ] {text}\n"
    return store.create(fields, body, actor=actor, spec_id=f"{driver.id}.{number}").id


def _as_text(words: str) -> str:
    """The words as they are or, where they would be read as headings, lists or code, quoted."""
    blocks = Blocks(words)
    plain = all(block.kind == TEXT for block in blocks) and not blocks.left_open
    return words if plain else "\n".join(f"> {line}" for line in words.splitlines())


def _one_line(text: str, what: str) -> str:
    words = " ".join(text.split()).replace("*", "")
    if not words:
        raise Invalid(f"It is not said {what}", "Give a name with --by.")
    return words


def _local_time() -> str:
    return datetime.now().astimezone().strftime("%Y-%m-%d %H:%M")
