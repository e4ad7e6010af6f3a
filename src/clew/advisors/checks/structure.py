"""Rules about the structure of any document: S1 to S10."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from clew.advisors.documents.document import render, render_body
from clew.advisors.documents.markdown import REFERENCE
from clew.advisors.documents.model import NOT_KNOWN, Document, Finding, Section, Severity
from clew.advisors.documents.templates import TEMPLATES, Kind
from clew.advisors.extract.measures import INSTRUCTION
from clew.advisors.extract.statements import plain
from clew.kit.text.display import clipped
from clew.kit.text.markdown import code_lines

MOST_WORDS: Final = {
    "vision": 1_000,
    "architecture": 4_000,
    "adr": 1_200,
}  # two printed pages, seven, two
_PLACEHOLDER = re.compile(
    r"\b(?:TBD|TODO|FIXME|XXX)\b|\?\?\?|\blorem ipsum\b|<[a-z][a-z _-]{2,40}>", re.IGNORECASE
)
_LINK = re.compile(r"(?<!!)\[[^\]\n]*\]\(([^()\s]+)\)")
_ADDRESS = re.compile(r"[a-z][a-z0-9+.-]*:|//", re.IGNORECASE)
_ISO_DATE = re.compile(r"\d{4}-\d{2}-\d{2}(?:[T ][\d:.]+(?:Z|[+-]\d{2}:?\d{2})?)?")
_VERSION = re.compile(r"v?\d+(?:\.\d+){0,2}(?:[-+][\w.]+)?")
_CODE = re.compile(r"```.*?```|`[^`\n]*`", re.DOTALL)
_UNCHECKED: Final = frozenset({"source", "question", "note", "said"})
_IN_VISION: Final = frozenset({"BO", "SM", "FE", "EX", "ST", "PR"})
_METADATA: Final = {"vision": ("status", "updated"), "architecture": ("status", "updated")}


class Place(NamedTuple):
    """A place in a document; it makes the findings that are about it."""

    name: str

    def error(self, rule: str, message: str, fix: str) -> Finding:
        """Something that must be corrected here."""
        return Finding(rule, "error", self.name, message, fix)

    def warning(self, rule: str, message: str, fix: str) -> Finding:
        """Something that should be looked at here."""
        return Finding(rule, "warning", self.name, message, fix)

    def info(self, rule: str, message: str, fix: str) -> Finding:
        """Something worth knowing here."""
        return Finding(rule, "info", self.name, message, fix)


def where(document: Document, section: str = "", item: str = "") -> Place:
    """A place in a document: kind, section, item."""
    return Place(":".join(part for part in (document.kind, section, item) if part))


class Needed(NamedTuple):
    """What items of a kind need: the rule and section, how bad a lack is, what to do, which attributes."""

    prefix: str
    rule: str
    section: str
    severity: Severity
    fix: str
    names: tuple[str, ...]


def check_needed(document: Document, needed: Sequence[Needed]) -> Iterator[Finding]:
    """The items that lack what their kind needs."""
    for one in needed:
        for item in document.items(one.prefix):
            if lacks := ", ".join(name for name in one.names if not item.get(name)):
                place = where(document, one.section, item.id)
                said = f"{item.id} ({clipped(item.text, 40)}) lacks: {lacks}"
                yield Finding(one.rule, one.severity, place.name, said, one.fix)


def check_structure(
    document: Document, context: Sequence[Document], path: Path | None
) -> Iterator[Finding]:
    """The rules of structure on one document."""
    yield from _required(document)
    yield from _headings(document)
    yield from _metadata(document)
    yield from _links(document, path)
    yield from _ids(document)
    yield from _references(document, context)
    words, most = len(_CODE.sub(" ", render(document)).split()), MOST_WORDS[document.kind]
    if words > most:
        fix = "Move details into documents of their own and link them."
        yield where(document).warning("S9", f"{words} words; {most} are the budget", fix)
    for item in document.items():
        if INSTRUCTION.search(plain(item.text)) and item.text.startswith("`"):
            place, said = where(document, "", item.id), f"{item.id} reads like an instruction"
            yield place.info("S10", said, "It was not followed; see whether it belongs here.")


def check_raw(text: str, kind: Kind) -> Iterator[Finding]:
    """What is lost once a text is parsed: code blocks that are never closed."""
    code = code_lines(text)
    if code.open_mark:
        place, fix = Place(f"{kind}:line {code.opened + 1}"), f"Add {code.open_mark} below it."
        yield place.error("S8", "the code block is never closed", fix)


def _required(document: Document) -> Iterator[Finding]:
    for template in TEMPLATES[document.kind].values():
        section = document.section(template.key)
        if section is not None:
            yield from _filled(document, section)
        elif template.required:
            said = f"the section “{template.heading}” is missing"
            fix = f"Add “{'#' * template.level} {template.heading}”."
            yield where(document, template.key).error("S1", said, fix)


def _filled(document: Document, section: Section) -> Iterator[Finding]:
    place = where(document, section.key)
    body = render_body(document.kind, section)
    fix = "Write what is known, or ask."
    if found := _PLACEHOLDER.search(_CODE.sub(" ", body)):
        yield place.error("S2", f"“{found[0]}” is a placeholder", fix)
    elif body.startswith(NOT_KNOWN) and len(body) < 60:
        asked = REFERENCE.findall(body)
        fix = f"Answer {', '.join(asked)}." if asked else "Say what is known."
        yield place.info("S2", "nothing is known here yet", fix)
    elif not body and not _has_children(document, section):
        yield place.error("S2", f"“{section.heading}” is empty", fix)


def _has_children(document: Document, section: Section) -> bool:
    following = document.sections[document.sections.index(section) + 1 :]
    return bool(following) and following[0].level > section.level


def _headings(document: Document) -> Iterator[Finding]:
    if not document.title:
        yield where(document).error("S3", "there is no title", "Begin with “# ” and a title.")
    seen: set[str] = set()
    level = 1
    for section in document.sections:
        place = where(document, section.key)
        if section.level == 1:
            yield place.error("S3", "a second title", "Make it “## ”; a document has one title.")
        elif section.level > level + 1:
            said = f"level {section.level} follows level {level}"
            yield place.error("S3", said, "Do not skip levels.")
        level = max(section.level, 1)
        name = section.heading.casefold()
        if name and name in seen:
            yield place.error("S3", f"“{section.heading}” stands twice", "Give one another name.")
        seen.add(name)


def _metadata(document: Document) -> Iterator[Finding]:
    place, metadata = where(document), document.metadata
    for name in _METADATA.get(document.kind, ()):
        if name not in metadata:
            yield place.warning("S4", f"no {name}", f"Add “{name}: ...” to the front matter.")
    for name in ("updated", "date"):
        value = metadata.get(name, "")
        if value and not _ISO_DATE.fullmatch(value):
            yield place.error("S4", f"{name} is no date: {value}", "Write it as 2026-12-31.")
    version = metadata.get("version", "")
    if version and not _VERSION.fullmatch(version):
        yield place.error("S4", f"no version: {version}", "Write it as 1.2 or 1.2.3.")


def anchor(heading: str) -> str:
    """The anchor that a heading gets where Markdown is shown."""
    kept = re.sub(r"[^\w\- ]", "", heading.casefold())
    return kept.replace(" ", "-")


def _links(document: Document, path: Path | None) -> Iterator[Finding]:
    anchors = {anchor(section.heading) for section in document.sections} | {anchor(document.title)}
    for section in document.sections:
        place = where(document, section.key)
        body = _CODE.sub(" ", render_body(document.kind, section))
        anchors |= {anchor(found) for found in re.findall(r"^#{4,6} +(.+)$", body, re.MULTILINE)}
        for target in _LINK.findall(body):
            if target.startswith("#"):
                if target[1:] not in anchors:
                    yield place.error("S5", f"no heading for {target}", "Correct the link.")
            elif path and not _ADDRESS.match(target) and not _exists(path, target):
                yield place.error("S5", f"no file {target}", "Correct the link, or add the file.")


def _exists(path: Path, target: str) -> bool:
    return (path.parent / target.partition("#")[0]).exists()


def _ids(document: Document) -> Iterator[Finding]:
    seen: set[str] = set()
    for section in document.sections:
        template = TEMPLATES[document.kind].get(section.key)
        prefix = template.items.prefix if template else ""
        for item in section.items:
            place = where(document, section.key, item.id)
            if not item.id:
                said = f"no id: “{item.text[:60]}”"
                yield place.warning("S6", said, "It gets one when it is saved.")
            elif item.id in seen:
                said = f"{item.id} is used twice"
                yield place.error("S6", said, "Give one of them a new number.")
            elif prefix and item.prefix != prefix:
                said = f"{item.id} stands among {prefix}- items"
                yield place.error("S6", said, "Move it to its section.")
            seen.add(item.id)


def _references(document: Document, context: Sequence[Document]) -> Iterator[Finding]:
    known = {item.id for one in (document, *context) for item in one.items()}
    has_vision = any(one.kind == "vision" for one in (document, *context))

    def unknown(text: str) -> list[str]:
        """Ids that name nothing; those of a vision can be checked only next to one."""
        found = [one for one in REFERENCE.findall(text) if one not in known]
        return [one for one in found if has_vision or one.partition("-")[0] not in _IN_VISION]

    for section in document.sections:
        for item in section.items:
            place = where(document, section.key, item.id)
            for name, value in item.attributes.items():
                for found in unknown(value) if name not in _UNCHECKED else ():
                    said = f"{name} names {found}, which does not exist"
                    yield place.error("S7", said, "Correct it.")
            for found in unknown(item.text) if item.prefix != "Q" else ():
                yield place.warning("S7", f"{found} does not exist", "Correct it, or leave it out.")
