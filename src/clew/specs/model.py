"""The types of the specs room, and what the documented format says about them."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

STATUSES: Final = (
    "pending", "in_progress", "paused", "completed", "failed", "needs_attention", "ready",
    "blocked", "cancelled",
)  # fmt: skip
OPEN_STATUSES: Final = frozenset({"pending", "blocked", "ready"})  # may be derived anew
DONE_STATUSES: Final = frozenset({"completed", "cancelled"})  # what waits need not wait longer
GROUP_TYPES: Final = frozenset({"driver", "group"})
CONFLICT = "conflict"  # the type of a spec in which a conflict of a merge is resolved

FIELD_ORDER: Final = (
    "type", "status", "depends_on", "labels", "target_files", "context", "prompt", "branch",
    "commits", "completed_at", "model", "tracks", "informed_by", "origin", "schedule",
    "source_branch", "target_branch", "conflicting_files", "blocked_specs", "original_spec",
    "last_verified", "verification_status", "verification_failures", "replayed_at",
    "replay_count", "original_completed_at", "derived_fields", "approval", "members",
    "output_schema", "public", "retry_state",
)  # fmt: skip
LIST_FIELDS: Final = frozenset({
    "depends_on", "labels", "target_files", "context", "commits", "tracks", "informed_by",
    "origin", "conflicting_files", "blocked_specs", "verification_failures", "derived_fields",
    "members",
})  # fmt: skip


class Problem(NamedTuple):
    """A file that cannot be read as a spec: where, and why."""

    path: str
    line: int | None
    cause: str

    def __str__(self) -> str:
        place = self.path if self.line is None else f"{self.path}:{self.line}"
        return f"{place}: {self.cause}"


class Head(NamedTuple):
    """What the index keeps of one spec. `path` is relative to the project's root."""

    id: str
    type: str
    status: str
    title: str | None
    depends_on: tuple[str, ...] | None
    labels: tuple[str, ...]
    target_files: tuple[str, ...]
    members: tuple[str, ...]
    prompt: str | None
    branch: str | None
    model: str | None
    completed_at: str | None
    approval_required: bool
    approval_status: str | None
    origin: tuple[str, ...]
    informed_by: tuple[str, ...]
    criteria_total: int
    criteria_checked: int
    archived: bool
    mtime_ns: int
    size: int
    path: str


class Spec:
    """One spec as its file has it: every field, the body, and the bytes themselves."""

    __slots__ = ("_version", "body", "fields", "head", "id", "raw", "status", "title", "type")

    def __init__(self, head: Head, fields: dict[str, Any], body: str, raw: bytes) -> None:
        self.head = head
        self.id = head.id  # the file's name without its ending
        self.title = head.title  # the first heading
        self.status = head.status  # as stored, and so is the type
        self.type = head.type
        self.fields = fields
        self.body = body
        self.raw = raw
        self._version = ""

    @property
    def version(self) -> str:
        """Sixteen hex digits that change with any byte of the file."""
        if not self._version:
            self._version = version_of(self.raw)
        return self._version

    def words(self, name: str) -> tuple[str, ...]:
        """The field as a list of texts; a single text is a list of one."""
        return words_of(self.fields.get(name))

    def text(self, name: str) -> str | None:
        """The field as text; None where it is absent, empty or no scalar."""
        value = self.fields.get(name)
        return value if isinstance(value, str) and value else None


class Changes:
    """What an edit touches: these fields and, where it is given, the body. Nothing else.

    A field that is None is removed.
    `note` goes into the audit trail.
    """

    __slots__ = ("body", "fields", "note")

    def __init__(
        self,
        fields: dict[str, Any] | None = None,
        body: str | None = None,
        note: str | None = None,
    ) -> None:
        self.fields = fields or {}
        self.body = body
        self.note = note


def version_of(raw: bytes) -> str:
    """The version of a file with these bytes."""
    import hashlib

    return hashlib.sha256(raw).hexdigest()[:16]


def words_of(value: object) -> tuple[str, ...]:
    """A field's value as texts: of a list its scalars, of a text that text, else nothing."""
    if isinstance(value, str):
        return (value,) if value else ()
    if isinstance(value, list):
        return tuple(item for item in value if isinstance(item, str) and item)
    return ()
