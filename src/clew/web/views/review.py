"""Remarks about a branch's diff, kept in the spec itself, where the next attempt reads them.

They have a heading of their own before any output, so they are part of an agent's instructions,
however it is started.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from clew.kit.errors import Invalid
from clew.kit.text.markdown import HEADING, Blocks
from clew.specs.change.update import edit_spec
from clew.specs.check.lint_rules import description_of
from clew.specs.files.criteria import append_section
from clew.specs.model import Spec
from clew.specs.store.store import SpecStore

HEADING_WORDS = "Review Comments"
_INTRODUCTION = (
    "Remarks on the last attempt, by file and line. The next attempt deals with each of them."
)
_ENTRY = re.compile(r"^- `(?P<path>[^`\n]+):(?P<line>\d+)(?P<old> before)?` (?P<text>.*)$")
_LONGEST_PATH = 400


@dataclass(frozen=True)
class Remark:
    """A comment about a line: of the file as it is after the change, or before it."""

    path: str
    line: int
    side: str
    text: str


def add_remark(store: SpecStore, spec: Spec, remark: Remark, *, actor: str) -> Spec:
    """The spec with one more remark; what others wrote meanwhile stays, remarks too."""
    body = with_entry(spec.body, _entry(remark))
    return edit_spec(store, spec.id, body=body, expected_version=spec.version, actor=actor)


def remarks_in(body: str) -> list[Remark]:
    """The remarks that a body holds, in order."""
    section = _section(description_of(body))
    found: list[Remark] = []
    for line in body[section[0] : section[1]].split("\n") if section else ():
        entry = _ENTRY.match(line)
        if entry:
            side = "old" if entry["old"] else "new"
            found.append(Remark(entry["path"], int(entry["line"]), side, entry["text"]))
        elif found and line.startswith("  "):
            last = found[-1]
            found[-1] = Remark(last.path, last.line, last.side, f"{last.text}\n{line[2:]}")
    return found


def with_entry(body: str, entry: str) -> str:
    """The body with one more entry in its section, which is made where it is missing."""
    description = description_of(body)
    rest = body[len(description) :]
    section = _section(description)
    if section is None:
        text = append_section(
            description.rstrip("\n") + "\n", HEADING_WORDS, f"{_INTRODUCTION}\n\n{entry}"
        )
    else:
        before, after = description[: section[1]].rstrip("\n"), description[section[1] :]
        text = f"{before}\n{entry}\n" + (f"\n{after}" if after.strip() else "")
    return text + (f"\n{rest}" if rest else "")


def _section(description: str) -> tuple[int, int] | None:
    """Where the remarks begin and end."""
    start: int | None = None
    for block in Blocks(description):
        if block.kind != HEADING:
            continue
        if start is not None and block.level <= 2:
            return start, block.start
        if block.level == 2 and block.words == HEADING_WORDS:
            start = block.end
    return None if start is None else (start, len(description))


def _entry(remark: Remark) -> str:
    words = remark.text.replace("\r\n", "\n").strip()
    if not words:
        raise Invalid("The remark is empty", "Say what should be different.")
    path = remark.path.strip()
    if not path or len(path) > _LONGEST_PATH or re.search(r"[`\x00-\x1f]", path):
        raise Invalid("Not a path of the diff", "Remark on a line of a file that is shown.")
    side = " before" if remark.side == "old" else ""
    lines = words.split("\n")
    return "\n".join([f"- `{path}:{remark.line}{side}` {lines[0]}", *(f"  {x}" for x in lines[1:])])
