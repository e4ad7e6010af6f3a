"""The documents of a project: gathered, checked, and traced to its specs."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple

from clew.advisors.actions.repository import suite_command
from clew.advisors.actions.spec_plan import LABEL, Sources
from clew.advisors.checks.adr import check_directory
from clew.advisors.checks.document import check_text, in_order
from clew.advisors.checks.traceability import Row, SpecLink, matrix, spec_link
from clew.advisors.conversation.store import checked_id, opened_store
from clew.advisors.documents import files
from clew.advisors.documents.adr import AdrDirectory, read_directory, reference
from clew.advisors.documents.document import parse
from clew.advisors.documents.model import Document, Finding
from clew.advisors.documents.templates import Kind
from clew.kit.errors import Invalid, NotFound
from clew.kit.paths import ProjectPaths
from clew.kit.text.display import shown_path

_MAIN: Final[tuple[Kind, ...]] = ("vision", "architecture")
_NUMBERED = re.compile(r"(?:adr[-_ ]?)?\d{1,6}(?:[-_ .].*)?\.md", re.IGNORECASE)
_NOTHING = NotFound(
    "There is nothing to check",
    "Write a vision first (`clew advise vision`), or name files.",
)


class Gathered(NamedTuple):
    """The vision and the architecture with their paths, empty for what is in no file; records."""

    main: dict[Kind, tuple[Document, str]]
    records: AdrDirectory | None

    @property
    def documents(self) -> list[Document]:
        """All of them."""
        records = self.records.files if self.records else ()
        return [*(one for one, _ in self.main.values()), *(one.document for one in records)]


def gather(project: Path | None, conversation_id: str = "") -> Gathered:
    """The documents in the project's files; a conversation's where there is no file."""
    stored: dict[str, str] = {}
    if conversation_id.strip():
        with opened_store() as store:
            found = store.existing(checked_id(conversation_id.strip()))
        stored = {name: one.text for name, one in found.documents.items()}
    main: dict[Kind, tuple[Document, str]] = {}
    for kind in _MAIN:
        text, path = _file_of(project, kind) if project else (None, "")
        text = stored.get(kind) if text is None else text
        if text is not None:
            main[kind] = (parse(text, kind), path)
    records = read_directory(files.records_directory(project)) if project else None
    return Gathered(main, records)


def _file_of(project: Path, kind: Kind) -> tuple[str | None, str]:
    place = files.place_of(project, kind)
    for path in (files.beside(place), place):
        text = files.read_text(path)
        if text is not None:
            return text, files.shown(project, path)
    return None, ""


def sources_of(project: Path, conversation_id: str = "") -> Sources:
    """What specs are made from; without a vision there are none."""
    found = gather(project, conversation_id)
    if "vision" not in found.main:
        raise NotFound(
            "There is no vision to make specs of",
            "Write one first: `clew advise vision`, or the tool vision_agent.",
        )
    vision, vision_path = found.main["vision"]
    architecture, architecture_path = found.main.get("architecture", (None, ""))
    records = found.records.files if found.records else ()
    decisions = {reference(one.number): files.shown(project, one.path) for one in records}
    test = suite_command(project)
    return Sources(vision, architecture, vision_path, architecture_path, decisions, test)


@dataclass(frozen=True)
class Checked:
    """One document, or the directory of records, and what was found in it."""

    path: str
    kind: str
    findings: tuple[Finding, ...]

    def as_json(self) -> dict[str, Any]:
        """The fields by name."""
        return {**vars(self), "findings": [one.as_json() for one in self.findings]}


def check_project(project: Path | None) -> list[Checked]:
    """The vision, the architecture and the decision records of a project."""
    if project is None:
        raise _NOTHING
    found = gather(project)
    around = tuple(found.documents)
    paths = {kind: path for kind, (_, path) in found.main.items() if path}
    report = [_checked(project / path, path, kind, around) for kind, path in paths.items()]
    if found.records is not None and (found.records.files or found.records.unreadable):
        index = files.read_text(found.records.path / files.INDEX) or ""
        findings = tuple(in_order(check_directory(found.records, index)))
        report.append(Checked(files.shown(project, found.records.path), "adr", findings))
    if not report:
        raise _NOTHING
    return report


def check_files(project: Path | None, names: tuple[str, ...]) -> list[Checked]:
    """The named documents, each seen beside the others and the project's own."""
    around = [parse(_text(Path(name)), _kind(name)) for name in names]
    if project is not None:
        known = {one.kind for one in around}
        around += [one for one in gather(project).documents if one.kind not in known]
    return [_checked(Path(name), name, _kind(name), tuple(around)) for name in names]


def traced(project: Path | None) -> list[Row]:
    """The matrix from objectives to specs, out of a project's documents and specs."""
    if project is None:
        raise _NOTHING
    return matrix(gather(project).documents, _spec_links(project))


def _spec_links(project: Path) -> list[SpecLink]:
    """The specs that were made from features."""
    from clew.specs.store.store import open_store

    if not ProjectPaths(project).has_specs:
        return []
    heads = open_store(project=str(project)).heads(archived=True)
    return [
        spec_link(head.id, head.title or head.id, *head.labels)
        for head in heads
        if LABEL in head.labels
    ]


def _checked(path: Path, shown: str, kind: Kind, around: tuple[Document, ...]) -> Checked:
    text = _text(path)
    document = parse(text, kind)
    others = tuple(one for one in around if one != document)
    return Checked(shown, kind, tuple(check_text(text, kind, context=others, path=path)))


def _text(path: Path) -> str:
    text = files.read_text(path)
    if text is None:
        raise NotFound(f"No such file: {shown_path(str(path))}")
    return text


def _kind(name: str) -> Kind:
    """The kind of document that a file is, by its name."""
    base = Path(name).name.lower()
    for kind in _MAIN:
        if kind in base:
            return kind
    if _NUMBERED.fullmatch(base):
        return "adr"
    raise Invalid(
        f"Cannot tell what kind of document {shown_path(name)} is",
        "Its name should contain vision or architecture, or begin with a record's number.",
    )
