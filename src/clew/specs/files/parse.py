"""One spec file read: bytes to a Spec, or the reason why it is none."""

from __future__ import annotations

import errno
import os
import re
from typing import Any, NamedTuple

from clew.kit.files import open_regular
from clew.kit.text import frontmatter
from clew.kit.text.display import shown_text
from clew.kit.text.frontmatter import MOST_BYTES, Document, FrontmatterError
from clew.specs.files.ids import is_usable
from clew.specs.model import FIELD_ORDER, LIST_FIELDS, STATUSES, Head, Problem, Spec, words_of

_ENDING = ".md"
_CHUNK = 64 * 1024
_KNOWN_STATUSES = frozenset(STATUSES)
_COARSE_CLOCK_NS = 2_000_000_000  # file systems that count whole seconds, or two
_FINE_CLOCK_NS = 100_000_000  # many ticks of the kernel's clock


class Identity(NamedTuple):
    """What changes when a file does. `settled` is whether a later change must show in it.

    A file that was changed just before it was read can be changed again within the same tick of
    the clock, which leaves size and times as they are. Such a file is read again next time.
    """

    mtime_ns: int
    ctime_ns: int
    size: int
    inode: int
    settled: bool


class Unreadable(Exception):
    """A file that is no spec; carries the problem."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(str(problem))
        self.problem = problem


def read_file(path: str, *, now_ns: int) -> tuple[bytes, Identity]:
    """A regular file's bytes and identity; links are not followed."""
    descriptor = open_regular(path)
    try:
        found = os.fstat(descriptor)
        raw = os.read(descriptor, min(found.st_size, MOST_BYTES) + 1)
        while len(raw) <= MOST_BYTES and (more := os.read(descriptor, _CHUNK)):
            raw += more
    finally:
        os.close(descriptor)
    return raw, identity_of(found, now_ns)


def identity_of(found: os.stat_result, now_ns: int) -> Identity:
    """The identity of a file that was looked at then."""
    changed = found.st_ctime_ns
    tick = _FINE_CLOCK_NS if changed % 1_000_000 else _COARSE_CLOCK_NS
    return Identity(
        found.st_mtime_ns, changed, found.st_size, found.st_ino, changed < now_ns - tick
    )


def read_document(raw: bytes) -> Document:
    """A spec's file taken apart: its fields, its body, and where they are."""
    return frontmatter.read_document(raw, FIELD_ORDER)


def make_spec(raw: bytes, path: str, identity: Identity, *, archived: bool) -> Spec:
    """The spec in these bytes; `path` is from the project's root."""
    spec_id = path.rpartition("/")[2].removesuffix(_ENDING)
    if not is_usable(spec_id):
        raise Unreadable(Problem(shown_text(path), None, "the file's name cannot be a spec's id"))
    try:
        document = read_document(raw)
    except FrontmatterError as error:
        raise Unreadable(Problem(path, error.line, error.cause)) from None
    try:
        _check_fields(document.fields)
    except _WrongField as error:
        line = _line_of(error.name, document.text)
        raise Unreadable(Problem(path, line, error.cause)) from None
    body = document.body
    head = _head(spec_id, document.fields, body, path, identity, archived=archived)
    return Spec(head, document.fields, body, raw)


def unreadable(path: str, error: OSError) -> Problem:
    """The problem with a file that the system does not let us read."""
    if error.errno == errno.ELOOP:
        return Problem(shown_text(path), None, "symbolic links are not followed")
    return Problem(shown_text(path), None, error.strerror or str(error))


def _head(
    spec_id: str,
    fields: dict[str, Any],
    body: str,
    path: str,
    identity: Identity,
    *,
    archived: bool,
) -> Head:
    # Its patterns are costly, and a first look at files that are known reads none of them.
    from clew.specs.files.criteria import parse_criteria, title_of

    approval = fields.get("approval")
    approval = approval if isinstance(approval, dict) else {}
    criteria = parse_criteria(body)
    depends_on = fields.get("depends_on")
    return Head(
        spec_id,
        fields.get("type") or "code",
        fields.get("status") or "pending",
        title_of(body),
        None if depends_on is None else words_of(depends_on),
        words_of(fields.get("labels")),
        words_of(fields.get("target_files")),
        words_of(fields.get("members")),
        _text(fields, "prompt"),
        _text(fields, "branch"),
        _text(fields, "model"),
        _text(fields, "completed_at"),
        approval.get("required") in {"true", "True", "TRUE"},
        _text(approval, "status"),
        words_of(fields.get("origin")),
        words_of(fields.get("informed_by")),
        criteria.total,
        criteria.checked,
        archived,
        identity.mtime_ns,
        identity.size,
        path,
    )


def _text(fields: dict[str, Any], name: str) -> str | None:
    value = fields.get(name)
    return value if isinstance(value, str) and value else None


class _WrongField(Exception):
    def __init__(self, name: str, cause: str) -> None:
        super().__init__(cause)
        self.name = name
        self.cause = cause


def _check_fields(fields: dict[str, Any]) -> None:
    """What a head is made of must have the form that it must have."""
    for name in ("type", "status"):
        if not isinstance(fields.get(name), str | None):
            raise _WrongField(name, f"`{name}` must be one word")
    status = fields.get("status")
    if status is not None and status not in _KNOWN_STATUSES:
        raise _WrongField("status", f"unknown status '{status}' (one of: {', '.join(STATUSES)})")
    for name in fields.keys() & LIST_FIELDS:
        value = fields[name]
        if isinstance(value, dict) or (
            isinstance(value, list) and not all(isinstance(item, str) for item in value)
        ):
            raise _WrongField(name, f"`{name}` must be a list of texts")
    if not isinstance(fields.get("approval"), dict | None):
        raise _WrongField("approval", "`approval` must be a map with `required` and `status`")


def _line_of(name: str, text: str) -> int | None:
    found = re.search(rf"^{name}[ ]*:", text, re.MULTILINE)
    return text.count("\n", 0, found.start()) + 1 if found else None
