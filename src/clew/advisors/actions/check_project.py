"""Checks over files: the documents of a project, or those that are named."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clew.advisors.actions.inputs import gather
from clew.advisors.actions.refine import LABEL
from clew.advisors.checks import document as checks
from clew.advisors.checks import traceability as trace
from clew.advisors.documents import files as saving
from clew.advisors.documents.document import parse
from clew.kit.errors import Invalid, NotFound
from clew.kit.text.display import shown_path

if TYPE_CHECKING:
    from clew.advisors.checks.traceability import Row, SpecLink
    from clew.advisors.documents.model import Document, Finding
    from clew.advisors.documents.templates import Kind

_NUMBERED = re.compile(r"(?:adr[-_ ]?)?\d{1,6}(?:[-_ .].*)?\.md", re.IGNORECASE)
_NOTHING = NotFound(
    "There is nothing to check",
    "Write a vision first (`clew advise vision`), or name files.",
)


@dataclass(frozen=True)
class Checked:
    """One document, or the directory of records, and what was found in it."""

    path: str
    kind: str
    findings: tuple[Finding, ...]

    def as_json(self) -> dict[str, Any]:
        """The fields by name."""
        return {
            "path": self.path,
            "kind": self.kind,
            "findings": [one.as_json() for one in self.findings],
        }


def check_project(project: Path | None) -> list[Checked]:
    """The vision, the architecture and the decision records of a project."""
    if project is None:
        raise _NOTHING
    found = gather(project)
    around = tuple(found.documents)
    places: tuple[tuple[Kind, str], ...] = (
        ("vision", found.vision_path),
        ("architecture", found.architecture_path),
    )
    report = [_checked(project / path, path, kind, around) for kind, path in places if path]
    if found.records is not None and (found.records.files or found.records.unreadable):
        shown = saving.shown(project, found.records.path)
        index = saving.read_text(found.records.path / saving.INDEX) or ""
        findings = checks.check_directory(found.records, index)
        report.append(Checked(shown, "adr", tuple(checks.in_order(findings))))
    if not report:
        raise _NOTHING
    return report


def check_files(project: Path | None, names: tuple[str, ...]) -> list[Checked]:
    """The named documents, each seen beside the others and the project's own."""
    texts = {name: _text(name) for name in names}
    around: list[Document] = [parse(text, _kind(name)) for name, text in texts.items()]
    if project is not None:
        known = {one.kind for one in around}
        around += [one for one in gather(project).documents if one.kind not in known]
    return [_checked(Path(name), name, _kind(name), tuple(around)) for name in names]


def traced(project: Path | None) -> list[Row]:
    """The matrix from objectives to specs, out of a project's documents and specs."""
    if project is None:
        raise _NOTHING
    return trace.matrix(gather(project).documents, _spec_links(project))


def _spec_links(project: Path) -> list[SpecLink]:
    """The specs that were made from features."""
    from clew.specs.store.store import open_store

    if not (project / ".chant" / "specs").is_dir():
        return []
    heads = open_store(project=str(project)).heads(archived=True)
    return [
        trace.spec_link(head.id, head.title or head.id, *head.labels)
        for head in heads
        if LABEL in head.labels
    ]


def _checked(path: Path, shown: str, kind: Kind, around: tuple[Document, ...]) -> Checked:
    text = _text(path)
    document = parse(text, kind)
    others = tuple(one for one in around if one != document)
    findings = checks.check_text(text, kind, context=others, path=path)
    return Checked(shown, kind, tuple(findings))


def _text(name: str | Path) -> str:
    text = saving.read_text(Path(name))
    if text is None:
        raise NotFound(f"No such file: {shown_path(str(name))}")
    return text


def _kind(name: str) -> Kind:
    """The kind of document that a file is, by its name."""
    base = Path(name).name.lower()
    if "vision" in base:
        return "vision"
    if "architecture" in base:
        return "architecture"
    if _NUMBERED.fullmatch(base):
        return "adr"
    raise Invalid(
        f"Nobody can tell what kind of document {shown_path(name)} is",
        "Its name should contain vision or architecture, or begin with a record's number.",
    )
