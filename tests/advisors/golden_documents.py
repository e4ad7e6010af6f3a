"""Golden documents: made anew by `python -m tests.advisors.golden_documents`, then read by a human.

Each directory in `golden` has a description and what the deterministic writer makes of it:
vision.md, architecture.md, the decision records, and what the checks find.
"""

from __future__ import annotations

from pathlib import Path

from clew.advisors.builder.builder import build_architecture, build_vision
from clew.advisors.checks.document import check_document
from clew.advisors.documents.document import render
from clew.advisors.documents.model import Facts
from clew.advisors.extract.notes import notes_of, title_of
from clew.advisors.extract.questions import numbered

GOLDEN = Path(__file__).parent / "golden"
NAMES = ("one-sentence", "one-page", "contradictory", "japanese", "german", "hostile")
METADATA = {"status": "notes", "updated": "2026-11-16", "version": "1", "writer": "builder"}


def notes_facts(description):
    """What the notes of a description know, questions included."""
    items = notes_of(description).items
    return numbered(Facts("", items, (("vision", description),)), "vision")


def documents_of(description):
    """What is made of a description: file names and texts."""
    title = title_of(description)
    facts = notes_facts(description)
    vision = build_vision(facts, title=title, metadata=METADATA)
    architecture, records = build_architecture(facts, title=title, vision=vision, metadata=METADATA)
    findings = [
        *check_document(vision),
        *check_document(architecture, context=(vision, *(one.document for one in records))),
    ]
    made = {
        "vision.md": render(vision),
        "architecture.md": render(architecture),
        "findings.txt": "".join(
            f"{one.rule} {one.severity} {one.location}: {one.message} -> {one.fix}\n"
            for one in findings
        ),
    }
    for record in records:
        made[f"adr/{record.path.name}"] = render(record.document)
    return made


def description_of(name):
    """The description that a golden directory starts from."""
    return (GOLDEN / name / "description.txt").read_text(encoding="utf-8")


def main():
    """Write all golden documents anew."""
    for name in NAMES:
        made = documents_of(description_of(name))
        for old in (GOLDEN / name).rglob("*"):
            if old.is_file() and old.name != "description.txt":
                old.unlink()
        for file, text in made.items():
            path = GOLDEN / name / file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
