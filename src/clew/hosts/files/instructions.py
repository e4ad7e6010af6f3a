"""Instructions about Clew for agents in a project: a managed block in AGENTS.md, and a skill.

The block is enclosed in markers that carry a hash of its text. While the hash matches, the
text is ours to replace or remove; once somebody has edited it, it is theirs.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

from clew.hosts.files.ledger import (
    Ledger,
    Owner,
    digest,
    open_ledger,
    read_bytes,
    refuse_outside,
    remove_part,
    write_part,
)
from clew.kit.errors import ClewError, Invalid

AGENTS_FILE = "AGENTS.md"
BLOCK, SKILL = "block", "skill"
_SKILL_PLACES = {
    "": (".agents/skills/clew/SKILL.md",),
    "claude-code": (".claude/skills/clew/SKILL.md",),
}
_BEGIN = re.compile(r"<!-- clew:begin sha256=([0-9a-f]{12}) -->\r?\n")
_END = "<!-- clew:end -->"


@dataclass(frozen=True)
class FileReport:
    """What was done to one instructions file.

    Status `written`, `updated`, `already`, `edited` (somebody's words, kept), or after undoing
    `restored`, `deleted`, `removed`, `absent`.
    """

    path: Path
    kind: str
    status: str
    problem: str | None = None

    def data(self) -> dict[str, str | None]:
        """The report for programs."""
        return {**asdict(self), "path": str(self.path)}


@dataclass(frozen=True)
class _Block:
    start: int
    end: int
    content: str
    is_intact: bool


def write_block(project: Path, *, force: bool = False, dry_run: bool = False) -> FileReport:
    """Write or refresh the managed block of AGENTS.md."""
    from clew.guide.blocks import agents_block

    path = project / AGENTS_FILE
    refuse_outside(path, project, force=force)
    with open_ledger() as ledger:
        before = read_bytes(path)
        text = _decoded(path, before)
        block = _find_block(path, text)
        fenced = _fenced(agents_block(), text)
        status, after = _planned_block(text, block, fenced, force=force)
        if status in ("written", "updated") and not dry_run:
            trace = {"inserted": after[len(text) :]} if block is None else {}
            owner = Owner(BLOCK, project)
            write_part(ledger, path, owner, BLOCK, trace, before=before, after=after.encode())
    problem = "its text was edited by hand and is kept; --force replaces it"
    return FileReport(path, BLOCK, status, problem if status == "edited" else None)


def _planned_block(text: str, block: _Block | None, fenced: str, *, force: bool) -> tuple[str, str]:
    if block is None:
        return "written", text + _gap(text) + fenced + _newline(text)
    if text[block.start : block.end] == fenced:
        return "already", text
    if not block.is_intact and not force:
        return "edited", text
    return "updated", text[: block.start] + fenced + text[block.end :]


def _fenced(content: str, text: str) -> str:
    lines = content.strip("\n").split("\n")
    begin = f"<!-- clew:begin sha256={_short_hash(content)} -->"
    return _newline(text).join([begin, *lines, _END])


def _short_hash(content: str) -> str:
    plain = content.replace("\r\n", "\n").strip("\n")
    return hashlib.sha256(plain.encode()).hexdigest()[:12]


def _find_block(path: Path, text: str) -> _Block | None:
    begins = list(_BEGIN.finditer(text))
    if not begins:
        return None
    begin = begins[0]
    end = text.find(_END, begin.end())
    if len(begins) > 1 or end < 0:
        what = "more than one managed block" if len(begins) > 1 else "a block without its end"
        raise Invalid(f"{path} has {what}", f"Repair the clew:begin and {_END} lines by hand.")
    content = text[begin.end() : end]
    return _Block(begin.start(), end + len(_END), content, _short_hash(content) == begin[1])


def _newline(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def _gap(text: str) -> str:
    """What puts one empty line between the text and a block after it."""
    if not text:
        return ""
    newline = _newline(text)
    if not text.endswith("\n"):
        return newline * 2
    return "" if text.endswith(("\n\n", "\n\r\n")) else newline


def _decoded(path: Path, data: bytes | None) -> str:
    try:
        return (data or b"").decode("utf-8")
    except UnicodeDecodeError as error:
        raise Invalid(f"{path} is not UTF-8 text", "Nothing was changed.") from error


def remove_block(ledger: Ledger, path: Path, *, dry_run: bool = False) -> FileReport:
    """Remove the managed block, unless somebody has edited its text."""
    current = read_bytes(path)
    text = _decoded(path, current)
    block = _find_block(path, text)
    if current is None or block is None:
        return _gone(ledger, path, BLOCK, dry_run=dry_run)
    if not block.is_intact:
        return FileReport(path, BLOCK, "edited", "its text was edited by hand and is kept")
    if dry_run:
        return FileReport(path, BLOCK, "removed")
    reduced = _without_block(ledger, path, text, block)
    status = remove_part(
        ledger, path, BLOCK,
        current=current, reduced=reduced.encode(), blank=not reduced.strip(),
    )  # fmt: skip
    return FileReport(path, BLOCK, status)


def _without_block(ledger: Ledger, path: Path, text: str, block: _Block) -> str:
    inserted = ledger.trace(path, BLOCK).get("inserted")
    if inserted and text.count(inserted) == 1:
        return text.replace(inserted, "")
    head, tail = text[: block.start], text[block.end :].lstrip("\r\n")
    if tail or not head.strip():
        return head + tail
    return head.rstrip("\r\n") + _newline(text)


def skill_paths(project: Path, hosts: Iterable[str]) -> list[Path]:
    """Where the skill goes: the common place, and the own place of hosts that have one."""
    keys = ["", *(key for key in hosts if key in _SKILL_PLACES)]
    return [project / place for key in keys for place in _SKILL_PLACES[key]]


def write_skill(
    path: Path, project: Path, *, force: bool = False, dry_run: bool = False
) -> FileReport:
    """Write or refresh one skill file."""
    from clew.guide.blocks import skill_text

    wanted = skill_text().encode()
    refuse_outside(path, project, force=force)
    with open_ledger() as ledger:
        before = read_bytes(path)
        if before == wanted:
            return FileReport(path, SKILL, "already")
        record = ledger.get(path)
        is_known = record is not None and record.written_sha256 == digest(before)
        if before is not None and not is_known and not force:
            return FileReport(path, SKILL, "edited", "it differs and is kept; --force replaces it")
        if not dry_run:
            write_part(ledger, path, Owner(SKILL, project), SKILL, {}, before=before, after=wanted)
    return FileReport(path, SKILL, "written" if before is None else "updated")


def remove_skill(ledger: Ledger, path: Path, *, dry_run: bool = False) -> FileReport:
    """Remove a skill file, unless somebody has edited it."""
    current, record = read_bytes(path), ledger.get(path)
    if current is None or record is None:
        return _gone(ledger, path, SKILL, dry_run=dry_run)
    if record.written_sha256 != digest(current):
        return FileReport(path, SKILL, "edited", "it was edited by hand and is kept")
    if dry_run:
        return FileReport(path, SKILL, "removed")
    status = remove_part(ledger, path, SKILL, current=current, reduced=b"", blank=True)
    return FileReport(path, SKILL, status)


def _gone(ledger: Ledger, path: Path, kind: str, *, dry_run: bool) -> FileReport:
    record = ledger.get(path)
    if record is not None and not dry_run:
        ledger.drop(record.path)
    return FileReport(path, kind, "absent")


def claude_file_note(project: Path) -> str | None:
    """A note about a CLAUDE.md that does not include AGENTS.md; Clew does not touch it."""
    try:
        text = read_bytes(project / "CLAUDE.md")
    except ClewError as error:
        return error.message
    if text is None or re.search(rb"(?m)^\s*@(\./)?AGENTS\.md\s*$", text):
        return None
    return "CLAUDE.md does not include AGENTS.md. A line `@AGENTS.md` in it would do so."
