"""Architecture decision records: files, numbers, legal moves, links, seals, and the index."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final, Literal, NamedTuple

from clew.advisors.documents.document import parse, render_body
from clew.advisors.documents.model import Document, Section
from clew.advisors.documents.templates import PREAMBLE, slug
from clew.kit.errors import Conflict, Invalid
from clew.kit.files import regular_text
from clew.kit.text.display import os_reason, shown_path

Style = Literal["madr", "nygard"]
STATUSES: Final = ("proposed", "rejected", "accepted", "deprecated", "superseded")
MOVES: Final = {
    "": ("proposed", "accepted", "rejected"),
    "proposed": ("accepted", "rejected"),
    "accepted": ("deprecated", "superseded"),
    "rejected": (),
    "deprecated": ("superseded",),
    "superseded": (),
}
KNOWN_DIRECTORIES: Final = (
    "docs/adr", "docs/adrs", "docs/decisions", "docs/architecture/decisions",
    "docs/architecture/adr", "docs/architecture/adrs", "doc/adr", "doc/decisions", "adr",
    "adrs", "architecture/decisions",
)  # fmt: skip
INDEX_START: Final = "<!-- decisions: begin -->"
INDEX_END: Final = "<!-- decisions: end -->"
LARGEST_FILE: Final = 500_000
MOST_FILES: Final = 2_000
_NAME = re.compile(r"(?:adr[-_ ]?)?(\d{1,6})(?:[-_ .]+(.*))?\.md", re.IGNORECASE)
_NUMBERED_TITLE = re.compile(r"(?:ADR[- ]?)?\d{1,6}[.:)]?\s+(?:[-\u2013:]\s+)?", re.IGNORECASE)
_NUMBER_IN_LINK = re.compile(r"(?:ADR[- ]?|\()0*(\d{1,6})\b", re.IGNORECASE)
_SUPERSEDES = re.compile(r"\bsupersedes\b[^\n]*", re.IGNORECASE)
_DATE = re.compile(r"\b\d{4}-\d{2}-\d{2}\b")
_SEAL = re.compile(r"<!-- accepted: ([0-9a-f]{16}) -->")


class AdrFile(NamedTuple):
    """One record: where it is, its number, what it says, and in which style."""

    path: Path
    number: int
    document: Document
    style: Style

    @property
    def title(self) -> str:
        """The title without its number."""
        return plain_title(self.document)

    @property
    def status(self) -> str:
        """The first word of its status."""
        return status_of(self.document)


class AdrDirectory(NamedTuple):
    """A directory of records: its style, and the records in order."""

    path: Path
    style: Style
    files: tuple[AdrFile, ...]
    unreadable: tuple[str, ...]


def find_directory(project: Path) -> Path | None:
    """The directory in which a project keeps its records, if it has one."""
    named = project / ".adr-dir"
    candidates = list(KNOWN_DIRECTORIES)
    if named.is_file() and not named.is_symlink():
        candidates.insert(0, regular_text(named, 1000).strip())
    root = project.resolve()
    for candidate in candidates:
        path = (root / candidate).resolve() if candidate else root
        if path != root and path.is_relative_to(root) and path.is_dir():
            return path
    return None


def read_directory(path: Path) -> AdrDirectory:
    """The records of a directory; one that does not exist is empty."""
    files: list[AdrFile] = []
    unreadable: list[str] = []
    entries = sorted(path.iterdir())[:MOST_FILES] if path.is_dir() else []
    for entry in entries:
        named = _NAME.fullmatch(entry.name)
        if not named or entry.is_symlink() or not entry.is_file():
            continue
        try:
            text = _text_of(entry)
        except (OSError, UnicodeDecodeError, Invalid) as error:
            reason = os_reason(error) if isinstance(error, OSError) else str(error)
            unreadable.append(f"{shown_path(entry.name)}: {reason}")
            continue
        document = parse(text, "adr")
        files.append(AdrFile(entry, int(named[1]), document, style_of(document)))
    files.sort(key=lambda one: (one.number, one.path.name))
    return AdrDirectory(path, _common_style(files), tuple(files), tuple(unreadable))


def _text_of(entry: Path) -> str:
    if entry.stat().st_size > LARGEST_FILE:
        raise Invalid(f"larger than {LARGEST_FILE} bytes")
    return entry.read_text(encoding="utf-8")


def style_of(document: Document) -> Style:
    """Nygard has its status as a section; MADR has options and front matter."""
    keys = {section.key for section in document.sections}
    madr = "options" in keys or "status" in document.metadata or "drivers" in keys
    return "nygard" if "status" in keys and not madr else "madr"


def _common_style(files: Sequence[AdrFile]) -> Style:
    nygard = sum(one.style == "nygard" for one in files)
    return "nygard" if nygard * 2 > len(files) else "madr"


def next_number(files: Iterable[AdrFile]) -> int:
    """The number that a new record gets; numbers are never used again."""
    return max((one.number for one in files), default=0) + 1


def file_name(number: int, title: str, files: Sequence[AdrFile] = ()) -> str:
    """The name of a new record's file, its number as wide as that of the last one there is."""
    last = _NAME.fullmatch(files[-1].path.name) if files else None
    width = len(last[1]) if last else 4
    return f"{number:0{width}d}-{slug(title)}.md"


def reference(number: int) -> str:
    """A record's name in a text."""
    return f"ADR-{number:04d}"


def plain_title(document: Document) -> str:
    """A record's title without its number."""
    return _NUMBERED_TITLE.sub("", document.title, count=1) or document.title


def status_text(document: Document) -> str:
    """The status as it is written, in either style."""
    return document.text("status") or document.metadata.get("status", "")


def status_of(document: Document) -> str:
    """The status: one word, in lower case."""
    words = re.findall(r"[a-z]+", status_text(document).lower())
    return words[0] if words else ""


def date_of(document: Document) -> str:
    """The date of a record, in either style."""
    places = (document.metadata.get("date", ""), document.text(PREAMBLE))
    found = (_DATE.search(place) for place in places)
    return next((one[0] for one in found if one), "")


def superseded_by(document: Document) -> tuple[int, ...]:
    """The numbers of the records that a status names after `superseded by`."""
    text = status_text(document)
    found = re.search(r"superse?ded(?: by)?\b([^\n]*)", text, re.IGNORECASE)
    numbers = _NUMBER_IN_LINK.findall(found[1]) if found else ()
    return tuple(dict.fromkeys(int(one) for one in numbers))


def supersedes(document: Document) -> tuple[int, ...]:
    """The numbers of the records that this one says it supersedes."""
    places = [document.metadata.get("supersedes", ""), status_text(document)]
    places += [section.text for section in document.sections if section.key in {"more", PREAMBLE}]
    lines = " ".join(found[0] for place in places for found in _SUPERSEDES.finditer(place))
    lines += f" ({places[0]}" if places[0].isdigit() else f" {places[0]}"
    return tuple(dict.fromkeys(int(one) for one in _NUMBER_IN_LINK.findall(lines)))


def check_move(document: Document, status: str) -> None:
    """Refuse a status that a record cannot get; one accepted by hand may still be sealed."""
    now = status_of(document)
    if status not in STATUSES:
        raise Invalid(f"{status!r} is no status", f"A status is one of: {', '.join(STATUSES)}.")
    only_sealed = now == status == "accepted" and not seal_in(document)
    if not only_sealed and status not in MOVES.get(now, ()):
        allowed = ", ".join(MOVES.get(now, ())) or "nothing; write a new record instead"
        raise Conflict(
            f"A record that is {now or 'without a status'} cannot become {status}",
            f"From here it can become: {allowed}.",
        )


def link_to(record: AdrFile, directory: str = "") -> str:
    """A link to a record, from a document that reaches the records by `directory`."""
    place = f"{directory.rstrip('/')}/" if directory else ""
    return f"[{reference(record.number)}]({place}{record.path.name})"


def seal_of(document: Document) -> str:
    """Sixteen digits that change with what a record decides, but not with its status."""
    parts = [plain_title(document)]
    parts += [
        f"{section.heading}\n{render_body('adr', section)}"
        for section in document.sections
        if section.key not in {PREAMBLE, "status", "more"}
    ]
    return hashlib.sha256("\n\n".join(parts).encode()).hexdigest()[:16]


def seal_in(document: Document) -> str:
    """The digits that a record got when it was accepted, or nothing."""
    found = _SEAL.search(document.text(PREAMBLE))
    return found[1] if found else document.metadata.get("sealed", "")


def styled(document: Document, style: Style, number: int) -> Document:
    """A record in the style of its directory; MADR is the style that records are made in."""
    if style == "madr":
        return document
    status = status_text(document) or "proposed"
    date = date_of(document)
    context = [document.text("context"), _quoted(document, "drivers"), _quoted(document, "options")]
    follows = [document.text("consequences"), _quoted(document, "confirmation")]
    texts = {
        "status": status[:1].upper() + status[1:],
        "context": "\n\n".join(filter(None, context)),
        "decision": document.text("decision"),
        "consequences": "\n\n".join(filter(None, follows)),
    }
    made = [Section(key, key.capitalize(), 2, text) for key, text in texts.items()]
    first = Section(PREAMBLE, "", 0, f"Date: {date}" if date else "")
    kept = {k: v for k, v in document.metadata.items() if k not in {"status", "date"}}
    return Document("adr", f"{number}. {plain_title(document)}", (first, *made), kept)


def _quoted(document: Document, key: str) -> str:
    section = document.section(key)
    return f"{section.heading}:\n\n{section.text}" if section and section.text else ""


def index_text(files: Sequence[AdrFile]) -> str:
    """The list of all records, as a document of its own."""
    return f"# Decisions\n\n{_index_table(files)}\n"


def index_into(text: str, files: Sequence[AdrFile]) -> str:
    """A hand-written index with its list updated; everything else is unchanged."""
    before, start, rest = text.partition(INDEX_START)
    _, end, after = rest.partition(INDEX_END)
    if not start or not end:
        separator = "\n\n" if text.strip() else ""
        return f"{text.rstrip()}{separator}{_index_table(files)}\n"
    return f"{before}{_index_table(files)}{after}"


def _index_table(files: Sequence[AdrFile]) -> str:
    rows = [INDEX_START, "| Number | Decision | Status | Date |", "| --- | --- | --- | --- |"]
    for one in files:
        title = one.title.replace("|", "\\|").replace("[", "\\[").replace("]", "\\]")
        status = status_text(one.document).split("\n")[0].replace("|", "\\|")
        link = f"[{title}]({one.path.name})"
        rows.append(f"| {one.number} | {link} | {status} | {date_of(one.document)} |")
    return "\n".join([*rows, INDEX_END])
