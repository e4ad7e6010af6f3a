"""Rules about the structure of any document: S1 to S10."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Final

from clew.advisors.builder.diagrams import STARTS, diagrams_in
from clew.advisors.documents.document import render, render_body
from clew.advisors.documents.markdown import REFERENCE, closes, fence_of
from clew.advisors.documents.model import NOT_KNOWN, TEMPLATES, Finding, template_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from clew.advisors.documents.model import Document, Kind, Section

MOST_WORDS: Final = {"vision": 3_000, "architecture": 6_000, "adr": 1_200}
_PLACEHOLDER = re.compile(
    r"\b(?:TBD|TODO|FIXME|XXX)\b|\?\?\?|\blorem ipsum\b|<[a-z][a-z _-]{2,40}>", re.IGNORECASE
)
_LINK = re.compile(r"(?<!!)\[[^\]\n]*\]\(([^()\s]+)\)")
_ISO_DATE = re.compile(r"\d{4}-\d{2}-\d{2}(?:[T ][\d:.]+(?:Z|[+-]\d{2}:?\d{2})?)?")
_VERSION = re.compile(r"v?\d+(?:\.\d+){0,2}(?:[-+][\w.]+)?")
_CODE = re.compile(r"```.*?```|`[^`\n]*`", re.DOTALL)
_UNCHECKED: Final = frozenset({"source", "question", "note", "said"})


def where(document: Document, section: str = "", item: str = "") -> str:
    """A place in a document: kind, section, item."""
    return ":".join(part for part in (document.kind, section, item) if part)


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
    yield from _diagrams(document)
    words = len(_CODE.sub(" ", render(document)).split())
    if words > MOST_WORDS[document.kind]:
        yield Finding(
            "S9", "warning", where(document), f"{words} words; {MOST_WORDS[document.kind]} are the budget",
            "Move details into documents of their own and link them.",
        )  # fmt: skip
    if document.items("SA"):
        yield Finding(
            "S10", "info", where(document, "set-aside"), "text that speaks to tools was set aside and not followed",
            "Look at it, and delete the section.",
        )  # fmt: skip


def check_raw(text: str, kind: Kind) -> Iterator[Finding]:
    """What is lost once a text is read: code blocks that nobody closed."""
    fence, opened = None, 0
    for number, line in enumerate(text.split("\n"), 1):
        if fence is None:
            fence, opened = fence_of(line), number
        elif closes(line, fence):
            fence = None
    if fence is not None:
        yield Finding(
            "S8", "error", f"{kind}:line {opened}", "the code block is never closed", f"Add {fence} below it."
        )  # fmt: skip


def _required(document: Document) -> Iterator[Finding]:
    for template in TEMPLATES[document.kind]:
        section = document.section(template.key)
        if section is None:
            if template.required:
                yield Finding(
                    "S1", "error", where(document, template.key), f"the section “{template.heading}” is missing",
                    f"Add “{'#' * template.level} {template.heading}”.",
                )  # fmt: skip
            continue
        yield from _filled(document, section)


def _filled(document: Document, section: Section) -> Iterator[Finding]:
    place = where(document, section.key)
    body = render_body(document.kind, section)
    found = _PLACEHOLDER.search(_CODE.sub(" ", body))
    if found:
        yield Finding(
            "S2", "error", place, f"“{found[0]}” is a placeholder", "Write what is known, or ask."
        )
    elif body.startswith(NOT_KNOWN) and len(body) < 60:
        asked = REFERENCE.findall(body)
        fix = f"Answer {', '.join(asked)}." if asked else "Say what is known."
        yield Finding("S2", "info", place, "nothing is known here yet", fix)
    elif not body and not _has_children(document, section):
        yield Finding(
            "S2", "error", place, f"“{section.heading}” is empty", "Write what is known, or ask."
        )


def _has_children(document: Document, section: Section) -> bool:
    following = document.sections[document.sections.index(section) + 1 :]
    return bool(following) and following[0].level > section.level


def _headings(document: Document) -> Iterator[Finding]:
    if not document.title:
        yield Finding(
            "S3", "error", where(document), "there is no title", "Begin with “# ” and a title."
        )
    seen: dict[str, str] = {}
    level = 1
    for section in document.sections:
        place = where(document, section.key)
        if section.level == 1:
            yield Finding(
                "S3", "error", place, "a second title", "Make it “## ”; a document has one title."
            )
        elif section.level > level + 1:
            yield Finding(
                "S3",
                "error",
                place,
                f"level {section.level} follows level {level}",
                "Do not skip levels.",
            )
        level = max(section.level, 1)
        name = section.heading.casefold()
        if name and name in seen:
            yield Finding(
                "S3", "error", place, f"“{section.heading}” stands twice", "Give one another name."
            )
        seen[name] = section.key


def _metadata(document: Document) -> Iterator[Finding]:
    place = where(document)
    wanted = {"vision": ("status", "updated"), "architecture": ("status", "updated"), "adr": ()}
    for name in wanted[document.kind]:
        if name not in document.metadata:
            yield Finding(
                "S4", "warning", place, f"no {name}", f"Add “{name}: ...” to the front matter."
            )
    for name in ("updated", "date"):
        value = document.metadata.get(name, "")
        if value and not _ISO_DATE.fullmatch(value):
            yield Finding(
                "S4", "error", place, f"{name} is no date: {value}", "Write it as 2026-12-31."
            )
    version = document.metadata.get("version", "")
    if version and not _VERSION.fullmatch(version):
        yield Finding("S4", "error", place, f"no version: {version}", "Write it as 1.2 or 1.2.3.")


def anchor(heading: str) -> str:
    """The anchor that a heading gets where Markdown is shown."""
    kept = re.sub(r"[^\w\- ]", "", heading.casefold())
    return kept.replace(" ", "-")


def _links(document: Document, path: Path | None) -> Iterator[Finding]:
    anchors = {anchor(section.heading) for section in document.sections} | {anchor(document.title)}
    for section in document.sections:
        body = _CODE.sub(" ", render_body(document.kind, section))
        deeper = {anchor(found) for found in re.findall(r"^#{4,6} +(.+)$", body, re.MULTILINE)}
        anchors |= deeper
        for target in _LINK.findall(body):
            place = where(document, section.key)
            if target.startswith("#"):
                if target[1:] not in anchors:
                    yield Finding(
                        "S5", "error", place, f"no heading for {target}", "Correct the link."
                    )
            elif path and not re.match(r"[a-z][a-z0-9+.-]*:|//", target, re.IGNORECASE):
                file = path.parent / target.partition("#")[0]
                if not file.exists():
                    yield Finding(
                        "S5",
                        "error",
                        place,
                        f"no file {target}",
                        "Correct the link, or add the file.",
                    )


def _ids(document: Document) -> Iterator[Finding]:
    seen: set[str] = set()
    for section in document.sections:
        template = template_of(document.kind, section.key)
        for item in section.items:
            place = where(document, section.key, item.id)
            if not item.id:
                yield Finding(
                    "S6",
                    "warning",
                    place,
                    f"no id: “{item.text[:60]}”",
                    "It gets one when it is saved.",
                )
            elif item.id in seen:
                yield Finding(
                    "S6",
                    "error",
                    place,
                    f"{item.id} is used twice",
                    "Give one of them a new number.",
                )
            elif template and template.prefix and item.prefix != template.prefix:
                yield Finding(
                    "S6", "error", place, f"{item.id} stands among {template.prefix}- items", "Move it to its section."
                )  # fmt: skip
            seen.add(item.id)


def _references(document: Document, context: Sequence[Document]) -> Iterator[Finding]:
    known = {item.id for one in (document, *context) for item in one.items()}
    kinds = {one.kind for one in (document, *context)}
    for section in document.sections:
        for item in section.items:
            place = where(document, section.key, item.id)
            for name, value in item.attributes.items():
                for found in REFERENCE.findall(value) if name not in _UNCHECKED else ():
                    if found not in known and _expected(found, kinds):
                        yield Finding(
                            "S7",
                            "error",
                            place,
                            f"{name} names {found}, which does not exist",
                            "Correct it.",
                        )
            for found in REFERENCE.findall(item.text):
                if found not in known and item.prefix != "Q" and _expected(found, kinds):
                    yield Finding(
                        "S7",
                        "warning",
                        place,
                        f"{found} does not exist",
                        "Correct it, or leave it out.",
                    )


def _expected(item_id: str, kinds: set[Kind]) -> bool:
    """Ids that live in another kind of document can only be checked next to it."""
    in_vision = item_id.partition("-")[0] in {"BO", "SM", "FE", "EX", "ST", "PR"}
    return not in_vision or "vision" in kinds


def _diagrams(document: Document) -> Iterator[Finding]:
    for section in document.sections:
        place = where(document, section.key)
        for diagram in diagrams_in(f"{section.text}\n\n{section.after}"):
            if diagram.kind not in STARTS:
                yield Finding(
                    "S8",
                    "error",
                    place,
                    f"“{diagram.kind}” begins no diagram",
                    f"Begin with {STARTS[0]}.",
                )
                continue
            if diagram.kind not in {"flowchart", "graph"}:
                continue
            for name in sorted(diagram.used - diagram.declared):
                yield Finding(
                    "S8",
                    "error",
                    place,
                    f"{name} is used but not declared",
                    "Declare it with a text.",
                )
            if diagram.edges:
                for name in sorted(diagram.declared - diagram.used):
                    yield Finding(
                        "S8",
                        "info",
                        place,
                        f"{name} has no connection",
                        "Connect it, or leave it out.",
                    )
