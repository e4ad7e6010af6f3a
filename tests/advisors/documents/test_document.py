"""What is written is what is read."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from clew.advisors.documents.document import LARGEST_TEXT, parse, render, with_ids
from clew.advisors.documents.model import Document, Item, Section
from clew.advisors.documents.templates import TEMPLATES
from clew.kit.errors import Invalid
from tests.advisors.strategies import documents, texts


@settings(max_examples=120)
@given(documents)
def test_a_document_survives_being_written_and_read(document):
    assert parse(render(document), document.kind) == document


@settings(max_examples=120)
@given(texts)
def test_any_text_settles_after_one_reading(text):
    for kind in tuple(TEMPLATES):
        document = parse(text, kind)
        assert parse(render(document), kind) == document


def test_what_a_human_adds_is_kept():
    text = """---
status: draft
reviewers:
  - Ada
  - Bob
---

# Vision & Scope: Tables

Some words of my own.

### Objectives

Before.

* **BO-1**: Cut waiting time by 30 % by 2027-01-31.
  - Baseline: 12 minutes
  - call Bob about this
* A second goal that I just typed

After.

## My own chapter

| a | b |
|---|---|
| 1 | 2 |

```text
# no heading
```
"""
    document = parse(text, "vision")
    assert document.metadata == {"status": "draft", "reviewers": "\n  - Ada\n  - Bob"}
    assert [section.key for section in document.sections] == [
        "preamble",
        "objectives",
        "my-own-chapter",
    ]
    goals = document.section("objectives")
    assert goals.text == "Before."
    assert goals.after == "After."
    assert goals.items == (
        Item(
            "BO-1",
            "Cut waiting time by 30 % by 2027-01-31.",
            {"baseline": "12 minutes", "note": "call Bob about this"},
        ),
        Item("", "A second goal that I just typed"),
    )
    again = render(with_ids(document))
    assert "- **BO-2** A second goal that I just typed" in again
    for kept in ("Some words of my own.", "| 1 | 2 |", "# no heading", "  - Ada"):
        assert kept in again


def test_a_table_with_a_new_column_and_a_new_row_is_read():
    text = (
        "# V\n\n### Risks\n\n| Id | Risk | Impact | Seen by |\n| --- | --- | --- | --- |\n"
        "| RI-1 | Rain \\| snow | high | Ada |\n| | Staff leave | | |\n"
    )
    document = with_ids(parse(text, "vision"))
    assert document.items() == (
        Item("RI-1", "Rain | snow", {"impact": "high", "seen by": "Ada"}),
        Item("RI-2", "Staff leave"),
    )


def test_a_heading_in_a_section_is_pushed_down_and_an_open_code_block_is_closed():
    section = Section("x", "X", 2, "## inside\n\n```\nopen")
    document = Document("vision", "T", (section, Section("y", "Y", 2, "kept")))
    assert "#### inside" in render(document)
    assert document.section("y").text == "kept"
    assert parse(render(document), "vision") == document


def test_headings_may_be_numbered_or_named_otherwise():
    document = parse("# V\n\n## 2.1 Major features\n\nx\n\n## Out of scope\n\ny\n", "vision")
    assert [section.key for section in document.sections] == ["features", "exclusions"]


def test_too_large_a_text_is_refused():
    with pytest.raises(Invalid, match="at most"):
        parse("x" * (LARGEST_TEXT + 1), "vision")
