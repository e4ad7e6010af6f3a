"""The life of a decision record: its status is moved in its file, and all else stays as it is.

What is accepted is sealed: a later change of what it decides is found by the checks. What is
superseded names the record that takes its place, which names it in turn.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, NamedTuple

from clew.advisors.documents import adr, files
from clew.advisors.documents.adr import AdrDirectory, AdrFile
from clew.advisors.documents.document import HEADING, parse
from clew.advisors.documents.model import Document
from clew.advisors.documents.templates import PREAMBLE, key_of
from clew.kit.errors import Conflict, Invalid, NotFound
from clew.kit.locks import locked
from clew.kit.text.display import clipped, shown_text
from clew.kit.text.frontmatter import FrontmatterError, read_document
from clew.kit.text.frontmatter_edit import edit_document
from clew.kit.text.markdown import code_lines
from clew.kit.times import today

_NUMBER = re.compile(r"(?:ADR[- ]?)?0*(\d{1,6})", re.IGNORECASE)
_SUPERSEDED = "superseded"
_MORE = "## More Information"


class Decided(NamedTuple):
    """A record after its move, and the files that were changed for it."""

    record: str
    title: str
    status: str
    files: tuple[str, ...]

    def as_json(self) -> dict[str, Any]:
        """The fields by name."""
        return {**self._asdict(), "files": list(self.files)}


def decide(project: Path | None, name: str, status: str, by: str = "") -> Decided:
    """Move the record of that number or file to another status, and bring the index up to date."""
    if project is None:
        raise NotFound("There is no project here", "Go to one, or name it with --project.")
    with locked(files.lock_file(project)):
        directory = adr.read_directory(files.records_directory(project))
        record = _named(directory, name)
        adr.check_move(record.document, status)
        if (status == _SUPERSEDED) != bool(by):
            raise Invalid(
                "A record is superseded by another one",
                "Name the one that takes its place: superseded --by RECORD.",
            )
        texts: dict[Path, str] = {}
        if by:
            successor = _named(directory, by)
            texts[successor.path] = _succeeding(successor, record)
            texts[record.path] = _moved(record, f"{status} by {adr.link_to(successor)}")
        else:
            texts[record.path] = _moved(record, status)
        for path, text in texts.items():
            files.write_text(project, path, text)
        files.write_index(project)
    changed = tuple(files.shown(project, path) for path in texts)
    return Decided(adr.reference(record.number), record.title, status, changed)


def _named(directory: AdrDirectory, name: str) -> AdrFile:
    number = _NUMBER.fullmatch(name.strip())
    found = [
        one
        for one in directory.files
        if (one.number == int(number[1]) if number else one.path.name == Path(name).name)
    ]
    if not found:
        known = ", ".join(adr.reference(one.number) for one in directory.files[:20])
        hint = f"There are: {known}." if known else "This project has no decision records yet."
        raise NotFound(f"No such record: {clipped(shown_text(name))}", hint)
    if len(found) > 1:
        names = ", ".join(one.path.name for one in found)
        raise Conflict(
            f"Several records have the number {found[0].number}", f"Name one of {names}."
        )
    return found[0]


def _moved(record: AdrFile, status: str) -> str:
    """The record's text with this status; when it is accepted also with its seal."""
    text = _text(record)
    seal = adr.seal_of(record.document) if status == "accepted" else ""
    if record.document.section("status") is None:
        entries = {"status": status, "date": today(), **({"sealed": seal} if seal else {})}
        return _proven(record, _with_entries(record, text, entries), status)
    lines = text.split("\n")
    start, end = _body(lines, "status")
    first = next((n for n in range(start, end) if lines[n].strip()), start)
    lines[first : min(first + 1, end)] = [status[:1].upper() + status[1:] + _ending(lines)]
    if seal:
        _add_below(lines, *_body(lines, PREAMBLE), f"<!-- accepted: {seal} -->")
    return _proven(record, "\n".join(lines), status)


def _with_entries(record: AdrFile, text: str, entries: dict[str, str]) -> str:
    """The text with these entries in its front matter, every other byte as it was."""
    try:
        document = read_document(text.encode())
        has_entries = document.has_frontmatter
        body = document.body if has_entries else f"{document.line_end}{document.body}"
        return edit_document(document, entries, body).decode()
    except (FrontmatterError, Invalid):
        raise _unusual(record) from None


def _succeeding(record: AdrFile, old: AdrFile) -> str:
    """The record's text, saying that it takes the place of the old one."""
    if old.path == record.path:
        raise Conflict("A record cannot supersede itself", "Name another record.")
    text = _text(record)
    if old.number in adr.supersedes(record.document):
        return text
    lines = text.split("\n")
    key = "more" if record.document.section("status") is None else "status"
    if record.document.section(key) is None:
        _add_below(lines, 0, len(lines), _MORE)
    _add_below(lines, *_body(lines, key), f"Supersedes {adr.link_to(old)}.")
    return _proven(record, "\n".join(lines), _first_line(record.document))


def _text(record: AdrFile) -> str:
    """The file as it is, its line ends too."""
    with record.path.open(encoding="utf-8", newline="") as stream:
        return stream.read()


def _proven(record: AdrFile, text: str, status: str) -> str:
    """The new text, once it is read back: it has the status, and decides what it did before."""
    after = parse(text, "adr")
    is_moved = _first_line(after).casefold() == status.casefold()
    if not is_moved or adr.seal_of(after) != adr.seal_of(record.document):
        raise _unusual(record)
    return text


def _unusual(record: AdrFile) -> Invalid:
    return Invalid(
        f"The status of {record.path.name} cannot be changed without changing more",
        "Its front matter or its headings are unusual; change its status by hand.",
    )


def _first_line(document: Document) -> str:
    return adr.status_text(document).partition("\n")[0]


def _ending(lines: list[str]) -> str:
    return "\r" if lines[0].endswith("\r") else ""


def _body(lines: list[str], key: str) -> tuple[int, int]:
    """From which line to which a section's text is; the preamble's is below the title."""
    first = 0  # below the front matter, where there is some
    if lines[0].rstrip() == "---":
        first = next((n + 1 for n, line in enumerate(lines) if n and line.rstrip() == "---"), 0)
    headings = [
        (number, key_of("adr", found[2].strip()))
        for number, outside in enumerate(code_lines("\n".join(lines[first:])).outside, first)
        if outside and (found := HEADING.match(lines[number].rstrip())) and found[2]
    ]
    if key == PREAMBLE:
        headings = [(headings[0][0], key), *headings[1:]] if headings else []
    ends = [number for number, _ in headings[1:]] + [len(lines)]
    for (number, name), end in zip(headings, ends, strict=True):
        if name == key:
            return number + 1, end
    return len(lines), len(lines)


def _add_below(lines: list[str], start: int, end: int, line: str) -> None:
    """Insert a paragraph after the text between two lines."""
    ending = _ending(lines)
    last = max((n for n in range(start, end) if lines[n].strip()), default=start - 1)
    lines[last + 1 : last + 1] = [ending, f"{line}{ending}"]
